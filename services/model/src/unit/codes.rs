//! Codes of UN/ECE Recommendation 20 for the built-in units.
//!
//! Feeds of industry write units by these codes. Shoppers do not, so no search and no filter knows
//! them. Codes that are the spelling of another unit are left out, because the spelling wins: `PS`
//! and `HP` (horsepower here), `DB` (decibel), `KW`, `KJ`, `LM`.

/// `(code, symbol)`, in the order of the units.
pub(super) const CODES: &[(&str, &str)] = &[
    ("MMT", "mm"),
    ("C45", "nm"),
    ("4H", "µm"),
    ("CMT", "cm"),
    ("DMT", "dm"),
    ("MTR", "m"),
    ("KMT", "km"),
    ("INH", "in"),
    ("FOT", "ft"),
    ("YRD", "yd"),
    ("SMI", "mi"),
    ("GRM", "g"),
    ("MC", "µg"),
    ("MGM", "mg"),
    ("KGM", "kg"),
    ("TNE", "t"),
    ("ONZ", "oz"),
    ("LBR", "lb"),
    ("GRN", "grain"),
    ("MLT", "ml"),
    ("CMQ", "ml"),
    ("4G", "µl"),
    ("CLT", "cl"),
    ("DLT", "dl"),
    ("LTR", "l"),
    ("DMQ", "l"),
    ("HLT", "hl"),
    ("MMQ", "mm³"),
    ("MTQ", "m³"),
    ("INQ", "in³"),
    ("FTQ", "ft³"),
    ("OZA", "fl oz"),
    ("G21", "cup"),
    ("GLL", "gal"),
    ("MMK", "mm²"),
    ("CMK", "cm²"),
    ("DMK", "dm²"),
    ("MTK", "m²"),
    ("INK", "in²"),
    ("FTK", "ft²"),
    ("HAR", "ha"),
    ("KMK", "km²"),
    ("SEC", "s"),
    ("C26", "ms"),
    ("B98", "µs"),
    ("C47", "ns"),
    ("MIN", "min"),
    ("HUR", "h"),
    ("DAY", "d"),
    ("WEE", "wk"),
    ("MON", "mo"),
    ("ANN", "yr"),
    ("HTZ", "Hz"),
    ("KHZ", "kHz"),
    ("MHZ", "MHz"),
    ("A86", "GHz"),
    ("D29", "THz"),
    ("RPM", "RPM"),
    ("M46", "RPM"),
    ("AD", "B"),
    ("A99", "bit"),
    ("2P", "kB"),
    ("4L", "MB"),
    ("E34", "GB"),
    ("E35", "TB"),
    ("E36", "PB"),
    ("C37", "kbit"),
    ("D36", "Mbit"),
    ("B68", "Gbit"),
    ("E83", "Tbit"),
    ("E64", "KiB"),
    ("E63", "MiB"),
    ("E62", "GiB"),
    ("E61", "TiB"),
    ("B10", "bit/s"),
    ("C74", "kbit/s"),
    ("E20", "Mbit/s"),
    ("B80", "Gbit/s"),
    ("E84", "Tbit/s"),
    ("E68", "GB/s"),
    ("WTT", "W"),
    ("D80", "µW"),
    ("C31", "mW"),
    ("KWT", "kW"),
    ("MAW", "MW"),
    ("A90", "GW"),
    ("BHP", "hp"),
    ("N12", "PS"),
    ("D46", "VA"),
    ("KVA", "kVA"),
    ("MVA", "MVA"),
    ("JOU", "J"),
    ("C15", "mJ"),
    ("KJO", "kJ"),
    ("3B", "MJ"),
    // The kilocalorie of food, which is written in this code whatever its definition.
    ("E14", "kcal"),
    ("K53", "kcal"),
    ("WHR", "Wh"),
    ("KWH", "kWh"),
    ("MWH", "MWh"),
    ("VLT", "V"),
    ("2G", "V"),
    ("2H", "V"),
    ("D82", "µV"),
    ("2Z", "mV"),
    ("KVT", "kV"),
    ("AMP", "A"),
    ("B84", "µA"),
    ("4K", "mA"),
    ("B22", "kA"),
    ("E09", "mAh"),
    ("AMH", "Ah"),
    ("OHM", "Ω"),
    ("E45", "mΩ"),
    ("B49", "kΩ"),
    ("B75", "MΩ"),
    ("4O", "µF"),
    ("4T", "pF"),
    ("C41", "nF"),
    ("C10", "mF"),
    ("FAR", "F"),
    ("C14", "mH"),
    ("C43", "nH"),
    ("B90", "µH"),
    ("81", "H"),
    ("NEW", "N"),
    ("C20", "mN"),
    ("B47", "kN"),
    ("NU", "Nm"),
    ("D83", "mNm"),
    ("F88", "Ncm"),
    ("B48", "kNm"),
    ("CEL", "°C"),
    ("KEL", "K"),
    ("FAH", "°F"),
    ("PAL", "Pa"),
    ("74", "mPa"),
    ("A97", "hPa"),
    ("MBR", "hPa"),
    ("KPA", "kPa"),
    ("MPA", "MPa"),
    ("BAR", "bar"),
    ("MQH", "m³/h"),
    ("2L", "CFM"),
    ("E32", "l/h"),
    ("L2", "l/min"),
    ("G51", "l/s"),
    ("2N", "dB"),
    ("A24", "nit"),
    ("LUX", "lx"),
    ("KLX", "klx"),
    ("LUM", "lm"),
    ("DD", "°"),
    ("C81", "rad"),
    ("E37", "px"),
    ("E38", "MP"),
    ("E39", "DPI"),
    ("P1", "%"),
    ("NX", "‰"),
    ("KMH", "km/h"),
    ("MTS", "m/s"),
    ("HM", "mph"),
    ("GM", "g/m²"),
    ("28", "kg/m²"),
    ("WA", "W/kg"),
    ("C62", "pcs"),
    ("H87", "pcs"),
    ("EA", "pcs"),
    ("PCE", "pcs"),
    ("NAR", "pcs"),
    ("PR", "pair"),
    ("DZN", "dozen"),
];

/// The symbol of the unit with this code, which is written in capitals.
pub(super) fn symbol(code: &str) -> Option<&'static str> {
    let found = CODES.iter().find(|(known, _)| *known == code);
    found.map(|(_, symbol)| *symbol)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::unit::{Unit, UnitTable};

    #[test]
    fn every_code_finds_its_unit_in_feeds_and_none_otherwise_says_something_else() {
        let table = UnitTable::built_in();
        let codes: HashSet<&str> = CODES.iter().map(|(code, _)| *code).collect();
        assert_eq!(codes.len(), CODES.len(), "each code stands once");
        for (code, symbol) in CODES {
            let found = table.find_in_feed(code).map(|unit| unit.id.as_str());
            assert_eq!(found, Some(*symbol), "{code}");
            let spelled = table.find(code).map(|unit| unit.id.as_str());
            assert!(
                spelled.is_none_or(|id| id == *symbol),
                "{code} is a spelling of {spelled:?}"
            );
        }
    }

    #[test]
    fn codes_are_no_spellings_and_spellings_win() {
        let table = UnitTable::built_in();
        for code in [
            "MMT", "KGM", "LTR ", "2N", "DD", "81", "C62", "P1", "CEL", "NEW",
        ] {
            assert!(table.find_in_feed(code).is_some(), "{code}");
        }
        for code in ["MMT", "KGM", "2N", "DD", "81", "C62", "P1", "NEW", "AD"] {
            assert_eq!(table.find(code), None, "{code}");
        }
        let in_feed = |spelling: &str| table.find_in_feed(spelling).map(|unit| unit.id.as_str());
        for (spelling, expected) in [
            ("mm", "mm"),
            ("PS", "PS"),
            ("DB", "dB"),
            ("KB", "kB"),
            ("LM", "lm"),
            ("MAH", "mAh"),
        ] {
            assert_eq!(in_feed(spelling), Some(expected), "{spelling}");
        }
        assert_eq!(
            (in_feed("mmt"), in_feed("MV"), in_feed("XXX")),
            (None, None, None)
        );
        assert!(table.get_in_feed("MWH").is_ok() && table.get("MWH").is_err());
    }

    #[test]
    fn a_code_does_not_find_the_unit_by_which_a_shop_replaces_it() {
        let pound = Unit {
            id: "lb".to_owned(),
            dimension: "mass".to_owned(),
            factor: 500.0,
            offset: 0.0,
            ucum: None,
            aliases: Vec::new(),
        };
        let table = UnitTable::with_defined(vec![pound]);
        assert_eq!(
            (
                table.find_in_feed("LBR"),
                table.find_in_feed("KGM").is_some()
            ),
            (None, true)
        );
    }
}
