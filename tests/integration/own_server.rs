//! Servers for tests that make the server fail: the next test gets them as they were at first.

use std::time::Duration;

use mongodb::Client;
use mongodb::bson::{Document, doc};
use vitrine_harness::eventually;
use vitrine_harness::own_server::OwnServer;

const PARAMETER: &str = "transactionLifetimeLimitSeconds";

#[tokio::test]
async fn a_server_is_reset_after_failures_changed_parameters_and_transactions() {
    let own = OwnServer::take().await.unwrap();
    let client = Client::with_uri_str(own.server.uri()).await.unwrap();
    let (admin, database) = (client.database("admin"), client.database("reset"));
    let first = admin.run_command(doc! { "getParameter": 1, PARAMETER: 1 });
    let first = first.await.unwrap().get_i32(PARAMETER).unwrap();
    let mut session = client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let held = database.collection::<Document>("held");
    let written = held.insert_one(doc! { "_id": 1 }).session(&mut session);
    written.await.unwrap();
    let data = doc! { "failCommands": ["ping"], "errorCode": 96 };
    let failing = doc! { "configureFailPoint": "failCommand", "mode": { "skip": 1 }, "data": data };
    for command in [failing, doc! { "setParameter": 1, PARAMETER: first + 1 }] {
        admin.run_command(command).await.unwrap();
    }

    assert!(own.reset().await.unwrap());

    for _ in 0..3 {
        database.run_command(doc! { "ping": 1 }).await.unwrap();
    }
    let parameter = admin.run_command(doc! { "getParameter": 1, PARAMETER: 1 });
    assert_eq!(parameter.await.unwrap().get_i32(PARAMETER).unwrap(), first);
    let insert = async || held.insert_one(doc! { "_id": 1 }).await.ok();
    eventually("the end of the transaction", Duration::from_secs(5), insert).await;
    database.drop().await.unwrap();
    own.leave().await.unwrap();
}
