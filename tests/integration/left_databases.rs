//! Databases that tests have left: later tests get them as new ones, or not at all.

use mongodb::Database;
use mongodb::bson::{Document, doc};
use vitrine_harness::left_databases::{LeftDatabases, MAX_DOCUMENTS};
use vitrine_harness::test;

/// A database with a validator, an index and some documents.
async fn create(database: &Database) {
    let validator = doc! { "n": { "$type": "int" } };
    let valid = database.create_collection("valid").validator(validator);
    valid.await.unwrap();
    database
        .run_command(index(doc! { "n": 1, "m": 1 }))
        .await
        .unwrap();
    database.run_command(inserts(3)).await.unwrap();
}

fn index(key: Document) -> Document {
    doc! { "createIndexes": "indexed", "indexes": [{ "key": key, "name": "n" }] }
}

fn inserts(documents: i32) -> Document {
    let documents: Vec<Document> = (0..documents).map(|n| doc! { "n": n }).collect();
    doc! { "insert": "indexed", "documents": documents }
}

/// Leaves a database after some commands, and takes it. Returns whether it comes back; it is as a new one then.
async fn comes_back_after(database: &Database, commands: &[Document]) -> bool {
    create(database).await;
    let left = LeftDatabases::new(0);
    left.learn(database).await.unwrap();
    for command in commands {
        database.run_command(command.clone()).await.unwrap();
    }
    left.add(database.name().to_owned());
    let taken = left.take(database.client()).await;
    if let Some(taken) = &taken {
        assert_eq!(taken, database.name());
        assert!(left.is_new(database).await.unwrap(), "{commands:?}");
        let documents = database.collection::<Document>("indexed");
        assert_eq!(documents.count_documents(doc! {}).await.unwrap(), 0);
        let profiler = database.run_command(doc! { "profile": -1 }).await.unwrap();
        assert_eq!(profiler.get_i32("was").unwrap(), 0);
    }
    database.drop().await.unwrap();
    taken.is_some()
}

#[test]
fn a_database_comes_back_as_a_new_one_unless_too_much_has_changed() {
    let drop_index = doc! { "dropIndexes": "indexed", "index": "n" };
    let mended = [
        vec![],
        vec![inserts(7)],
        vec![inserts(MAX_DOCUMENTS)],
        vec![drop_index.clone()],
        vec![drop_index, index(doc! { "m": 1, "n": 1 })],
        vec![doc! { "collMod": "valid", "validator": {} }],
        vec![doc! { "create": "more" }],
        vec![doc! { "drop": "valid" }],
        vec![doc! { "profile": 2 }, inserts(1)],
    ];
    let created = (0..11).map(|n| doc! { "create": format!("more {n}") });
    let view = doc! { "create": "view", "viewOn": "valid", "pipeline": [] };
    let dropped = [created.collect(), vec![view]];
    test(async |app| {
        let name = format!("{}_left", app.store.database_name());
        let database = app.direct().client().database(&name);
        for commands in mended {
            assert!(comes_back_after(&database, &commands).await, "{commands:?}");
        }
        for commands in dropped {
            assert!(
                !comes_back_after(&database, &commands).await,
                "{commands:?}"
            );
        }
    });
}

#[test]
fn every_collection_is_created_again_as_it_was() {
    test(async |app| {
        let store = app.empty_database().await;
        store.create_schema().await.unwrap();
        let database = app.direct().client().database(store.database_name());
        let left = LeftDatabases::new(0);
        left.learn(&database).await.unwrap();
        let names = database.list_collection_names().await.unwrap();
        for some in names.chunks(10) {
            for name in some {
                let collection = database.collection::<Document>(name);
                collection.drop().await.unwrap();
            }
            left.add(database.name().to_owned());
            assert!(left.take(database.client()).await.is_some(), "{some:?}");
            assert!(left.is_new(&database).await.unwrap(), "{some:?}");
        }
        store.drop_database().await.unwrap();
    });
}

#[test]
fn a_database_comes_back_only_after_the_spare_ones() {
    test(async |app| {
        let name = format!("{}_left", app.store.database_name());
        let database = app.direct().client().database(&name);
        create(&database).await;
        let left = LeftDatabases::new(1);
        left.learn(&database).await.unwrap();
        left.add(name.clone());
        assert_eq!(left.take(database.client()).await, None);
        left.add("another".to_owned());
        assert_eq!(left.take(database.client()).await, Some(name));
        assert_eq!(left.take(database.client()).await, None);
        database.drop().await.unwrap();
    });
}
