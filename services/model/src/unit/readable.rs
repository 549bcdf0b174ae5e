//! Numbers in the unit in which they are shortest.

use super::{Unit, UnitTable, case};
use crate::significant::{format_number, round_to_twelve_digits};

impl UnitTable {
    /// A number of a unit as people would write it: 10,000,000 mW as 10 kW.
    ///
    /// A number below 10,000, and from 0.001 on, stays as it is. Another one is converted to the unit
    /// with another decimal prefix in which it has the fewest digits, if those are fewer.
    #[must_use]
    pub fn readable<'t>(&'t self, value: f64, unit: &'t Unit) -> (f64, &'t Unit) {
        let same = (value, unit);
        if value == 0.0 || (0.001..10_000.0).contains(&value.abs()) {
            return same;
        }
        let digits = |number: f64| format_number(number).len();
        let others = self.other_prefixes(unit).map(|other| {
            let converted = round_to_twelve_digits(other.from_base(unit.to_base(value)));
            (converted, other)
        });
        let shortest = others.min_by_key(|(converted, _)| digits(*converted));
        shortest
            .filter(|(converted, _)| digits(*converted) < digits(value))
            .unwrap_or(same)
    }

    /// The units that differ from one by a prefix of thousands: m and km, but not cm, from mm.
    fn other_prefixes<'t>(&'t self, unit: &'t Unit) -> impl Iterator<Item = &'t Unit> {
        let symbol = case::unified(&unit.id);
        self.units.iter().filter(move |other| {
            let written = case::unified(&other.id);
            let stem = case::without_prefix(&written);
            let thousands = ((other.factor / unit.factor).log10() / 3.0).abs();
            other.dimension == unit.dimension
                && stem.is_some_and(|stem| case::without_prefix(&symbol) == Some(stem))
                && thousands > 0.5
                && (thousands - thousands.round()).abs() < 1e-9
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readable(value: f64, unit: &str) -> String {
        let table = UnitTable::built_in();
        let (value, unit) = table.readable(value, table.get(unit).unwrap());
        crate::spec::display_quantity(value, &unit.id)
    }

    #[test]
    fn long_numbers_are_shown_with_another_prefix() {
        for (value, unit, shown) in [
            (10_000_000.0, "mW", "10 kW"),
            (2_500_000.0, "W", "2.5 MW"),
            (25_000.0, "g", "25 kg"),
            (10_000.0, "mm", "10 m"),
            (100_000.0, "ml", "100 l"),
            (1e12, "B", "1 TB"),
            (0.000_5, "W", "500 µW"),
            (0.000_000_1, "mF", "100 pF"),
            (-20_000.0, "V", "-20 kV"),
            // Not shorter, not long, or without prefixes.
            (16_384.0, "MB", "16384 MB"),
            (9_999.0, "mm", "9999 mm"),
            (0.0, "W", "0 W"),
            (20_000.0, "RPM", "20000 RPM"),
            (20_000.0, "lb", "20000 lb"),
            (20_000.0, "cm", "20000 cm"),
        ] {
            assert_eq!(readable(value, unit), shown, "{value} {unit}");
        }
    }
}
