//! Sharding: how collections are distributed once one replica set is full.
//!
//! Each file under `schema/mongodb` contains the shard key of its collection, or the reason why it
//! is not sharded.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::LazyLock;

use mongodb::bson::{Bson, Document, doc};

use crate::schema::{CollectionSchema, desired};

/// Returns the commands that shard the collections of a database, as JavaScript for `mongosh`:
/// required indexes first, then `shardCollection`, and zones for deployments that separate the
/// catalogue from reviews. Lists the unsharded collections with their reasons.
#[must_use]
pub fn shard_plan(database: &str) -> String {
    let all = desired();
    let mut plan = String::from(
        "// Run this in mongosh on a mongos, with the role clusterAdmin. It may be repeated.\n",
    );
    write_sharding(&mut plan, &all, database);
    write_zones(&mut plan, &all, database);
    plan.push_str("\n// These are not sharded; they are on the primary shard of the database:\n");
    for schema in &all {
        if let Some(reason) = &schema.unsharded {
            let _ = writeln!(plan, "// {}: {reason}", schema.collection);
        }
    }
    write_exceptions(&mut plan);
    plan
}

fn sharded(all: &[CollectionSchema]) -> impl Iterator<Item = (&CollectionSchema, &Document)> {
    all.iter()
        .filter_map(|schema| Some((schema, schema.shard_key.as_ref()?)))
}

fn write_sharding(plan: &mut String, all: &[CollectionSchema], database: &str) {
    let target = json(&Bson::from(database));
    let _ = writeln!(plan, "const shop = db.getSiblingDB({target});");
    for (schema, key) in sharded(all) {
        let (name, key_text) = (&schema.collection, json(&key.clone().into()));
        if is_hashed(key) {
            // The server creates it automatically only for an empty collection.
            let _ = writeln!(plan, "shop.{name}.createIndex({key_text});");
        }
        let mut command = doc! { "shardCollection": format!("{database}.{name}"), "key": key };
        if is_unique(schema, key) {
            command.insert("unique", true);
        }
        let command = json(&command.into());
        let _ = writeln!(plan, "db.adminCommand({command});");
    }
}

fn write_zones(plan: &mut String, all: &[CollectionSchema], database: &str) {
    plan.push_str("\n// Zones, if the catalogue and reviews are to be on separate servers. First, for each shard:\n");
    plan.push_str("// db.adminCommand({ \"addShardToZone\": \"SHARD\", \"zone\": \"catalogue\" }); or \"reviews\"\n");
    for (schema, key) in sharded(all) {
        let zone = schema.zone.as_deref().unwrap_or_default();
        let end = |name: &str| {
            let fields = key
                .keys()
                .map(|field| format!("{}: {name}", json(&field.as_str().into())));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        };
        let namespace = json(&format!("{database}.{}", schema.collection).into());
        let _ = writeln!(
            plan,
            "// db.adminCommand({{ \"updateZoneKeyRange\": {namespace}, \"min\": {}, \"max\": {}, \"zone\": {} }});",
            end("MinKey()"),
            end("MaxKey()"),
            json(&zone.into()),
        );
    }
}

fn write_exceptions(plan: &mut String) {
    let _ = writeln!(
        plan,
        "\n// A transaction writes to at most {MAX_SHARDS} shards, except these:"
    );
    for many in MANY_SHARDS {
        let _ = writeln!(plan, "// {}: {}", many.collections.join(", "), many.why);
    }
    plan.push_str(
        "\n// These queries reach every shard, because they do not contain the shard key:\n",
    );
    for one in SCATTER_GATHER {
        let by = match one.by {
            "" => String::new(),
            "*" => " by any field".to_owned(),
            field => format!(" by {field}"),
        };
        let _ = writeln!(plan, "// {}{by}: {}", one.collection, one.why);
    }
}

fn json(value: &Bson) -> String {
    serde_json::to_string(value).expect("it was read from JSON")
}

fn is_hashed(key: &Document) -> bool {
    key.values().any(|kind| kind.as_str() == Some("hashed"))
}

/// Returns whether a unique index has the whole shard key.
fn is_unique(schema: &CollectionSchema, key: &Document) -> bool {
    let mut unique = unique_keys(schema);
    unique.any(|index| index == key)
}

fn unique_keys(schema: &CollectionSchema) -> impl Iterator<Item = &Document> {
    let unique = schema.indexes.iter();
    let unique = unique.filter(|index| index.get_bool("unique").unwrap_or(false));
    unique.filter_map(|index| index.get_document("key").ok())
}

/// All queries that reach all shards. A test checks every command of the test suite against this
/// list.
pub const SCATTER_GATHER: &[ScatterGather] = &[
    scatter("products", "status", "lists, searches, counts and facets: each queries every shard and merges the results"),
    scatter("products", "", "the worker audit: some products at a time, in the order of ids, once in five seconds; the worker suppliers: the supplier versions in products, one index key per supplier, at most once a minute"),
    scatter("products", "_id", "the worker audit and exports of the catalogue: the next products after one"),
    scatter("products", "supplier._id", "the worker suppliers: after a change of a supplier, and at most once a minute"),
    scatter("products", "kind", "the worker bundles: the bundles of a product that changed, and a check of all bundles once a day"),
    scatter("products", "activity", "the worker trending: products with an activity summary, at most once an hour"),
    scatter("products", "schema_version", "the worker product_versions, while documents of an older version exist"),
    scatter("products", "specs.k", "the worker merges, while spec keys are being merged"),
    scatter("reviews", "dirty", "dirty reviews: every process checks once a second, in a partial index"),
    scatter("reviews", "author._id", "the reviews of an author, for an export or an erasure"),
    scatter("reviews", "reply.by", "the replies by a person, for an export or an erasure"),
    scatter("reviews", "round", "the reviews that an erased author voted on"),
    scatter("reviews", "_id", "a review that a moderator publishes while a client follows its product, if the event lacks the product; on shards it has it").only("find"),
    scatter("reviews", "queue.since", "a page of the moderation queue"),
    scatter("reviews", "schema_version", "the worker review_versions, while documents of an older version exist"),
    scatter("review_versions", "author", "the earlier versions of an author's reviews, for an export or an erasure"),
    scatter("review_reports", "_id.u", "the reports by a person, for an export or an erasure"),
    scatter("votes", "_id.u", "the votes of a person, for an export or an erasure"),
    scatter("purchases", "_id.c", "the purchases of a person, for an export or an erasure"),
    scatter("purchases", "recheck_at", "the worker purchases: every ten seconds, in a partial index"),
    scatter("moderation_log", "review_id", "the decisions on reviews, for an export of the catalogue"),
    scatter("moderation_log", "at", "the fairness report, on request of an admin"),
    scatter("mutations", "_id", "the idempotency keys of an author's mutations, for an erasure"),
    scatter("stale_ranks", "*", "the worker ranks: once a second, in a collection of pending rows"),
    scatter("sales", "due", "the worker activity: every two seconds, in a partial index"),
    scatter("activity_handed", "open", "the worker activity: every two seconds, in a partial index"),
    scatter("activity", "_id.h", "the worker trending: the hours of the last day, at most once an hour"),
    scatter("activity_days", "_id.d", "the worker trending: the days of the last month, at most once an hour"),
];

/// The maximum number of shards that the transaction of a request reads from or writes to, if every
/// document were on another shard.
pub const MAX_SHARDS: usize = 8;

/// The transactions that may span more than [`MAX_SHARDS`] shards.
pub const MANY_SHARDS: &[ManyShards] = &[
    ManyShards {
        collections: &[
            "products",
            "names",
            "contributions",
            "stale_copies",
            "history",
        ],
        why: "an import of products, one batch with its names and what their sources say at a time; the workers suppliers and merges, some hundred products at a time",
    },
    ManyShards {
        collections: &[
            "products",
            "reviews",
            "rating_months",
            "stale_ranks",
            "names",
        ],
        why: "an import of reviews, one batch with its names at a time; the worker fold, up to a hundred products at a time",
    },
    ManyShards {
        collections: &[
            "products",
            "reviews",
            "rating_months",
            "stale_ranks",
            "mutations",
            "votes",
        ],
        why: "reviews that arrive together, with their idempotency keys, or votes; up to 32 at a time",
    },
    ManyShards {
        collections: &[
            "activity",
            "activity_days",
            "activity_handed",
            "sales",
            "products",
        ],
        why: "the worker activity: the activity counts of two seconds",
    },
    ManyShards {
        collections: &["reviews", "review_reports", "votes"],
        why: "an erasure: the reviews, votes and reports of an author, some at a time",
    },
];

const fn scatter(collection: &'static str, by: &'static str, why: &'static str) -> ScatterGather {
    ScatterGather {
        command: None,
        collection,
        by,
        why,
    }
}

impl ScatterGather {
    const fn only(self, command: &'static str) -> Self {
        Self {
            command: Some(command),
            ..self
        }
    }
}

/// A query that reaches all shards because it does not contain the shard key, with the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScatterGather {
    /// The command; `None` for any.
    pub command: Option<&'static str>,
    /// The collection.
    pub collection: &'static str,
    /// A field of the filter; `*` for any filter, empty for a query without one.
    pub by: &'static str,
    /// Who sends it, and how often.
    pub why: &'static str,
}

/// A transaction that may span many shards, with the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManyShards {
    /// The sharded collections that it may read or write.
    pub collections: &'static [&'static str],
    /// Who runs it, how much it writes, and how often.
    pub why: &'static str,
}

/// The reach of a transaction so far: for each sharded collection the values of the shard key that
/// it uses, `None` for all.
#[derive(Clone, Debug, Default)]
pub(crate) struct TransactionReach {
    sharded: BTreeMap<String, Option<BTreeSet<String>>>,
    /// Whether it uses unsharded collections.
    whole: bool,
}

impl TransactionReach {
    /// Adds a command.
    pub(crate) fn add(&mut self, reached: Vec<Reach>) {
        self.whole |= reached.is_empty();
        for one in reached {
            let known = self
                .sharded
                .entry(one.collection)
                .or_insert_with(|| Some(BTreeSet::new()));
            match (known.as_mut(), one.keys) {
                (Some(known), Some(keys)) => known.extend(keys),
                _ => *known = None,
            }
        }
    }

    /// Describes the fault of a transaction that may span more than [`MAX_SHARDS`] shards and is
    /// not in [`MANY_SHARDS`].
    pub(crate) fn fault(&self) -> Option<String> {
        let keys = |keys: &Option<BTreeSet<String>>| keys.as_ref().map(BTreeSet::len);
        let each: Option<Vec<usize>> = self.sharded.values().map(keys).collect();
        let few = each
            .is_some_and(|each| each.iter().sum::<usize>() + usize::from(self.whole) <= MAX_SHARDS);
        let known = |many: &ManyShards| {
            let mut names = self.sharded.keys();
            names.all(|name| many.collections.contains(&name.as_str()))
        };
        if few || MANY_SHARDS.iter().any(known) {
            return None;
        }
        let named = self.sharded.iter().map(|(name, found)| {
            let found = keys(found).map_or_else(|| "all".to_owned(), |n| n.to_string());
            format!("{name}: {found}")
        });
        let named = named.collect::<Vec<_>>().join(", ");
        Some(format!("a transaction on {named}"))
    }
}

/// The reach of a command on a sharded collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    command: String,
    collection: String,
    /// The fields of its filter.
    fields: BTreeSet<String>,
    /// The values of the first field of the shard key; `None` without the field.
    keys: Option<BTreeSet<String>>,
}

impl Reach {
    /// Describes the fault of a command that reaches all shards and is not in [`SCATTER_GATHER`].
    pub(crate) fn fault(&self) -> Option<String> {
        let known = |one: &ScatterGather| {
            let all = one.by.is_empty() && self.fields.is_empty();
            one.collection == self.collection
                && one.command.is_none_or(|command| command == self.command)
                && (all || one.by == "*" || self.fields.contains(one.by))
        };
        if self.keys.is_some() || SCATTER_GATHER.iter().any(known) {
            return None;
        }
        let fields: Vec<&str> = self.fields.iter().map(String::as_str).collect();
        let fields = fields.join(", ");
        Some(format!("{} {} by {fields}", self.command, self.collection))
    }
}

/// Returns the reach of a command on each sharded collection.
pub(crate) fn reaches(name: &str, command: &Document) -> Vec<Reach> {
    let Ok(collection) = command.get_str(name) else {
        return Vec::new();
    };
    let documents = |field: &str, inner: Option<&str>| -> Vec<Document> {
        let all = command.get_array(field).into_iter().flatten();
        let all = all.filter_map(Bson::as_document);
        all.filter_map(|doc| match inner {
            None => Some(doc.clone()),
            Some(inner) => doc.get_document(inner).ok().cloned(),
        })
        .collect()
    };
    let reach = |filter: &Document| reach(name, collection, filter);
    let filters = match name {
        "find" => vec![command.get_document("filter").cloned().unwrap_or_default()],
        "findAndModify" => vec![command.get_document("query").cloned().unwrap_or_default()],
        "update" => documents("updates", Some("q")),
        "delete" => documents("deletes", Some("q")),
        "insert" => documents("documents", None),
        "aggregate" => return pipeline(collection, &documents("pipeline", None)),
        _ => return Vec::new(),
    };
    filters.iter().filter_map(reach).collect()
}

/// Returns the reach of a pipeline: by its leading `$match` stages, and in each joined collection.
fn pipeline(collection: &str, stages: &[Document]) -> Vec<Reach> {
    if stages
        .first()
        .is_some_and(|stage| stage.contains_key("$changeStream"))
    {
        return Vec::new();
    }
    let matched = stages
        .iter()
        .map_while(|stage| stage.get_document("$match").ok());
    let all: Vec<Bson> = matched.cloned().map(Bson::Document).collect();
    let mut reached: Vec<Reach> = reach("aggregate", collection, &doc! { "$and": all })
        .into_iter()
        .collect();
    for stage in stages {
        let inner = |joined: &Document| -> Vec<Document> {
            let stages = joined.get_array("pipeline").into_iter().flatten();
            stages.filter_map(Bson::as_document).cloned().collect()
        };
        if let Ok(joined) = stage.get_document("$lookup") {
            let from = joined.get_str("from").unwrap_or_default();
            let mut stages = inner(joined);
            if let Ok(field) = joined.get_str("foreignField") {
                // One value for each joined document.
                stages.insert(0, doc! { "$match": { field: "a value" } });
            }
            reached.extend(pipeline(from, &stages));
        }
        if let Ok(joined) = stage.get_document("$unionWith") {
            let from = joined.get_str("coll").unwrap_or_default();
            reached.extend(pipeline(from, &inner(joined)));
        }
    }
    reached
}

/// Returns the reach of a filter; `None` for an unsharded collection.
fn reach(command: &str, collection: &str, filter: &Document) -> Option<Reach> {
    static KEYS: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
        let sharded = desired().into_iter();
        let first = |schema: CollectionSchema| {
            let field = schema.shard_key?.keys().next()?.clone();
            Some((schema.collection, field))
        };
        sharded.filter_map(first).collect()
    });
    let field = KEYS.get(collection)?;
    let mut fields = BTreeSet::new();
    named(filter, &mut fields);
    Some(Reach {
        command: command.to_owned(),
        collection: collection.to_owned(),
        fields,
        keys: values(filter, field),
    })
}

/// Collects the fields of a filter.
fn named(filter: &Document, fields: &mut BTreeSet<String>) {
    for (field, value) in filter {
        if matches!(field.as_str(), "$and" | "$or" | "$nor") {
            let branches = value.as_array().into_iter().flatten();
            branches
                .filter_map(Bson::as_document)
                .for_each(|branch| named(branch, fields));
        } else {
            fields.insert(field.clone());
        }
    }
}

/// Returns the values that a filter allows for a field of the shard key, if it lists them. Of a
/// document the first value counts: a range of documents with the same one is on one shard.
fn values(filter: &Document, field: &str) -> Option<BTreeSet<String>> {
    let branches = |name: &str| {
        let branches = filter.get_array(name).ok()?.iter();
        Some(branches.filter_map(Bson::as_document))
    };
    if let Some(value) = filter.get(field)
        && let Some(found) = named_values(value)
    {
        return Some(found);
    }
    if let Some(mut all) = branches("$and")
        && let Some(found) = all.find_map(|branch| values(branch, field))
    {
        return Some(found);
    }
    let either: Option<Vec<_>> = branches("$or")?
        .map(|branch| values(branch, field))
        .collect();
    Some(either?.into_iter().flatten().collect())
}

fn named_values(value: &Bson) -> Option<BTreeSet<String>> {
    let Bson::Document(doc) = value else {
        return Some(BTreeSet::from([value.to_string()]));
    };
    let of = |operator: &str| doc.get(operator).map(first_value);
    if let Some(one) = of("$eq") {
        return Some(BTreeSet::from([one]));
    }
    if let Ok(some) = doc.get_array("$in") {
        return Some(some.iter().map(first_value).collect());
    }
    if doc.keys().all(|key| !key.starts_with('$')) {
        return Some(BTreeSet::from([first_value(value)]));
    }
    let from = of("$gte").or_else(|| of("$gt"))?;
    let to = of("$lte").or_else(|| of("$lt"))?;
    (from == to).then(|| BTreeSet::from([from]))
}

fn first_value(value: &Bson) -> String {
    match value {
        Bson::Document(doc) => doc
            .values()
            .next()
            .map_or_else(String::new, Bson::to_string),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_collection_has_a_shard_key_or_a_reason_without_one() {
        for schema in desired() {
            let name = &schema.collection;
            match (&schema.shard_key, &schema.unsharded) {
                (Some(key), None) => {
                    assert!(!key.is_empty(), "{name}");
                    let zone = schema.zone.as_deref();
                    assert!(matches!(zone, Some("catalogue" | "reviews")), "{name}");
                }
                (None, Some(reason)) => {
                    assert!(reason.ends_with('.') && schema.zone.is_none(), "{name}");
                }
                _ => panic!("{name}: either a shard key or a reason"),
            }
        }
    }

    /// The server can enforce uniqueness across shards only for indexes that begin with the shard
    /// key, and has a hashed index only on `_id` here.
    #[test]
    fn unique_indexes_begin_with_the_shard_key() {
        for schema in desired() {
            let Some(key) = &schema.shard_key else {
                continue;
            };
            let fields: Vec<&String> = key.keys().collect();
            for unique in unique_keys(&schema) {
                let begins: Vec<&String> = unique.keys().take(fields.len()).collect();
                assert!(
                    !is_hashed(key) && begins == fields,
                    "{}: {unique} does not begin with {key}",
                    schema.collection
                );
            }
            assert!(
                !is_hashed(key) || fields == ["_id"],
                "{}",
                schema.collection
            );
        }
    }

    #[test]
    fn a_command_contains_the_shard_key_or_has_a_reason() {
        let fault = |name: &str, command: Document| {
            let reached = reaches(name, &command);
            reached.iter().filter_map(Reach::fault).collect::<Vec<_>>()
        };
        let none: [&str; 0] = [];
        let find = |collection: &str, filter: Document| {
            fault("find", doc! { "find": collection, "filter": filter })
        };
        // By the key, by several keys, by either of several, by a range within one, and on an
        // unsharded collection.
        assert_eq!(find("names", doc! { "_id": "slug:lamp" }), none);
        assert_eq!(find("names", doc! { "_id": { "$in": ["a", "b"] } }), none);
        let either = doc! { "$or": [{ "product_id": 1 }, { "product_id": 2 }], "rating": 5 };
        assert_eq!(find("reviews", either), none);
        let range = doc! { "_id": { "$gte": { "r": 1 }, "$lte": { "r": 1, "u": Bson::MaxKey } } };
        assert_eq!(find("votes", range), none);
        assert_eq!(find("suppliers", doc! {}), none);
        // Without the key.
        assert_eq!(
            find("reviews", doc! { "rating": 5 }),
            ["find reviews by rating"]
        );
        let one_of_two = doc! { "$or": [{ "product_id": 1 }, { "title": "x" }] };
        assert_eq!(
            find("reviews", one_of_two),
            ["find reviews by product_id, title"]
        );
        assert_eq!(find("votes", doc! { "_id.r": 1 }), ["find votes by _id.r"]);
        let wide = doc! { "_id": { "$gte": { "r": 1 }, "$lte": { "r": 2 } } };
        assert_eq!(find("votes", wide), ["find votes by _id"]);
        let update = doc! { "update": "reviews", "updates": [{ "q": { "_id": 1 }, "u": {} }] };
        assert_eq!(fault("update", update), ["update reviews by _id"]);
        // A find with the same filter has a reason.
        assert_eq!(find("reviews", doc! { "_id": 1 }), none);
        let joined = |field: &str| {
            let join =
                doc! { "from": "votes", "localField": "a", "foreignField": field, "as": "b" };
            let stages = [doc! { "$match": { "_id": 1 } }, doc! { "$lookup": join }];
            fault(
                "aggregate",
                doc! { "aggregate": "products", "pipeline": stages.to_vec() },
            )
        };
        assert_eq!(joined("_id"), none);
        assert_eq!(joined("_id.r"), ["aggregate votes by _id.r"]);
    }

    #[test]
    fn a_transaction_stays_on_few_shards_or_has_a_reason() {
        let fault = |commands: &[(&str, Document)]| {
            let mut reach = TransactionReach::default();
            for (name, command) in commands {
                reach.add(reaches(name, command));
            }
            reach.fault()
        };
        let update = |collection: &str, field: &str, ids: std::ops::Range<i32>| {
            let updates: Vec<Document> =
                ids.map(|id| doc! { "q": { field: id }, "u": {} }).collect();
            ("update", doc! { "update": collection, "updates": updates })
        };
        let own = [
            update("votes", "_id", 0..3),
            update("votes", "_id", 1..4),
            update("reviews", "product_id", 0..3),
            ("find", doc! { "find": "suppliers", "filter": {} }),
        ];
        assert_eq!(
            fault(&own),
            None,
            "four votes, three reviews and an unsharded collection"
        );
        let more = [&own[..], &[update("sales", "_id", 7..8)]].concat();
        let expected = "a transaction on reviews: 3, sales: 1, votes: 4";
        assert_eq!(fault(&more).as_deref(), Some(expected));
        let all = ("find", doc! { "find": "purchases", "filter": {} });
        assert_eq!(
            fault(&[all]).as_deref(),
            Some("a transaction on purchases: all")
        );
        let known = [
            update("products", "_id", 0..100),
            update("names", "_id", 0..300),
        ];
        assert_eq!(fault(&known), None);
    }

    #[test]
    fn the_plan_names_every_collection_once() {
        let plan = shard_plan("shop");
        for schema in desired() {
            let name = &schema.collection;
            let sharded = format!("\"shardCollection\":\"shop.{name}\"");
            let whole = schema.unsharded.as_ref();
            let whole = whole.map(|reason| format!("\n// {name}: {reason}\n"));
            let whole = whole.map_or(0, |line| plan.matches(&line).count());
            let times = plan.matches(&sharded).count() + whole;
            assert_eq!(times, 1, "{name}: {plan}");
        }
        let reviews = r#"db.adminCommand({"shardCollection":"shop.reviews","key":{"product_id":1,"by":1},"unique":true});"#;
        assert!(plan.contains(reviews), "{plan}");
        let products = "shop.products.createIndex({\"_id\":\"hashed\"});";
        assert!(plan.contains(products), "{plan}");
    }
}
