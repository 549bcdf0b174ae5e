//! Tests of inputs, sent through the engine: from the text of a request to the domain type.

use std::any::Any;
use std::sync::{Arc, Mutex};

use async_graphql::{EmptyMutation, EmptySubscription, InputType, Object, Schema};
use proptest::prelude::*;
use serde_json::{Value, json};
use vitrine_domain::admin::{DetailsInput, ProductPatch};
use vitrine_domain::outcome::{UserError, UserErrorCode};
use vitrine_domain::reviewing::ReviewPatch;
use vitrine_domain::reviewing::dimensions::DimensionScope;
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
use super::user_errors::ParsedInput;
use super::*;
use crate::execution::{Engine, GraphqlRequest, GraphqlResponse};
use crate::graphql::types::facet::FacetFilter;

/// Records the value that a resolver received, for the test.
#[derive(Clone, Default)]
struct Recorded(Arc<Mutex<Option<Box<dyn Any + Send>>>>);

impl Recorded {
    fn record(&self, value: impl Any + Send) -> bool {
        *self.0.lock().unwrap() = Some(Box::new(value));
        true
    }

    fn take<T: Any>(&self) -> T {
        let value = self.0.lock().unwrap().take();
        let value = value.expect("the field was resolved").downcast();
        *value.expect("it has this type")
    }
}

/// An input that a field of the tests takes.
trait Taken: InputType + 'static {
    const FIELD: &str;
}

/// Declares the fields of a query. One schema has all of them: the compiler makes a copy of the library's
/// functions for each schema.
macro_rules! fields {
    ($($field:ident: $input:ident,)*) => {
        struct Query(Recorded);

        #[Object(rename_fields = "snake_case")]
        impl Query {
            $(async fn $field(&self, input: $input) -> bool {
                self.0.record(input)
            })*
        }

        $(impl Taken for $input {
            const FIELD: &str = stringify!($field);
        })*
    };
}

fields! {
    create_product: CreateProductInput,
    update_product: UpdateProductInput,
    set_specs: SetSpecsInput,
    remove_specs: RemoveSpecsInput,
    update_category: UpdateCategoryInput,
    update_supplier: UpdateSupplierInput,
    edit_review: EditReviewInput,
    delete_review: DeleteReviewInput,
    remove_vote: RemoveVoteInput,
    define_review_dimensions: DefineReviewDimensionsInput,
    define_spec_key: DefineSpecKeyInput,
    update_spec_key: UpdateSpecKeyInput,
    define_unit: DefineUnitInput,
}

/// Creates an engine, and a record of the input that a field received.
fn recording() -> (Engine, Recorded) {
    let recorded = Recorded::default();
    let schema = Schema::build(Query(recorded.clone()), EmptyMutation, EmptySubscription);
    let engine = Engine::new(schema, crate::graphql::scalars());
    (engine.unwrap(), recorded)
}

/// Sends an input as a variable and returns it as the resolver received it.
async fn received<T: Taken>(value: Value) -> T {
    let (engine, recorded) = recording();
    let (field, ty) = (T::FIELD, T::type_name());
    let query = format!("query ($i: {ty}!) {{ {field}(input: $i) }}");
    let answer = send(&engine, GraphqlRequest::new(query).variable("i", value)).await;
    assert_eq!(answer.errors, []);
    recorded.take()
}

async fn send(engine: &Engine, request: GraphqlRequest) -> GraphqlResponse {
    engine.execute(request, |request| request).await
}

fn product_id() -> (ProductId, String) {
    let id = ProductId::random();
    (id, GlobalId::Product(id).encode())
}

/// Returns the paths of the errors in an input.
fn paths<T: std::fmt::Debug>(parsed: ParsedInput<T>) -> Vec<String> {
    let errors = parsed.value.unwrap_err();
    let code = |error: &UserError| assert_eq!(error.code, UserErrorCode::Invalid);
    errors.iter().for_each(code);
    errors.iter().map(|error| error.path.join(".")).collect()
}

#[tokio::test]
async fn a_minimal_product_has_defaults() {
    let input = json!({ "kind": "lamp", "name": "Luma", "category": "lamps" });
    let parsed = received::<CreateProductInput>(input).await.parse();
    assert_eq!(
        (parsed.idempotency_key, parsed.expected_revision),
        (None, None)
    );
    let new = parsed.value.unwrap();
    assert_eq!(
        (new.kind.as_str(), new.name.as_str(), new.category.as_str()),
        ("lamp", "Luma", "lamps")
    );
    assert_eq!(new.status, ProductStatus::Draft);
    assert!(new.sku.is_none() && new.supplier.is_none() && new.price.is_none());
    assert!(new.media.is_empty() && new.specs.is_empty() && new.details.is_none());
}

#[tokio::test]
async fn a_product_is_parsed_with_all_fields() {
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
    let parsed = received::<CreateProductInput>(input).await.parse();
    assert_eq!(parsed.idempotency_key.as_deref(), Some("k-1"));
    let new = parsed.value.unwrap();
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

/// A form can then show all errors at once.
#[tokio::test]
async fn all_errors_are_reported() {
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
    let paths = paths(received::<CreateProductInput>(input).await.parse());
    assert_eq!(
        paths,
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
async fn absent_fields_stay_and_null_clears() {
    let (id, text) = product_id();
    let parsed = received::<UpdateProductInput>(json!({ "id": text }))
        .await
        .parse();
    assert_eq!(parsed.value.unwrap(), (id, ProductPatch::default()));

    let cleared = json!({ "id": text, "description": null, "brand": null, "supplierId": null, "price": null });
    let parsed = received::<UpdateProductInput>(cleared).await.parse();
    let expected = ProductPatch {
        description: Some(None),
        brand: Some(None),
        supplier: Some(None),
        price: Some(None),
        ..ProductPatch::default()
    };
    assert_eq!(parsed.value.unwrap(), (id, expected));

    let recorded = json!({
        "id": text, "sku": null, "slug": null, "name": null, "status": null, "category": null,
        "media": null, "details": null, "expectedRevision": 4,
    });
    let parsed = received::<UpdateProductInput>(recorded).await.parse();
    assert_eq!(parsed.expected_revision, Some(4));
    assert_eq!(
        paths(parsed),
        [
            "sku", "slug", "name", "status", "category", "media", "details"
        ]
    );
}

/// A field whose variable has no value is absent; with null it is cleared.
#[tokio::test]
async fn variables_without_a_value_clear_nothing() {
    let (id, text) = product_id();
    let (engine, recorded) = recording();
    let query = "query ($id: ID!, $brand: String, $name: String) {
        update_product(input: { id: $id, brand: $brand, name: $name }) }";
    let request = || GraphqlRequest::new(query).variable("id", text.as_str());
    send(&engine, request()).await;
    assert_eq!(
        recorded.take::<UpdateProductInput>().parse().value.unwrap(),
        (id, ProductPatch::default())
    );
    send(&engine, request().variable("brand", Value::Null)).await;
    assert_eq!(
        recorded
            .take::<UpdateProductInput>()
            .parse()
            .value
            .unwrap()
            .1
            .brand,
        Some(None)
    );
    send(
        &engine,
        request().variable("brand", "Acme").variable("name", "N"),
    )
    .await;
    let patch = recorded
        .take::<UpdateProductInput>()
        .parse()
        .value
        .unwrap()
        .1;
    assert_eq!(
        (patch.brand, patch.name),
        (Some(Some("Acme".to_owned())), Some("N".to_owned()))
    );
}

#[tokio::test]
async fn ids_of_another_type_are_refused() {
    let (_, product) = product_id();
    let category = GlobalId::Category(CategoryId::random()).encode();
    for id in ["", "nothing", category.as_str()] {
        assert_eq!(
            paths(
                received::<UpdateProductInput>(json!({ "id": id }))
                    .await
                    .parse()
            ),
            ["id"]
        );
        let both = json!({ "productId": id, "specs": [{ "key": "a" }] });
        assert_eq!(
            paths(received::<SetSpecsInput>(both).await.parse()),
            ["productId", "specs.0"]
        );
        let refs = json!({ "productId": id, "specs": [{ "key": "a" }] });
        assert_eq!(
            paths(received::<RemoveSpecsInput>(refs).await.parse()),
            ["productId"]
        );
    }
    let other = json!({ "id": product, "name": null });
    assert_eq!(
        paths(received::<UpdateCategoryInput>(other.clone()).await.parse()),
        ["id", "name"]
    );
    assert_eq!(
        paths(received::<UpdateSupplierInput>(other).await.parse()),
        ["id", "name"]
    );
}

#[tokio::test]
async fn ids_of_reviews_must_be_of_reviews() {
    let (_, product) = product_id();
    for id in ["", "nothing", product.as_str()] {
        let named = json!({ "id": id });
        let input = received::<DeleteReviewInput>(named.clone()).await;
        assert_eq!(paths(input.parse()), ["id"]);
        assert_eq!(
            paths(received::<RemoveVoteInput>(named).await.parse()),
            ["id"]
        );
        let edit = json!({ "id": id, "expectedRevision": 1, "body": null });
        let input = received::<EditReviewInput>(edit).await;
        assert_eq!(paths(input.parse()), ["id", "body"]);
    }
}

#[tokio::test]
async fn reviews_keep_absent_fields() {
    let key = (ProductId::random(), ReviewId::random());
    let id = GlobalId::Review(key.0, key.1).encode();
    let edit = json!({ "id": id, "expectedRevision": 3 });
    let parsed = received::<EditReviewInput>(edit).await.parse();
    assert_eq!(parsed.value.unwrap(), (key, 3, ReviewPatch::default()));

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
    let parsed = received::<EditReviewInput>(edit).await.parse();
    assert_eq!(parsed.value.unwrap().2, expected);
}

#[tokio::test]
async fn aspects_belong_to_a_kind_or_a_category() {
    let both = json!({ "kind": "book", "category": "books", "names": [] });
    for wrong in [both, json!({ "names": [] })] {
        let input = received::<DefineReviewDimensionsInput>(wrong).await;
        assert_eq!(paths(input.parse()), [""]);
    }
    let input =
        received::<DefineReviewDimensionsInput>(json!({ "kind": "book", "names": ["plot"] })).await;
    let value = input.parse().value.unwrap();
    assert_eq!(value.of, DimensionScope::Kind("book".to_owned()));
}

#[tokio::test]
async fn null_moves_a_category_to_the_top() {
    let id = GlobalId::Category(CategoryId::random()).encode();
    let parent = |input: UpdateCategoryInput| input.parse().value.unwrap().1.parent;
    let input = received::<UpdateCategoryInput>(json!({ "id": id })).await;
    assert_eq!(parent(input), None);
    let input = received::<UpdateCategoryInput>(json!({ "id": id, "parent": null })).await;
    assert_eq!(parent(input), Some(None));
    let input = received::<UpdateCategoryInput>(json!({ "id": id, "parent": "lamps" })).await;
    assert_eq!(parent(input), Some(Some("lamps".to_owned())));
}

#[tokio::test]
async fn keys_and_units_have_default_properties() {
    let key = received::<DefineSpecKeyInput>(json!({ "key": "fit", "type": "TEXT" })).await;
    let key = key.parse().value.unwrap();
    assert!(key.facetable && key.filterable && key.allowed_values.is_none());
    let given = json!({ "key": "fit", "type": "TEXT", "facetable": false, "filterable": null, "allowedValues": [] });
    let key = received::<DefineSpecKeyInput>(given).await;
    let key = key.parse().value.unwrap();
    assert!(!key.facetable && key.filterable);
    assert_eq!(key.allowed_values, Some(Vec::new()));

    let unit = received::<DefineUnitInput>(
        json!({ "symbol": "hand", "dimension": "length", "factor": 0.1016 }),
    )
    .await;
    let unit = unit.parse().value.unwrap();
    assert_eq!(
        (unit.id.as_str(), unit.factor, unit.offset),
        ("hand", 0.1016, 0.0)
    );

    let patch =
        received::<UpdateSpecKeyInput>(json!({ "key": "fit", "allowedValues": null })).await;
    assert_eq!(patch.parse().value.unwrap().1.allowed_values, Some(None));
    let nulls = json!({
        "key": "fit", "label": null, "type": null, "dimension": null, "baseUnit": null,
        "facetable": null, "filterable": null, "aliases": null,
    });
    let wrong = paths(received::<UpdateSpecKeyInput>(nulls).await.parse());
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

/// A value that is not of its type is refused before anything is written.
#[tokio::test]
async fn values_of_wrong_types_are_request_errors() {
    let (engine, _) = recording();
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
        let query = "query ($i: CreateProductInput!) { create_product(input: $i) }";
        let answer = send(&engine, GraphqlRequest::new(query).variable("i", input)).await;
        let codes: Vec<_> = answer
            .errors
            .iter()
            .map(|error| error.extensions.code.as_str())
            .collect();
        assert_eq!(codes, ["BAD_USER_INPUT"], "{field}");
    }
    let query = "{ create_product(input: { kind: \"lamp\", name: \"Luma\", category: \"lamps\",
        specs: [{ key: \"a\", number: 1e400 }] }) }";
    assert!(
        send(&engine, GraphqlRequest::new(query))
            .await
            .data
            .is_none()
    );
}

#[test]
fn relevance_is_the_default_sort_of_searches() {
    let by = |key| {
        Some(vec![ProductSortInput {
            key: Some(key),
            spec: None,
            direction: None,
        }])
    };
    let key = |sorts, searched| sort(sorts, searched).map(|(sort, _)| sort.key).ok();
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
fn a_sort_is_by_a_key_or_by_a_spec() {
    let by = |key, spec: Option<&str>, direction| {
        let spec = spec.map(str::to_owned);
        let one = ProductSortInput {
            key,
            spec,
            direction,
        };
        sort(Some(vec![one]), false)
    };
    let (sorted, spec) = by(None, Some("weight"), None).unwrap();
    assert_eq!(spec.as_deref(), Some("weight"));
    assert_eq!(sorted.direction, Direction::Ascending);
    let (sorted, _) = by(None, Some("weight"), Some(SortDirection::Descending)).unwrap();
    assert_eq!(sorted.direction, Direction::Descending);
    for wrong in [
        by(None, None, None),
        by(Some(SortKey::Name), Some("weight"), None),
    ] {
        assert!(wrong.is_err());
    }
}

/// Returns a filter as a facet does, and accepts it as the filter of a list.
struct Panel(ProductFilter, Recorded);

#[Object]
impl Panel {
    async fn shown(&self) -> FacetFilter {
        FacetFilter::of(self.0.clone()).unwrap()
    }

    async fn take(&self, input: ProductFilterInput) -> bool {
        self.1.record(input)
    }
}

/// Selects all fields of a facet's filter, sends the object back unchanged, and returns the
/// received filter.
async fn clicked(filter: ProductFilter) -> ProductFilter {
    let recorded = Recorded::default();
    let panel = Panel(filter, recorded.clone());
    let schema = Schema::build(panel, EmptyMutation, EmptySubscription);
    let engine = Engine::new(schema, crate::graphql::scalars()).unwrap();
    let query = "{ shown { category brand country price { gte lte } rating { gte }
        specs { key qualifier text { eq } number { eq gte lte gt lt unit } boolean date { gte lte gt lt } } } }";
    let mut answer = send(&engine, GraphqlRequest::new(query)).await;
    let body: Value = serde_json::from_slice(&answer.json()).unwrap();
    let query = "query ($i: ProductFilterInput!) { take(input: $i) }";
    let request = GraphqlRequest::new(query).variable("i", body["data"]["shown"].clone());
    let answer = send(&engine, request).await;
    assert_eq!(answer.errors, []);
    recorded.take::<ProductFilterInput>().filter().unwrap()
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
async fn filters_of_facets_can_be_sent_back_unchanged() {
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
fn filters_that_a_facet_cannot_express_are_refused() {
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
    /// The bounds of ranges keep every bit on the way to the client and back: a product at a bound
    /// is counted on one side of it and must be found on the same side.
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
