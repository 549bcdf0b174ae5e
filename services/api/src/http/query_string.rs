//! A GraphQL request in the query of a URL.

use serde_json::{Map, Value};

use crate::execution::{GraphqlRequest, object_from_text};

/// Reads `query`, `documentId`, `operationName`, `variables` and `extensions`. Returns `None` if
/// there is no document; the error message is for the client.
pub(super) fn read(text: &str) -> Result<Option<GraphqlRequest>, &'static str> {
    let mut request = GraphqlRequest::default();
    for pair in pairs(text) {
        let (key, value) = pair?;
        match key.as_str() {
            "query" => request.query = value,
            "documentId" => request.document_id = Some(value).filter(|id| !id.is_empty()),
            "operationName" => request.operation_name = Some(value).filter(|name| !name.is_empty()),
            "variables" => request.variables = object(&value)?,
            "extensions" => request.extensions = object(&value)?,
            _ => {}
        }
    }
    Ok(request.has_document().then_some(request))
}

/// The first value of a parameter; `None` if it is not there. The error message is for the client.
pub(super) fn parameter(text: &str, name: &str) -> Result<Option<String>, &'static str> {
    for pair in pairs(text) {
        let (key, value) = pair?;
        if key == name {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

fn pairs(text: &str) -> impl Iterator<Item = Result<(String, String), &'static str>> + '_ {
    text.split('&').map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        Ok((decoded(key)?, decoded(value)?))
    })
}

fn object(text: &str) -> Result<Map<String, Value>, &'static str> {
    if text.is_empty() {
        return Ok(Map::new());
    }
    object_from_text(text).map_err(|_| "Variables and extensions in a URL must be JSON objects.")
}

/// Decodes percent-encoding, with `+` for a space.
fn decoded(text: &str) -> Result<String, &'static str> {
    const MALFORMED: &str = "The query of the URL is not properly encoded.";
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        bytes.push(match first {
            b'+' => b' ',
            b'%' => {
                let digits = tail.get(..2).ok_or(MALFORMED)?;
                rest = &tail[2..];
                hex(digits[0])
                    .zip(hex(digits[1]))
                    .map(|(high, low)| high << 4 | low)
                    .ok_or(MALFORMED)?
            }
            other => *other,
        });
    }
    String::from_utf8(bytes).map_err(|_| MALFORMED)
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn a_url_can_hold_a_complete_request() {
        let text =
            "query=%7B+a%28b%3A%20%24b%29%20%7D&operationName=&variables=%7B%22b%22%3A1%7D&x=y";
        let request = read(text).unwrap().unwrap();
        assert_eq!(request.query, "{ a(b: $b) }");
        assert_eq!(request.operation_name, None);
        assert_eq!(request.variables["b"], 1);
    }

    #[test]
    fn malformed_query_strings_are_refused() {
        assert!(read("query=%7").is_err());
        assert!(read("query=%zz").is_err());
        assert!(read("query=%ff").is_err());
        assert!(read("query=a&variables=[1]").is_err());
        assert!(read("variables=").unwrap().is_none());
    }
}
