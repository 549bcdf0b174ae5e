//! Splitting a text with several values.

/// Splits a text at a separator. A separator of n blanks matches n or more characters of white
/// space; any other one, such as a line break, matches itself.
pub(super) fn pieces<'t>(text: &'t str, separator: &str) -> Vec<&'t str> {
    if !separator.is_empty() && separator.chars().all(|c| c == ' ') {
        return between_gaps(text.trim(), separator.chars().count());
    }
    let pieces = text.split(separator).map(str::trim);
    pieces.filter(|piece| !piece.is_empty()).collect()
}

fn between_gaps(text: &str, min_length: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut rest) = (0, text);
    while let Some(at) = rest.find(char::is_whitespace) {
        let gap = &rest[at..];
        let after = gap.trim_start();
        let here = text.len() - gap.len();
        if gap.len() > after.len() && gap[..gap.len() - after.len()].chars().count() >= min_length {
            pieces.push(&text[start..here]);
            start = text.len() - after.len();
        }
        rest = after;
    }
    pieces.push(&text[start..]);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_is_split_at_gaps_and_separators() {
        assert_eq!(
            pieces("2 x HDMI    \t 1 x  VGA \u{a0}", "  "),
            ["2 x HDMI", "1 x", "VGA"]
        );
        assert_eq!(pieces("60fps, 30fps,", ","), ["60fps", "30fps"]);
        assert_eq!(
            pieces("Stainless Steel\r\nNylon\n", "\n"),
            ["Stainless Steel", "Nylon"]
        );
        assert_eq!(pieces("a b\tc\n", "\t"), ["a b", "c"]);
        assert_eq!(pieces("one", "  "), ["one"]);
        assert!(pieces("  ", "  ").is_empty());
    }

    proptest! {
        #[test]
        fn no_piece_is_lost(words in proptest::collection::vec("[a-z]{1,4}( [a-z]{1,4})?", 1..5)) {
            let text = words.join("   ");
            prop_assert_eq!(pieces(&text, "  "), words.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }
}
