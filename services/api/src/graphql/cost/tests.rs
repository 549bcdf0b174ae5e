use std::collections::BTreeSet;

use apollo_compiler::Schema;
use serde_json::{Value, json};

use super::*;
use crate::execution::{Engine, GraphqlRequest};
use crate::graphql::described::{engine, subgraph};

const TREE: TreeShape = TreeShape {
    categories: 117,
    roots: 13,
    children: 12,
    levels: 3,
};

/// The cost of a query in microseconds, without that of every request.
fn cost(query: &str) -> u64 {
    let engine = engine();
    let prepared = engine.prepare(GraphqlRequest::new(query)).unwrap();
    prepared.cost(&SchemaCosts { tree: TREE })
}

/// The names of the fields of the schema, and of those that return lists of objects.
fn fields() -> (BTreeSet<String>, BTreeSet<String>) {
    let engine = subgraph();
    let schema = Schema::parse_and_validate(engine.sdl(), "schema.graphql").unwrap();
    let (mut all, mut lists) = (BTreeSet::new(), BTreeSet::new());
    for (name, ty) in &schema.types {
        let (fields, of_product) = match ty {
            apollo_compiler::schema::ExtendedType::Object(object) => {
                let of_product = object.implements_interfaces.contains("Product");
                (&object.fields, of_product)
            }
            apollo_compiler::schema::ExtendedType::Interface(interface) => {
                (&interface.fields, false)
            }
            _ => continue,
        };
        let shared = &schema.get_interface("Product").unwrap().fields;
        for (field, definition) in fields {
            let ty = if of_product && shared.contains_key(field) {
                "Product"
            } else {
                name.as_str()
            };
            all.insert(format!("{ty}.{field}"));
            let inner = schema.types.get(definition.ty.inner_named_type()).unwrap();
            if definition.ty.is_list() && !(inner.is_scalar() || inner.is_enum()) {
                lists.insert(format!("{ty}.{field}"));
            }
        }
    }
    (all, lists)
}

#[test]
fn every_list_of_objects_has_a_row() {
    let (all, lists) = fields();
    let rows: BTreeSet<String> = FIELDS
        .iter()
        .map(|(field, ..)| (*field).to_owned())
        .collect();
    assert_eq!(rows.len(), FIELDS.len(), "a field has two rows");
    let missing: Vec<&String> = lists
        .difference(&rows)
        .filter(|field| !field.ends_with(".userErrors"))
        .collect();
    assert!(missing.is_empty(), "lists without a row: {missing:?}");
    let unknown: Vec<&String> = rows
        .difference(&all)
        .filter(|field| !field.starts_with("__"))
        .collect();
    assert!(unknown.is_empty(), "rows of no field: {unknown:?}");
}

#[test]
fn page_sizes_multiply() {
    let page = |outer: u32, inner: u32| {
        cost(&format!(
            "{{ products(first: {outer}) {{ nodes {{ reviews(first: {inner}) {{ nodes {{ rating }} }} }} }} }}"
        ))
    };
    let (one, ten) = (page(1, 10), page(10, 10));
    assert!(ten > 6 * one, "{one} and {ten}");
    let difference = page(10, 20) - page(10, 10);
    assert_eq!(difference, 10 * 10 * (ROW + OBJECT + SCALAR));
}

/// What has to be counted for the request costs more than what is known.
#[test]
fn facets_of_whole_categories_are_cheap() {
    let facets = |arguments: &str, selection: &str| {
        cost(&format!(
            "{{ products{arguments} {{ {selection} {{ key values {{ label }} }} }} }}"
        ))
    };
    let known = facets("", "facets");
    let of_category = facets(r#"(filter: { category: ["lamps"] })"#, "facets");
    assert!(of_category - known <= 2 * ARGUMENT, "{of_category} {known}");
    for (arguments, selection) in [
        (r#"(filter: { brand: ["North"] })"#, "facets"),
        (
            r#"(filter: { category: ["lamps"], brand: ["North"] })"#,
            "facets",
        ),
        (r#"(filter: { category: ["lamps", "chairs"] })"#, "facets"),
        (r#"(search: "lamp")"#, "facets"),
        ("", "facets(limit: 51)"),
        ("", r#"facets(displayUnits: [{ unit: "cm" }])"#),
    ] {
        let counted = facets(arguments, selection);
        assert!(
            counted >= known + FACET_COUNT,
            "{arguments} {selection}: {counted}"
        );
    }
}

/// Such a list reads products to sort them, and reads fewer products to count facets.
#[test]
fn a_sort_by_spec_costs_in_every_form() {
    let facets = "facets(limit: 51) { key }";
    let list = |sort: &str| {
        cost(&format!(
            "{{ products{sort} {{ {facets} nodes {{ name }} }} }}"
        ))
    };
    let by_spec = list(r#"(sort: [{ spec: "weight" }])"#);
    let difference = SORT_BY_SPEC - FACET_COUNT / 2 + ARGUMENT;
    assert_eq!(by_spec, list("") + difference);
    assert_eq!(list(r#"(sort: { spec: "weight" })"#), by_spec);
    assert_eq!(list("(sort: [{ key: PRICE }])"), list("") + ARGUMENT);

    let engine = engine();
    let with = |variables: &str, sort: &str, values: Value| {
        let mut request = GraphqlRequest::new(format!(
            "query({variables}) {{ products(sort: {sort}) {{ {facets} nodes {{ name }} }} }}"
        ));
        request.variables = values.as_object().unwrap().clone();
        let prepared = engine.prepare(request).unwrap();
        prepared.cost(&SchemaCosts { tree: TREE })
    };
    let one = |spec| with("$s: String", "[{ spec: $s }]", json!({ "s": spec }));
    assert_eq!(one(json!("weight")), by_spec);
    assert_eq!(one(json!(null)), list(""));
    let all = |sort| with("$s: [ProductSortInput!]", "$s", json!({ "s": sort }));
    assert_eq!(all(json!([{ "spec": "weight" }])), by_spec);
    assert_eq!(
        all(json!([{ "key": "PRICE", "spec": null }])),
        list("") + ARGUMENT
    );
}

#[test]
fn all_values_of_facets_cost() {
    let facets = |limit: u32| {
        cost(&format!(
            "{{ products {{ facets(keys: [\"color\"], limit: {limit}) {{ values {{ label }} }} }} }}"
        ))
    };
    assert_eq!(facets(200) - facets(100), 100 * (OBJECT + SCALAR));
    assert_eq!(facets(201), facets(200), "more is refused later");
}

#[test]
fn variables_count_as_their_values() {
    let query = "query($n: Int) { products(first: $n) { nodes { name } } }";
    let engine = engine();
    let with = |n: serde_json::Value| {
        let mut request = GraphqlRequest::new(query);
        request.variables.insert("n".to_owned(), n);
        let prepared = engine.prepare(request).unwrap();
        prepared.cost(&SchemaCosts { tree: TREE })
    };
    assert_eq!(
        with(json!(48)),
        cost("{ products(first: 48) { nodes { name } } }")
    );
    assert_eq!(with(json!(null)), cost("{ products { nodes { name } } }"));
}

#[test]
fn an_interface_costs_its_most_expensive_type() {
    let of = |fragments: &str| cost(&format!("{{ product(slug: \"a\") {{ {fragments} }} }}"));
    let book = "... on Book { contributors { name role } }";
    let movie = "... on Movie { cast { name role } }";
    assert_eq!(of(&format!("{book} {movie}")), of(movie));
    assert!(of(book) < of(movie));
    assert_eq!(of(&format!("name {movie}")), of(movie) + SCALAR);
}

#[test]
fn categories_cost_what_the_tree_has() {
    let roots = cost("{ categories { name } }");
    assert_eq!(roots, 13 * (OBJECT + SCALAR));
    // All children of all roots are at most all categories.
    let two = cost("{ categories { children { name } } }");
    assert!(two <= 13 * OBJECT + (117 + 13) * (OBJECT + SCALAR), "{two}");
    // Going up and down again multiplies.
    let again =
        cost("{ categories { ancestors { children { ancestors { children { name } } } } } }");
    assert!(again > 13 * 3 * 12 * 3 * 12, "{again}");
}

#[test]
fn long_arguments_cost() {
    let keys = vec!["\"color\""; 150].join(", ");
    let long = cost(&format!(
        "{{ product(slug: \"a\") {{ specs(keys: [{keys}]) {{ key }} }} }}"
    ));
    let short = cost("{ product(slug: \"a\") { specs(keys: [\"color\"]) { key } } }");
    assert!(long >= short + 149, "{short} and {long}");
}

/// The query of the review, with which one caller took the service away from everyone.
#[test]
fn nested_pages_exceed_every_limit() {
    let nested = "{ products(first:100){ nodes{ reviews(first:100){ nodes{ product { reviews(first:100){ nodes{ product { reviews(first:100){ nodes{ __typename } } } } } } } } } } }";
    let units = cost(nested) / UNIT;
    assert!(units > 1_000 * CostLimits::default().staff, "{units}");
}

#[test]
fn an_operation_costs_the_same_whatever_was_asked_before() {
    let query =
        "query List($first: Int, $filter: ProductFilterInput, $search: String, $sort: [ProductSortInput!], $ids: [ID!] = []) {
        products(first: $first, filter: $filter, search: $search, sort: $sort) { nodes { name } facets { key } }
        nodes(ids: $ids) { id } }";
    let asked = [
        json!({}),
        json!({ "first": 10 }),
        json!({ "first": 100 }),
        json!({ "first": null, "search": "lamp" }),
        json!({ "filter": { "category": "lamps" } }),
        json!({ "filter": { "category": "lamps", "brand": ["a"] } }),
        json!({ "filter": { "category": "lamps", "brand": ["a", "b"] } }),
        json!({ "ids": ["a", "b", "c"] }),
        json!({ "sort": [{ "spec": "weight" }] }),
        json!({ "sort": [{ "key": "PRICE" }] }),
    ];
    let shared = engine();
    let cost = |engine: &Engine, variables: &Value| {
        let mut request = GraphqlRequest::new(query);
        request.variables = variables.as_object().unwrap().clone();
        let prepared = engine.prepare(request).unwrap();
        prepared.cost(&SchemaCosts { tree: TREE })
    };
    for variables in asked.iter().chain(asked.iter().rev()) {
        for _ in 0..2 {
            let fresh = cost(&engine(), variables);
            assert_eq!(cost(&shared, variables), fresh, "{variables}");
        }
    }
}
