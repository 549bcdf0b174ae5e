//! Writes a schema from the result of the introspection query, as clients do.

use serde_json::Value;

/// Returns the schema in the schema definition language. `schema` is the value of `__schema`.
pub(super) fn rebuilt(schema: &Value) -> String {
    let mut sdl = String::new();
    if let Some(text) = schema["description"].as_str() {
        sdl.push_str(&description(text));
    }
    sdl.push_str("schema {\n");
    for root in ["query", "mutation", "subscription"] {
        if let Some(name) = schema[format!("{root}Type")]["name"].as_str() {
            sdl.extend([root, ": ", name, "\n"]);
        }
    }
    sdl.push_str("}\n");
    let built_in = ["Boolean", "Float", "ID", "Int", "String"];
    for ty in items(&schema["types"]) {
        let name = text(ty, "name");
        if !name.starts_with("__") && !built_in.contains(&name) {
            sdl.push_str(&type_definition(ty));
        }
    }
    for directive in items(&schema["directives"]) {
        let repeatable = if directive["isRepeatable"] == true {
            " repeatable"
        } else {
            ""
        };
        let locations: Vec<_> = items(&directive["locations"])
            .filter_map(Value::as_str)
            .collect();
        let written = format!(
            "{}directive @{}{}{repeatable} on {}\n",
            described(directive),
            text(directive, "name"),
            arguments(directive),
            locations.join(" | "),
        );
        sdl.push_str(&written);
    }
    sdl
}

fn type_definition(ty: &Value) -> String {
    let (keyword, rest) = match text(ty, "kind") {
        "SCALAR" => ("scalar", specified(ty)),
        "OBJECT" => ("type", interfaces(ty) + &block(&ty["fields"], field)),
        "INTERFACE" => ("interface", interfaces(ty) + &block(&ty["fields"], field)),
        "UNION" => (
            "union",
            format!(" = {}", names(&ty["possibleTypes"]).join(" | ")),
        ),
        "ENUM" => ("enum", block(&ty["enumValues"], enum_value)),
        "INPUT_OBJECT" => {
            let one_of = if ty["isOneOf"] == true { " @oneOf" } else { "" };
            (
                "input",
                one_of.to_owned() + &block(&ty["inputFields"], input_value),
            )
        }
        other => panic!("{other}"),
    };
    format!("{}{keyword} {}{rest}\n", described(ty), text(ty, "name"))
}

fn specified(scalar: &Value) -> String {
    let url = scalar["specifiedByURL"].as_str();
    url.map_or_else(String::new, |url| {
        format!(" @specifiedBy(url: {})", quoted(url))
    })
}

fn interfaces(ty: &Value) -> String {
    let names = names(&ty["interfaces"]);
    if names.is_empty() {
        return String::new();
    }
    format!(" implements {}", names.join(" & "))
}

fn block(members: &Value, write: fn(&Value) -> String) -> String {
    let members: Vec<_> = items(members).map(write).collect();
    format!(" {{\n{}\n}}", members.join("\n"))
}

fn field(field: &Value) -> String {
    format!(
        "{}{}{}: {}{}",
        described(field),
        text(field, "name"),
        arguments(field),
        reference(&field["type"]),
        deprecated(field)
    )
}

fn arguments(of: &Value) -> String {
    let written: Vec<_> = items(&of["args"]).map(input_value).collect();
    if written.is_empty() {
        return String::new();
    }
    format!("({})", written.join(" "))
}

fn input_value(value: &Value) -> String {
    let default = value["defaultValue"].as_str();
    let default = default.map_or_else(String::new, |default| format!(" = {default}"));
    format!(
        "{}{}: {}{default}{}",
        described(value),
        text(value, "name"),
        reference(&value["type"]),
        deprecated(value)
    )
}

fn enum_value(value: &Value) -> String {
    format!(
        "{}{}{}",
        described(value),
        text(value, "name"),
        deprecated(value)
    )
}

fn reference(ty: &Value) -> String {
    match text(ty, "kind") {
        "NON_NULL" => format!("{}!", reference(&ty["ofType"])),
        "LIST" => format!("[{}]", reference(&ty["ofType"])),
        _ => text(ty, "name").to_owned(),
    }
}

fn deprecated(member: &Value) -> String {
    if member["isDeprecated"] != true {
        return String::new();
    }
    match text(member, "deprecationReason") {
        "No longer supported" => " @deprecated".to_owned(),
        reason => format!(" @deprecated(reason: {})", quoted(reason)),
    }
}

fn described(member: &Value) -> String {
    member["description"]
        .as_str()
        .map_or_else(String::new, description)
}

fn description(text: &str) -> String {
    quoted(text) + "\n"
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn names(types: &Value) -> Vec<&str> {
    items(types).map(|ty| text(ty, "name")).collect()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("{key} in {value}"))
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}
