//! Mistakes in mappings and rows: each one is reported and affects nothing else.

use serde_json::json;

use super::*;

fn attributes(on_bad: &str) -> String {
    format!(
        "rules = [{{ path = \"attr\", cut_at = \",\", split = [\"size={{size}}\", \"color={{color}}\"], \
         on_bad = \"{on_bad}\" }}]"
    )
}

#[test]
fn an_item_that_fits_no_pattern_costs_only_itself() {
    for (on_bad, dropped, ignored) in [("drop_value", 1, 0), ("ignore", 0, 1)] {
        let mapping = specs_with(&format!(
            "exclude = [\"id\", \"name\"]\n{}",
            attributes(on_bad)
        ));
        let row = json!({"id": 1, "name": "Lamp", "attr": "size=XS,x=1,color=Red"});
        let (draft, problems) = product(&mapping, &row);
        let specs: Vec<String> = draft.unwrap().specs.iter().map(shown).collect();
        assert_eq!(specs, ["size='XS'", "color='Red'"], "{on_bad}");
        assert_eq!(
            (problems.dropped.len(), problems.ignored.len()),
            (dropped, ignored)
        );
        let mut bad = problems.dropped.iter().chain(&problems.ignored);
        assert_eq!(
            bad.next().unwrap().reason,
            "\"x=1\" does not match the pattern of the mapping"
        );
    }
    let refused = specs(&attributes("reject_line"), json!({"attr": "size=XS,x=1"}));
    assert_eq!(refused.unwrap_err().len(), 1);
}

/// Settings of specs that can do nothing, with a part of the reason.
const IDLE_SETTINGS: [(&str, &str); 15] = [
    (
        "units = { \"dims.*\" = \"cm\" }",
        "wildcards only in rows, include, exclude and the paths of rules",
    ),
    (
        "rename = { \"a[0]\" = \"a\" }",
        "a rule for \"a\" with list = \"first\"",
    ),
    (
        "rules = [{ path = \"res[0]\", key = \"x\" }]",
        "a rule for \"res\" with list = \"first\"",
    ),
    (
        "rules = [{ path = \"a\", category = \"Lamp\" }]",
        "without product.specs.category",
    ),
    (
        "rename_in = { Lamp = { a = \"b\" } }",
        "without product.specs.category",
    ),
    ("units = { a = \"furlong\" }", "`vitrine units` lists"),
    (
        "rules = [{ path = \"a\", then_cut_at = \"|\" }]",
        "cut_at cuts a whole text",
    ),
    (
        "rules = [{ path = \"a\", list = \"each\", separator = \"|\" }]",
        "list = \"join\", which no rule has",
    ),
    (
        "rules = [{ path = \"a\", unit_values = { MMT = \"mm\" } }]",
        "no rule has one of them",
    ),
    (
        "rules = [{ path = \"a\", key = \"b\", where_item = { b = 1 } }]",
        "`where` is one on the row",
    ),
    (
        "rules = [{ path = \"a\", unit = \"mm\", split = [\"{w} x {h} mm\", \"{w} x {h:cm} cm\"] }]",
        "rules[0].split: a pattern has cm beside its placeholders, and the values are read as mm; \
         {w:cm} reads a value as cm, {w:mm} as mm",
    ),
    (
        "rules = [{ path = \"a\", split = \"{w:furlong} x\" }]",
        "`vitrine units` lists",
    ),
    (
        "rules = [{ path = \"a\", split = \"{_:mm} x {w}\" }]",
        "{_} is thrown away",
    ),
    (
        "rules = [{ path = \"a\", split = \"{.key:mm}: {.}\" }]",
        "are texts without a unit",
    ),
    (
        "rules = [{ path = \"a\", split = \"{.key}\" }]",
        "need {.}, the value",
    ),
];

#[test]
fn settings_that_can_do_nothing_are_refused_with_what_can() {
    for (settings, reason) in IDLE_SETTINGS {
        let error = refusal(&specs_with(settings));
        assert!(error.contains(reason), "{settings}: {error}");
    }
}

#[test]
fn each_pattern_has_its_units() {
    let rule = |more: &str| {
        format!(
            "rules = [{{ path = \"size\", split = [\"{{w:cm}} x {{h:cm}} cm\", \"{{w}} x {{h}}\"], {more} }}]"
        )
    };
    let read = |more: &str, size: &str| specs(&rule(more), json!({ "size": size }));
    let mm = "unit = \"mm\"";
    assert_eq!(read(mm, "10 x 20 cm").unwrap(), ["w=10 cm", "h=20 cm"]);
    assert_eq!(read(mm, "100 x 200").unwrap(), ["w=100 mm", "h=200 mm"]);
    assert_eq!(
        read("type = \"quantity\"", "10 x 20 cm").unwrap(),
        ["w=10 cm", "h=20 cm"]
    );
    assert_eq!(
        read(mm, "1 m x 20 cm").unwrap(),
        ["w=1 m", "h=20 cm"],
        "a unit in the text"
    );
    let own = "rules = [{ path = \"size\", split = \"about {.:in} inch\", unit = \"mm\" }]";
    assert_eq!(
        specs(own, json!({"size": "about 3 inch"})).unwrap(),
        ["size=3 in"]
    );
    let field = refusal(&(with("") + "brand = { from = \"a\", split = \"{.:mm}\" }"));
    assert!(field.contains("only rules for specs have"), "{field}");
}

#[test]
fn a_unit_of_another_rule_that_a_pattern_throws_away_makes_bad_values() {
    let rules = "rules = [{ path = \"size\", split = \"{w} x {h} cm\" }, { path = \"size\", unit = \"mm\" }]";
    let bad = specs(rules, json!({"size": "1 x 2 cm"})).unwrap_err();
    assert!(
        bad[0].starts_with("size: split: a pattern has cm"),
        "{bad:?}"
    );
}

#[test]
fn a_template_is_made_of_the_items_that_are_meant() {
    let rule = |more: &str| {
        format!(
            "rules = [{{ path = \"slots\", key = \"slot\", template = \"{{n}} x {{gen}}\", \
             where_item = {{ used = false }}{more} }}]"
        )
    };
    let row = json!({"slots": [
        {"n": 1, "gen": "G4", "used": true}, {"n": 2, "gen": "G5", "used": false}, {"n": 3, "gen": "G3", "used": false},
    ]});
    let each = specs(&rule(""), row.clone()).unwrap();
    assert_eq!(each, ["slot='2 x G5'", "slot='3 x G3'"]);
    let joined = specs(&rule(", list = \"join\""), row).unwrap();
    assert_eq!(joined, ["slot='2 x G5, 3 x G3'"]);
}

#[test]
fn several_values_are_not_reduced_to_the_first_without_a_word() {
    let category = |setting: &str| {
        with("").replace(
            "category = { value = [\"Lamps\"] }",
            &format!("category = {setting}"),
        )
    };
    for setting in [
        "{ from = \"cat[]\" }",
        "\"cat[]\"",
        "{ from = \"cat[].name\", separator = \">\" }",
    ] {
        let error = refusal(&category(setting));
        assert!(error.contains("pick = \"first\" or \"deepest\""), "{error}");
    }
    let brand = refusal(&(with("") + "brand = \"makers[].name\""));
    assert!(brand.contains("list = \"first\""), "{brand}");
    let name = refusal(&with("").replace("\"name\"", "{ template = \"{tags[]}\" }"));
    assert!(name.contains("list = \"join\""), "{name}");
    let row = json!({"id": 1, "name": "Lamp", "cat": ["Light", "Lamps"]});
    let (draft, _) = product(&category("{ levels = [\"cat[]\"] }"), &row);
    assert_eq!(draft.unwrap().category, ["Light", "Lamps"]);
    let (draft, _) = product(&category("{ from = \"cat[]\", pick = \"first\" }"), &row);
    assert_eq!(draft.unwrap().category, ["Light"]);
}

#[test]
fn the_default_of_a_category_holds_for_unknown_and_foreign_words() {
    let table = with("").replace(
        "{ value = [\"Lamps\"] }",
        "{ from = \"c\", table = { L = [\"Lamps\"] }, default = [\"Unsorted\"] }",
    );
    for (word, name) in [
        (json!("L"), "Lamps"),
        (json!("X"), "Unsorted"),
        (json!(null), "Unsorted"),
    ] {
        let (draft, _) = product(&table, &json!({"id": 1, "name": "Lamp", "c": word}));
        assert_eq!(draft.unwrap().category, [name]);
    }
}

#[test]
fn control_characters_do_not_stay_in_names() {
    let (draft, _) = product(
        &with(""),
        &json!({"id": 1, "name": "Tarn\u{99} Lamp\u{85}1\u{200b}"}),
    );
    assert_eq!(draft.unwrap().name.as_deref(), Some("Tarn Lamp 1\u{200b}"));
}

#[test]
fn wrong_types_are_named() {
    let error = refusal(&with("notice = [\"a\"]"));
    assert_eq!(error, "notice: must be text, not a list");
    assert_eq!(
        refusal(&with("notice = 1")),
        "notice: must be text, not a number"
    );
}

#[test]
fn a_check_reports_every_mistake() {
    let text = r#"
        version = 2
        system = "my shop"
        notise = "x"
        [defaults]
        unknwon = ["-"]
        [product]
        external_id = "id"
        name = { from = "a..b" }
        kind = { value = "lamp" }
        brand = { from = "maker", spelings = ["X"], clean = "lots" }
        price = { amount = "price" }
        [[product.media]]
        alt = "a"
        [product.specs]
        units = { "dims.*" = "cm", "size.w" = "furlong", ok = "mm" }
        rename = { "a.b" = "Not A Key" }
        unit_file = "gone.csv"
        [[product.specs.rules]]
        path = "a"
        unit = "cubits"
        [[product.specs.rules]]
        key = "b"
        "#;
    let mistakes = check::mistakes(text, &mut |name| {
        Err(MappingError::setting(name, "is not here"))
    });
    let mut paths: Vec<String> = mistakes
        .iter()
        .map(|mistake| mistake.to_string().split(": ").next().unwrap().to_owned())
        .collect();
    paths.sort();
    assert_eq!(
        paths,
        [
            "defaults.unknwon",
            "notise",
            "product.brand.clean",
            "product.brand.spelings",
            "product.media[0].url",
            "product.name.from",
            "product.price.currency",
            "product.specs.rename.\"a.b\"",
            "product.specs.rules[0].unit",
            "product.specs.rules[1].path",
            "product.specs.unit_file",
            "product.specs.units.\"dims.*\"",
            "product.specs.units.\"size.w\"",
            "system",
            "version",
        ],
        "{mistakes:#?}"
    );
    assert!(check::mistakes(&with(""), &mut |_| unreachable!()).is_empty());
}

#[test]
fn a_check_reads_each_file_once() {
    let text = format!(
        "{}color = \"x\"\nbrand = {{ fro = \"a\" }}\n[product.specs]\ncategory = \"c\"\n\
         unit_file = \"units.csv\"\nrename = {{ a = \"Not A Key\" }}\n\
         [join.j]\nfile = \"makers.csv\"\nkey = \"code\"\nfrom = \"id\"\nsize = 1\n",
        with("")
    );
    let mut read = Vec::new();
    let mistakes = check::mistakes(&text, &mut |name| {
        read.push(name.to_owned());
        Ok(match name {
            "units.csv" => b"category,path,unit\nlamp,glow,lm\n".to_vec(),
            _ => b"code,name\nT,Tarn\n".to_vec(),
        })
    });
    assert_eq!(mistakes.len(), 4, "{mistakes:#?}");
    read.sort();
    assert_eq!(read, ["makers.csv", "units.csv"]);
}
