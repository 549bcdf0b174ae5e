//! The GraphQL schema, the desired state of the database, and the migrations to it.

use std::fs;

use mongodb::bson::{Document, doc};
use mongodb::options::IndexOptions;
use mongodb::{Database, IndexModel};
use vitrine_api::execution::survey;
use vitrine_harness::environment::{update_expected, workspace_dir};
use vitrine_harness::{App, product, test};
use vitrine_model::product::{Kind, MAX_MEDIA, ProductStatus};
use vitrine_model::review::{MAX_DECISIONS, MAX_REVIEW_MEDIA, MAX_TOP_REVIEWS};
use vitrine_model::spec::{MAX_SPECS, ValueType};
use vitrine_storage::Store;
use vitrine_storage::migrations::{FILES, MigrationFile, Step};
use vitrine_storage::schema::{schema_digest, schema_version};

/// Root fields that are never null: they read nothing that could fail, fail item by item, or are
/// selected alone, as suggestions are.
const NEVER_NULL: [&str; 2] = ["categories", "units"];

fn sdl() -> String {
    let engine = vitrine_api::graphql::engine().unwrap();
    format!("{}\n", engine.sdl().trim_end())
}

#[test]
fn the_committed_schema_is_the_one_that_is_served() {
    let path = workspace_dir().join("schema/vitrine.graphql");
    if update_expected() {
        fs::write(&path, sdl()).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == sdl(),
        "schema/vitrine.graphql is out of date; run UPDATE_EXPECT=1 cargo test"
    );
}

#[test]
fn every_part_of_the_schema_has_a_description() {
    let mut found = survey(&sdl()).unwrap();
    found.sort();
    let expected = NEVER_NULL.map(|field| format!("Query.{field} is not nullable"));
    assert_eq!(found, expected);
}

/// Migrates a database as a process of this name would; returns what was done.
async fn migrate(store: &Store, owner: &str) -> Vec<String> {
    let done = store.migrate(FILES, owner, false, &|_| {}).await.unwrap();
    done.iter().map(ToString::to_string).collect()
}

/// Asserts that the database is exactly the desired state of this release.
async fn as_desired(store: &Store) {
    assert_eq!(store.missing_from_schema().await.unwrap(), [""; 0]);
    assert_eq!(store.unexpected_in_schema().await.unwrap(), [""; 0]);
}

/// The same database by another client.
fn direct(app: &App, store: &Store) -> Database {
    app.direct().client().database(store.database_name())
}

#[test]
fn the_version_of_the_schema_is_that_of_its_files() {
    let stated = schema_version();
    let digest = schema_digest();
    if update_expected() && stated.digest != digest {
        let version = stated.version;
        let text = format!("{{ \"version\": {version}, \"digest\": \"{digest}\" }}\n");
        fs::write(workspace_dir().join("schema/version.json"), text).unwrap();
        return;
    }
    assert_eq!(
        stated.digest, digest,
        "files of schema/mongodb have changed: if this version was released, raise the number in schema/version.json; then run UPDATE_EXPECT=1 cargo test"
    );
}

#[test]
fn descriptions_and_guides_name_the_number_of_top_reviews() {
    let sdl = sdl();
    // The interface, the typed kinds, and the type of all other kinds.
    let products = 1 + Kind::TYPED.len() + 1;
    let first_page = format!("The first page of up to {MAX_TOP_REVIEWS} reviews");
    assert!(sdl.contains(&first_page), "{first_page}");
    let range = format!("The number of reviews: 1 to {MAX_TOP_REVIEWS}.");
    assert_eq!(sdl.matches(&range).count(), products);
    for (path, text) in [
        (
            "ARCHITECTURE.md",
            format!("up to {MAX_TOP_REVIEWS} top reviews"),
        ),
        (
            "docs/api.md",
            format!("the {MAX_TOP_REVIEWS} most helpful reviews"),
        ),
        (
            "docs/api.md",
            format!("reviews(first: {MAX_TOP_REVIEWS}, sort: MOST_HELPFUL)"),
        ),
        (
            "schema/mongodb/README.md",
            format!("// at most {MAX_TOP_REVIEWS}\n"),
        ),
    ] {
        let guide = fs::read_to_string(workspace_dir().join(path)).unwrap();
        assert!(guide.contains(&text), "{path} does not say: {text}");
    }
}

#[test]
fn validators_allow_what_constants_allow() {
    let read = |file: &str| {
        let path = workspace_dir().join("schema/mongodb").join(file);
        serde_json::from_str::<serde_json::Value>(&fs::read_to_string(path).unwrap()).unwrap()
    };
    let limit = |file: &str, field: &str| {
        let path = format!("/validator/$jsonSchema/properties/{field}/maxItems");
        let limit = read(file)
            .pointer(&path)
            .and_then(serde_json::Value::as_u64);
        usize::try_from(limit.unwrap()).unwrap()
    };
    assert!(limit("products.json", "top_reviews") >= MAX_TOP_REVIEWS);
    assert!(limit("products.json", "specs") >= MAX_SPECS);
    assert!(limit("products.json", "media") >= MAX_MEDIA);
    assert!(limit("reviews.json", "media") >= MAX_REVIEW_MEDIA);
    assert!(limit("reviews.json", "moderation") >= MAX_DECISIONS);
    let values = |file: &str, field: &str| {
        let path = format!("/validator/$jsonSchema/properties/{field}/enum");
        read(file).pointer(&path).cloned().unwrap()
    };
    let types = serde_json::json!(ValueType::ALL.map(ValueType::name));
    assert_eq!(values("products.json", "specs/items/properties/t"), types);
    assert_eq!(values("spec_keys.json", "type"), types);
    let states = serde_json::json!(ProductStatus::ALL.map(ProductStatus::name));
    assert_eq!(values("products.json", "status"), states);
}

#[test]
fn no_index_of_products_has_a_field_that_a_fold_writes() {
    let path = workspace_dir().join("schema/mongodb/products.json");
    let file: serde_json::Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    for index in file["indexes"].as_array().unwrap() {
        for field in index["key"].as_object().unwrap().keys() {
            let outer = field.split('.').next().unwrap();
            // Moving an index entry in a transaction would multiply the cost of a review.
            assert!(
                !["stats", "top_reviews", "outlier"].contains(&outer),
                "index {}: store a rank of {field} instead",
                index["name"]
            );
        }
    }
}

#[test]
fn an_empty_database_is_brought_to_the_desired_state() {
    test(async |app| {
        as_desired(&app.store).await;
        let store = app.empty_database().await;
        let planned = store.migration_plan(FILES).await.unwrap();
        assert_eq!(planned.unwanted, []);
        let planned: Vec<String> = planned.steps.iter().map(ToString::to_string).collect();
        assert!(planned.contains(&"create collection products".to_owned()));
        // Nothing has been applied yet.
        assert_eq!(
            store.missing_from_schema().await.unwrap().len(),
            planned.len()
        );
        assert_eq!(store.recorded_schema().await.unwrap(), None);
        let done = migrate(&store, "first").await.into_iter();
        // The lock creates this one collection before the plan is applied.
        let lock = ("set the validator of leases", "create collection leases");
        let done = done.map(|line| {
            if line == lock.0 {
                lock.1.to_owned()
            } else {
                line
            }
        });
        assert_eq!(done.collect::<Vec<_>>(), planned);
        as_desired(&store).await;
        assert_eq!(
            store.recorded_schema().await.unwrap(),
            Some(schema_version().version)
        );
        assert_eq!(migrate(&store, "again").await, [""; 0]);
        store.drop_database().await.unwrap();
    });
}

#[test]
fn lost_or_changed_parts_of_the_database_schema_are_restored() {
    test(async |app| {
        app.has([product("Lamp")]).await;
        let database = direct(app, &app.store);
        let products = database.collection::<Document>("products");
        products.drop_index("popularity").await.unwrap();
        products.drop_index("price").await.unwrap();
        let other = IndexModel::builder()
            .keys(doc! { "name": 1 })
            .options(IndexOptions::builder().name("name".to_owned()).build())
            .build();
        products.drop_index("name").await.unwrap();
        products.create_index(other).await.unwrap();
        let foreign = IndexModel::builder().keys(doc! { "colour": 1 }).build();
        products.create_index(foreign).await.unwrap();
        let loose = doc! { "collMod": "suppliers", "validator": {} };
        database.run_command(loose).await.unwrap();
        let votes = database.collection::<Document>("votes");
        votes.drop().await.unwrap();

        let plan = app.store.migration_plan(FILES).await.unwrap();
        let lines = |steps: &[Step]| steps.iter().map(ToString::to_string).collect::<Vec<_>>();
        let steps = [
            "build indexes of products over 1 documents: price, popularity",
            "set the validator of suppliers",
            "create collection votes",
        ];
        assert_eq!(lines(&plan.steps), steps);
        let unwanted = ["drop index products.name and build it with its new definition"];
        assert_eq!(lines(&plan.unwanted), unwanted);
        assert_eq!(plan.foreign, ["products.colour_1"]);
        assert_eq!(migrate(&app.store, "first").await, steps);
        let missing = app.store.missing_from_schema().await.unwrap();
        assert!(missing.len() == 1 && missing[0].starts_with("index products.name as"));
        // Indexes are dropped only on request.
        assert_eq!(migrate(&app.store, "second").await, [""; 0]);
        let done = app.store.migrate(FILES, "third", true, &|_| {}).await;
        assert_eq!(lines(&done.unwrap()), unwanted);
        // An index of the operator stays.
        products.drop_index("colour_1").await.unwrap();
        as_desired(&app.store).await;
    });
}

#[test]
fn only_indexes_that_an_earlier_release_has_made_are_dropped() {
    test(async |app| {
        migrate(&app.store, "earlier").await;
        let database = direct(app, &app.store);
        let records = database.collection::<Document>("migrations");
        let old = doc! { "$push": { "indexes": "products.old" } };
        records
            .update_one(doc! { "_id": "schema" }, old)
            .await
            .unwrap();
        let products = database.collection::<Document>("products");
        for name in ["old", "mine"] {
            let options = IndexOptions::builder().name(name.to_owned()).build();
            let index = IndexModel::builder().keys(doc! { name: 1 });
            let index = index.options(options).build();
            products.create_index(index).await.unwrap();
        }
        let plan = app.store.migration_plan(FILES).await.unwrap();
        assert_eq!(plan.foreign, ["products.mine"]);
        let done = app.store.migrate(FILES, "later", true, &|_| {}).await;
        let done: Vec<String> = done.unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(done, ["drop index products.old"]);
        products.drop_index("mine").await.unwrap();
        as_desired(&app.store).await;
    });
}

/// A step that moves data, which no comparison can find.
const MOVES: MigrationFile = MigrationFile {
    name: "0001_capitals",
    text: r#"{
        "description": "Countries in capitals.",
        "commands": [
            { "update": "suppliers", "updates": [
                { "q": {}, "u": [{ "$set": { "country": { "$toUpper": "$country" } } }], "multi": true }
            ] }
        ]
    }"#,
};

#[test]
fn numbered_files_are_applied_once_and_in_order() {
    test(async |app| {
        let lamp = product("Lamp").supplier("North", "DE");
        app.has([lamp]).await;
        let suppliers = app.direct().collection::<Document>("suppliers");
        let small = doc! { "$set": { "country": "de" } };
        let country = async || {
            let supplier = suppliers.find_one(doc! {}).await.unwrap().unwrap();
            supplier.get_str("country").unwrap().to_owned()
        };
        suppliers.update_one(doc! {}, small.clone()).await.unwrap();
        let files = [MOVES];
        let status = app.store.migration_status(&files).await.unwrap();
        assert!(!status[0].applied);
        let migrate = async |owner| app.store.migrate(&files, owner, false, &|_| {}).await;
        let (one, two) = tokio::join!(migrate("one"), migrate("two"));
        // Of two processes that migrate at once, one does it.
        let done: Vec<String> = [one.unwrap(), two.unwrap()]
            .iter()
            .flatten()
            .map(ToString::to_string)
            .collect();
        assert_eq!(done, ["apply 0001_capitals: Countries in capitals."]);
        assert_eq!(country().await, "DE");
        assert!(app.store.migration_status(&files).await.unwrap()[0].applied);
        suppliers.update_one(doc! {}, small).await.unwrap();
        assert_eq!(migrate("three").await.unwrap(), []);
        assert_eq!(country().await, "de");
        suppliers
            .update_one(doc! {}, doc! { "$set": { "country": "DE" } })
            .await
            .unwrap();
    });
}

#[test]
fn a_numbered_file_that_was_changed_afterwards_is_refused() {
    test(async |app| {
        let done = app.store.migrate(&[MOVES], "first", false, &|_| {}).await;
        done.unwrap();
        let changed = [MigrationFile {
            text: r#"{ "description": "Other.", "commands": [] }"#,
            ..MOVES
        }];
        for refused in [
            app.store.migration_status(&changed).await.map(drop),
            app.store.migration_plan(&changed).await.map(drop),
            app.store
                .migrate(&changed, "second", false, &|_| {})
                .await
                .map(drop),
        ] {
            let error = refused.unwrap_err().to_string();
            assert!(error.contains("0001_capitals"), "{error}");
            assert!(error.contains("write a new migration"), "{error}");
        }
    });
}

#[test]
fn a_numbered_file_with_a_refused_write_is_not_recorded() {
    test(async |app| {
        app.has([product("Lamp").supplier("North", "DE")]).await;
        let wrong = [MigrationFile {
            name: "0001_wrong",
            text: r#"{ "description": "Against the validator.", "commands": [
                { "update": "suppliers", "updates": [{ "q": {}, "u": { "$unset": { "name": 1 } } }] }
            ] }"#,
        }];
        let refused = app.store.migrate(&wrong, "first", false, &|_| {}).await;
        assert!(refused.is_err());
        assert!(!app.store.migration_status(&wrong).await.unwrap()[0].applied);
    });
}

#[test]
fn of_two_concurrent_migrations_one_runs() {
    test(async |app| {
        let store = app.empty_database().await;
        let planned = store.migration_plan(FILES).await.unwrap();
        let (one, two) = tokio::join!(migrate(&store, "one"), migrate(&store, "two"));
        let lengths = [one.len(), two.len()];
        assert!(lengths.contains(&0) && lengths.contains(&planned.steps.len()));
        as_desired(&store).await;
        store.drop_database().await.unwrap();
    });
}

#[test]
fn a_database_of_a_newer_release_is_left_as_it_is() {
    test(async |app| {
        let database = direct(app, &app.store);
        migrate(&app.store, "this").await;
        let newer = schema_version().version + 1;
        let records = database.collection::<Document>("migrations");
        let raise = doc! { "$set": { "version": newer } };
        records
            .update_one(doc! { "_id": "schema" }, raise)
            .await
            .unwrap();
        // It may have expanded validators and added indexes.
        let expanded = doc! { "collMod": "suppliers", "validator": {} };
        database.run_command(expanded).await.unwrap();
        let products = database.collection::<Document>("products");
        let added = IndexModel::builder().keys(doc! { "newer": 1 }).build();
        products.create_index(added).await.unwrap();
        assert_eq!(app.store.missing_from_schema().await.unwrap(), [""; 0]);
        let done = app.store.migrate(FILES, "this", true, &|_| {}).await;
        assert_eq!(done.unwrap(), []);
        assert_eq!(app.store.recorded_schema().await.unwrap(), Some(newer));
        // This release cannot restore what the newer one has removed.
        products.drop_index("popularity").await.unwrap();
        let refused = app.store.migrate(FILES, "this", false, &|_| {}).await;
        let refused = refused.unwrap_err().to_string();
        assert!(
            refused.contains("a newer release") && refused.contains("index products.popularity"),
            "{refused}"
        );
    });
}

#[test]
fn additions_of_a_newer_release_are_accepted() {
    test(async |app| {
        let newer = mongodb::IndexModel::builder()
            .keys(doc! { "newer": 1 })
            .build();
        app.direct()
            .collection::<Document>("products")
            .create_index(newer)
            .await
            .unwrap();
        app.direct().create_collection("newer").await.unwrap();
        assert_eq!(app.store.missing_from_schema().await.unwrap(), [""; 0]);
        assert_eq!(
            app.store.unexpected_in_schema().await.unwrap(),
            ["index products.newer_1", "collection newer"]
        );
        app.direct()
            .collection::<Document>("products")
            .drop_index("popularity")
            .await
            .unwrap();
        assert_eq!(
            app.store.missing_from_schema().await.unwrap(),
            ["index products.popularity"]
        );
    });
}

#[test]
fn a_shop_has_one_currency() {
    test(async |app| {
        app.has([product("a").price("1")]).await;
        let dollars = vitrine_model::money::Currency::parse("USD").unwrap();
        let options = vitrine_domain::CatalogOptions::new(dollars, b"secret".to_vec());
        let refused = vitrine_domain::Catalog::open(app.store.clone(), options)
            .await
            .unwrap_err();
        insta::assert_snapshot!(refused, @"currency: this database belongs to a shop that sells in EUR, not USD; use that currency or another database");
    });
}

#[test]
fn every_scalar_has_a_shape_of_its_own() {
    test(async |app| {
        let types = app.query("{ __schema { types { kind name } } }").await;
        let types = types.at("/__schema/types").as_array().unwrap().iter();
        let scalars = types.filter(|of| of["kind"] == "SCALAR");
        let mut names: Vec<&str> = scalars.map(|of| of["name"].as_str().unwrap()).collect();
        names.sort_unstable();
        // None of them takes any JSON.
        assert_eq!(
            names,
            [
                "Boolean", "DateTime", "Decimal", "Float", "ID", "Int", "String", "URL"
            ]
        );
    });
}

/// The server's code for a document that its validator refuses.
const DOCUMENT_VALIDATION_FAILURE: i32 = 121;

fn is_invalid(error: &mongodb::error::Error) -> bool {
    use mongodb::error::{ErrorKind, WriteFailure};
    matches!(
        &*error.kind,
        ErrorKind::Write(WriteFailure::WriteError(error)) if error.code == DOCUMENT_VALIDATION_FAILURE
    )
}

#[test]
fn validators_require_fields_and_types_and_allow_unknown_fields() {
    test(async |app| {
        app.has([product("Lamp").text("color", "Red")]).await;
        for collection in ["products", "reviews", "categories", "suppliers", "units"] {
            let documents = app.direct().collection::<Document>(collection);
            let refused = documents.insert_one(doc! { "_id": 1_i64 }).await;
            assert!(is_invalid(&refused.unwrap_err()), "{collection}");
        }
        let products = app.direct().collection::<Document>("products");
        let mistyped = doc! { "$set": { "name": 5 } };
        let refused = products.update_one(doc! {}, mistyped).await;
        assert!(is_invalid(&refused.unwrap_err()));
        let unknown = doc! { "$set": { "of_a_newer_release": 5 } };
        let updated = products.update_one(doc! {}, unknown).await.unwrap();
        assert_eq!(updated.modified_count, 1);
        // The audit would report it.
        let known = doc! { "$unset": { "of_a_newer_release": 1 } };
        products.update_one(doc! {}, known).await.unwrap();
    });
}
