//! Numbers rounded to significant decimal digits.
//!
//! The results are those of the standard library's exact formatting. One answer with facets rounds hundreds of numbers,
//! and scaling a number to a whole one is many times faster than formatting it.

/// The powers of ten that are exact as floats.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];
/// The maximum whole number that is scaled to. Up to this, the middle between two whole numbers is a float.
const MAX_SCALED: f64 = 1e15;

/// Numbers with more digits before the decimal point are shown with an exponent.
const MAX_MAGNITUDE: f64 = 21.0;

/// Rounds to twelve significant digits, which removes the noise of conversions.
#[must_use]
pub fn round_to_twelve_digits(n: f64) -> f64 {
    round_to_digits::<12>(n)
}

/// Rounds to so many significant digits, from one to twelve.
pub(crate) fn round_to_digits<const DIGITS: u8>(n: f64) -> f64 {
    let magnitude = n.abs().log10().floor();
    if !magnitude.is_finite() {
        return n;
    }
    #[expect(clippy::cast_possible_truncation, reason = "between -324 and 308")]
    let decimals = i32::from(DIGITS) - 1 - magnitude as i32;
    let Some(whole) = scaled(n, decimals) else {
        let rounded = format!("{n:.*e}", usize::from(DIGITS) - 1);
        return rounded.parse().unwrap_or(n);
    };
    // One operation on two exact numbers: the result is the nearest float.
    if decimals < 0 {
        whole * POWERS[decimals.unsigned_abs() as usize]
    } else {
        whole / POWERS[decimals.unsigned_abs() as usize]
    }
}

/// Returns a number as shown to people: six significant digits, or all digits before the decimal point if these are more, and
/// no trailing zeros behind it. From 1e21 on, and below 1e-6, all digits with an exponent.
#[must_use]
pub fn format_number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor();
    if !(-6.0..MAX_MAGNITUDE).contains(&magnitude) {
        return format!("{value:e}");
    }
    if magnitude >= 15.0 {
        // The shortest digits that are this number, then zeros.
        return format!("{}", value.round());
    }
    #[expect(clippy::cast_possible_truncation, reason = "between -6 and 15")]
    let decimals = (5 - magnitude as i32).max(0);
    match scaled(value, decimals) {
        Some(whole) => in_decimals(whole, decimals),
        None => trimmed(&format!("{value:.*}", decimals.unsigned_abs() as usize)).to_owned(),
    }
}

/// Returns `n` times ten to the power of `decimals`, rounded to a whole number; `None` if it may lie in the middle between
/// two.
fn scaled(n: f64, decimals: i32) -> Option<f64> {
    let power = POWERS.get(decimals.unsigned_abs() as usize)?;
    let unrounded = if decimals < 0 { n / power } else { n * power };
    let whole = unrounded.round();
    // One operation on exact numbers keeps their order: its error moves no number past the middle, only onto it.
    let is_certain = (unrounded - whole).abs() < 0.5;
    (whole.abs() <= MAX_SCALED && is_certain).then_some(whole)
}

/// Writes a whole number divided by ten to the power of `decimals`.
fn in_decimals(whole: f64, decimals: i32) -> String {
    let places = decimals.unsigned_abs() as usize;
    #[expect(clippy::cast_possible_truncation, reason = "at most 1e15")]
    let mut text = format!("{:0width$}", whole.abs() as i64, width = places + 1);
    if places > 0 {
        text.insert(text.len() - places, '.');
    }
    if whole < 0.0 {
        text.insert(0, '-');
    }
    text.truncate(trimmed(&text).len());
    text
}

/// Returns a number without trailing zeros behind its decimal point.
fn trimmed(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Any float; numbers with few digits; conversions; powers of ten; and numbers in the middle between two with six or twelve
    /// digits, or next to it.
    fn number() -> impl Strategy<Value = f64> {
        let short = (-2_000_000_i64..2_000_000, -14_i32..18).prop_map(|(whole, exponent)| {
            #[expect(clippy::cast_precision_loss, reason = "a small number")]
            let whole = whole as f64;
            whole * 10_f64.powi(exponent)
        });
        let converted = (-100_000_i32..100_000, 0.001..1_000.0)
            .prop_map(|(tenths, factor)| f64::from(tenths) / 10.0 * factor);
        let near_power = (-13_i32..16, -3_i32..4).prop_map(|(exponent, steps)| {
            10_f64.powi(exponent) * f64::from(steps).mul_add(f64::EPSILON, 1.0)
        });
        let middle = |digits: u32| {
            let first = 10_i64.pow(digits - 1);
            let places = (first..10 * first, -24_i32..8, -1_i8..2, any::<bool>());
            places.prop_map(move |(whole, exponent, step, is_negative)| {
                let middle: f64 = format!("{whole}.5e{exponent}").parse().unwrap();
                let moved = match step {
                    -1 => middle.next_down(),
                    0 => middle,
                    _ => middle.next_up(),
                };
                if is_negative { -moved } else { moved }
            })
        };
        prop_oneof![
            any::<f64>(),
            short,
            converted,
            near_power,
            middle(6),
            middle(12)
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn digits_are_those_of_exact_formatting(n in number()) {
            let twelve: f64 = format!("{n:.11e}").parse().unwrap_or(n);
            prop_assert_eq!(round_to_twelve_digits(n).to_bits(), twelve.to_bits(), "{:e}", n);
            let four: f64 = format!("{n:.3e}").parse().unwrap_or(n);
            prop_assert_eq!(round_to_digits::<4>(n).to_bits(), four.to_bits(), "{:e}", n);
        }

        #[test]
        fn texts_are_those_of_exact_formatting(n in number()) {
            let magnitude = n.abs().log10().floor();
            if n != 0.0 && (-6.0..15.0).contains(&magnitude) {
                #[expect(clippy::cast_possible_truncation, reason = "between -6 and 15")]
                let decimals = usize::try_from(5 - magnitude as i64).unwrap_or(0);
                let expected = format!("{n:.decimals$}");
                prop_assert_eq!(format_number(n), trimmed(&expected), "{:e}", n);
            }
        }
    }

    #[test]
    fn numbers_are_rounded_for_people() {
        let shown = [
            (68.58, "68.58"),
            (0.1 + 0.2, "0.3"),
            (1e6, "1000000"),
            (999_999.7, "1000000"),
            (7_516.025_57, "7516.03"),
            (-0.000_001_5, "-0.0000015"),
            (2.5e14, "250000000000000"),
            (1e15, "1000000000000000"),
            (1.5e15, "1500000000000000"),
            (-1_234_567_890_123_456.0, "-1234567890123456"),
            (4_503_599_627_370_495.5, "4503599627370496"),
            (9_007_199_254_740_991.0, "9007199254740991"),
            (1e20, "100000000000000000000"),
            (1e21, "1e21"),
            (1e-7, "1e-7"),
            (-0.0, "0"),
            (f64::NAN, "0"),
        ];
        for (number, text) in shown {
            assert_eq!(format_number(number), text);
        }
    }

    #[test]
    fn noise_of_conversions_is_removed() {
        let rounded = [
            (27.0 + 1e-14, 27.0),
            (0.1 + 0.2, 0.3),
            (-1e9 / 3.0, -333_333_333.333),
            (0.0, 0.0),
            (f64::INFINITY, f64::INFINITY),
        ];
        for (number, expected) in rounded {
            let found = round_to_twelve_digits(number);
            assert_eq!(found.to_bits(), f64::to_bits(expected), "{number}");
        }
    }
}
