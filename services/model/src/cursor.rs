//! Keyset cursors: opaque, versioned, and bound to the list they come from.
//!
//! A cursor holds the sort key and the id of a row, a fingerprint of the list (sort, filter and
//! visibility), and an HMAC over all of it. A cursor of another list, another version or another
//! secret is refused, so it can never return wrong rows.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};

const VERSION: u8 = 1;
const MAC_BYTES: usize = 12;

/// The position of one row in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Position {
    /// The values the list is sorted by, most significant first.
    pub keys: Vec<KeyValue>,
    /// The row's id, the tie-breaker.
    pub id: i64,
}

/// A sort value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyValue {
    /// The row has no value.
    Absent,
    /// A whole number.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// An instant in milliseconds since 1970.
    Instant(i64),
    /// Text, folded ([`crate::text::fold`]).
    Text(String),
}

/// Identifies a list: two lists with the same fingerprint have the same rows in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListFingerprint([u8; 8]);

impl ListFingerprint {
    /// The fingerprint of a list with these properties.
    #[must_use]
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut digest = Sha256::new();
        for part in parts {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        let digest = digest.finalize();
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&digest[..8]);
        Self(bytes)
    }
}

/// Why a text is not a valid cursor of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCursor {
    /// Not made by this service, damaged, or made with another secret.
    #[error("the cursor is damaged or was not made by this service")]
    Damaged,
    /// Made by a release with another cursor format.
    #[error("the cursor was made by another version of this service; start from the beginning")]
    Version,
    /// Made for a list with another sort or filter.
    #[error("the cursor belongs to another list, or to one with another sort order or filter")]
    OtherList,
    /// So old that the changes since then are no longer known.
    #[error(
        "the cursor is too old: the changes after it are no longer known; read the list again and subscribe without a cursor"
    )]
    Expired,
}

/// Writes and reads cursors with one secret, which all processes of a service share.
#[derive(Clone)]
pub struct CursorCodec(Hmac<Sha256>);

impl std::fmt::Debug for CursorCodec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CursorCodec")
    }
}

impl CursorCodec {
    /// Returns a codec with this secret.
    #[must_use]
    pub fn new(secret: &[u8]) -> Self {
        Self(Hmac::new_from_slice(secret).expect("a key of any length will do"))
    }

    /// Returns the opaque cursor of a position in a list.
    #[must_use]
    pub fn encode(&self, list: ListFingerprint, position: &Position) -> String {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&list.0);
        bytes.extend_from_slice(&position.id.to_be_bytes());
        position
            .keys
            .iter()
            .for_each(|key| write_key(&mut bytes, key));
        let mac = self.mac(&bytes);
        bytes.extend_from_slice(&mac);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Returns the position that a cursor of this list refers to.
    ///
    /// # Errors
    /// [`InvalidCursor`] when it was not made by [`CursorCodec::encode`] for the same list.
    pub fn decode(&self, list: ListFingerprint, text: &str) -> Result<Position, InvalidCursor> {
        let bytes = URL_SAFE_NO_PAD
            .decode(text)
            .map_err(|_| InvalidCursor::Damaged)?;
        let split = bytes
            .len()
            .checked_sub(MAC_BYTES)
            .ok_or(InvalidCursor::Damaged)?;
        let (body, mac) = bytes.split_at(split);
        let whole = self.0.clone().chain_update(body).verify_truncated_left(mac);
        whole.map_err(|_| InvalidCursor::Damaged)?;
        let (version, rest) = body.split_first().ok_or(InvalidCursor::Damaged)?;
        if *version != VERSION {
            return Err(InvalidCursor::Version);
        }
        read_body(list, rest)
    }

    fn mac(&self, bytes: &[u8]) -> [u8; MAC_BYTES] {
        let digest = self.0.clone().chain_update(bytes).finalize().into_bytes();
        let mut mac = [0; MAC_BYTES];
        mac.copy_from_slice(&digest[..MAC_BYTES]);
        mac
    }
}

fn read_body(list: ListFingerprint, mut rest: &[u8]) -> Result<Position, InvalidCursor> {
    let found: [u8; 8] = take(&mut rest)?;
    if found != list.0 {
        return Err(InvalidCursor::OtherList);
    }
    let id = i64::from_be_bytes(take(&mut rest)?);
    let mut keys = Vec::new();
    while !rest.is_empty() {
        keys.push(read_key(&mut rest)?);
    }
    Ok(Position { keys, id })
}

fn write_key(bytes: &mut Vec<u8>, key: &KeyValue) {
    match key {
        KeyValue::Absent => bytes.push(0),
        KeyValue::Int(n) => write(bytes, 1, &n.to_be_bytes()),
        KeyValue::Float(n) => write(bytes, 2, &n.to_bits().to_be_bytes()),
        KeyValue::Instant(n) => write(bytes, 3, &n.to_be_bytes()),
        KeyValue::Text(text) => {
            let length =
                u16::try_from(text.len()).expect("sort keys are cut to a few hundred bytes");
            write(bytes, 4, &length.to_be_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
    }
}

fn write(bytes: &mut Vec<u8>, tag: u8, value: &[u8]) {
    bytes.push(tag);
    bytes.extend_from_slice(value);
}

fn read_key(rest: &mut &[u8]) -> Result<KeyValue, InvalidCursor> {
    let [tag] = take(rest)?;
    match tag {
        0 => Ok(KeyValue::Absent),
        1 => Ok(KeyValue::Int(i64::from_be_bytes(take(rest)?))),
        2 => Ok(KeyValue::Float(f64::from_bits(u64::from_be_bytes(take(
            rest,
        )?)))),
        3 => Ok(KeyValue::Instant(i64::from_be_bytes(take(rest)?))),
        4 => {
            let length = usize::from(u16::from_be_bytes(take(rest)?));
            let (text, after) = rest
                .split_at_checked(length)
                .ok_or(InvalidCursor::Damaged)?;
            *rest = after;
            let text = std::str::from_utf8(text).map_err(|_| InvalidCursor::Damaged)?;
            Ok(KeyValue::Text(text.to_owned()))
        }
        _ => Err(InvalidCursor::Damaged),
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], InvalidCursor> {
    let (head, after) = rest
        .split_first_chunk::<N>()
        .ok_or(InvalidCursor::Damaged)?;
    *rest = after;
    Ok(*head)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key() -> impl Strategy<Value = KeyValue> {
        prop_oneof![
            Just(KeyValue::Absent),
            any::<i64>().prop_map(KeyValue::Int),
            (-1e300_f64..1e300).prop_map(KeyValue::Float),
            any::<i64>().prop_map(KeyValue::Instant),
            ".{0,40}".prop_map(KeyValue::Text),
        ]
    }

    proptest! {
        #[test]
        fn positions_survive_a_round_trip(keys in proptest::collection::vec(key(), 0..4), id: i64, list: u8) {
            let codec = CursorCodec::new(b"secret");
            let list = ListFingerprint::of(&[&[list]]);
            let position = Position { keys, id };
            let text = codec.encode(list, &position);
            prop_assert_eq!(codec.decode(list, &text), Ok(position));
        }

        #[test]
        fn a_changed_bit_is_detected(at in 0_usize..1000, bit in 0_u8..8, id: i64) {
            let codec = CursorCodec::new(b"secret");
            let list = ListFingerprint::of(&[b"newest"]);
            let text = codec.encode(list, &Position { keys: vec![KeyValue::Int(7)], id });
            let mut bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            prop_assert_eq!(codec.decode(list, &URL_SAFE_NO_PAD.encode(bytes)), Err(InvalidCursor::Damaged));
        }

        #[test]
        fn other_text_is_refused(text in ".{0,80}") {
            let codec = CursorCodec::new(b"secret");
            prop_assert!(codec.decode(ListFingerprint::of(&[]), &text).is_err());
        }
    }

    #[test]
    fn cursors_of_other_lists_and_secrets_are_refused() {
        let position = Position {
            keys: vec![],
            id: 1,
        };
        let (mine, other) = (
            ListFingerprint::of(&[b"a", b"b"]),
            ListFingerprint::of(&[b"ab"]),
        );
        let text = CursorCodec::new(b"secret").encode(mine, &position);
        assert_eq!(
            CursorCodec::new(b"secret").decode(other, &text),
            Err(InvalidCursor::OtherList)
        );
        assert_eq!(
            CursorCodec::new(b"guess").decode(mine, &text),
            Err(InvalidCursor::Damaged)
        );
    }
}
