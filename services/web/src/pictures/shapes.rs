//! The shapes of things, by words of their category, otherwise by kind. Classes are those of the
//! drawing: `a`, `b` and `c` are the colour of the product, `k` dark, `w` light, `m` metal, `s` shadow.

/// Returns the shape of a product.
pub(super) fn shape(kind: &str, category: &str) -> &'static str {
    let by = |name: &str| {
        let found = SHAPES
            .iter()
            .find(|(words, _)| words.iter().any(|word| name.contains(word)));
        found.map(|(_, shape)| *shape)
    };
    by(category).or_else(|| by(kind)).unwrap_or(BOX)
}

const BOX: &str = r#"<ellipse class="s" cx="100" cy="160" rx="62" ry="8"/><path class="a" d="M42 78l58 22v60l-58-22z"/><path class="b" d="M158 78l-58 22v60l58-22z"/><path class="c" d="M42 78l58-22 58 22-58 22z"/>"#;

/// Words that a name contains, and the shape. The first that fits counts.
const SHAPES: &[(&[&str], &str)] = &[
    (
        &["monitor", "television", "tv-"],
        r##"<ellipse class="s" cx="100" cy="164" rx="50" ry="6"/><path class="m" d="M92 130h16v26H92z"/><rect class="m" x="68" y="154" width="64" height="7" rx="3.5"/><rect class="b" x="26" y="40" width="148" height="94" rx="7"/><rect class="k" x="32" y="46" width="136" height="78" rx="3"/><path d="M32 124V92l40-30 34 30 26-18 36 28v22z" fill="#fff" opacity=".14"/>"##,
    ),
    (
        &["laptop", "computer"],
        r##"<ellipse class="s" cx="100" cy="152" rx="82" ry="6"/><rect class="b" x="44" y="50" width="112" height="80" rx="7"/><rect class="k" x="50" y="56" width="100" height="66" rx="3"/><path d="M50 122V96l36-26 30 30 34-18v40z" fill="#fff" opacity=".14"/><path class="a" d="M36 130h128l14 14q1 6-6 6H28q-7 0-6-6z"/><path class="m" d="M86 130h28l3 6H83z"/>"##,
    ),
    (
        &["smartphone", "phones-w"],
        r##"<ellipse class="s" cx="100" cy="170" rx="40" ry="6"/><rect class="a" x="64" y="30" width="72" height="136" rx="13"/><rect class="k" x="69" y="35" width="62" height="126" rx="9"/><circle cx="100" cy="44" r="3" fill="#fff" opacity=".4"/><path d="M69 130V90l30-22 32 30v63z" fill="#fff" opacity=".12"/>"##,
    ),
    (
        &["watch"],
        r##"<path class="a" d="M78 24h44l6 40H72zM78 176h44l6-40H72z"/><rect class="m" x="60" y="58" width="80" height="84" rx="22"/><rect class="k" x="67" y="65" width="66" height="70" rx="16"/><path d="M100 82v20l14 9" fill="none" stroke="#fff" stroke-width="4" stroke-linecap="round"/>"##,
    ),
    (
        &["headphone"],
        r#"<path class="o" d="M52 112V96a48 48 0 0196 0v16" style="stroke-width:11"/><rect class="b" x="38" y="104" width="32" height="52" rx="14"/><rect class="b" x="130" y="104" width="32" height="52" rx="14"/><rect class="k" x="62" y="108" width="13" height="44" rx="6"/><rect class="k" x="125" y="108" width="13" height="44" rx="6"/>"#,
    ),
    (
        &["earbud"],
        r#"<ellipse class="s" cx="100" cy="164" rx="52" ry="6"/><rect class="a" x="48" y="88" width="104" height="72" rx="30"/><path class="b" d="M48 118h104v-2a30 28 0 00-30-28H78a30 28 0 00-30 28z"/><circle class="w" cx="100" cy="136" r="3"/><rect class="c" x="70" y="36" width="20" height="46" rx="10"/><circle class="c" cx="76" cy="46" r="14"/><rect class="c" x="110" y="36" width="20" height="46" rx="10"/><circle class="c" cx="124" cy="46" r="14"/>"#,
    ),
    (
        &["speaker"],
        r#"<ellipse class="s" cx="100" cy="168" rx="44" ry="6"/><rect class="a" x="58" y="32" width="84" height="134" rx="12"/><circle class="k" cx="100" cy="70" r="18"/><circle class="k" cx="100" cy="122" r="30"/><circle class="m" cx="100" cy="122" r="11"/><circle class="m" cx="100" cy="70" r="6"/>"#,
    ),
    (
        &["turntable"],
        r##"<ellipse class="s" cx="100" cy="160" rx="76" ry="6"/><rect class="a" x="26" y="56" width="148" height="98" rx="8"/><circle class="k" cx="86" cy="105" r="40"/><circle cx="86" cy="105" r="28" fill="none" stroke="#fff" opacity=".15"/><circle class="c" cx="86" cy="105" r="12"/><path class="l" d="M152 74v34l-34 22" style="stroke:#d9dcdf"/><circle class="m" cx="152" cy="72" r="9"/>"##,
    ),
    (
        &["lens", "lenses"],
        r#"<ellipse class="s" cx="100" cy="160" rx="50" ry="6"/><path class="k" d="M50 66h100v88H50z"/><path class="b" d="M50 90h100v10H50zM50 122h100v8H50z"/><ellipse class="m" cx="100" cy="66" rx="50" ry="18"/><ellipse class="k" cx="100" cy="66" rx="40" ry="13"/><ellipse class="c" cx="92" cy="63" rx="16" ry="5" opacity=".7"/>"#,
    ),
    (
        &["action-cam"],
        r#"<ellipse class="s" cx="100" cy="158" rx="56" ry="6"/><rect class="a" x="42" y="56" width="116" height="98" rx="12"/><rect class="k" x="54" y="68" width="44" height="30" rx="4"/><circle class="k" cx="126" cy="96" r="26"/><circle class="m" cx="126" cy="96" r="13"/><circle class="c" cx="121" cy="91" r="4"/>"#,
    ),
    (
        &["camera-drone", "drone"],
        r#"<ellipse class="s" cx="100" cy="156" rx="60" ry="6"/><path class="l" d="M100 104L48 76m52 28l52-28m-52 28l-46 28m46-28l46 28" style="stroke-width:8"/><ellipse class="m" cx="48" cy="72" rx="30" ry="6"/><ellipse class="m" cx="152" cy="72" rx="30" ry="6"/><ellipse class="m" cx="52" cy="134" rx="30" ry="6"/><ellipse class="m" cx="148" cy="134" rx="30" ry="6"/><rect class="a" x="72" y="84" width="56" height="40" rx="16"/><circle class="k" cx="100" cy="118" r="11"/>"#,
    ),
    (
        &["camera"],
        r#"<ellipse class="s" cx="100" cy="160" rx="64" ry="6"/><path class="b" d="M76 52h44l8 18H68z"/><rect class="a" x="32" y="66" width="136" height="88" rx="10"/><path class="k" d="M32 92h136v36H32z" opacity=".55"/><circle class="k" cx="104" cy="110" r="34"/><circle class="m" cx="104" cy="110" r="24"/><circle class="k" cx="104" cy="110" r="15"/><circle class="w" cx="98" cy="104" r="4"/><rect class="w" x="44" y="74" width="18" height="10" rx="3"/>"#,
    ),
    (
        &["projector"],
        r##"<ellipse class="s" cx="100" cy="150" rx="72" ry="6"/><rect class="a" x="30" y="74" width="140" height="64" rx="12"/><circle class="k" cx="132" cy="106" r="24"/><circle class="m" cx="132" cy="106" r="13"/><path d="M46 92h44M46 106h44M46 120h44" stroke="#000" opacity=".3" stroke-width="5" stroke-linecap="round"/><path class="k" d="M46 138h14v8H46zM140 138h14v8h-14z"/>"##,
    ),
    (
        &["keyboard"],
        r##"<ellipse class="s" cx="100" cy="146" rx="82" ry="6"/><rect class="a" x="20" y="70" width="160" height="68" rx="9"/><path d="M30 86h140M30 104h140M30 122h22m96 0h22" stroke="#fff" opacity=".85" stroke-width="11" stroke-dasharray="11 5"/><path d="M62 122h76" stroke="#fff" opacity=".85" stroke-width="11"/>"##,
    ),
    (
        &["mice", "mouse"],
        r#"<ellipse class="s" cx="100" cy="166" rx="42" ry="7"/><path class="a" d="M60 92a40 52 0 0180 0v32a40 40 0 01-80 0z"/><path class="b" d="M60 92a40 52 0 0140-52v56H60z"/><rect class="k" x="95" y="62" width="10" height="24" rx="5"/>"#,
    ),
    (
        &["router", "network"],
        r#"<ellipse class="s" cx="100" cy="154" rx="70" ry="6"/><path class="l" d="M52 112V52m96 60V52M84 112V64m32 48V64" style="stroke-width:7"/><rect class="a" x="30" y="106" width="140" height="40" rx="12"/><circle class="w" cx="56" cy="126" r="4"/><circle class="w" cx="72" cy="126" r="4"/><circle class="w" cx="88" cy="126" r="4"/>"#,
    ),
    (
        &["fan"],
        r#"<rect class="a" x="36" y="36" width="128" height="128" rx="12"/><circle class="k" cx="100" cy="100" r="56"/><path class="c" d="M100 100c-4-30 4-48 26-46 10 20-6 38-26 46zm0 0c30-4 48 4 46 26-20 10-38-6-46-26zm0 0c4 30-4 48-26 46-10-20 6-38 26-46zm0 0c-30 4-48-4-46-26 20-10 38 6 46 26z"/><circle class="m" cx="100" cy="100" r="13"/>"#,
    ),
    (
        &["power-suppl"],
        r##"<ellipse class="s" cx="100" cy="158" rx="64" ry="6"/><rect class="a" x="36" y="50" width="128" height="102" rx="6"/><circle class="k" cx="88" cy="101" r="40"/><path d="M88 61v80M48 101h80M60 73l56 56M116 73l-56 56" stroke="#fff" opacity=".2" stroke-width="3"/><rect class="k" x="138" y="68" width="16" height="22" rx="3"/><rect class="w" x="141" y="108" width="10" height="16" rx="2"/>"##,
    ),
    (
        &["solid-state", "component"],
        r##"<ellipse class="s" cx="100" cy="150" rx="70" ry="6"/><rect class="a" x="28" y="62" width="144" height="80" rx="5"/><rect class="k" x="44" y="78" width="40" height="48" rx="3"/><rect class="k" x="94" y="78" width="40" height="48" rx="3"/><path d="M150 70v64" stroke="#d8b24a" stroke-width="8" stroke-dasharray="5 3"/>"##,
    ),
    (
        &["washing", "laundry"],
        r##"<ellipse class="s" cx="100" cy="172" rx="60" ry="6"/><rect class="w" x="44" y="28" width="112" height="142" rx="7"/><path class="a" d="M44 35q0-7 7-7h98q7 0 7 7v19H44z"/><circle class="m" cx="100" cy="110" r="42"/><circle class="k" cx="100" cy="110" r="32"/><path d="M70 112q15-10 30 0t30 0a30 30 0 01-60 0z" fill="#7fb3d6" opacity=".7"/><circle class="w" cx="140" cy="41" r="6"/>"##,
    ),
    (
        &["vacuum", "cleaning"],
        r#"<ellipse class="s" cx="100" cy="168" rx="56" ry="6"/><path class="l" d="M138 34l-52 104" style="stroke-width:8"/><rect class="a" x="98" y="58" width="36" height="62" rx="14" transform="rotate(26 116 89)"/><path class="b" d="M56 142h60l8 22H46z"/><circle class="m" cx="116" cy="90" r="9"/>"#,
    ),
    (
        &["purifier"],
        r##"<ellipse class="s" cx="100" cy="170" rx="46" ry="6"/><rect class="a" x="58" y="34" width="84" height="134" rx="20"/><ellipse class="k" cx="100" cy="46" rx="32" ry="8"/><path d="M72 84h56M72 98h56M72 112h56M72 126h56M72 140h56" stroke="#000" opacity=".25" stroke-width="5" stroke-linecap="round"/>"##,
    ),
    (
        &["kettle", "household"],
        r#"<ellipse class="s" cx="96" cy="166" rx="50" ry="6"/><path class="a" d="M66 60h60l14 100H52z"/><path class="b" d="M62 76l-24-8 16 44z"/><path class="o" d="M130 72c34 0 36 60 8 68" style="stroke:#2c2e31"/><path class="k" d="M70 60q26-16 52 0z"/><circle class="k" cx="96" cy="46" r="6"/>"#,
    ),
    (
        &["coffee-maker", "espresso"],
        r##"<ellipse class="s" cx="100" cy="168" rx="58" ry="6"/><path class="a" d="M48 40h104v36h-66v62h66v26H48z"/><path class="k" d="M104 76h30v12h-30z"/><path class="w" d="M102 108h34l-5 30h-24z"/><path d="M119 88v14" stroke="#6b4630" stroke-width="4"/><circle class="m" cx="66" cy="58" r="7"/>"##,
    ),
    (
        &["blender"],
        r##"<ellipse class="s" cx="100" cy="170" rx="42" ry="6"/><path class="m" d="M62 42h76l-12 78H74z" opacity=".55"/><path d="M68 82h64l-6 38H74z" fill="#c98a9a"/><rect class="k" x="58" y="34" width="84" height="10" rx="4"/><path class="a" d="M72 120h56l10 46H62z"/><circle class="w" cx="100" cy="144" r="8"/>"##,
    ),
    (
        &["t-shirt", "tops"],
        r#"<path class="a" d="M76 44q24 20 48 0l40 22-16 34-20-8v70H72V92l-20 8-16-34z"/><path class="b" d="M76 44q24 20 48 0l7 4q-31 28-62 0z"/>"#,
    ),
    (
        &["shirt"],
        r##"<path class="a" d="M78 40l22 12 22-12 36 20 8 88h-26l-6-40v52H66v-52l-6 40H34l8-88z"/><path class="c" d="M78 40l22 12-14 16zM122 40l-22 12 14 16z"/><path d="M100 56v104" stroke="#000" opacity=".2" stroke-width="2"/><g fill="#000" opacity=".3"><circle cx="100" cy="80" r="2.5"/><circle cx="100" cy="104" r="2.5"/><circle cx="100" cy="128" r="2.5"/></g>"##,
    ),
    (
        &["knit"],
        r##"<path class="a" d="M78 42q22 14 44 0l34 18 14 92h-26l-12-44v54H68v-54l-12 44H30l14-92z"/><path d="M68 92h64M68 106h64M68 120h64M68 134h64M68 148h64" stroke="#000" opacity=".14" stroke-width="4" stroke-dasharray="6 4"/><path class="b" d="M78 42q22 14 44 0l5 6q-27 20-54 0zM68 154h64v8H68z"/>"##,
    ),
    (
        &["jacket", "rainwear", "clothing"],
        r##"<path class="a" d="M76 38h48l36 24 10 90h-26l-10-40v52H66v-52l-10 40H30l10-90z"/><path class="b" d="M76 38l24 24 24-24 6 6-30 40-30-40z"/><path d="M100 70v94" stroke="#000" opacity=".35" stroke-width="3"/><path d="M76 122h14m20 0h14" stroke="#000" opacity=".3" stroke-width="4" stroke-linecap="round"/>"##,
    ),
    (
        &["dress"],
        r#"<path class="a" d="M80 34l8 20h24l8-20 8 4-2 38-10 14 30 74H54l30-74-10-14-2-38z"/><path class="b" d="M84 90h32l4 8H80z"/>"#,
    ),
    (
        &["trouser"],
        r##"<path class="a" d="M66 34h68l8 132h-30l-12-88-12 88H58z"/><path class="b" d="M66 34h68l1 12H65z"/><path d="M100 46v28" stroke="#000" opacity=".25" stroke-width="2"/>"##,
    ),
    (
        &["scarf", "scarves"],
        r##"<path class="a" d="M60 60c0-28 80-28 80 0s-18 32-22 36l8 62h-28l-6-56c-20-2-32-18-32-42z"/><path class="b" d="M74 62c6-14 46-14 52 0s-46 22-52 0z"/><path d="M96 158v10m8-10v10m8-10v10m8-10v10" class="o" style="stroke-width:3"/><path d="M96 128l28-2M97 138l28-2" stroke="#fff" opacity=".6" stroke-width="4"/>"##,
    ),
    (
        &["hat", "glove", "accessor"],
        r##"<path class="a" d="M48 120a52 62 0 01104 0z"/><rect class="b" x="40" y="114" width="120" height="30" rx="13"/><circle class="c" cx="100" cy="52" r="15"/><path d="M56 118v22m16-22v22m16-22v22m16-22v22m16-22v22m16-22v22" stroke="#000" opacity=".16" stroke-width="4"/>"##,
    ),
    (
        &["boot"],
        r##"<ellipse class="s" cx="104" cy="164" rx="66" ry="6"/><path class="a" d="M60 40h50l4 62 44 20q12 6 12 28H56z"/><path class="k" d="M54 150h118v12H54z"/><path d="M84 64h26m-26 16h28m-26 16h28" stroke="#fff" opacity=".85" stroke-width="4" stroke-linecap="round"/>"##,
    ),
    (
        &["shoe", "sneaker"],
        r##"<ellipse class="s" cx="100" cy="150" rx="80" ry="6"/><path class="a" d="M28 80q20 10 36-8l54 34q20 8 44 12 14 4 14 24H28z"/><path class="w" d="M24 132h154v6q0 10-10 10H34q-10 0-10-10z"/><path d="M82 88l-10 14m24-6l-10 14m24-5l-9 13" stroke="#fff" stroke-width="4" stroke-linecap="round"/>"##,
    ),
    (
        &["sofa", "living"],
        r#"<ellipse class="s" cx="100" cy="156" rx="82" ry="6"/><rect class="b" x="40" y="64" width="120" height="62" rx="14"/><rect class="c" x="44" y="100" width="56" height="30" rx="7"/><rect class="c" x="100" y="100" width="56" height="30" rx="7"/><rect class="a" x="22" y="88" width="28" height="54" rx="12"/><rect class="a" x="150" y="88" width="28" height="54" rx="12"/><rect class="a" x="40" y="126" width="120" height="18"/><path class="k" d="M34 142h8v12h-8zM158 142h8v12h-8z"/>"#,
    ),
    (
        &["chair"],
        r#"<ellipse class="s" cx="100" cy="176" rx="48" ry="5"/><rect class="a" x="66" y="26" width="68" height="74" rx="16"/><rect class="b" x="58" y="104" width="84" height="20" rx="10"/><path class="l" d="M100 124v28m0 0l-38 18m38-18l38 18m-38-18v20M50 86v26h12m88-26v26h-12" style="stroke-width:6"/>"#,
    ),
    (
        &["desk", "table", "study", "dining", "furniture"],
        r#"<ellipse class="s" cx="100" cy="160" rx="78" ry="5"/><rect class="a" x="22" y="74" width="156" height="14" rx="4"/><path class="b" d="M34 88h12l-4 70h-8zM154 88h12v70h-8z"/><rect class="b" x="104" y="88" width="52" height="26"/><path class="w" d="M122 98h16v5h-16z"/>"#,
    ),
    (
        &["shel"],
        r#"<rect class="a" x="44" y="28" width="112" height="140" rx="4"/><path class="g" d="M54 38h92v34H54zM54 82h92v34H54zM54 126h92v34H54z"/><path class="b" d="M60 46h8v26h-8zM70 50h8v22h-8zM80 44h8v28h-8zM110 90h10v26h-10zM122 94h10v22h-10z"/><circle class="c" cx="76" cy="147" r="13"/>"#,
    ),
    (
        &["bed"],
        r#"<ellipse class="s" cx="100" cy="158" rx="80" ry="5"/><rect class="b" x="26" y="52" width="148" height="60" rx="10"/><rect class="w" x="34" y="92" width="132" height="40" rx="8"/><rect class="c" x="44" y="80" width="48" height="26" rx="9"/><rect class="c" x="108" y="80" width="48" height="26" rx="9"/><path class="a" d="M26 116h148v32H26z"/><path class="k" d="M32 148h9v9h-9zM159 148h9v9h-9z"/>"#,
    ),
    (
        &["bike", "cycl", "bicycle"],
        r#"<circle class="l" cx="54" cy="128" r="34" style="stroke-width:6"/><circle class="l" cx="146" cy="128" r="34" style="stroke-width:6"/><path class="o" d="M54 128l28-58h46l18 58M82 70l16 58h-44m44 0l34-58" style="stroke-width:7"/><path class="l" d="M70 62h24m26-6h16l-6 14" style="stroke-width:6"/><circle class="k" cx="98" cy="128" r="8"/>"#,
    ),
    (
        &["tent", "camping", "outdoor"],
        r#"<ellipse class="s" cx="100" cy="156" rx="84" ry="6"/><path class="a" d="M100 44l80 108H20z"/><path class="b" d="M100 44l-80 108h44z"/><path class="k" d="M100 86l26 66H74z" opacity=".75"/><path class="l" d="M100 44l-6-12m6 12l6-12" style="stroke-width:3"/>"#,
    ),
    (
        &["sleeping"],
        r##"<ellipse class="s" cx="100" cy="158" rx="66" ry="6"/><path class="a" d="M66 40a34 30 0 0168 0l8 92q0 24-42 24t-42-24z"/><path class="c" d="M74 52a26 24 0 0152 0v20H74z"/><ellipse class="w" cx="100" cy="60" rx="20" ry="15"/><path d="M62 92h76M60 112h80M60 132h80" stroke="#000" opacity=".18" stroke-width="3"/>"##,
    ),
    (
        &["stove"],
        r##"<ellipse class="s" cx="100" cy="164" rx="46" ry="6"/><path class="l" d="M62 96h76M74 96l8 20m44-20l-8 20" style="stroke-width:6"/><path d="M88 90q-6-18 12-34-2 14 8 18t4 16z" fill="#e08b3e"/><path class="m" d="M86 112h28v16H86z"/><rect class="a" x="70" y="126" width="60" height="38" rx="12"/>"##,
    ),
    (
        &["guitar"],
        r##"<path class="m" d="M94 20h12v70H94z"/><path class="k" d="M90 14h20v22H90z"/><path class="a" d="M100 78c22 0 30 14 26 28s6 16 10 28c4 24-14 40-36 40s-40-16-36-40c4-12 14-14 10-28s4-28 26-28z"/><circle class="k" cx="100" cy="116" r="13"/><rect class="k" x="82" y="146" width="36" height="7" rx="3"/><path d="M97 30v118m6-118v118" stroke="#fff" opacity=".6"/>"##,
    ),
    (
        &["piano", "keys", "music"],
        r##"<ellipse class="s" cx="100" cy="154" rx="84" ry="6"/><rect class="a" x="16" y="62" width="168" height="84" rx="7"/><rect class="w" x="26" y="86" width="148" height="52"/><path d="M47 86v52m21-52v52m21-52v52m21-52v52m21-52v52m21-52v52" stroke="#777" stroke-width="2"/><path class="k" d="M41 86h12v32H41zM62 86h12v32H62zM104 86h12v32h-12zM125 86h12v32h-12zM146 86h12v32h-12z"/>"##,
    ),
    (
        &["drum", "percussion"],
        r##"<ellipse class="s" cx="100" cy="160" rx="60" ry="6"/><path class="a" d="M40 78h120v60a60 20 0 01-120 0z"/><path d="M46 90l24 54m14-50l10 60m40-64l-18 62m38-68l-4 44" stroke="#fff" opacity=".35" stroke-width="4"/><ellipse class="w" cx="100" cy="78" rx="60" ry="20"/><path class="l" d="M118 70l44-42m-60 40L72 24" style="stroke:#a77b4f;stroke-width:5"/>"##,
    ),
    (
        &["succulent"],
        r##"<path d="M100 120c-36-8-44-36-44-36 26-4 42 16 44 36zm0 0c36-8 44-36 44-36-26-4-42 16-44 36zm0 0c-18-30-8-62 0-70 8 8 18 40 0 70z" fill="#6d9a6b"/><path d="M100 120c-24-24-30-46-30-46 22 6 30 26 30 46zm0 0c24-24 30-46 30-46-22 6-30 26-30 46z" fill="#87b083"/><path class="a" d="M66 118h68l-8 46H74z"/><path class="b" d="M62 112h76v12H62z"/>"##,
    ),
    (
        &["plant", "perennial", "garden"],
        r##"<path d="M100 122C60 116 50 84 54 62c28 4 46 26 46 60zm0 0c40-6 50-42 44-66-28 4-44 30-44 66zm0 0c-10-44-4-72 4-88 16 20 12 58-4 88z" fill="#5c8f62"/><path d="M100 122c-10-44-4-72 4-88M100 122C86 90 72 74 54 62m46 60c10-34 26-54 44-66" fill="none" stroke="#3f6b48" stroke-width="3"/><path class="a" d="M66 120h68l-8 46H74z"/><path class="b" d="M62 114h76v12H62z"/>"##,
    ),
    (
        &["coffee", "tea", "cereal", "pasta", "pantry"],
        r##"<ellipse class="s" cx="100" cy="168" rx="46" ry="6"/><path class="a" d="M62 46h76l4 120H58z"/><path class="b" d="M60 36h80v18H60z"/><circle class="w" cx="100" cy="104" r="28"/><path d="M90 96c10-14 24-4 18 8s-24 18-22 2" fill="#7a5a3f"/><path class="w" d="M76 144h48v6H76z" opacity=".8"/>"##,
    ),
    (
        &["chocolate", "praline", "sweets", "biscuit", "snack", "nuts"],
        r##"<ellipse class="s" cx="100" cy="162" rx="54" ry="6"/><path d="M58 30h84v66H58z" fill="#5e3f2e"/><path d="M86 30v62m28-62v62M58 52h84M58 74h84" stroke="#4a3022" stroke-width="3"/><path class="a" d="M50 78l10-7 10 7 10-7 10 7 10-7 10 7 10-7 10 7 10-7 10 7v80H50z"/><rect class="w" x="66" y="104" width="68" height="28" rx="4"/>"##,
    ),
    (
        &["honey", "spread"],
        r##"<ellipse class="s" cx="100" cy="164" rx="46" ry="6"/><path d="M60 66h80q10 12 10 26v54q0 16-16 16H66q-16 0-16-16V92q0-14 10-26z" fill="#d99b3a"/><rect class="a" x="58" y="44" width="84" height="22" rx="6"/><rect class="w" x="58" y="94" width="84" height="44" rx="4"/><circle class="a" cx="100" cy="116" r="12"/>"##,
    ),
    (
        &["juice", "soft-drink", "olive", "beer", "cider", "drink"],
        r#"<ellipse class="s" cx="100" cy="170" rx="34" ry="5"/><path class="a" d="M88 30h24v34c18 10 20 22 20 36v54q0 12-12 12H80q-12 0-12-12v-54c0-14 2-26 20-36z"/><rect class="b" x="86" y="22" width="28" height="12" rx="3"/><rect class="w" x="68" y="104" width="64" height="40"/><path class="a" d="M100 110l12 26H88z"/>"#,
    ),
    (
        &["grocery", "food"],
        r##"<ellipse class="s" cx="100" cy="164" rx="56" ry="6"/><path d="M70 62c-10-30 6-36 10-30l6 30zm30 0c-2-36 20-40 22-30l-8 34z" fill="#6d9a6b"/><path d="M110 66c4-26 34-26 32-12l-18 22z" fill="#d9843f"/><path class="a" d="M46 72h108l-10 90H56z"/><path class="b" d="M46 72h108l-2 16H48z"/><path class="l" d="M78 76v24m44-24v24" style="stroke-width:5"/>"##,
    ),
    (
        &[
            "film",
            "movie",
            "comedy",
            "drama",
            "thriller",
            "animation",
            "document",
        ],
        r##"<ellipse class="s" cx="100" cy="162" rx="66" ry="6"/><rect class="a" x="36" y="78" width="128" height="78" rx="6"/><path class="k" d="M34 66l122-32 6 20-122 32z"/><path d="M52 62l20 14m12-22l20 14m12-22l20 14" stroke="#fff" stroke-width="9"/><path class="w" d="M88 98l34 19-34 19z"/>"##,
    ),
    (
        &[
            "book", "fiction", "crime", "histor", "cook", "travel", "nature", "literary",
        ],
        r##"<ellipse class="s" cx="102" cy="168" rx="52" ry="6"/><path class="b" d="M60 30h82q6 0 6 6v128H66q-14 0-14-14V44q0-14 8-14z"/><path class="w" d="M64 144h80v14H66q-8 0-8-7t6-7z"/><path class="a" d="M66 28h80v116H66z"/><path class="b" d="M58 34q0-6 8-6v116q-8 0-8 8z"/><path d="M84 58h44M84 72h30" stroke="#fff" opacity=".9" stroke-width="6" stroke-linecap="round"/><circle class="c" cx="106" cy="110" r="17"/>"##,
    ),
    (
        &[
            "set",
            "bundle",
            "home-office",
            "breakfast",
            "supper",
            "free-time",
            "reading",
            "outdoors",
        ],
        r#"<ellipse class="s" cx="100" cy="164" rx="62" ry="6"/><rect class="a" x="42" y="84" width="116" height="76" rx="5"/><rect class="b" x="36" y="68" width="128" height="24" rx="5"/><path class="w" d="M91 68h18v92H91z"/><path class="o" d="M100 66c-34-4-40-34-22-34 14 0 22 20 22 34zm0 0c34-4 40-34 22-34-14 0-22 20-22 34z" style="stroke:#fbfaf7;stroke-width:7"/>"#,
    ),
    (
        &["electronics"],
        r#"<ellipse class="s" cx="100" cy="160" rx="66" ry="6"/><rect class="b" x="34" y="46" width="100" height="74" rx="7"/><rect class="k" x="40" y="52" width="88" height="58" rx="3"/><path class="m" d="M76 120h16v24H76z"/><rect class="m" x="58" y="142" width="52" height="7" rx="3"/><rect class="a" x="122" y="74" width="48" height="82" rx="9"/><rect class="k" x="126" y="79" width="40" height="70" rx="5"/>"#,
    ),
];
