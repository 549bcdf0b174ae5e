//! The service beside other subgraphs: composed by the library of Apollo, and queried through its
//! gateway. Needs Node.js; see `tests/federation`.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use vitrine_api::graphql::{Role, subgraph_sdl};
use vitrine_harness::environment::workspace_dir;
use vitrine_harness::mutations::{MUTATIONS, Mutation};
use vitrine_harness::node::Scripts;
use vitrine_harness::process::Service;
use vitrine_harness::{App, eventually, http, pretty, product, review, test};
use vitrine_storage::migrations::FILES;

/// The schema of another team, from `tests/federation`.
fn other(name: &str) -> Value {
    let path = workspace_dir().join(format!("tests/federation/{name}.graphql"));
    json!({ "name": name, "sdl": fs::read_to_string(path).unwrap() })
}

/// The schema of another team, with the usual imports.
fn team(sdl: &str) -> Value {
    let link = r#"extend schema @link(url: "https://specs.apollo.dev/federation/v2.3",
        import: ["@key", "@interfaceObject", "@shareable", "@override", "@external", "@requires"])"#;
    json!({ "name": "team", "sdl": format!("{link}\n{sdl}") })
}

/// A composition of the service with other subgraphs.
struct Composed(Value);

impl Composed {
    /// Composes the service with each of these lists of other subgraphs. `None` if the test is left out.
    fn all(supergraphs: &[Vec<Value>]) -> Option<Vec<Self>> {
        let scripts = Scripts::of("federation")?;
        let ours = json!({ "name": "catalogue", "sdl": subgraph_sdl() });
        let ours = std::slice::from_ref(&ours);
        let with_ours = |others: &Vec<Value>| [ours, others.as_slice()].concat();
        let supergraphs: Vec<_> = supergraphs.iter().map(with_ours).collect();
        let composed = scripts.run("compose.mjs", &json!(supergraphs));
        let composed = composed.as_array().unwrap().clone();
        Some(composed.into_iter().map(Self).collect())
    }

    /// The schema that clients see.
    #[track_caller]
    fn api(&self) -> &str {
        assert_eq!(self.0["errors"], json!([]));
        self.0["api"].as_str().unwrap()
    }

    /// The codes of the errors, each once.
    fn codes(&self) -> BTreeSet<&str> {
        let errors = self.0["errors"].as_array().unwrap().iter();
        let texts = errors.filter_map(Value::as_str);
        texts.filter_map(|text| text.split(':').next()).collect()
    }
}

/// The lines of a type in a schema.
fn definition<'a>(schema: &'a str, head: &str) -> &'a str {
    let start = schema.find(head).unwrap_or_else(|| panic!("no {head}"));
    schema[start..].split("\n}").next().unwrap()
}

#[test]
fn the_service_composes_alone_and_with_others() {
    let Some(composed) = Composed::all(&[vec![], vec![other("stock"), other("offers")]]) else {
        return;
    };
    let api = composed[0].api();
    assert!(definition(api, "type Query {").contains("  products("));
    let api = composed[1].api();
    // Fields of other teams are on the interface and on each kind, which they do not know.
    for head in [
        "interface Product implements Node {",
        "type Book implements ",
    ] {
        let product = definition(api, head);
        assert!(product.contains("  inStock: Int!"), "{product}");
        assert!(product.contains("  offers: [Offer!]!"), "{product}");
    }
    // Value types are shared.
    assert!(definition(api, "type OfferedProducts {").contains("  pageInfo: PageInfo!"));
    assert!(definition(api, "type Offer {").contains("  price: Money!"));
}

/// What a supergraph does not show, and what it can leave out by the tag.
#[test]
fn a_supergraph_hides_the_machinery_and_tags_what_is_for_staff() {
    let Some(composed) = Composed::all(&[vec![]]) else {
        return;
    };
    let api = composed[0].api();
    for hidden in [
        "  workers:",
        "  dataVersions:",
        "  outlier:",
        "type WorkerStatus",
    ] {
        assert!(!api.contains(hidden), "{hidden}");
    }
    let supergraph = composed[0].0["supergraph"].as_str().unwrap();
    for feature in ["tag", "inaccessible"] {
        assert!(supergraph.contains(&format!("https://specs.apollo.dev/{feature}/")));
    }
    // The directive of a mutation follows its payload, which has its name.
    let marks = [" @tag(name: \"staff\")", " @inaccessible"];
    let lines = definition(supergraph, "type Mutation").lines();
    let closed = lines.filter(|line| marks.iter().any(|mark| line.contains(mark)));
    let closed = closed.filter_map(|line| line.trim().strip_prefix("): ")?.split_once("Payload"));
    let closed: BTreeSet<String> = closed.map(|(name, _)| name.to_lowercase()).collect();
    let for_customers = |mutation: &&Mutation| mutation.roles.contains(&Role::Shopper);
    let for_shop = MUTATIONS.iter().filter(|mutation| !for_customers(mutation));
    let for_shop: BTreeSet<String> = for_shop
        .map(|mutation| mutation.name.to_lowercase())
        .collect();
    assert_eq!(closed, for_shop);
}

/// What other teams can do with our types.
const ALLOWED: [&str; 5] = [
    // Take over a field of a type that is no interface.
    r#"type Supplier @key(fields: "id") { id: ID! country: String @override(from: "catalogue") }"#,
    // Compute a field from ours.
    r#"type Product @key(fields: "id") @interfaceObject { id: ID! name: String! @external
        label: String! @requires(fields: "name") }"#,
    // Use both keys.
    r#"type Product @key(fields: "id") @key(fields: "sku") @interfaceObject { id: ID! sku: String! stock: Int }"#,
    // Add a field to one kind.
    r#"type Book @key(fields: "id") { id: ID! sequel: Book }"#,
    // Have nodes of their own.
    r#"interface Node { id: ID! } type Parcel implements Node @key(fields: "id") { id: ID! }
        type Query { parcel: Parcel }"#,
];

/// What the library refuses, with the code.
const REFUSED: [(&str, &str); 6] = [
    // The fields of products are ours, also as a key that we do not have.
    (
        r#"type Product @key(fields: "id") @interfaceObject { id: ID! name: String! }"#,
        "INVALID_FIELD_SHARING",
    ),
    (
        r#"type Product @key(fields: "slug") @interfaceObject { slug: String! stock: Int }"#,
        "INVALID_FIELD_SHARING",
    ),
    // They cannot be taken over for all kinds at once.
    (
        r#"type Product @key(fields: "id") @interfaceObject { id: ID! name: String! @override(from: "catalogue") }"#,
        "OVERRIDE_COLLISION_WITH_ANOTHER_DIRECTIVE",
    ),
    // Nobody else can read our ids.
    (
        "interface Node { id: ID! } type Query { node(id: ID!): Node }",
        "INVALID_FIELD_SHARING",
    ),
    // The codes of our refusals are ours.
    (
        "type UserError { message: String! } type Query { mistake: UserError }",
        "INVALID_FIELD_SHARING",
    ),
    // A product is of many types.
    (
        r#"type Product @key(fields: "id") { id: ID! stock: Int }"#,
        "TYPE_KIND_MISMATCH",
    ),
];

#[test]
fn other_teams_can_add_fields_and_cannot_change_ours() {
    let refused = REFUSED.map(|(sdl, _)| sdl);
    let teams = ALLOWED.iter().chain(&refused).map(|sdl| vec![team(sdl)]);
    let Some(composed) = Composed::all(&teams.collect::<Vec<_>>()) else {
        return;
    };
    let (allowed, refused) = composed.split_at(ALLOWED.len());
    for (composed, sdl) in allowed.iter().zip(ALLOWED) {
        assert_eq!(composed.codes(), BTreeSet::new(), "{sdl}");
    }
    for (composed, (sdl, code)) in refused.iter().zip(REFUSED) {
        assert!(
            composed.codes().contains(code),
            "{sdl}: {:?}",
            composed.codes()
        );
    }
}

/// The real service, the subgraphs of two other teams, and a gateway.
struct Shop {
    service: Service,
    knows: Value,
    address: String,
}

impl Shop {
    async fn open(app: &App) -> Self {
        app.has([
            product("a").kind("book").supplier("North", "NO"),
            product("b").price("12.50"),
            product("c").kind("movie"),
        ])
        .await;
        app.has_reviews([review("a", 1, 5), review("b", 2, 3)])
            .await;
        let found = app
            .query(
                r#"{ a: product(slug: "a") { id sku supplier { supplierId } topReviews { reviewId } }
                     b: product(slug: "b") { id sku topReviews { reviewId } } c: product(slug: "c") { id sku } }"#,
            )
            .await;
        let at = |pointer: &str| found.text(pointer);
        let knows = json!({
            "ids": [at("/c/id"), at("/a/id"), at("/b/id")],
            "skus": [at("/b/sku"), at("/a/sku"), "nowhere"],
            "reviews": [at("/b/topReviews/0/reviewId"), at("/a/topReviews/0/reviewId")],
            "suppliers": [at("/a/supplier/supplierId")],
        });
        app.store
            .migrate(FILES, "test", false, &|_| {})
            .await
            .unwrap();
        let service = Service::start(&[
            "serve",
            "--federation",
            "--public-introspection",
            "--listen",
            "127.0.0.1:0",
            "--mongodb-uri",
            app.uri(),
            "--database",
            app.store.database_name(),
            "--cursor-secret",
            "0123456789abcdef",
            "--token-secret",
            "0123456789abcdef0123456789abcdef",
        ]);
        let address = service.listening().await;
        let open = async || {
            let answer = http::graphql(&address, "{ __typename }", None).await.ok()?;
            (answer.status == 200).then_some(())
        };
        eventually("a service that answers", Duration::from_mins(1), open).await;
        Self {
            service,
            knows,
            address,
        }
    }
}

/// Executes queries through a gateway over all subgraphs: their data, and which subgraphs were asked.
async fn through_gateway(scripts: &Scripts, app: &App, queries: &[&str]) -> String {
    let shop = Shop::open(app).await;
    let input = json!({
        "service": format!("http://{}/graphql", shop.address),
        "token": null,
        "knows": shop.knows,
        "queries": queries,
    });
    let answers = scripts.run("gateway.mjs", &input);
    assert!(shop.service.stop().await.success());
    let shown: Vec<String> = answers.as_array().unwrap().iter().map(shown).collect();
    shown.join("\n")
}

#[test]
fn a_gateway_joins_objects_that_other_subgraphs_extend_or_refer_to() {
    let Some(scripts) = Scripts::of("federation") else {
        return;
    };
    let queries = [
        // Theirs on ours.
        "{ products(sort: [{ key: NAME }]) { nodes { name inStock offers { price { amount } } } } }",
        // Ours on theirs, by id.
        "{ scarce { __typename name inStock ... on Book { pages } } }",
        // Ours on theirs, by SKU; a product that nobody has.
        "{ onOffer { nodes { sku name price { amount } offers { seller { name country } } inStock } pageInfo { hasNextPage } } }",
    ];
    test(async move |app| {
        let shown = through_gateway(&scripts, app, &queries).await;
        insta::assert_snapshot!(shown, @r#"
        catalogue, offers for 3, stock for 3: {
          products: {
            nodes: [
              { name: "a", inStock: 2, offers: [{ price: { amount: "6.50" } }] }
              { name: "b", inStock: 3, offers: [{ price: { amount: "6.50" } }] }
              { name: "c", inStock: 1, offers: [{ price: { amount: "6.50" } }] }
            ]
          }
        }
        stock, catalogue for 3: {
          scarce: [
            { __typename: "Movie", name: "c", inStock: 1 }
            { __typename: "Book", name: "a", inStock: 2, pages: null }
            { __typename: "GenericProduct", name: "b", inStock: 3 }
          ]
        }
        offers, catalogue for 3, catalogue for 3, stock for 2: {
          onOffer: {
            nodes: [
              {
                sku: "feed:b"
                name: "b"
                price: { amount: "12.50" }
                offers: [{ seller: { name: "North", country: "NO" } }]
                inStock: 3
              }
              {
                sku: "feed:a"
                name: "a"
                price: null
                offers: [{ seller: { name: "North", country: "NO" } }]
                inStock: 2
              }
              null
            ]
            pageInfo: { hasNextPage: false }
          }
        }
        "#);
    });
}

#[test]
fn a_gateway_goes_on_from_reviews_and_root_fields_to_a_third_subgraph() {
    let Some(scripts) = Scripts::of("federation") else {
        return;
    };
    let queries = [
        // From their review to our product, and on to a field of the third.
        "{ translated { rating translatedFrom product { __typename name inStock } } }",
        // By our own root fields.
        r#"{ product(slug: "a") { ... on Book { offers { price { amount currency } } topReviews { rating } } } }"#,
    ];
    test(async move |app| {
        let shown = through_gateway(&scripts, app, &queries).await;
        insta::assert_snapshot!(shown, @r#"
        stock, catalogue for 2, stock for 2: {
          translated: [
            {
              rating: 3
              translatedFrom: "no"
              product: { __typename: "GenericProduct", name: "b", inStock: 3 }
            }
            { rating: 5, translatedFrom: "no", product: { __typename: "Book", name: "a", inStock: 2 } }
          ]
        }
        catalogue, offers for 1: {
          product: { offers: [{ price: { amount: "6.50", currency: "EUR" } }], topReviews: [{ rating: 5 }] }
        }
        "#);
    });
}

/// The data of an answer, and which subgraph was asked for how many objects.
fn shown(answer: &Value) -> String {
    let asked = answer["asked"].as_array().unwrap().iter();
    let asked = asked.map(|asked| {
        let subgraph = asked["subgraph"].as_str().unwrap();
        let count = asked["representations"].as_array().map_or(0, Vec::len);
        if count == 0 {
            subgraph.to_owned()
        } else {
            format!("{subgraph} for {count}")
        }
    });
    let asked: Vec<String> = asked.collect();
    assert_eq!(answer["errors"], json!([]), "{answer}");
    format!("{}: {}", asked.join(", "), pretty(&answer["data"]))
}
