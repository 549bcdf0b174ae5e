//! What the worker `audit` found, and when it last went through all products.

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::{RawDocument, RawDocumentBuf};
use mongodb::bson::{Document, doc};
use mongodb::options::Hint;
use vitrine_model::clock::Timestamp;
use vitrine_model::id::ProductId;

use crate::documents::REFERENCE_VERSION;
use crate::raw::{Fields, Read, date, stored_id};
use crate::{StorageError, Store};

const FINDINGS: &str = "audit_findings";
const ROUNDS: &str = "audit_rounds";
/// The id of the last round.
const LAST: &str = "ratings";
/// How long a finding is kept after it was last seen, in milliseconds: 30 days.
const KEPT_MILLIS: i64 = 30 * 24 * 60 * 60 * 1_000;

/// A stored number of a product that differed from a recount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditFinding {
    /// The product.
    pub product: ProductId,
    /// The name of the number.
    pub field: String,
    /// The stored value when it was last seen.
    pub stored: String,
    /// The recounted value then.
    pub expected: String,
    /// When it was first seen.
    pub first_seen_at: Timestamp,
    /// When it was last seen.
    pub last_seen_at: Timestamp,
    /// When a later recount of the product no longer found it.
    pub resolved_at: Option<Timestamp>,
}

/// A round of the worker: all products, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditRound {
    /// When it began.
    pub began_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// The number of products.
    pub products: u64,
    /// The number of differences, also of those that are not kept.
    pub differences: u64,
}

/// A difference to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFinding {
    /// The product.
    pub product: ProductId,
    /// The name of the number.
    pub field: &'static str,
    /// The stored value.
    pub stored: String,
    /// The recounted value.
    pub expected: String,
}

impl Store {
    /// Stores differences; one that is known is seen again. One command.
    pub async fn save_findings(
        &self,
        findings: &[NewFinding],
        now: Timestamp,
    ) -> Result<(), StorageError> {
        if findings.is_empty() {
            return Ok(());
        }
        let update = |finding: &NewFinding| {
            let product = stored_id(finding.product.to_i64());
            let set = doc! {
                "stored": &finding.stored,
                "expected": &finding.expected,
                "last_seen_at": date(now),
                "expires_at": date(now.plus_millis(KEPT_MILLIS)),
            };
            let first = doc! {
                "schema_version": REFERENCE_VERSION,
                "first_seen_at": date(now),
            };
            doc! {
                "q": { "_id": { "p": product, "f": finding.field } },
                "u": { "$set": set, "$unset": { "resolved_at": 1 }, "$setOnInsert": first },
                "upsert": true,
            }
        };
        let updates: Vec<Document> = findings.iter().map(update).collect();
        let reply = self
            .write(doc! { "update": FINDINGS, "updates": updates, "ordered": false })
            .await?;
        if reply.contains_key("writeErrors") {
            return Err(StorageError::Driver(mongodb::error::Error::custom(reply)));
        }
        Ok(())
    }

    /// Stores the end of a round. What was last seen before it began is resolved: every product was recounted since.
    /// Two commands.
    pub async fn end_audit_round(&self, round: &AuditRound) -> Result<(), StorageError> {
        let stale = doc! {
            "last_seen_at": { "$lt": date(round.began_at) },
            "resolved_at": { "$exists": false },
        };
        let resolved = doc! { "$set": { "resolved_at": date(round.ended_at) } };
        self.documents(FINDINGS)
            .update_many(stale, resolved)
            .hint(Hint::Name("seen".to_owned()))
            .await?;
        let set = doc! {
            "schema_version": REFERENCE_VERSION,
            "began_at": date(round.began_at),
            "ended_at": date(round.ended_at),
            "products": stored(round.products),
            "differences": stored(round.differences),
        };
        self.documents(ROUNDS)
            .update_one(doc! { "_id": LAST }, doc! { "$set": set })
            .upsert(true)
            .await?;
        Ok(())
    }

    /// Returns the findings that were seen last, at most this many. One command, from the index `seen`.
    pub async fn audit_findings(&self, max: u32) -> Result<Vec<AuditFinding>, StorageError> {
        let collection = self.raw(FINDINGS);
        let find = collection
            .find(Document::new())
            .sort(doc! { "last_seen_at": -1, "_id": -1 })
            .hint(Hint::Name("seen".to_owned()))
            .limit(i64::from(max));
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        found.iter().map(|doc| read_finding(doc)).collect()
    }

    /// Returns the last complete round; `None` before the first one. One command.
    pub async fn audit_round(&self) -> Result<Option<AuditRound>, StorageError> {
        let rounds = self.raw(ROUNDS);
        let find = rounds.find_one(doc! { "_id": LAST });
        let found: Option<RawDocumentBuf> = find.max_time(self.max_time).await?;
        found.map(|doc| read_round(&doc)).transpose()
    }
}

fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn read_finding(doc: &RawDocument) -> Read<AuditFinding> {
    let fields = Fields::of(FINDINGS, doc);
    let id = fields.doc("_id")?;
    Ok(AuditFinding {
        product: ProductId::from_i64(id.id("p")?),
        field: id.string("f")?,
        stored: fields.string("stored")?,
        expected: fields.string("expected")?,
        first_seen_at: fields.date("first_seen_at")?,
        last_seen_at: fields.date("last_seen_at")?,
        resolved_at: fields.opt_date("resolved_at")?,
    })
}

fn read_round(doc: &RawDocument) -> Read<AuditRound> {
    let fields = Fields::of(ROUNDS, doc);
    let number = |name: &str| Ok::<_, StorageError>(u64::try_from(fields.i64(name)?).unwrap_or(0));
    Ok(AuditRound {
        began_at: fields.date("began_at")?,
        ended_at: fields.date("ended_at")?,
        products: number("products")?,
        differences: number("differences")?,
    })
}
