//! Numbers and money as text. `ui/shared/format.js` writes the same.

use serde_json::Value;

/// Writes a whole number with a comma after every third digit.
pub(crate) fn count(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if number < 0 {
        text.push('-');
    }
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Writes an amount of money, given as `Money`; empty if it is null.
pub(crate) fn money(price: &Value) -> String {
    let (Some(amount), Some(currency)) = (price["amount"].as_str(), price["currency"].as_str())
    else {
        return String::new();
    };
    let (whole, part) = amount.split_once('.').unwrap_or((amount, ""));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), count);
    let point = if part.is_empty() { "" } else { "." };
    match symbol(currency) {
        Some(symbol) => format!("{symbol}{whole}{point}{part}"),
        None => format!("{currency} {whole}{point}{part}"),
    }
}

fn symbol(currency: &str) -> Option<&'static str> {
    match currency {
        "EUR" => Some("€"),
        "USD" => Some("$"),
        "GBP" => Some("£"),
        "JPY" => Some("¥"),
        _ => None,
    }
}

/// Writes an average rating with one digit after the point.
pub(crate) fn average(average: f64) -> String {
    format!("{average:.1}")
}

/// The number of half stars that are filled: 0 to 10.
pub(crate) fn half_stars(average: f64) -> usize {
    (1..=10)
        .filter(|half| average * 2.0 + 0.5 >= f64::from(*half))
        .count()
}

/// Writes the day of a time; empty if there is none.
pub(crate) fn day(time: &Value) -> String {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let text = time.as_str().unwrap_or_default();
    let mut parts = text.split(['-', 'T']);
    let (year, month, day) = (parts.next(), parts.next(), parts.next());
    let month = month.and_then(|month| month.parse::<usize>().ok());
    let month = month.and_then(|month| MONTHS.get(month.checked_sub(1)?));
    match (year, month, day.and_then(|day| day.parse::<u8>().ok())) {
        (Some(year), Some(month), Some(day)) => format!("{day} {month} {year}"),
        _ => String::new(),
    }
}

/// Writes a number with its noun, given in the singular: `1 product`, `1,204 products`.
pub(crate) fn plural(number: i64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", count(number))
}

/// Writes a total as far as it is known, with its noun: `more than 10,000 products`, `about 300 reviews`.
pub(crate) fn total(total: &Value, noun: &str) -> String {
    let number = plural(total["value"].as_i64().unwrap_or_default(), noun);
    match total["relation"].as_str() {
        Some("AT_LEAST") => format!("more than {number}"),
        Some("ESTIMATE") => format!("about {number}"),
        _ => number,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_and_money_are_grouped() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(-1_000), "-1,000");
        let price = json!({ "amount": "1299.00", "currency": "EUR" });
        assert_eq!(money(&price), "€1,299.00");
        assert_eq!(money(&json!({ "amount": "5", "currency": "CHF" })), "CHF 5");
        assert_eq!(money(&Value::Null), "");
    }

    #[test]
    fn stars_are_rounded_to_halves() {
        for (average, halves) in [(0.0, 0), (4.74, 9), (4.76, 10), (3.25, 7), (5.0, 10)] {
            assert_eq!(half_stars(average), halves, "{average}");
        }
    }

    #[test]
    fn days_and_totals_are_for_people() {
        assert_eq!(day(&json!("2026-05-03T12:00:00Z")), "3 May 2026");
        assert_eq!(day(&Value::Null), "");
        for (value, relation, expected) in [
            (10_000, "AT_LEAST", "more than 10,000 products"),
            (300, "ESTIMATE", "about 300 products"),
            (12, "EXACT", "12 products"),
            (1, "EXACT", "1 product"),
            (0, "EXACT", "0 products"),
        ] {
            let known = json!({ "value": value, "relation": relation });
            assert_eq!(total(&known, "product"), expected);
        }
    }
}
