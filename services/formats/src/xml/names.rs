//! Names of XML without their prefixes.

use serde_json::{Map, Value};

/// The name of an element, without its prefix if names are local.
pub(crate) fn name_of(name: &str, local_names: bool) -> &str {
    match name.split_once(':') {
        Some((_, local)) if local_names => local,
        _ => name,
    }
}

/// Removes the prefixes of names: `cin:item` becomes `item`, `@xml:lang` becomes `@lang`. A name
/// stays as it is where the object has the other one.
pub(super) fn without_prefixes(object: &mut Map<String, Value>) {
    if !object.keys().any(|name| name.contains(':')) {
        return;
    }
    let given = std::mem::take(object);
    let names: Vec<String> = given.keys().map(|name| local(name)).collect();
    for (at, (name, value)) in given.into_iter().enumerate() {
        let is_alone = names.iter().filter(|other| **other == names[at]).count() == 1;
        let name = if is_alone { names[at].clone() } else { name };
        object.insert(name, value);
    }
}

fn local(name: &str) -> String {
    match name.strip_prefix('@') {
        Some(attribute) => format!("@{}", name_of(attribute, true)),
        None => name_of(name, true).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_lose_their_prefixes_unless_two_become_one() {
        let mut row =
            json!({"@xml:lang": "de", "#text": "x", "title": "a", "g:title": "b", "a:b:c": 1});
        let expected = json!({"@lang": "de", "#text": "x", "title": "a", "g:title": "b", "b:c": 1});
        without_prefixes(row.as_object_mut().unwrap());
        assert_eq!(row, expected);
    }
}
