//! Taking an author out of everything, with a receipt; and giving an author everything they wrote.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use vitrine_model::cursor::{InvalidCursor, KeyValue, ListFingerprint, Position};
use vitrine_model::erasure::{ErasureCounts, ErasurePolicy, ErasureReceipt, Residue};
use vitrine_model::id::{AuthorId, GlobalId, ProductId, ReviewId};
use vitrine_model::review::{Review, ReviewVersion};
use vitrine_storage::erasure::{OwnPurchase, OwnVote};
use vitrine_storage::reviewing::Report;
use vitrine_storage::{StorageError, Store};

use super::{ReviewKey, checks};
use crate::admin::Outcome;
use crate::admin::refusals::Found;
use crate::{Catalog, DomainError};

/// How many documents are changed between two notes of how far it has come.
const BATCH: u32 = 200;
/// How long an erasure rests before a worker goes on with it: no step of it takes as long.
const REST_MILLIS: i64 = 60_000;
/// How often everything is looked through again for what the author wrote meanwhile.
const MOST_ROUNDS: usize = 5;
/// The most lines of an export that are given at once.
pub const MOST_LINES: i32 = 1_000;

/// What an erasure did, and what is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erased {
    /// Whose.
    pub author: String,
    /// What was done.
    pub receipt: ErasureReceipt,
    /// What still names them: nothing, unless they go on writing.
    pub residue: Residue,
}

/// Some lines of what an author wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorExport {
    /// JSON texts, one for each review, version, vote, report, reply and purchase.
    pub lines: Vec<String>,
    /// Where the next ones begin; `None` at the end.
    pub next: Option<String>,
}

impl Catalog {
    /// Takes an author out of reviews, the copies of them, earlier versions, votes, replies, reports
    /// and purchases. May be cut off anywhere and called again; workers complete it too.
    ///
    /// Who was erased before by the same policy keeps the receipt, which goes on if they wrote
    /// since. An order by another policy has a receipt of its own: what was made anonymous is
    /// nobody's any more and stays.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails; what is left is completed later.
    pub async fn erase_author(
        &self,
        by: &str,
        author: &str,
        policy: ErasurePolicy,
    ) -> Result<Outcome<Erased>, DomainError> {
        let mut found = Found::default();
        checks::subject(author, "authorId", &mut found);
        if !found.is_empty() {
            return Ok(Outcome::Refused {
                refusals: found.0,
                current: None,
            });
        }
        let (catalog, by) = (self.clone(), by.to_owned());
        let id = AuthorId(author.to_owned());
        let erased = self
            .shielded(async move {
                let store = catalog.store();
                let mut begun = store.erasure(&id).await?;
                // One that was begun is completed as it was begun.
                if let Some(other) = begun
                    .as_ref()
                    .filter(|begun| begun.finished_at.is_none() && begun.policy != policy)
                {
                    catalog.erase(&id, other.policy).await?;
                    begun = store.erasure(&id).await?;
                }
                let same = begun.filter(|begun| begun.policy == policy);
                let is_done = same.as_ref().is_some_and(|same| same.finished_at.is_some());
                if !is_done || !store.residue(&id).await?.is_empty() {
                    let new = || ErasureReceipt {
                        policy,
                        by,
                        started_at: catalog.now(),
                        finished_at: None,
                        done: ErasureCounts::default(),
                    };
                    let receipt = ErasureReceipt {
                        finished_at: None,
                        ..same.unwrap_or_else(new)
                    };
                    store.open_erasure(&id, &receipt, catalog.now()).await?;
                    catalog.erase(&id, policy).await?;
                }
                let receipt = store.erasure(&id).await?;
                Ok((receipt, store.residue(&id).await?, id.0))
            })
            .await?;
        let (Some(receipt), residue, author) = erased else {
            return Err(DomainError::Unavailable(None));
        };
        Ok(Outcome::Done(Erased {
            author,
            receipt,
            residue,
        }))
    }

    /// Completes erasures that were cut off: those that nobody has gone on with for a minute. Gives
    /// how many. One that fails keeps no other.
    ///
    /// # Errors
    /// The first [`DomainError`] met.
    pub async fn continue_erasures(&self) -> Result<usize, DomainError> {
        let catalog = self.clone();
        self.shielded(async move {
            let rested = catalog.now().plus_millis(-REST_MILLIS);
            let (mut done, mut failed) = (0, None);
            while let Some((author, receipt)) =
                catalog.store().claim_erasure(rested, catalog.now()).await?
            {
                match catalog.erase(&author, receipt.policy).await {
                    Ok(()) => done += 1,
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
            failed.map_or(Ok(done), Err)
        })
        .await
    }

    /// Looks through everything again and again, until nothing is left or the author writes faster.
    async fn erase(&self, author: &AuthorId, policy: ErasurePolicy) -> Result<(), StorageError> {
        let store = self.store();
        for _ in 0..MOST_ROUNDS {
            loop {
                let (reviews, products) = store.erase_reviews(author, policy, BATCH).await?;
                if products.is_empty() {
                    break;
                }
                let done = ErasureCounts {
                    reviews,
                    ..ErasureCounts::default()
                };
                self.note(author, done, products).await?;
            }
            loop {
                let (votes, products) = store.erase_votes(author, policy, BATCH).await?;
                if products.is_empty() {
                    break;
                }
                let done = ErasureCounts {
                    votes,
                    ..ErasureCounts::default()
                };
                self.note(author, done, products).await?;
            }
            store.erase_versions(author).await?;
            let mut done = ErasureCounts {
                replies: signed(store.erase_replies(author, policy).await?),
                purchases: signed(store.erase_purchases(author).await?),
                orders: signed(store.erase_orders(author).await?),
                ..ErasureCounts::default()
            };
            loop {
                let reports = store.erase_reports(author, BATCH).await?;
                done.reports += signed(reports);
                if reports == 0 {
                    break;
                }
            }
            self.note(author, done, Vec::new()).await?;
            if store.residue(author).await?.is_empty() {
                return store.close_erasure(author, self.now()).await;
            }
        }
        Ok(())
    }

    /// Notes what was done, and counts it in the products.
    async fn note(
        &self,
        author: &AuthorId,
        done: ErasureCounts,
        products: Vec<ProductId>,
    ) -> Result<(), StorageError> {
        let products: Vec<ProductId> = BTreeSet::from_iter(products).into_iter().collect();
        let now = self.now();
        self.store()
            .note_erasure(author, &done, &products, now)
            .await?;
        self.fold_these(products).await
    }

    async fn fold_these(&self, products: Vec<ProductId>) -> Result<(), StorageError> {
        for product in products {
            while self.store().fold(&[product], self.now()).await?.reviews > 0 {}
        }
        Ok(())
    }

    /// Some of what an author wrote, behind where the last lines ended: reviews, what they were
    /// before, votes, reports, replies for the shop, purchases. In any state: it is theirs.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for a number of lines that is not possible,
    /// [`DomainError::InvalidCursor`] for the end of another export.
    pub async fn export_author(
        &self,
        author: &str,
        after: Option<&str>,
        first: i32,
    ) -> Result<AuthorExport, DomainError> {
        let most = u32::try_from(first)
            .ok()
            .filter(|_| (1..=MOST_LINES).contains(&first));
        let Some(most) = most else {
            let reason = format!("must be 1 to {MOST_LINES}, not {first}");
            return Err(DomainError::invalid("first", reason));
        };
        let export = ListFingerprint::of(&[b"export", author.as_bytes()]);
        let read = |after| Place::read(&self.cursors().decode(export, after)?);
        let place = after.map(read).transpose();
        let mut place = place
            .map_err(|source| DomainError::InvalidCursor {
                field: "after",
                source,
            })?
            .unwrap_or(Place::START);
        let mut lines = Vec::new();
        let author = AuthorId(author.to_owned());
        loop {
            let wanted = most - u32::try_from(lines.len()).unwrap_or(most);
            if wanted == 0 {
                return Ok(AuthorExport {
                    lines,
                    next: Some(self.cursors().encode(export, &place.position())),
                });
            }
            let (store, author) = (self.store().clone(), author.clone());
            let page = self
                .shielded(async move { part(&store, &author, place, wanted).await })
                .await?;
            let read = u32::try_from(page.len()).unwrap_or(wanted);
            place.after = page.last().map(|line| line.at).or(place.after);
            lines.extend(page.into_iter().map(|line| line.text));
            if read < wanted {
                let next = PARTS.iter().skip_while(|part| **part != place.part).nth(1);
                let Some(next) = next else {
                    return Ok(AuthorExport { lines, next: None });
                };
                place = Place {
                    part: next,
                    after: None,
                };
            }
        }
    }
}

/// The parts of an export, in their order.
const PARTS: [&str; 6] = [
    "reviews",
    "versions",
    "votes",
    "reports",
    "replies",
    "purchases",
];

/// Where an export goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    part: &'static str,
    /// The last one that was given: its id, and of versions the revision.
    after: Option<([u8; 16], i64)>,
}

/// One line of an export.
struct Line {
    at: ([u8; 16], i64),
    text: String,
}

impl Place {
    const START: Self = Self {
        part: PARTS[0],
        after: None,
    };

    fn position(self) -> Position {
        let (id, revision) = self.after.unwrap_or_default();
        let part = KeyValue::Text(self.part.to_owned());
        let begun = KeyValue::Int(self.after.is_some().into());
        Position {
            id,
            keys: vec![part, begun, KeyValue::Int(revision)],
        }
    }

    fn read(position: &Position) -> Result<Self, InvalidCursor> {
        let [
            KeyValue::Text(part),
            KeyValue::Int(begun),
            KeyValue::Int(revision),
        ] = position.keys.as_slice()
        else {
            return Err(InvalidCursor::Version);
        };
        let part = PARTS.iter().find(|known| *known == part);
        Ok(Self {
            part: part.ok_or(InvalidCursor::Version)?,
            after: (*begun == 1).then_some((position.id, *revision)),
        })
    }
}

async fn part(
    store: &Store,
    author: &AuthorId,
    place: Place,
    most: u32,
) -> Result<Vec<Line>, StorageError> {
    let review = place.after.map(|(id, _)| ReviewId::from_bytes(id));
    let line = |id: [u8; 16], text: String| Line { at: (id, 0), text };
    Ok(match place.part {
        "reviews" => {
            let page = store.page_of_author(author, review, most).await?;
            let read = |of: &Review| line(of.id.to_bytes(), review_line(of));
            page.iter().map(read).collect()
        }
        "versions" => {
            let after = review.zip(place.after.map(|(_, revision)| revision));
            let page = store.page_of_versions(author, after, most).await?;
            let read = |(product, of, version): &(ProductId, ReviewId, ReviewVersion)| Line {
                at: (of.to_bytes(), version.revision),
                text: version_line((*product, *of), version),
            };
            page.iter().map(read).collect()
        }
        "votes" => {
            let page = store.page_of_votes(author, review, most).await?;
            let read = |vote: &OwnVote| line(vote.review.to_bytes(), vote_line(vote));
            page.iter().map(read).collect()
        }
        "reports" => {
            let page = store.page_of_reports(author, review, most).await?;
            let read = |(product, of, report): &(ProductId, ReviewId, Report)| {
                line(of.to_bytes(), report_line((*product, *of), report))
            };
            page.iter().map(read).collect()
        }
        "replies" => {
            let page = store.page_of_replies(author, review, most).await?;
            let read = |of: &Review| line(of.id.to_bytes(), reply_line(of));
            page.iter().map(read).collect()
        }
        _ => {
            let product = place.after.map(|(id, _)| ProductId::from_bytes(id));
            let page = store.page_of_purchases(author, product, most).await?;
            let read = |of: &OwnPurchase| line(of.product.to_bytes(), purchase_line(of));
            page.iter().map(read).collect()
        }
    })
}

fn review_line(review: &Review) -> String {
    let media: Vec<&String> = review.media.iter().map(|media| &media.url).collect();
    let dimensions: Value = review
        .dimensions
        .iter()
        .map(|(name, stars)| (name.clone(), i64::from(*stars).into()))
        .collect::<serde_json::Map<String, Value>>()
        .into();
    json!({
        "type": "review",
        "id": GlobalId::Review(review.product_id, review.id).encode(),
        "productId": GlobalId::Product(review.product_id).encode(),
        "authorName": review.author.as_ref().map(|author| &author.name),
        "rating": i64::from(review.rating),
        "recommended": review.recommended,
        "dimensions": dimensions,
        "title": review.title,
        "body": review.body,
        "language": review.language,
        "media": media,
        "status": review.status.name(),
        "verified": review.verified,
        "createdAt": review.created_at.map(|at| at.to_string()),
        "editedAt": review.edited_at.map(|at| at.to_string()),
    })
    .to_string()
}

fn version_line((product, review): ReviewKey, version: &ReviewVersion) -> String {
    json!({
        "type": "version",
        "reviewId": GlobalId::Review(product, review).encode(),
        "revision": version.revision,
        "until": version.until.to_string(),
        "rating": i64::from(version.rating),
        "title": version.title,
        "body": version.body,
    })
    .to_string()
}

fn report_line((product, review): ReviewKey, report: &Report) -> String {
    json!({
        "type": "report",
        "reviewId": GlobalId::Review(product, review).encode(),
        "reason": report.reason.name(),
        "note": report.note,
        "at": report.at.to_string(),
    })
    .to_string()
}

fn reply_line(review: &Review) -> String {
    json!({
        "type": "reply",
        "reviewId": GlobalId::Review(review.product_id, review.id).encode(),
        "text": review.reply.as_ref().map(|reply| &reply.text),
        "at": review.reply.as_ref().map(|reply| reply.at.to_string()),
    })
    .to_string()
}

fn vote_line(vote: &OwnVote) -> String {
    json!({
        "type": "vote",
        "reviewId": GlobalId::Review(vote.product, vote.review).encode(),
        "vote": vote.vote.name(),
        "at": vote.at.to_string(),
    })
    .to_string()
}

fn purchase_line(purchase: &OwnPurchase) -> String {
    json!({
        "type": "purchase",
        "productId": GlobalId::Product(purchase.product).encode(),
        "purchasedAt": purchase.at.to_string(),
    })
    .to_string()
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_they_were_written() {
        for part in PARTS {
            for after in [None, Some(([7; 16], 0)), Some(([9; 16], 3))] {
                let place = Place { part, after };
                assert_eq!(Place::read(&place.position()), Ok(place));
            }
        }
        let mut other = Place::START.position();
        other.keys[0] = KeyValue::Text("something else".to_owned());
        assert_eq!(Place::read(&other), Err(InvalidCursor::Version));
        other.keys.clear();
        assert_eq!(Place::read(&other), Err(InvalidCursor::Version));
    }
}
