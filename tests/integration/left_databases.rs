//! Databases that tests have left: later tests get them empty, or not at all.

use mongodb::Database;
use mongodb::bson::{Document, doc};
use vitrine_harness::left_databases::{LeftDatabases, MAX_DOCUMENTS};
use vitrine_harness::test;

/// A database with a validator, an index and some documents.
async fn create(database: &Database) {
    let validator = doc! { "n": { "$type": "int" } };
    let valid = database.create_collection("valid").validator(validator);
    valid.await.unwrap();
    let index = doc! { "key": { "n": 1 }, "name": "n" };
    let indexes = doc! { "createIndexes": "indexed", "indexes": [index] };
    database.run_command(indexes).await.unwrap();
    database.run_command(inserts(3)).await.unwrap();
}

fn inserts(documents: i32) -> Document {
    let documents: Vec<Document> = (0..documents).map(|n| doc! { "n": n }).collect();
    doc! { "insert": "indexed", "documents": documents }
}

/// Leaves a database after a command, and takes it. Returns how many documents it has then; `None` if it does not come
/// back.
async fn documents_after(database: &Database, command: Document) -> Option<u64> {
    create(database).await;
    let left = LeftDatabases::new(0);
    left.learn(database).await.unwrap();
    database.run_command(command).await.unwrap();
    left.add(database.name().to_owned());
    let taken = left.take(database.client()).await;
    let documents = database.collection::<Document>("indexed");
    let documents = documents.count_documents(doc! {}).await.unwrap();
    database.drop().await.unwrap();
    taken.map(|name| {
        assert_eq!(name, database.name());
        documents
    })
}

#[test]
fn a_database_comes_back_empty_if_it_has_the_shape_of_a_new_one() {
    let unchanged = [doc! { "ping": 1 }, inserts(7)];
    let changed = [
        doc! { "dropIndexes": "indexed", "index": "n" },
        doc! { "collMod": "valid", "validator": {} },
        doc! { "create": "more" },
        doc! { "create": "view", "viewOn": "valid", "pipeline": [] },
        doc! { "drop": "valid" },
        inserts(MAX_DOCUMENTS),
    ];
    test(async |app| {
        let name = format!("{}_left", app.store.database_name());
        let database = app.direct().client().database(&name);
        for command in unchanged {
            let documents = documents_after(&database, command.clone()).await;
            assert_eq!(documents, Some(0), "{command}");
        }
        for command in changed {
            let name = command.keys().next().unwrap().clone();
            assert_eq!(documents_after(&database, command).await, None, "{name}");
        }
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
