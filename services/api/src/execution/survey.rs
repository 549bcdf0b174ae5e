//! Finds schema items without a description and root fields that are not nullable.

use apollo_compiler::{
    Node, Schema,
    ast::{FieldDefinition, InputValueDefinition},
    schema::ExtendedType,
};

use super::ValidatorError;

/// Returns the findings about a schema, one line each, in the order of the text: fields of queries
/// and mutations that are not nullable, and types, fields, arguments, input fields and enum values without a
/// description. Intended for a test that compares them with the known exceptions.
pub fn survey(sdl: &str) -> Result<Vec<String>, ValidatorError> {
    let schema = Schema::parse_and_validate(sdl, "schema.graphql")
        .map_err(|error| ValidatorError::new(&error.errors))?;
    let mut findings = Vec::new();
    for definition in schema
        .types
        .values()
        .filter(|definition| !definition.is_built_in())
    {
        described(definition.description(), definition.name(), &mut findings);
        members(definition, &mut findings);
    }
    roots(&schema, &mut findings);
    Ok(findings)
}

fn roots(schema: &Schema, findings: &mut Vec<String>) {
    let roots = &schema.schema_definition;
    for root in [&roots.query, &roots.mutation].into_iter().flatten() {
        let fields = schema
            .get_object(&root.name)
            .map(|root| root.fields.values());
        for field in fields.into_iter().flatten() {
            if field.ty.is_non_null() {
                findings.push(format!("{}.{} is not nullable", root.name, field.name));
            }
        }
    }
}

fn members(definition: &ExtendedType, findings: &mut Vec<String>) {
    let parent = definition.name();
    match definition {
        ExtendedType::Object(object) => {
            for each in object.fields.values() {
                field(parent, each, findings);
            }
        }
        ExtendedType::Interface(interface) => {
            for each in interface.fields.values() {
                field(parent, each, findings);
            }
        }
        ExtendedType::InputObject(input) => {
            for each in input.fields.values() {
                value(parent, each, findings);
            }
        }
        ExtendedType::Enum(values) => {
            for each in values.values.values() {
                let name = format!("{parent}.{}", each.value);
                described(each.description.as_ref(), &name, findings);
            }
        }
        ExtendedType::Scalar(_) | ExtendedType::Union(_) => {}
    }
}

fn field(parent: &str, field: &FieldDefinition, findings: &mut Vec<String>) {
    let name = format!("{parent}.{}", field.name);
    described(field.description.as_ref(), &name, findings);
    for argument in &field.arguments {
        value(&name, argument, findings);
    }
}

fn value(parent: &str, value: &InputValueDefinition, findings: &mut Vec<String>) {
    let name = format!("{parent}.{}", value.name);
    described(value.description.as_ref(), &name, findings);
}

fn described(text: Option<&Node<str>>, name: &str, findings: &mut Vec<String>) {
    if text.is_none_or(|text| text.trim().is_empty()) {
        findings.push(format!("{name} has no description"));
    }
}

#[cfg(test)]
mod tests {
    use super::survey;

    #[test]
    fn all_missing_descriptions_are_found() {
        let sdl = r#"
            "Where to begin" type Query { "A car" car(id: ID!): Car must: Car! }
            "A car" type Car { "Its name" name: String! load: Load }
            "What it carries" enum Load { "Little" LIGHT HEAVY }
            scalar Day
            "How to look" input Filter { name: String }
            "#;
        assert_eq!(
            survey(sdl).unwrap(),
            [
                "Query.car.id has no description",
                "Query.must has no description",
                "Car.load has no description",
                "Load.HEAVY has no description",
                "Day has no description",
                "Filter.name has no description",
                "Query.must is not nullable",
            ]
        );
    }

    #[test]
    fn an_invalid_schema_is_refused() {
        assert!(survey("type Query { a: Nowhere }").is_err());
    }
}
