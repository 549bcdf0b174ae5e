//! Writing back what an export has read. Products and reviews are inserted by the functions that
//! imports use; this module has what only an export knows of them.

use mongodb::bson::{Bson, Document, doc};

use crate::documents::{REFERENCE_VERSION, put};
use crate::export::{StoredReport, StoredReview, StoredVote};
use crate::names::stored_ids;
use crate::raw::{date, stored_id};
use crate::reviewing::{DECISIONS, REPORTS, VERSIONS, VOTES, decision_document, version_document};
use crate::{StorageError, Store, reviews};

/// How many documents are inserted with one command.
const BATCH: usize = 1_000;

impl Store {
    /// Inserts the histories of reviews. What is there already is left as it is.
    pub async fn insert_histories(&self, stored: &[StoredReview]) -> Result<(), StorageError> {
        let (mut votes, mut reports, mut versions, mut decisions) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for one in stored {
            let history = &one.history;
            votes.extend(history.votes.iter().map(|vote| vote_document(one, vote)));
            let all = history.reports.iter();
            reports.extend(all.map(|report| report_document(one, report)));
            let all = history.versions.iter();
            versions.extend(all.map(|version| {
                let author = version.author.as_ref();
                version_document(&one.review, &version.version, author)
            }));
            let all = history.decisions.iter();
            decisions.extend(all.map(|decision| {
                let logged = (decision.id, decision.rating);
                decision_document(&one.review, &decision.decision, logged)
            }));
        }
        let all = [
            (VOTES, votes),
            (REPORTS, reports),
            (VERSIONS, versions),
            (DECISIONS, decisions),
        ];
        for (collection, docs) in all {
            for some in docs.chunks(BATCH) {
                self.insert_each(collection, some.to_vec(), false).await?;
            }
        }
        Ok(())
    }

    /// Marks those of these reviews as erased whose authors were erased: imports do not update them.
    pub async fn mark_erased(&self, stored: &[StoredReview]) -> Result<(), StorageError> {
        let erased: Vec<&StoredReview> = stored.iter().filter(|one| one.erased).collect();
        if erased.is_empty() {
            return Ok(());
        }
        let ids = erased.iter().map(|one| stored_id(one.review.id.to_i64()));
        let ids: Vec<Bson> = ids.collect();
        let products = stored_ids(erased.iter().map(|one| one.review.product_id));
        let filter = doc! { "_id": { "$in": ids }, "product_id": { "$in": products } };
        let collection = self.documents(reviews::COLLECTION);
        let update = doc! { "$set": { "erased": true } };
        collection.update_many(filter, update).await?;
        Ok(())
    }
}

fn reaction(stored: &StoredReview, by: &str) -> Document {
    doc! {
        "_id": { "r": stored_id(stored.review.id.to_i64()), "u": by },
        "schema_version": REFERENCE_VERSION,
        "product_id": stored_id(stored.review.product_id.to_i64()),
    }
}

fn vote_document(stored: &StoredReview, vote: &StoredVote) -> Document {
    let mut doc = reaction(stored, &vote.by.0);
    doc.extend(doc! { "value": vote.vote.name(), "round": vote.round, "at": date(vote.at) });
    doc
}

fn report_document(stored: &StoredReview, report: &StoredReport) -> Document {
    let mut doc = reaction(stored, &report.report.by.0);
    let given = &report.report;
    doc.extend(doc! { "reason": given.reason.name(), "at": date(given.at), "open": report.open });
    put(&mut doc, "note", given.note.as_deref());
    doc
}
