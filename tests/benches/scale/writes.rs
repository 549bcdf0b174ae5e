//! What writing costs, and what everything takes on disk.

use std::time::Instant;

use futures_util::TryStreamExt as _;
use mongodb::bson::{Bson, DateTime, Document, doc};
use mongodb::options::{Acknowledgment, WriteConcern};
use serde_json::json;

use crate::probe::Scope;
use crate::testbed::{Testbed, median, millis, number};

/// How many products are changed, one after the other.
const CHANGES: usize = 500;

/// Sets a common spec of random products to another common value, and beside it a field without
/// an index by the driver alone.
pub(crate) async fn compare(testbed: &Testbed, all: &Scope) {
    println!(
        "\nwrites, one after the other{:>26} {:>9}",
        "p50 ms", "CPU ms"
    );
    let mut values: Vec<_> = all.texts().into_iter().collect();
    values.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let key = values
        .first()
        .map(|((key, _), _)| key.clone())
        .expect("some product has a text");
    let values = values.into_iter().map(|(text, _)| text);
    let texts: Vec<String> = values
        .filter(|text| text.0 == key)
        .map(|text| text.1)
        .collect();
    let (before, mut times) = (testbed.cpu().await, Vec::new());
    for (at, product) in all.sample.iter().take(CHANGES).enumerate() {
        let id = product["id"].as_str().expect("an id is a text");
        let now = product["specs"].as_array().into_iter().flatten();
        let mut now = now.filter(|spec| spec["key"] == json!(key));
        let now = now.find_map(|spec| spec["value"]["text"].as_str());
        let others: Vec<&String> = texts
            .iter()
            .filter(|text| Some(text.as_str()) != now)
            .collect();
        // The first values are the common ones.
        let text = others[at % others.len().min(5)];
        let start = Instant::now();
        testbed
            .set_spec(id, json!({ "key": key, "text": text }))
            .await;
        times.push(start.elapsed());
    }
    let count = times.len();
    print(
        &format!("setSpecs, {key}"),
        times,
        testbed.since(before).await,
    );
    plain_updates(testbed, count).await;
}

async fn plain_updates(testbed: &Testbed, count: usize) {
    let products = testbed.direct.collection::<Document>("products");
    let size = i64::try_from(count).expect("a few hundred");
    let pipeline = [
        doc! { "$sample": { "size": size } },
        doc! { "$project": { "_id": 1 } },
    ];
    let ids: Vec<Document> = products
        .aggregate(pipeline)
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    let ids: Vec<Bson> = ids
        .into_iter()
        .filter_map(|id| id.get("_id").cloned())
        .collect();
    let durable = WriteConcern::builder()
        .w(Acknowledgment::Majority)
        .journal(true)
        .build();
    let (before, mut times) = (testbed.cpu().await, Vec::new());
    for (at, id) in (0_i64..).zip(ids) {
        let change =
            doc! { "$set": { "updated_at": DateTime::from_millis(1_700_000_000_000 + at) } };
        let update = products.update_one(doc! { "_id": id }, change);
        let start = Instant::now();
        update.write_concern(durable.clone()).await.unwrap();
        times.push(start.elapsed());
    }
    print(
        "$set of a field without index",
        times,
        testbed.since(before).await,
    );
}

fn print(name: &str, times: Vec<std::time::Duration>, cpu: std::time::Duration) {
    let count = u32::try_from(times.len().max(1)).expect("a few hundred");
    let name = format!("{} x {name}", times.len());
    println!(
        "{name:<44} {:>9.2} {:>9.2}",
        millis(median(times)),
        millis(cpu / count)
    );
}

/// How large the collections and their indexes are.
pub(crate) async fn print_sizes(testbed: &Testbed) {
    for collection in [
        "products",
        "reviews",
        "words",
        "facet_panels",
        "key_coverage",
    ] {
        let stats = doc! { "collStats": collection };
        let stats = testbed.direct.run_command(stats).await.unwrap();
        let mega = |bytes: i64| bytes as f64 / 1e6;
        let (count, data) = (number(&stats, "count"), number(&stats, "size"));
        println!(
            "\n{collection}: {count} documents of {} bytes, {:.1} MB of data, {:.1} MB on disk, \
             {:.1} MB of indexes",
            number(&stats, "avgObjSize"),
            mega(data),
            mega(number(&stats, "storageSize")),
            mega(number(&stats, "totalIndexSize")),
        );
        let Ok(indexes) = stats.get_document("indexSizes") else {
            continue;
        };
        let mut sizes: Vec<_> = indexes
            .keys()
            .map(|name| (number(indexes, name), name))
            .collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        println!(
            "{:<34} {:>9} {:>9} {:>9}",
            "", "MB", "free MB", "bytes per document"
        );
        for (bytes, name) in sizes {
            let free = mega(reusable(&stats, name));
            let each = bytes / count.max(1);
            println!("  {name:<32} {:>9.1} {free:>9.1} {each:>9}", mega(bytes));
        }
    }
}

/// How many bytes of an index are left over from what was moved, and will be used again.
fn reusable(stats: &Document, index: &str) -> i64 {
    let details = stats.get_document("indexDetails").ok();
    let details = details.and_then(|all| all.get_document(index).ok());
    let blocks = details.and_then(|all| all.get_document("block-manager").ok());
    blocks.map_or(0, |blocks| number(blocks, "file bytes available for reuse"))
}
