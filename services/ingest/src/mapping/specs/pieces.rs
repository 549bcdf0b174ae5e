//! Several values in one text.

/// The pieces of a text. Two blanks stand for any two or more characters of white space.
pub(super) fn pieces<'t>(text: &'t str, sign: &'t str) -> Vec<&'t str> {
    if sign.trim().is_empty() && !sign.is_empty() {
        return between_gaps(text.trim(), sign.chars().count());
    }
    let pieces = text.split(sign).map(str::trim);
    pieces.filter(|piece| !piece.is_empty()).collect()
}

fn between_gaps(text: &str, least: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut rest) = (0, text);
    while let Some(at) = rest.find(char::is_whitespace) {
        let gap = &rest[at..];
        let after = gap.trim_start();
        let here = text.len() - gap.len();
        if gap.len() > after.len() && gap[..gap.len() - after.len()].chars().count() >= least {
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
    fn text_is_cut_at_gaps_and_signs() {
        assert_eq!(
            pieces("2 x HDMI    \t 1 x  VGA \u{a0}", "  "),
            ["2 x HDMI", "1 x", "VGA"]
        );
        assert_eq!(pieces("60fps, 30fps,", ","), ["60fps", "30fps"]);
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
