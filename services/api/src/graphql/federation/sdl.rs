//! The schema as a subgraph describes itself: the schema of every caller with the directives of
//! Apollo Federation.
//!
//! The directives are added here and not to the types, so that the schema that storefronts read has
//! none of them.

use apollo_compiler::ast::{Argument, Definition, Directive, Document, FieldDefinition, Value};
use apollo_compiler::{Name, Node, name};

use crate::graphql::permissions::{Access, access};

/// The version of the specification: the first in which an interface has keys.
const SPECIFICATION: &str = "https://specs.apollo.dev/federation/v2.3";

/// The types that other subgraphs refer to, with their keys. Those of an interface are also the
/// keys of all types that implement it.
const ENTITIES: [(&str, &[&str]); 4] = [
    ("Category", &["id"]),
    ("Product", &["id", "sku"]),
    ("Review", &["id"]),
    ("Supplier", &["id"]),
];

/// Types without identity, which mean the same in every subgraph.
const SHAREABLE: [&str; 4] = ["Media", "Money", "PageInfo", "TotalCount"];

/// Fields about the machinery of this service. Beside other services nobody could tell whose
/// workers these are; operators ask the service itself.
const MACHINERY: [&str; 6] = [
    "Mutation.repairRatingStats",
    "Product.outlier",
    "Query.dataVersions",
    "Query.ratingStatsAudit",
    "Query.workers",
    "Supplier.propagation",
];

/// The types of which only [`MACHINERY`] consists.
const PARTS: [&str; 11] = [
    "DataVersionProgress",
    "OutlierReason",
    "OutlierState",
    "RatingStatsAudit",
    "RepairRatingStatsInput",
    "RepairRatingStatsPayload",
    "StatsDifference",
    "SupplierPropagation",
    "VersionCount",
    "WorkerState",
    "WorkerStatus",
];

/// The tag of what needs a role of the shop. A supergraph for customers can leave it out.
const STAFF: &str = "staff";

/// Directives that every GraphQL service has.
const BUILT_IN: [&str; 4] = ["deprecated", "include", "skip", "specifiedBy"];

/// Adds the directives of Apollo Federation to a schema.
pub(in crate::graphql) fn subgraph_sdl(sdl: &str) -> String {
    let document = Document::parse(sdl, "schema.graphql");
    let mut document = document.expect("the schema was generated from types");
    document.definitions.retain(|definition| {
        let name = definition.name();
        let built_in = name.is_some_and(|name| BUILT_IN.contains(&name.as_str()));
        !built_in || definition.as_directive_definition().is_none()
    });
    for definition in &mut document.definitions {
        annotate(definition);
    }
    document.to_string()
}

fn annotate(definition: &mut Definition) {
    match definition {
        Definition::SchemaDefinition(schema) => schema.make_mut().directives.push(link()),
        Definition::ObjectTypeDefinition(object) => {
            let object = object.make_mut();
            let interfaces = &object.implements_interfaces;
            let product = interfaces.iter().find(|of| *of == "Product");
            let listed = product.unwrap_or(&object.name).clone();
            object.directives.extend(of_type(&object.name, &listed));
            annotate_fields(&mut object.fields, &listed);
        }
        Definition::InterfaceTypeDefinition(interface) => {
            let interface = interface.make_mut();
            let name = &interface.name;
            interface.directives.extend(of_type(name, name));
            annotate_fields(&mut interface.fields, name);
        }
        Definition::EnumTypeDefinition(values) => {
            let values = values.make_mut();
            values.directives.extend(of_type(&values.name, ""));
        }
        Definition::InputObjectTypeDefinition(input) => {
            let input = input.make_mut();
            input.directives.extend(of_type(&input.name, ""));
        }
        _ => {}
    }
}

/// The directives of a type. `listed` is the name that the table of entities has for it.
fn of_type(name: &str, listed: &str) -> Vec<Node<Directive>> {
    let entity = ENTITIES.iter().find(|(entity, _)| *entity == listed);
    let keys = entity.map_or(&[][..], |(_, keys)| *keys).iter();
    let mut all: Vec<_> = keys
        .map(|fields| directive(name!("key"), name!("fields"), fields))
        .collect();
    if SHAREABLE.contains(&name) {
        all.push(plain(name!("shareable")));
    }
    if PARTS.contains(&name) {
        all.push(plain(name!("inaccessible")));
    }
    all
}

/// Adds the directives of fields. `parent` is the name that the tables have for their type.
fn annotate_fields(fields: &mut [Node<FieldDefinition>], parent: &Name) {
    for field in fields {
        let name = format!("{parent}.{}", field.name);
        if MACHINERY.contains(&name.as_str()) {
            let hidden = plain(name!("inaccessible"));
            field.make_mut().directives.push(hidden);
        } else if access(&name).is_some_and(Access::is_for_staff) {
            let tag = directive(name!("tag"), name!("name"), STAFF);
            field.make_mut().directives.push(tag);
        }
    }
}

/// Names the specification, and the directives that are used.
fn link() -> Node<Directive> {
    let used = ["@inaccessible", "@key", "@shareable", "@tag"];
    let imported = used.map(|used| Node::new(Value::String(used.to_owned())));
    Node::new(Directive {
        name: name!("link"),
        arguments: vec![
            argument(name!("url"), Value::String(SPECIFICATION.to_owned())),
            argument(name!("import"), Value::List(imported.to_vec())),
        ],
    })
}

fn plain(name: Name) -> Node<Directive> {
    Node::new(Directive {
        name,
        arguments: Vec::new(),
    })
}

fn directive(name: Name, of: Name, value: &str) -> Node<Directive> {
    Node::new(Directive {
        name,
        arguments: vec![argument(of, Value::String(value.to_owned()))],
    })
}

fn argument(name: Name, value: Value) -> Node<Argument> {
    let value = Node::new(value);
    Node::new(Argument { name, value })
}

#[cfg(test)]
mod tests;
