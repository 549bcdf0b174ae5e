//! What is generated or declared once: the GraphQL schema, the database's desired state, the
//! migrations that lead there.

use std::fs;

use mongodb::bson::{Document, doc};
use vitrine_api::execution::survey;
use vitrine_harness::surroundings::{update_expected, workspace_dir};
use vitrine_harness::{product, test};
use vitrine_storage::Store;

/// Root fields that are never null: they read nothing that could fail, fail item by item, or are
/// asked for alone, while somebody types.
const NEVER_NULL: [&str; 11] = [
    "categories",
    "dataVersions",
    "exportAuthor",
    "fairnessReport",
    "moderationQueue",
    "nodes",
    "ratingStatsAudit",
    "searchSuggestions",
    "trending",
    "units",
    "workers",
];

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
fn everything_is_described() {
    let mut found = survey(&sdl()).unwrap();
    found.sort();
    let expected = NEVER_NULL.map(|field| format!("Query.{field} is not nullable"));
    assert_eq!(found, expected);
}

/// Applies all migrations as a process of this name would, and gives which it applied.
async fn migrate(store: &Store, owner: &str) -> Vec<&'static str> {
    store.migrate(owner, &|_| {}).await.unwrap()
}

/// Fails unless the database is what this release wants, nothing less and nothing more.
async fn as_desired(store: &Store) {
    assert_eq!(store.missing_from_schema().await.unwrap(), [""; 0]);
    assert_eq!(store.beyond_schema().await.unwrap(), [""; 0]);
}

#[test]
fn migrations_lead_to_the_desired_state() {
    test(async |app| {
        as_desired(&app.store).await;
        let store = app.empty_database().await;
        assert!(!store.missing_from_schema().await.unwrap().is_empty());
        let applied = migrate(&store, "first").await;
        let status = store.migration_status().await.unwrap();
        assert_eq!(
            applied,
            status
                .iter()
                .map(|migration| migration.name)
                .collect::<Vec<_>>()
        );
        assert!(status.iter().all(|migration| migration.applied));
        as_desired(&store).await;
        assert_eq!(migrate(&store, "again").await, [""; 0]);
        store.drop_database().await.unwrap();
    });
}

#[test]
fn what_would_be_done_is_told_and_not_done() {
    test(async |app| {
        let store = app.empty_database().await;
        let told = store.planned_migrations().await.unwrap();
        assert!(store.missing_from_schema().await.unwrap().len() > 10);
        let status = store.migration_status().await.unwrap();
        assert!(status.iter().all(|migration| !migration.applied));
        let count = |text: &str| {
            let lines = told.iter().flat_map(|planned| &planned.commands);
            lines.filter(|line| line.starts_with(text)).count()
        };
        assert_eq!(count("create products"), 1);
        // Later ones change what its documents may have.
        assert!(count("set the validator of products") >= 1, "{told:?}");
        assert_eq!(count("createIndexes products: older,"), 1, "{told:?}");
        let applied = migrate(&store, "first").await;
        let names: Vec<&str> = told.iter().map(|planned| planned.name).collect();
        assert_eq!(names, applied);
        assert_eq!(store.planned_migrations().await.unwrap(), []);
        store.drop_database().await.unwrap();
    });
}

#[test]
fn a_migration_that_was_changed_afterwards_is_refused() {
    test(async |app| {
        let store = app.empty_database().await;
        let applied = migrate(&store, "first").await;
        let changed = doc! { "$set": { "checksum": "another" } };
        let database = app.direct().client().database(store.database_name());
        let migrations = database.collection::<Document>("migrations");
        let second = doc! { "_id": applied[1] };
        migrations.update_one(second, changed).await.unwrap();
        for refused in [
            store.migration_status().await.map(drop),
            store.planned_migrations().await.map(drop),
            store.migrate("second", &|_| {}).await.map(drop),
        ] {
            let error = refused.unwrap_err().to_string();
            assert!(error.contains(applied[1]), "{error}");
            assert!(error.contains("write a new migration"), "{error}");
        }
        store.drop_database().await.unwrap();
    });
}

#[test]
fn the_newest_migration_may_be_applied_twice() {
    test(async |app| {
        let store = app.empty_database().await;
        let applied = migrate(&store, "first").await;
        store
            .apply_migration(applied.last().unwrap())
            .await
            .unwrap();
        as_desired(&store).await;
        store.drop_database().await.unwrap();
    });
}

#[test]
fn of_two_processes_that_migrate_at_once_one_does_it() {
    test(async |app| {
        let store = app.empty_database().await;
        let (one, two) = tokio::join!(migrate(&store, "one"), migrate(&store, "two"));
        let mut all = one;
        all.extend(two);
        let status = store.migration_status().await.unwrap();
        assert_eq!(
            all,
            status
                .iter()
                .map(|migration| migration.name)
                .collect::<Vec<_>>()
        );
        as_desired(&store).await;
        store.drop_database().await.unwrap();
    });
}

#[test]
fn what_a_newer_release_added_is_no_reason_to_refuse() {
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
            app.store.beyond_schema().await.unwrap(),
            ["collection newer", "index products.newer_1"]
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
