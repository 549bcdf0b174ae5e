//! Inputs as they come through the engine: from the text of a request to what the domain takes.

use async_graphql::{EmptyMutation, EmptySubscription, Object, Schema};
use proptest::prelude::*;
use serde_json::{Value, json};
use vitrine_domain::admin::{DetailsInput, ProductPatch};
use vitrine_domain::outcome::{UserError, UserErrorCode};
use vitrine_domain::reviewing::ReviewPatch;
use vitrine_domain::reviewing::dimensions::RatedBy;
use vitrine_model::filter::{
    Bounds, DateTest, NumberTest, ProductFilter, ProductSortKey, SpecFilter, SpecTest,
};
use vitrine_model::id::{CategoryId, GlobalId, ProductId, ReviewId, SupplierId};
use vitrine_model::product::ProductStatus;
use vitrine_model::spec::SpecValue;

use super::dictionary::{DefineSpecKeyInput, DefineUnitInput, UpdateSpecKeyInput};
use super::product::{CreateProductInput, UpdateProductInput};
use super::reference::{UpdateCategoryInput, UpdateSupplierInput};
use super::review::{DeleteReviewInput, EditReviewInput, RemoveVoteInput};
use super::reviewing::DefineReviewDimensionsInput;
use super::spec::{RemoveSpecsInput, SetSpecsInput};
use super::user_errors::Asked;
use super::*;
use crate::execution::{Engine, GraphqlRequest, GraphqlResponse};
use crate::graphql::types::facet::FacetFilter;

/// Takes what resolvers take, and keeps it for the test.
#[derive(Clone, Debug)]
struct Kept<T>(std::sync::Arc<std::sync::Mutex<Option<T>>>);

impl<T> Kept<T> {
    fn nothing() -> Self {
        Self(std::sync::Arc::default())
    }

    fn keep(&self, value: T) -> bool {
        *self.0.lock().unwrap() = Some(value);
        true
    }

    fn take(&self) -> T {
        self.0.lock().unwrap().take().expect("the field was asked")
    }
}

/// An engine with one field that takes this input, and what the field was given.
macro_rules! taking {
    ($input:ty) => {{
        struct Query(Kept<$input>);

        #[Object]
        impl Query {
            async fn take(&self, input: $input) -> bool {
                self.0.keep(input)
            }
        }

        let kept = Kept::nothing();
        let schema = Schema::build(Query(kept.clone()), EmptyMutation, EmptySubscription);
        (
            Engine::new(schema, crate::graphql::scalars()).unwrap(),
            kept,
        )
    }};
}

/// What the input becomes that is given as a variable.
macro_rules! given {
    ($input:ty, $value:expr) => {{
        let (engine, kept) = taking!($input);
        let query = format!("query ($i: {}!) {{ take(input: $i) }}", stringify!($input));
        let answer = send(&engine, GraphqlRequest::new(query).variable("i", $value)).await;
        assert_eq!(answer.errors, []);
        kept.take()
    }};
}

async fn send(engine: &Engine, request: GraphqlRequest) -> GraphqlResponse {
    engine.execute(request, |request| request).await
}

fn product_id() -> (ProductId, String) {
    let id = ProductId::random();
    (id, GlobalId::Product(id).encode())
}

/// Where the input is wrong.
fn places<T: std::fmt::Debug>(asked: Asked<T>) -> Vec<String> {
    let errors = asked.wanted.unwrap_err();
    let code = |refusal: &UserError| assert_eq!(refusal.code, UserErrorCode::Invalid);
    errors.iter().for_each(code);
    errors
        .iter()
        .map(|refusal| refusal.path.join("."))
        .collect()
}

#[tokio::test]
async fn a_product_with_the_least_that_can_be_said() {
    let input = json!({ "kind": "lamp", "name": "Luma", "category": "lamps" });
    let asked = given!(CreateProductInput, input).asked();
    assert_eq!(
        (asked.idempotency_key, asked.expected_revision),
        (None, None)
    );
    let new = asked.wanted.unwrap();
    assert_eq!(
        (new.kind.as_str(), new.name.as_str(), new.category.as_str()),
        ("lamp", "Luma", "lamps")
    );
    assert_eq!(new.status, ProductStatus::Draft);
    assert!(new.sku.is_none() && new.supplier.is_none() && new.price.is_none());
    assert!(new.media.is_empty() && new.specs.is_empty() && new.details.is_none());
}

#[tokio::test]
async fn a_product_with_everything() {
    let supplier = SupplierId::random();
    let (item, item_text) = product_id();
    let input = json!({
        "kind": "bundle", "sku": "S1", "slug": "s-1", "name": "Set", "description": "Two.",
        "brand": "Acme", "status": "ACTIVE", "category": "sets",
        "supplierId": GlobalId::Supplier(supplier).encode(),
        "price": { "amount": "19.90", "currency": "EUR" },
        "media": [{ "url": "https://example.org/a.png", "kind": "IMAGE" }],
        "specs": [
            { "key": "color", "text": "Red" },
            { "key": "ports", "number": 3 },
            { "key": "weight", "number": 1.5, "unit": "kg", "qualifier": "packed" },
            { "key": "washable", "boolean": false },
            { "key": "released", "date": "2026-05-31" },
        ],
        "details": { "bundle": { "items": [{ "productId": item_text }, { "productId": item_text, "quantity": 3 }] } },
        "idempotencyKey": "k-1",
    });
    let asked = given!(CreateProductInput, input).asked();
    assert_eq!(asked.idempotency_key.as_deref(), Some("k-1"));
    let new = asked.wanted.unwrap();
    assert_eq!(
        (new.status, new.supplier),
        (ProductStatus::Active, Some(supplier))
    );
    assert_eq!(new.price.unwrap().amount.to_string(), "19.90");
    assert_eq!(new.media[0].url, "https://example.org/a.png");
    let shown: Vec<_> = new.specs.iter().map(|spec| spec.value.display()).collect();
    assert_eq!(shown, ["Red", "3", "1.5 kg", "no", "2026-05-31"]);
    assert_eq!(new.specs[1].value, SpecValue::Number(3.0));
    assert_eq!(new.specs[2].qualifier.as_deref(), Some("packed"));
    assert_eq!(
        new.details,
        Some(DetailsInput::Bundle(vec![(item, 1), (item, 3)]))
    );
}

/// A form can show everything that is wrong at once.
#[tokio::test]
async fn all_that_is_wrong_is_told() {
    let category = GlobalId::Category(CategoryId::random()).encode();
    let input = json!({
        "kind": "bundle", "name": "Set", "category": "sets", "supplierId": "rubbish",
        "specs": [
            { "key": "a" },
            { "key": "b", "text": "x" },
            { "key": "c", "text": "x", "boolean": true },
            { "key": "d", "text": "x", "unit": "kg" },
            { "key": "e", "unit": "kg" },
            { "key": "f", "number": 0, "date": "2026-05-31" },
        ],
        "details": { "bundle": { "items": [{ "productId": category }] } },
    });
    let places = places(given!(CreateProductInput, input).asked());
    assert_eq!(
        places,
        [
            "supplierId",
            "specs.0",
            "specs.2",
            "specs.3.unit",
            "specs.4.unit",
            "specs.5",
            "details.bundle.items.0.productId",
        ]
    );
}

#[tokio::test]
async fn what_is_left_out_stays_and_null_clears() {
    let (id, text) = product_id();
    let asked = given!(UpdateProductInput, json!({ "id": text })).asked();
    assert_eq!(asked.wanted.unwrap(), (id, ProductPatch::default()));

    let cleared = json!({ "id": text, "description": null, "brand": null, "supplierId": null, "price": null });
    let asked = given!(UpdateProductInput, cleared).asked();
    let expected = ProductPatch {
        description: Some(None),
        brand: Some(None),
        supplier: Some(None),
        price: Some(None),
        ..ProductPatch::default()
    };
    assert_eq!(asked.wanted.unwrap(), (id, expected));

    let kept = json!({
        "id": text, "sku": null, "slug": null, "name": null, "status": null, "category": null,
        "media": null, "details": null, "expectedRevision": 4,
    });
    let asked = given!(UpdateProductInput, kept).asked();
    assert_eq!(asked.expected_revision, Some(4));
    assert_eq!(
        places(asked),
        [
            "sku", "slug", "name", "status", "category", "media", "details"
        ]
    );
}

/// A field given by a variable that has no value is not given; with null it clears.
#[tokio::test]
async fn variables_without_a_value_clear_nothing() {
    let (id, text) = product_id();
    let (engine, kept) = taking!(UpdateProductInput);
    let query = "query ($id: ID!, $brand: String, $name: String) {
        take(input: { id: $id, brand: $brand, name: $name }) }";
    let request = || GraphqlRequest::new(query).variable("id", text.as_str());
    send(&engine, request()).await;
    assert_eq!(
        kept.take().asked().wanted.unwrap(),
        (id, ProductPatch::default())
    );
    send(&engine, request().variable("brand", Value::Null)).await;
    assert_eq!(kept.take().asked().wanted.unwrap().1.brand, Some(None));
    send(
        &engine,
        request().variable("brand", "Acme").variable("name", "N"),
    )
    .await;
    let patch = kept.take().asked().wanted.unwrap().1;
    assert_eq!(
        (patch.brand, patch.name),
        (Some(Some("Acme".to_owned())), Some("N".to_owned()))
    );
}

#[tokio::test]
async fn ids_are_of_the_right_type() {
    let (_, product) = product_id();
    let category = GlobalId::Category(CategoryId::random()).encode();
    for id in ["", "nothing", category.as_str()] {
        assert_eq!(
            places(given!(UpdateProductInput, json!({ "id": id })).asked()),
            ["id"]
        );
        let both = json!({ "productId": id, "specs": [{ "key": "a" }] });
        assert_eq!(
            places(given!(SetSpecsInput, both).asked()),
            ["productId", "specs.0"]
        );
        let refs = json!({ "productId": id, "specs": [{ "key": "a" }] });
        assert_eq!(
            places(given!(RemoveSpecsInput, refs).asked()),
            ["productId"]
        );
    }
    let other = json!({ "id": product, "name": null });
    assert_eq!(
        places(given!(UpdateCategoryInput, other.clone()).asked()),
        ["id", "name"]
    );
    assert_eq!(
        places(given!(UpdateSupplierInput, other).asked()),
        ["id", "name"]
    );
}

#[tokio::test]
async fn ids_of_reviews_are_of_reviews() {
    let (_, product) = product_id();
    for id in ["", "nothing", product.as_str()] {
        let named = json!({ "id": id });
        let input = given!(DeleteReviewInput, named.clone());
        assert_eq!(places(input.asked()), ["id"]);
        assert_eq!(places(given!(RemoveVoteInput, named).asked()), ["id"]);
        let edit = json!({ "id": id, "expectedRevision": 1, "body": null });
        let input = given!(EditReviewInput, edit);
        assert_eq!(places(input.asked()), ["id", "body"]);
    }
}

#[tokio::test]
async fn reviews_keep_what_is_left_out() {
    let key = (ProductId::random(), ReviewId::random());
    let id = GlobalId::Review(key.0, key.1).encode();
    let edit = json!({ "id": id, "expectedRevision": 3 });
    let asked = given!(EditReviewInput, edit).asked();
    assert_eq!(asked.wanted.unwrap(), (key, 3, ReviewPatch::default()));

    let edit = json!({
        "id": id, "expectedRevision": 3, "rating": 9, "recommended": null, "language": null,
        "dimensions": [{ "name": "fit", "rating": 4 }], "title": "",
    });
    let expected = ReviewPatch {
        rating: Some(9),
        recommended: Some(None),
        language: Some(None),
        dimensions: Some(vec![("fit".to_owned(), 4)]),
        title: Some(String::new()),
        ..ReviewPatch::default()
    };
    let asked = given!(EditReviewInput, edit).asked();
    assert_eq!(asked.wanted.unwrap().2, expected);
}

#[tokio::test]
async fn aspects_are_of_a_kind_or_of_a_category() {
    let both = json!({ "kind": "book", "category": "books", "names": [] });
    for wrong in [both, json!({ "names": [] })] {
        let input = given!(DefineReviewDimensionsInput, wrong);
        assert_eq!(places(input.asked()), [""]);
    }
    let input = given!(
        DefineReviewDimensionsInput,
        json!({ "kind": "book", "names": ["plot"] })
    );
    let wanted = input.asked().wanted.unwrap();
    assert_eq!(wanted.of, RatedBy::Kind("book".to_owned()));
}

#[tokio::test]
async fn categories_move_to_the_top_with_null() {
    let id = GlobalId::Category(CategoryId::random()).encode();
    let parent = |input: UpdateCategoryInput| input.asked().wanted.unwrap().1.parent;
    let input = given!(UpdateCategoryInput, json!({ "id": id }));
    assert_eq!(parent(input), None);
    let input = given!(UpdateCategoryInput, json!({ "id": id, "parent": null }));
    assert_eq!(parent(input), Some(None));
    let input = given!(UpdateCategoryInput, json!({ "id": id, "parent": "lamps" }));
    assert_eq!(parent(input), Some(Some("lamps".to_owned())));
}

#[tokio::test]
async fn keys_and_units_have_their_usual_properties() {
    let key = given!(DefineSpecKeyInput, json!({ "key": "fit", "type": "TEXT" }));
    let key = key.asked().wanted.unwrap();
    assert!(key.facetable && key.filterable && key.allowed_values.is_none());
    let key = given!(
        DefineSpecKeyInput,
        json!({ "key": "fit", "type": "TEXT", "facetable": false, "filterable": null, "allowedValues": [] })
    );
    let key = key.asked().wanted.unwrap();
    assert!(!key.facetable && key.filterable);
    assert_eq!(key.allowed_values, Some(Vec::new()));

    let unit = given!(
        DefineUnitInput,
        json!({ "symbol": "hand", "dimension": "length", "factor": 0.1016 })
    );
    let unit = unit.asked().wanted.unwrap();
    assert_eq!(
        (unit.id.as_str(), unit.factor, unit.offset),
        ("hand", 0.1016, 0.0)
    );

    let patch = given!(
        UpdateSpecKeyInput,
        json!({ "key": "fit", "allowedValues": null })
    );
    assert_eq!(patch.asked().wanted.unwrap().1.allowed_values, Some(None));
    let nulls = json!({
        "key": "fit", "label": null, "type": null, "dimension": null, "baseUnit": null,
        "facetable": null, "filterable": null, "aliases": null,
    });
    let wrong = places(given!(UpdateSpecKeyInput, nulls).asked());
    assert_eq!(
        wrong,
        [
            "label",
            "type",
            "dimension",
            "baseUnit",
            "facetable",
            "filterable",
            "aliases"
        ]
    );
}

/// What is no value of its type is refused before anything is written.
#[tokio::test]
async fn values_of_other_types_are_errors_of_the_request() {
    let (engine, _) = taking!(CreateProductInput);
    for (field, value) in [
        ("media", json!([{ "url": 5, "kind": "IMAGE" }])),
        ("specs", json!([{ "key": "a", "date": "tomorrow" }])),
        ("specs", json!([{ "key": "a", "number": "5" }])),
        ("details", json!({ "book": {}, "movie": {} })),
        ("price", json!({ "amount": "1,5" })),
        ("price", json!({ "amount": 1.5 })),
    ] {
        let mut input = json!({ "kind": "lamp", "name": "Luma", "category": "lamps" });
        input[field] = value;
        let query = "query ($i: CreateProductInput!) { take(input: $i) }";
        let answer = send(&engine, GraphqlRequest::new(query).variable("i", input)).await;
        let codes: Vec<_> = answer
            .errors
            .iter()
            .map(|error| error.extensions.code.as_str())
            .collect();
        assert_eq!(codes, ["BAD_USER_INPUT"], "{field}");
    }
    let query = "{ take(input: { kind: \"lamp\", name: \"Luma\", category: \"lamps\",
        specs: [{ key: \"a\", number: 1e400 }] }) }";
    assert!(
        send(&engine, GraphqlRequest::new(query))
            .await
            .data
            .is_none()
    );
}

#[test]
fn relevance_is_the_usual_order_of_searches() {
    let by = |key| {
        Some(vec![ProductSortInput {
            key: Some(key),
            spec: None,
            direction: None,
        }])
    };
    let key = |asked, searched| sort(asked, searched).map(|(sort, _)| sort.key).ok();
    assert_eq!(key(None, false), Some(ProductSortKey::Popularity));
    assert_eq!(key(None, true), Some(ProductSortKey::Relevance));
    assert_eq!(
        key(by(SortKey::Relevance), true),
        Some(ProductSortKey::Relevance)
    );
    assert_eq!(key(by(SortKey::Price), true), Some(ProductSortKey::Price));
    let (best_first, _) = sort(None, true).unwrap();
    assert_eq!(best_first.direction, Direction::Descending);
}

#[test]
fn an_order_is_by_a_key_or_by_a_spec() {
    let by = |key, spec: Option<&str>, direction| {
        let spec = spec.map(str::to_owned);
        let asked = ProductSortInput {
            key,
            spec,
            direction,
        };
        sort(Some(vec![asked]), false)
    };
    let (order, spec) = by(None, Some("weight"), None).unwrap();
    assert_eq!(spec.as_deref(), Some("weight"));
    assert_eq!(order.direction, Direction::Ascending);
    let (order, _) = by(None, Some("weight"), Some(SortDirection::Descending)).unwrap();
    assert_eq!(order.direction, Direction::Descending);
    for wrong in [
        by(None, None, None),
        by(Some(SortKey::Name), Some("weight"), None),
    ] {
        assert!(wrong.is_err());
    }
}

/// Shows a filter as a facet does, and takes it back as the filter of a list.
struct Panel(ProductFilter, Kept<ProductFilterInput>);

#[Object]
impl Panel {
    async fn shown(&self) -> FacetFilter {
        FacetFilter::of(self.0.clone()).unwrap()
    }

    async fn take(&self, input: ProductFilterInput) -> bool {
        self.1.keep(input)
    }
}

/// What a client gets that selects all fields of a facet's filter and sends it back as it is.
async fn clicked(filter: ProductFilter) -> ProductFilter {
    let kept = Kept::nothing();
    let panel = Panel(filter, kept.clone());
    let schema = Schema::build(panel, EmptyMutation, EmptySubscription);
    let engine = Engine::new(schema, crate::graphql::scalars()).unwrap();
    let query = "{ shown { category brand country price { gte lte } rating { gte }
        specs { key qualifier text { eq } number { eq gte lte gt lt unit } boolean date { gte lte gt lt } } } }";
    let answer = send(&engine, GraphqlRequest::new(query)).await;
    let text = serde_json::to_string(&answer).unwrap();
    let body: Value = serde_json::from_str(&text).unwrap();
    let query = "query ($i: ProductFilterInput!) { take(input: $i) }";
    let request = GraphqlRequest::new(query).variable("i", body["data"]["shown"].clone());
    let answer = send(&engine, request).await;
    assert_eq!(answer.errors, []);
    kept.take().filter().unwrap()
}

fn spec(test: SpecTest) -> ProductFilter {
    ProductFilter {
        specs: Some(vec![SpecFilter {
            key: "size".to_owned(),
            qualifier: None,
            test,
        }]),
        ..ProductFilter::default()
    }
}

#[tokio::test]
async fn filters_of_facets_come_back_as_they_went() {
    let at = |day: &str| crate::graphql::scalars::instant(day).ok();
    let filters = [
        ProductFilter::default(),
        ProductFilter {
            category: Some(vec!["lamps".to_owned()]),
            ..Default::default()
        },
        ProductFilter {
            brand: Some(vec!["Acme \"X\"".to_owned()]),
            ..Default::default()
        },
        ProductFilter {
            country: Some(vec!["DE".to_owned()]),
            ..Default::default()
        },
        ProductFilter {
            min_rating: Some(3.5),
            ..Default::default()
        },
        ProductFilter {
            price: Some(Bounds {
                gte: "19.90".parse().ok(),
                lte: None,
            }),
            ..Default::default()
        },
        spec(SpecTest::Text(vec!["Größe".to_owned()])),
        spec(SpecTest::Boolean(false)),
        spec(SpecTest::Date(DateTest {
            gte: at("2026-05-31"),
            lt: at("2027-01-01"),
            ..DateTest::default()
        })),
        spec(SpecTest::Number(NumberTest {
            gte: Some(0.1),
            lt: Some(0.3),
            unit: Some("l".to_owned()),
            ..NumberTest::default()
        })),
    ];
    for filter in filters {
        assert_eq!(clicked(filter.clone()).await, filter);
    }
}

#[test]
fn what_a_facet_cannot_show_is_a_fault_of_ours() {
    let texts = ["a", "b"].map(str::to_owned).to_vec();
    let status = Some(vec![ProductStatus::Active]);
    for filter in [
        spec(SpecTest::Text(texts)),
        spec(SpecTest::Exists(true)),
        ProductFilter {
            status,
            ..Default::default()
        },
        ProductFilter {
            or: Some(Vec::new()),
            ..Default::default()
        },
    ] {
        assert!(FacetFilter::of(filter).is_err());
    }
}

proptest! {
    /// The ends of ranges keep their last bit on the way to the client and back: a product at the
    /// end of a range is counted on one side of it, and found on the same.
    #[test]
    fn numbers_of_facets_keep_every_bit(bits: u64) {
        let number = f64::from_bits(bits);
        prop_assume!(number.is_finite());
        let test = NumberTest { gte: Some(number), ..NumberTest::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let filter = spec(SpecTest::Number(test));
        prop_assert_eq!(runtime.block_on(clicked(filter.clone())), filter);
    }
}
