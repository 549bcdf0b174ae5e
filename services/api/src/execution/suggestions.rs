//! Suggests what was meant by a name that a document gets wrong.

use apollo_compiler::{Schema, schema::ExtendedType};

/// The maximum number of names that are suggested.
const MAX_SUGGESTIONS: usize = 3;

/// Returns what may have been meant, as a sentence to append to the message of a validation error;
/// `None` if the error is not about a name or nothing is similar.
pub(super) fn suggestion(schema: &Schema, message: &str) -> Option<String> {
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let (wrong, right) = match *names.as_slice() {
        [ty, field] if message.contains("does not have a field") => {
            let found = similar(field, fields(schema, ty));
            if found.is_empty() {
                return in_fragments(schema, ty, field);
            }
            (field, found)
        }
        [argument, place] if message.contains("is not supported by") => {
            let (ty, rest) = place.split_once('.')?;
            let field = rest.split_once('(').map_or(rest, |(field, _)| field);
            let definition = schema.type_field(ty, field).ok()?;
            let arguments = definition.arguments.iter();
            (
                argument,
                similar(argument, arguments.map(|known| known.name.as_str())),
            )
        }
        [ty, ..]
            if message.starts_with("cannot find type")
                || message.contains("is not a type defined in the schema") =>
        {
            let types = schema.types.keys().map(|name| name.as_str());
            (
                ty,
                similar(ty, types.filter(|name| !name.starts_with("__"))),
            )
        }
        [value, ty] if message.contains("does not exist on") => {
            (value, similar(value, members(schema, ty)))
        }
        _ => return None,
    };
    (!right.is_empty() && !right.contains(&wrong)).then(|| did_you_mean(&right))
}

/// Returns the fields that an object type or interface has.
fn fields<'s>(schema: &'s Schema, ty: &str) -> Vec<&'s str> {
    match schema.types.get(ty) {
        Some(ExtendedType::Object(object)) => {
            object.fields.keys().map(|name| name.as_str()).collect()
        }
        Some(ExtendedType::Interface(interface)) => {
            interface.fields.keys().map(|name| name.as_str()).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the values of an enum, or the fields of an input object.
fn members<'s>(schema: &'s Schema, ty: &str) -> Vec<&'s str> {
    match schema.types.get(ty) {
        Some(ExtendedType::Enum(values)) => {
            values.values.keys().map(|name| name.as_str()).collect()
        }
        Some(ExtendedType::InputObject(input)) => {
            input.fields.keys().map(|name| name.as_str()).collect()
        }
        _ => Vec::new(),
    }
}

/// A field that only some types of an interface or union have needs a fragment.
fn in_fragments(schema: &Schema, ty: &str, field: &str) -> Option<String> {
    let objects = schema
        .types
        .values()
        .filter_map(|definition| definition.as_object());
    let mut having: Vec<&str> = objects
        .filter(|object| schema.is_subtype(ty, &object.name) && object.fields.contains_key(field))
        .map(|object| object.name.as_str())
        .collect();
    having.sort_unstable();
    having.truncate(MAX_SUGGESTIONS);
    let fragments: Vec<String> = having.iter().map(|name| format!("... on {name}")).collect();
    let fragments: Vec<&str> = fragments.iter().map(String::as_str).collect();
    (!fragments.is_empty()).then(|| did_you_mean(&fragments))
}

/// Returns the names that a typing error could have turned into `wrong`, the most similar first.
fn similar<'s>(wrong: &str, names: impl IntoIterator<Item = &'s str>) -> Vec<&'s str> {
    let (lower, limit) = (wrong.to_lowercase(), wrong.chars().count() * 2 / 5 + 1);
    let distance = |name: &str| strsim::osa_distance(&lower, &name.to_lowercase());
    let mut found: Vec<(usize, &str)> = names
        .into_iter()
        .map(|name| (distance(name), name))
        .filter(|(distance, _)| *distance <= limit)
        .collect();
    found.sort_unstable();
    found.truncate(MAX_SUGGESTIONS);
    found.into_iter().map(|(_, name)| name).collect()
}

fn did_you_mean(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => {
            format!("; did you mean {} or {last}?", others.join(", "))
        }
        _ => format!("; did you mean {}?", names.concat()),
    }
}
