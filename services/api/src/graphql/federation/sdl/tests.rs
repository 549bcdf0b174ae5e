use std::collections::{BTreeSet, VecDeque};

use apollo_compiler::Schema;
use apollo_compiler::ast::Document;
use apollo_compiler::schema::ExtendedType;

use super::*;
use crate::graphql::described::{engine, subgraph};
use crate::graphql::permissions::PERMISSIONS;
use crate::graphql::subgraph_sdl;

/// The definitions of a schema that are not built in, without the directives that are added.
fn plain_text(sdl: &str) -> String {
    let added = ["inaccessible", "key", "link", "shareable", "tag"];
    let mut text = sdl.to_owned();
    for line in sdl.lines().filter(|line| line.contains('@')) {
        let kept = line.split(" @").enumerate().filter(|(at, part)| {
            let name = part.split('(').next().unwrap().trim_end_matches(" {");
            *at == 0 || !added.contains(&name)
        });
        let mut kept = kept.map(|(_, part)| part).collect::<Vec<_>>().join(" @");
        if line.ends_with('{') && !kept.ends_with('{') {
            kept.push_str(" {");
        }
        text = text.replacen(line, &kept, 1);
    }
    text
}

/// What storefronts read and what routers read differ by the directives only.
#[test]
fn a_subgraph_has_the_types_of_the_schema() {
    let plain = Document::parse(engine().sdl(), "schema.graphql").unwrap();
    let built_in = |definition: &Definition| {
        let name = definition.name().map(Name::as_str).unwrap_or_default();
        definition.as_directive_definition().is_some() && BUILT_IN.contains(&name)
    };
    let mut plain = plain;
    plain.definitions.retain(|definition| !built_in(definition));
    assert_eq!(plain_text(&subgraph_sdl()), plain.to_string());
}

#[test]
fn storefronts_see_nothing_of_federation() {
    let engine = engine();
    for word in [
        "_entities",
        "_Any",
        "_service",
        "@key",
        "@link",
        "@shareable",
    ] {
        assert!(!engine.sdl().contains(word), "{word}");
    }
    let subgraph = subgraph();
    assert!(subgraph.sdl().contains("_entities("));
    assert!(!subgraph_sdl().contains("_entities"));
}

/// Every name in the tables is in the schema, and has its directives there.
#[test]
fn every_directive_is_in_its_place() {
    let sdl = subgraph_sdl();
    let count = |text: &str| sdl.matches(text).count();
    let engine = engine();
    let schema = Schema::parse_and_validate(engine.sdl(), "schema.graphql").unwrap();
    let products = schema.types.values().filter(|ty| {
        let object = ty.as_object();
        object.is_some_and(|object| object.implements_interfaces.contains("Product"))
    });
    // The interface has the fields, too.
    let products = products.count() + 1;
    let copies = |fields: &[&str]| {
        let of_products = fields.iter().filter(|field| field.starts_with("Product."));
        fields.len() + of_products.count() * (products - 1)
    };
    assert_eq!(count("@key(fields: \"id\")"), ENTITIES.len() - 1 + products);
    assert_eq!(count("@key(fields: \"sku\")"), products);
    assert_eq!(count(" @shareable"), SHAREABLE.len());
    assert_eq!(count(" @inaccessible"), PARTS.len() + copies(&MACHINERY));
    let for_staff = PERMISSIONS
        .iter()
        .filter(|(_, access)| access.is_for_staff());
    let tagged = for_staff.map(|(field, _)| *field);
    let tagged: Vec<_> = tagged.filter(|field| !MACHINERY.contains(field)).collect();
    assert_eq!(count("@tag(name: \"staff\")"), copies(&tagged));
}

/// The types that can be reached from the roots, without some fields.
fn reachable(schema: &Schema, without: &[&str]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut left: VecDeque<String> = ["Query", "Mutation", "Subscription"]
        .map(str::to_owned)
        .into();
    while let Some(name) = left.pop_front() {
        if !found.insert(name.clone()) {
            continue;
        }
        let (fields, listed) = match &schema.types[name.as_str()] {
            ExtendedType::Object(object) => {
                let is_product = object.implements_interfaces.contains("Product");
                left.extend(object.implements_interfaces.iter().map(ToString::to_string));
                (&object.fields, if is_product { "Product" } else { &name })
            }
            ExtendedType::Interface(interface) => {
                let implementers = schema.implementers_map();
                let of = implementers.get(name.as_str()).unwrap();
                left.extend(of.objects.iter().map(ToString::to_string));
                (&interface.fields, name.as_str())
            }
            ExtendedType::Union(union) => {
                left.extend(union.members.iter().map(ToString::to_string));
                continue;
            }
            ExtendedType::InputObject(input) => {
                let types = input.fields.values();
                left.extend(types.map(|field| field.ty.inner_named_type().to_string()));
                continue;
            }
            ExtendedType::Enum(_) | ExtendedType::Scalar(_) => continue,
        };
        for (field, definition) in fields {
            if without.contains(&format!("{listed}.{field}").as_str()) {
                continue;
            }
            left.push_back(definition.ty.inner_named_type().to_string());
            let arguments = definition.arguments.iter();
            left.extend(arguments.map(|argument| argument.ty.inner_named_type().to_string()));
        }
    }
    found
}

/// A type that only hidden fields return is hidden, and no other type is.
#[test]
fn what_only_machinery_needs_is_inaccessible() {
    let engine = engine();
    let schema = Schema::parse_and_validate(engine.sdl(), "schema.graphql").unwrap();
    let (all, accessible) = (reachable(&schema, &[]), reachable(&schema, &MACHINERY));
    let hidden: Vec<&String> = all.difference(&accessible).collect();
    assert_eq!(hidden, PARTS);
}
