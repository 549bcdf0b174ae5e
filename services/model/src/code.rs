//! Article numbers, and ids that other systems have given.

use crate::product::MAX_SKU_BYTES;
use crate::text::{is_visible, is_zero_width};

/// Why a text is not an article number or an id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCode {
    /// A control character.
    #[error("holds the control character U+{:04X} at byte {at}; none are possible", u32::from(*.character))]
    Control {
        /// The character.
        character: char,
        /// Where it is.
        at: usize,
    },
    /// A character without a width: two numbers would look the same.
    #[error("holds the invisible character U+{:04X} at byte {at}; remove it", u32::from(*.character))]
    Invisible {
        /// The character.
        character: char,
        /// Where it is.
        at: usize,
    },
    /// It is empty or too long.
    #[error("{0} bytes; 1 to {MAX_SKU_BYTES} with a visible character are possible")]
    Length(usize),
    /// A spreadsheet has taken it for a number.
    #[error(
        "{0:?} is what a spreadsheet makes of a long number, whose digits are lost; format the column as \
         text and export it again"
    )]
    Spoilt(String),
}

/// Checks an id that another system has given, such as that of an author.
///
/// # Errors
/// [`InvalidCode::Control`], [`InvalidCode::Invisible`] or [`InvalidCode::Length`].
pub fn check_id(id: &str) -> Result<(), InvalidCode> {
    if let Some((at, character)) = id.char_indices().find(|(_, c)| c.is_control()) {
        return Err(InvalidCode::Control { character, at });
    }
    if !(1..=MAX_SKU_BYTES).contains(&id.len()) || !is_visible(id) {
        return Err(InvalidCode::Length(id.len()));
    }
    if let Some((at, character)) = id.char_indices().find(|(_, c)| is_zero_width(*c)) {
        return Err(InvalidCode::Invisible { character, at });
    }
    Ok(())
}

/// Checks the number of a product: its stock-keeping unit, or its id in another system.
///
/// # Errors
/// [`InvalidCode`].
pub fn check_article_number(number: &str) -> Result<(), InvalidCode> {
    check_id(number)?;
    if is_spoilt(number) {
        return Err(InvalidCode::Spoilt(number.to_owned()));
    }
    Ok(())
}

/// Whether a text is what spreadsheets write in place of a number: `4.00638E+12` for 4006381333931,
/// `########` in a column that is too narrow, `#N/A` for an error.
fn is_spoilt(number: &str) -> bool {
    let is_scientific = || {
        let (digits, exponent) = number.split_once(['E', 'e'])?;
        let exponent = exponent.strip_prefix('+')?;
        let (whole, decimals) = digits.split_once(['.', ',']).unwrap_or((digits, "0"));
        Some(whole.len() == 1 && are_digits(whole) && are_digits(decimals) && are_digits(exponent))
    };
    is_scientific() == Some(true) || is_too_narrow(number) || ERRORS.contains(&number)
}

/// The errors that a cell of a spreadsheet shows.
const ERRORS: [&str; 9] = [
    "#N/A", "#REF!", "#VALUE!", "#NAME?", "#DIV/0!", "#NUM!", "#NULL!", "#SPILL!", "#CALC!",
];

fn is_too_narrow(number: &str) -> bool {
    number.len() >= 3 && number.bytes().all(|byte| byte == b'#')
}

fn are_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_any_visible_text() {
        for number in [
            "ABC-1",
            "abc-1",
            "012345678905",
            "1E5",
            "5E10",
            "1.5E10",
            "E+12",
            "A1E+5",
            "12E+3",
            "4.00638E-12",
            "#1",
            "Größe 42",
            "漢字-7",
            "a/b c.d",
            "§",
            "##",
            "N/A",
            "X+1",
        ] {
            assert_eq!(check_article_number(number), Ok(()), "{number}");
        }
    }

    #[test]
    fn what_cannot_be_seen_is_refused() {
        for character in [
            '\u{200b}', '\u{200d}', '\u{200f}', '\u{2060}', '\u{feff}', '\u{ad}', '\u{202e}',
            '\u{2067}',
        ] {
            let expected = Err(InvalidCode::Invisible { character, at: 5 });
            assert_eq!(check_id(&format!("ABC-1{character}")), expected);
        }
        assert_eq!(
            check_id("a\tb"),
            Err(InvalidCode::Control {
                character: '\t',
                at: 1
            })
        );
        assert_eq!(check_id(""), Err(InvalidCode::Length(0)));
        assert_eq!(check_id("\u{3164}"), Err(InvalidCode::Length(3)));
        assert_eq!(check_id(&"x".repeat(129)), Err(InvalidCode::Length(129)));
        assert_eq!(check_id(&"x".repeat(128)), Ok(()));
        let reason = check_id("ABC-1\u{200b}").unwrap_err().to_string();
        assert_eq!(
            reason,
            "holds the invisible character U+200B at byte 5; remove it"
        );
    }

    #[test]
    fn numbers_that_a_spreadsheet_has_spoilt_are_refused() {
        for number in [
            "4.00638E+12",
            "4,00638E+12",
            "4E+12",
            "1.2e+05",
            "########",
            "#N/A",
            "#REF!",
        ] {
            let spoilt = Err(InvalidCode::Spoilt(number.to_owned()));
            assert_eq!(check_article_number(number), spoilt);
            assert_eq!(check_id(number), Ok(()), "{number}");
        }
        let reason = check_article_number("4.00638E+12").unwrap_err().to_string();
        assert_eq!(
            reason,
            "\"4.00638E+12\" is what a spreadsheet makes of a long number, whose digits are lost; format the \
             column as text and export it again"
        );
    }
}
