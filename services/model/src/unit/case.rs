//! When the case of a spelling decides which unit it means.
//!
//! `MW` is no `mW`, and `Nm` no `nm`. A text whose case is not the one of a known spelling may still
//! be read, such as `KG` or `Inches`, unless one of these says otherwise:
//!
//! 1. It is, as written, the symbol of another unit: one of the SI or of trade with a prefix
//!    (`MV`, `Mm`, `kB/s`), one without (`H`, `G`), or a prefix alone (`k`, `M`).
//! 2. It mixes small and capital letters, and its first letter is another prefix than that of the
//!    unit: `Mv` is no `mV`. In texts of one case, such as `MM` and `mhz`, the case says nothing.
//!
//! Texts that could mean two units of the table are read as neither; the table sees to that.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;

/// The prefixes that are used in trade, with `u` for `µ`. Smaller and larger ones would make peta-amperes
/// of `PA` and petateslas of `PT`.
const PREFIXES: [&str; 12] = ["p", "n", "u", "m", "c", "d", "da", "h", "k", "M", "G", "T"];

/// Symbols that take any of these prefixes: those of the SI, and of units used with it.
const PREFIXED: [&str; 33] = [
    "m", "g", "s", "A", "K", "mol", "cd", "Hz", "N", "Pa", "J", "W", "C", "V", "F", "Ω", "S", "Wb",
    "T", "H", "lm", "lx", "Bq", "Gy", "Sv", "kat", "rad", "sr", "l", "bar", "eV", "Wh", "Ah",
];
/// The same of products that are written as one word.
const PRODUCTS: [&str; 3] = ["VA", "var", "Nm"];

/// Amounts of information have no small prefixes, and larger ones.
const INFORMATION: [&str; 3] = ["B", "b", "bit"];
const INFORMATION_PREFIXES: [&str; 7] = ["k", "K", "M", "G", "T", "P", "E"];

/// All letters that are a prefix, which alone are no unit.
const PREFIXES_ALONE: &str = "qryzafpnumcdhkMGTPEZYRQ";

/// Other symbols that could be taken for a unit in another case: those of gauss, molar, dioptre, poise,
/// nautical mile, newton second, knot, the microfarad as it was once written, and marks of sizes and
/// tests.
const OTHERS: [&str; 20] = [
    "G", "uG", "mG", "kG", "M", "pM", "nM", "uM", "mM", "D", "P", "cP", "mP", "NM", "Ns", "kn",
    "mf", "da", "US", "UL",
];

/// The spelling with compatibility forms unified and without accents, in its own case: `²` as `2`,
/// `℃` as `°C`, `µ` as `u`.
pub(super) fn unified(spelling: &str) -> String {
    if spelling.is_ascii() {
        return spelling.to_owned();
    }
    let stripped = crate::text::without_accents(spelling);
    stripped.nfkc().collect::<String>().replace('μ', "u")
}

/// Whether a unified text is, as written, the symbol of a unit, or a prefix.
pub(super) fn is_symbol(written: &str) -> bool {
    let mut letters = written.chars();
    let alone =
        matches!((letters.next(), letters.next()), (Some(c), None) if PREFIXES_ALONE.contains(c));
    alone || OTHERS.contains(&written) || bare(written) || prefix(written).is_some()
}

/// Whether a text that is read as this spelling contradicts it by its case.
pub(super) fn contradicts(written: &str, spelling: &str) -> bool {
    let head = factor(written);
    let is_compound = head != written && prefix(head).is_some();
    if is_compound && small_kilo(head) != small_kilo(factor(spelling)) {
        return true;
    }
    mixes_cases(written) && first_letter_is_another_prefix(written, spelling)
}

fn first_letter_is_another_prefix(written: &str, spelling: &str) -> bool {
    // The litre has two symbols. Only the small one is in the list, so that ML is no megalitre.
    let symbol = factor(spelling).replace('L', "l");
    let Some(prefix) = prefix(&symbol).filter(|prefix| prefix.len() == 1) else {
        return false;
    };
    !written.starts_with(prefix) && written.starts_with(|c| PREFIXES_ALONE.contains(c))
}

/// The first factor of a quotient or power: `kB` of `kB/s`, `mm` of `mm2`.
fn factor(symbol: &str) -> &str {
    let head = symbol.split(['/', '·', '*', ' ']).next();
    head.unwrap_or(symbol)
        .trim_end_matches(|c: char| c.is_ascii_digit())
}

fn bare(symbol: &str) -> bool {
    PREFIXED.contains(&symbol) || PRODUCTS.contains(&symbol) || INFORMATION.contains(&symbol)
}

/// The prefix of a symbol that has one.
fn prefix(symbol: &str) -> Option<&'static str> {
    let of = |prefixes: &[&'static str], symbols: &[&str]| {
        let mut prefixes = prefixes.iter().copied();
        prefixes.find(|prefix| {
            let rest = symbol.strip_prefix(prefix);
            rest.is_some_and(|rest| symbols.contains(&rest))
        })
    };
    of(&PREFIXES, &PREFIXED)
        .or_else(|| of(&PREFIXES, &PRODUCTS))
        .or_else(|| of(&INFORMATION_PREFIXES, &INFORMATION))
}

/// The symbol without its prefix: `g` of `kg`, and `g` itself; `None` if it takes none.
pub(super) fn without_prefix(symbol: &str) -> Option<&str> {
    let prefix = prefix(symbol);
    let rest = prefix.and_then(|prefix| symbol.strip_prefix(prefix));
    rest.or_else(|| bare(symbol).then_some(symbol))
}

fn mixes_cases(text: &str) -> bool {
    text.contains(char::is_lowercase) && text.contains(char::is_uppercase)
}

/// A text that begins with a capital K, which is no prefix, with the `k` that it stands for: `kbps`
/// for `Kbps`. Only of texts that mix cases: `KN` has no case.
pub(super) fn with_small_kilo(written: &str) -> Option<String> {
    (written.starts_with('K') && mixes_cases(written)).then(|| small_kilo(written).into_owned())
}

fn small_kilo(written: &str) -> Cow<'_, str> {
    match written.strip_prefix('K') {
        Some(rest) => Cow::Owned(format!("k{rest}")),
        None => Cow::Borrowed(written),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Unit, UnitTable};
    use super::*;

    fn id<'t>(table: &'t UnitTable, spelling: &str) -> Option<&'t str> {
        table.find(spelling).map(|unit| unit.id.as_str())
    }

    /// Every symbol, with every prefix and without one.
    fn symbols() -> Vec<String> {
        let with = |prefixes: &[&str], symbols: &[&str]| -> Vec<String> {
            let of = |symbol: &&str| {
                prefixes
                    .iter()
                    .map(|prefix| format!("{prefix}{symbol}"))
                    .collect()
            };
            symbols
                .iter()
                .flat_map(|symbol| -> Vec<String> { of(symbol) })
                .collect()
        };
        let mut all = with(&PREFIXES, &PREFIXED);
        all.extend(with(&PREFIXES, &PRODUCTS));
        all.extend(with(&INFORMATION_PREFIXES, &INFORMATION));
        let alone = PREFIXED.iter().chain(&PRODUCTS).chain(&OTHERS);
        all.extend(alone.map(|symbol| (*symbol).to_owned()));
        all.extend(PREFIXES_ALONE.chars().map(String::from));
        all
    }

    /// Whether the unit is written so, but for a small `k` and for what follows its first factor: km/H.
    fn is_written_so(unit: &Unit, written: &str) -> bool {
        let small = |text: &str| text.replacen('K', "k", 1);
        let same =
            |spelling: &str| small(factor(&unified(spelling))) == small(factor(&unified(written)));
        unit.spellings().any(|spelling| same(spelling))
    }

    /// Whether the unit is written so but for the case of letters behind the first one: `Mw` for `MW`.
    fn begins_with_its_prefix(unit: &Unit, written: &str) -> bool {
        let same = |spelling: &str| {
            spelling.chars().next() == written.chars().next()
                && spelling.to_lowercase() == written.to_lowercase()
        };
        mixes_cases(written) && unit.spellings().any(|spelling| same(spelling))
    }

    /// The spelling in capitals, in small letters, and with one capital at its beginning.
    fn in_other_cases(spelling: &str) -> [String; 4] {
        let capital = |rest: &str| {
            let first = spelling
                .chars()
                .next()
                .into_iter()
                .flat_map(char::to_uppercase);
            first.chain(rest.chars()).collect::<String>()
        };
        let rest: String = spelling.chars().skip(1).collect();
        [
            spelling.to_uppercase(),
            spelling.to_lowercase(),
            capital(&rest),
            capital(&rest.to_lowercase()),
        ]
    }

    #[test]
    fn no_symbol_with_a_prefix_is_read_as_a_unit_that_is_written_otherwise() {
        let table = UnitTable::built_in();
        for symbol in symbols() {
            for written in [
                symbol.clone(),
                format!("{symbol}/s"),
                format!("{symbol}²"),
                format!("{symbol}3"),
            ] {
                // What has no prefix has a power or a time only of the unit that is meant: M/S is m/s.
                let compound = written != symbol;
                if compound && prefix(&symbol).is_none() {
                    continue;
                }
                if let Some(unit) = table.find(&written) {
                    assert!(
                        is_written_so(unit, &written),
                        "{written} is read as {}",
                        unit.id
                    );
                }
            }
        }
    }

    #[test]
    fn another_case_of_a_spelling_finds_its_unit_or_one_that_is_written_so() {
        let table = UnitTable::built_in();
        for unit in table.units() {
            for other in unit
                .spellings()
                .flat_map(|spelling| in_other_cases(spelling))
            {
                let Some(found) = table.find(&other) else {
                    continue;
                };
                let right = found.id == unit.id
                    || is_written_so(found, &other)
                    || begins_with_its_prefix(found, &other);
                assert!(right, "{other}, of {}, is read as {}", unit.id, found.id);
            }
        }
    }

    #[test]
    fn no_milli_unit_is_found_by_mega_in_a_text_of_mixed_case() {
        let table = UnitTable::built_in();
        for (unit, spelling) in table
            .units()
            .iter()
            .flat_map(|unit| unit.spellings().map(move |s| (unit, s)))
        {
            let other = match prefix(factor(spelling)) {
                Some("m") => spelling.replacen('m', "M", 1),
                Some("M") => spelling.replacen('M', "m", 1),
                Some("p") => spelling.replacen('p', "P", 1),
                Some("P") => spelling.replacen('P', "p", 1),
                _ => continue,
            };
            if !mixes_cases(&other) {
                continue;
            }
            let found = table.find(&other);
            assert!(
                found.is_none_or(|found| found.id != unit.id),
                "{other} is read as {}",
                unit.id
            );
        }
    }

    #[test]
    fn case_decides_where_it_makes_another_unit() {
        let table = UnitTable::built_in();
        for (written, expected) in [
            ("MW", "MW"),
            ("mW", "mW"),
            ("Mw", "MW"),
            ("Nm", "Nm"),
            ("nm", "nm"),
            ("N m", "Nm"),
            ("N·m", "Nm"),
            ("PS", "PS"),
            ("Cal", "kcal"),
            ("cal", "cal"),
            ("Pa", "Pa"),
            ("Mpa", "MPa"),
            ("H", "H"),
            ("h", "h"),
            ("F", "F"),
            ("Gb", "Gbit"),
            ("GB", "GB"),
            ("MOhm", "MΩ"),
            ("mohm", "mΩ"),
            ("kB/s", "kB/s"),
            ("kb/s", "kbit/s"),
            ("Kbps", "kbit/s"),
            ("MWh", "MWh"),
            ("mWh", "mWh"),
            ("Mwh", "MWh"),
            ("MB/S", "MB/s"),
            ("Kb/s", "kbit/s"),
        ] {
            assert_eq!(id(&table, written), Some(expected), "{written}");
        }
        for written in [
            "MV", "Mv", "MA", "Ma", "MS", "Ms", "mS", "Mm", "Ml", "Mg", "Mbar", "MF", "MH", "MN",
            "M", "G", "T", "S", "D", "k", "c", "n", "f", "b", "mw", "MWH", "mb", "gb", "tb", "kb",
            "Kb", "Tb/m", "pA", "ps", "nM", "mM", "uM", "NM", "nS", "uS", "kG", "mG", "MAh", "Mah",
            "US", "CAL", "Mm²", "Mm2", "kn", "MOHM", "mHz", "mHZ", "mB",
        ] {
            assert_eq!(id(&table, written), None, "{written}");
        }
    }

    #[test]
    fn case_is_forgiven_where_one_unit_can_be_meant() {
        let table = UnitTable::built_in();
        for (unit, spellings) in [
            ("mm", "MM"),
            ("in", "IN INCHES Inches"),
            ("kg", "KG Kg"),
            ("mg", "MG"),
            ("lb", "LBS Lbs"),
            ("ml", "ML"),
            ("pt", "PT Pt"),
            ("m²", "M² M2"),
            ("m³", "M3"),
            ("min", "MIN Min"),
            ("MHz", "MHZ Mhz mhz"),
            ("GHz", "GHZ ghz"),
            ("kbit", "KBIT"),
            ("MiB", "MIB"),
            ("kbit/s", "Kbit/S"),
            ("Mbit/s", "mbit/s"),
            ("V", "v"),
            ("mV", "mv"),
            ("mA", "ma"),
            ("mAh", "MAH mah"),
            ("W", "w"),
            ("kW", "KW kw"),
            ("kWh", "KWH Kwh kwh"),
            ("kcal", "KCAL"),
            ("hp", "HP"),
            ("kΩ", "KOHM KΩ"),
            ("µF", "UF"),
            ("kN", "KN"),
            ("Pa", "PA pa"),
            ("hPa", "HPA MBAR"),
            ("bar", "BAR"),
            ("dB", "DB db DBA"),
            ("lm", "LM"),
            ("RPM", "rpm"),
            ("m/s", "M/S"),
            ("km/h", "KM/H km/H"),
            ("l/min", "L/MIN"),
            ("g/m²", "G/M²"),
        ] {
            for written in spellings.split(' ') {
                assert_eq!(id(&table, written), Some(unit), "{written}");
            }
        }
    }

    #[test]
    fn a_refusal_names_the_units_that_only_case_tells_apart() {
        let table = UnitTable::built_in();
        let reason = |written: &str| table.get(written).unwrap_err().to_string();
        assert_eq!(
            reason("MV"),
            "there is no unit \"MV\", and case decides: it is not read as \"mV\""
        );
        let ambiguous =
            "there is no unit \"gb\", and case decides: it is not read as \"GB\" and \"Gbit\"";
        assert_eq!(reason("gb"), ambiguous);
        assert_eq!(reason("furlong"), "there is no unit \"furlong\"");
    }

    #[test]
    fn a_shop_can_define_a_unit_that_only_case_tells_apart() {
        let mut table = UnitTable::built_in();
        let megavolt = Unit {
            id: "MV".to_owned(),
            dimension: "voltage".to_owned(),
            factor: 1e6,
            offset: 0.0,
            ucum: None,
            aliases: Vec::new(),
        };
        table.define(megavolt.clone()).unwrap();
        assert_eq!(
            (id(&table, "MV"), id(&table, "mV")),
            (Some("MV"), Some("mV"))
        );
        assert_eq!(id(&table, "mv"), None, "it could be either");
        let again = UnitTable::with_defined(vec![megavolt.clone()]);
        assert_eq!(
            (again.units(), again.overridden_units()),
            (table.units(), &[][..])
        );
        let kilovolt = Unit {
            id: "KV".to_owned(),
            ..megavolt
        };
        assert!(table.define(kilovolt).is_err(), "KV is kV");
    }
}
