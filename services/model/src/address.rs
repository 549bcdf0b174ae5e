//! Addresses of pictures, videos and documents on the web.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use url::Url;

/// The maximum length of an address, in bytes.
pub const MAX_ADDRESS_BYTES: usize = 2048;

/// What RFC 3986 does not allow behind the host. Letters of other scripts are always encoded.
const ENCODED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'[')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Why a text is not an address on the web.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAddress {
    /// It begins otherwise.
    #[error("an address begins with https:// or http://")]
    Scheme,
    /// Nothing is between the scheme and the path.
    #[error(
        "names no host: an address is https:// and a host, such as https://shop.example/lamp.jpg"
    )]
    NoHost,
    /// The host or its port does not exist.
    #[error("has no valid host: {0}")]
    Host(url::ParseError),
    /// It has a user name or a password, which everyone could read.
    #[error("holds a user name or a password, which everybody could read; addresses are public")]
    Credentials,
    /// A character that no address has.
    #[error("holds {0:?}, which no address has; write it as {code}", code = encoded(*.0))]
    Character(char),
    /// A control character, or one that cannot be seen.
    #[error("holds the invisible character U+{:04X}; remove it", u32::from(*.0))]
    Invisible(char),
    /// It is too long.
    #[error("has {0} bytes, with what is percent-encoded; {MAX_ADDRESS_BYTES} are possible")]
    Length(usize),
}

fn encoded(c: char) -> String {
    utf8_percent_encode(
        c.encode_utf8(&mut [0; 4]),
        percent_encoding::NON_ALPHANUMERIC,
    )
    .to_string()
}

/// Reads an absolute address on the web, `https` or `http`.
///
/// What programs expect of addresses is made of it: a scheme in lower case, a host in ASCII
/// (`xn--mnchen-3ya.example` for `münchen.example`), and percent-encoded blanks and letters of other
/// scripts. All else stays as it is written.
///
/// # Errors
/// [`InvalidAddress`].
pub fn web_address(text: &str) -> Result<Cow<'_, str>, InvalidAddress> {
    let text = text.trim();
    check_characters(text)?;
    let (scheme, rest) = text.split_once("://").ok_or(InvalidAddress::Scheme)?;
    let scheme = ["https", "http"]
        .into_iter()
        .find(|known| scheme.eq_ignore_ascii_case(known))
        .ok_or(InvalidAddress::Scheme)?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = ascii_host(scheme, authority)?;
    let address = format!("{scheme}://{host}{}", encoded_path(path));
    if address.len() > MAX_ADDRESS_BYTES {
        return Err(InvalidAddress::Length(address.len()));
    }
    Ok(if address == text {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(address)
    })
}

fn check_characters(text: &str) -> Result<(), InvalidAddress> {
    for c in text.chars() {
        if c.is_control() || crate::text::is_zero_width(c) {
            return Err(InvalidAddress::Invisible(c));
        }
        if matches!(
            c,
            '\\' | '"' | '<' | '>' | '\u{201c}'..='\u{201f}' | '«' | '»'
        ) {
            return Err(InvalidAddress::Character(c));
        }
    }
    Ok(())
}

/// Host and port as they are written, or in ASCII.
fn ascii_host(scheme: &str, authority: &str) -> Result<String, InvalidAddress> {
    if authority.contains('@') {
        return Err(InvalidAddress::Credentials);
    }
    if authority.is_empty() || authority.starts_with(':') {
        return Err(InvalidAddress::NoHost);
    }
    let parsed = Url::parse(&format!("{scheme}://{authority}/"));
    let parsed = parsed.map_err(InvalidAddress::Host)?;
    if authority.is_ascii() {
        return Ok(authority.to_owned());
    }
    let host = parsed.host_str().ok_or(InvalidAddress::NoHost)?;
    Ok(match parsed.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}

/// Path, query and fragment with what they may not hold percent-encoded, and a percent sign that
/// encodes nothing.
fn encoded_path(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for (at, part) in path.split('%').enumerate() {
        if at > 0 {
            let encodes =
                part.len() >= 2 && part.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
            out.push_str(if encodes { "%" } else { "%25" });
        }
        out.extend(utf8_percent_encode(part, ENCODED));
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_are_made_what_programs_expect() {
        for (written, expected) in [
            (
                "https://cdn.example/img/my lamp.jpg",
                "https://cdn.example/img/my%20lamp.jpg",
            ),
            (
                "https://cdn.example/img/plaît.jpg",
                "https://cdn.example/img/pla%C3%AEt.jpg",
            ),
            (
                "https://münchen.example/a.jpg",
                "https://xn--mnchen-3ya.example/a.jpg",
            ),
            (
                "https://münchen.example:8443",
                "https://xn--mnchen-3ya.example:8443",
            ),
            ("HTTPS://cdn.example/a.jpg", "https://cdn.example/a.jpg"),
            ("Http://cdn.example/a.jpg", "http://cdn.example/a.jpg"),
            (
                " https://cdn.example/a.jpg\u{a0}",
                "https://cdn.example/a.jpg",
            ),
            (
                "https://cdn.example/100% wool.jpg",
                "https://cdn.example/100%25%20wool.jpg",
            ),
            (
                "https://cdn.example/a?q=é b#ü",
                "https://cdn.example/a?q=%C3%A9%20b#%C3%BC",
            ),
            (
                "https://cdn.example/a|b[1].jpg",
                "https://cdn.example/a%7Cb%5B1%5D.jpg",
            ),
            (
                "https://例え.example/絵.png",
                "https://xn--r8jz45g.example/%E7%B5%B5.png",
            ),
        ] {
            assert_eq!(web_address(written).as_deref(), Ok(expected), "{written}");
        }
    }

    #[test]
    fn addresses_that_are_right_stay_as_they_are_written() {
        for address in [
            "https://a.example/x",
            "http://a.example",
            "https://A.Example/../b//c/",
            "https://a.example:443/%7Eme/it's_(1)!*;v=1?a=b&c=d+e@f:/~#part",
            "https://cdn.example/my%20lamp%2fred.jpg",
            "http://192.0.2.7/a",
            "http://[2001:db8::1]/a",
            "https://localhost/a@b.jpg",
        ] {
            assert!(
                matches!(web_address(address), Ok(Cow::Borrowed(same)) if same == address),
                "{address}"
            );
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_reason() {
        use InvalidAddress::{Character, Credentials, Host, NoHost, Scheme};
        let reason = |text: &str| web_address(text).unwrap_err();
        for text in [
            "",
            "ftp://a.example/x",
            "//a.example/x",
            "javascript:1",
            "https:/a",
            "https:a",
            "a.example/x.jpg",
            "data://x",
        ] {
            assert_eq!(reason(text), Scheme, "{text}");
        }
        for text in [
            "https://",
            "https:///a.jpg",
            "https://?a",
            "https://#a",
            "http://:80/a",
        ] {
            assert_eq!(reason(text), NoHost, "{text}");
        }
        for text in [
            "https://user:secret@cdn.example/a.jpg",
            "https://user@cdn.example/a",
            "https://:x@a.example",
        ] {
            assert_eq!(reason(text), Credentials, "{text}");
        }
        for (text, c) in [
            ("https://cdn.example/a\\b.jpg", '\\'),
            ("https:\\\\cdn.example\\b.jpg", '\\'),
            ("https://cdn.example/a\"b.jpg", '"'),
            ("https://cdn.example/b<c>.jpg", '<'),
            ("https://cdn.example/b>.jpg", '>'),
            ("“https://cdn.example/b.jpg”", '“'),
        ] {
            assert_eq!(reason(text), Character(c), "{text}");
        }
        for text in [
            "https://cdn example/a",
            "https://a.example:99999/",
            "https://a.example:x/",
            "https://a%zz.example",
            "https://[1:2",
        ] {
            assert!(
                matches!(reason(text), Host(_)),
                "{text}: {:?}",
                reason(text)
            );
        }
        let long = format!("https://a.example/{}", "é".repeat(400));
        assert_eq!(reason(&long), InvalidAddress::Length(18 + 2400));
    }

    #[test]
    fn invisible_characters_are_refused() {
        for (text, c) in [
            ("https://cdn.example/\u{200b}z.jpg", '\u{200b}'),
            ("https://cdn\u{ad}.example/z.jpg", '\u{ad}'),
            ("\u{feff}https://cdn.example/z.jpg", '\u{feff}'),
            ("https://cdn.example/a\u{202e}gpj.exe", '\u{202e}'),
            ("https://cdn.example/a\nb.jpg", '\n'),
            ("https://cdn.example/a\tb.jpg", '\t'),
        ] {
            assert_eq!(
                web_address(text),
                Err(InvalidAddress::Invisible(c)),
                "{text:?}"
            );
        }
    }

    #[test]
    fn reasons_say_what_would_be_right() {
        let reason = |text: &str| web_address(text).unwrap_err().to_string();
        assert_eq!(
            reason("https://a.example/a\\b"),
            "holds '\\\\', which no address has; write it as %5C"
        );
        assert_eq!(
            reason("https://a.example/\u{200b}"),
            "holds the invisible character U+200B; remove it"
        );
        assert_eq!(
            reason("https://a b/"),
            "has no valid host: invalid international domain name"
        );
    }

    proptest! {
        #[test]
        fn an_address_is_ascii_has_a_host_and_stays_the_same(path in "[ -~äé漢%]{0,40}", host in "[a-zA-Zäö.:@0-9-]{0,12}") {
            if let Ok(address) = web_address(&format!("https://{host}/{path}")) {
                prop_assert!(address.is_ascii() && !address.contains([' ', '"', '<', '>', '\\', '^', '`', '{', '|', '}']), "{}", address);
                let parsed = Url::parse(&address).unwrap();
                prop_assert!(parsed.has_host() && parsed.username().is_empty() && parsed.password().is_none());
                let again = web_address(&address);
                prop_assert_eq!(again.as_deref(), Ok(&*address));
            }
        }
    }
}
