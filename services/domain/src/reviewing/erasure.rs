//! Taking an author out of everything, with a receipt; and giving an author everything they wrote.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vitrine_model::cursor::{InvalidCursor, KeyValue, ListFingerprint, Position};
use vitrine_model::erasure::{ErasurePolicy, ErasureReceipt, Residue};
use vitrine_model::id::{AuthorId, GlobalId, ProductId, ReviewId, Subject};
use vitrine_model::review::{Review, ReviewVersion};
use vitrine_model::worker::WorkerRun;
use vitrine_storage::erasure::{ErasureClaim, ErasurePart, OwnPurchase, OwnVote};
use vitrine_storage::fold::MAX_REVIEWS;
use vitrine_storage::reviewing::Report;
use vitrine_storage::{StorageError, Store};

use super::{ReviewKey, checks};
use crate::outcome::{Outcome, ValidationErrors};
use crate::{Catalog, DomainError};

/// How many documents are erased together.
const BATCH: u32 = 200;
/// How many products are folded together.
const FOLDED: usize = 50;
/// How many products that others write all the time are tried one by one; the rest is left to the
/// worker that folds.
const MAX_STUCK: usize = 4;
/// How often whoever waits for an erasure that another process works on looks at it.
const LOOK: Duration = Duration::from_millis(200);
/// For how long a worker goes on with erasures in one run.
const WORKED: Duration = Duration::from_secs(4);
/// How often everything is looked through again for what the author wrote meanwhile.
const MAX_ROUNDS: usize = 5;
/// The most lines of an export that are given at once.
pub const MAX_LINES: i32 = 1_000;

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
    /// nobody's any more and stays. One that another process works on is taken over from it.
    ///
    /// Fails when the database does; what is left is completed later.
    pub async fn erase_author(
        &self,
        by: Subject<'_>,
        author: AuthorId,
        policy: ErasurePolicy,
    ) -> Result<Outcome<Erased>, DomainError> {
        let mut found = ValidationErrors::default();
        checks::subject(&author.0, "authorId", &mut found);
        if !found.is_empty() {
            return Ok(Outcome::Refused {
                refusals: found.0,
                current: None,
            });
        }
        let (catalog, by, id) = (self.clone(), by.0.to_owned(), author);
        let erased = self.maintain(|store| async move {
            catalog.erase_as_ordered(&by, &id, policy).await?;
            Ok((store.erasure(&id).await?, store.residue(&id).await?, id.0))
        });
        let (Some(receipt), residue, author) = erased.await? else {
            return Err(DomainError::Unavailable(None));
        };
        Ok(Outcome::Done(Erased {
            author,
            receipt,
            residue,
        }))
    }

    async fn erase_as_ordered(
        &self,
        by: &str,
        author: &AuthorId,
        policy: ErasurePolicy,
    ) -> Result<(), StorageError> {
        let store = self.store();
        // Whoever ordered last works on it; those it was taken over from wait.
        let mut waits = false;
        loop {
            let receipt = store.erasure(author).await?;
            let claim = match &receipt {
                Some(begun) if begun.finished_at.is_none() => {
                    if waits {
                        store.claim_erasure_of(author).await?
                    } else {
                        store.take_over_erasure(author).await?
                    }
                }
                Some(done) if done.policy == policy && store.residue(author).await?.is_empty() => {
                    return Ok(());
                }
                _ => {
                    let now = self.now();
                    store.open_erasure(author, policy, by, now).await?
                }
            };
            let Some(claim) = claim else {
                tokio::time::sleep(LOOK).await;
                continue;
            };
            match self.erase(&claim, None).await {
                Err(StorageError::TakenOver) => waits = true,
                // One that was begun by another policy is completed as it was begun.
                Ok(true) if claim.policy != policy => {}
                ended => return ended.map(drop),
            }
        }
    }

    /// Goes on with erasures that were cut off, for some seconds. Returns how many were completed and
    /// how many are open still, those that other processes work on among them. One that fails keeps
    /// no other from it.
    ///
    /// Fails with the first failure met.
    pub async fn continue_erasures(&self) -> Result<WorkerRun, DomainError> {
        let catalog = self.clone();
        self.maintain(|store| async move {
            let open = store.count_open_erasures().await?;
            let until = Instant::now() + WORKED;
            let (mut run, mut tried, mut failed) = (WorkerRun::default(), Vec::new(), None);
            while open > 0
                && Instant::now() < until
                && let Some(claim) = store.claim_erasure(&tried).await?
            {
                match catalog.erase(&claim, Some(until)).await {
                    Ok(completed) => run.done += u64::from(completed),
                    // It is tried again in a second.
                    Err(StorageError::TakenOver | StorageError::Contended(_)) => {}
                    Err(error) => failed = failed.or(Some(error)),
                }
                tried.push(claim.author);
            }
            run.backlog = open.saturating_sub(run.done);
            failed.map_or(Ok(run), Err)
        })
        .await
    }

    /// Looks through everything again and again, until nothing is left, the author writes faster, or
    /// the time is over. Returns whether nothing is left. Who ends without that lets others go on at
    /// once.
    async fn erase(
        &self,
        claim: &ErasureClaim,
        until: Option<Instant>,
    ) -> Result<bool, StorageError> {
        let ended = self.erase_rounds(claim, until).await;
        if !matches!(ended, Ok(true) | Err(StorageError::TakenOver)) {
            // Otherwise others wait for some seconds.
            let _ = self.store().release_erasure(claim).await;
        }
        ended
    }

    async fn erase_rounds(
        &self,
        claim: &ErasureClaim,
        until: Option<Instant>,
    ) -> Result<bool, StorageError> {
        let store = self.store();
        for _ in 0..MAX_ROUNDS {
            let mut failed = None;
            for part in ErasurePart::ALL {
                let mut after = None;
                loop {
                    let batch = store.erase_batch(claim, part, after.as_ref(), BATCH);
                    let batch = batch.await?;
                    let folded = self.fold_erased(claim, batch.products).await?;
                    failed = failed.or(batch.failed).or(folded);
                    after = batch.next;
                    if after.is_none() {
                        break;
                    }
                    if until.is_some_and(|until| until <= Instant::now()) {
                        return Ok(false);
                    }
                }
            }
            if let Some(error) = failed {
                return Err(error);
            }
            let residue = store.residue(&claim.author).await?;
            if residue.is_empty() {
                return store.close_erasure(claim, self.now()).await.map(|()| true);
            }
            if residue.top_reviews > 0 {
                // Whoever erased their reviews was cut off before it folded them.
                let carrying = store.products_that_carry(&claim.author).await?;
                if let Some(error) = self.fold_erased(claim, carrying).await? {
                    return Err(error);
                }
            }
        }
        Ok(false)
    }

    /// Folds products, many together where that is possible. Returns why some were passed over; the
    /// first reason.
    async fn fold_erased(
        &self,
        claim: &ErasureClaim,
        products: Vec<ProductId>,
    ) -> Result<Option<StorageError>, StorageError> {
        let products: Vec<ProductId> = BTreeSet::from_iter(products).into_iter().collect();
        let (mut stuck, mut failed) = (0, None);
        for group in products.chunks(FOLDED) {
            self.store().keep_erasure(claim).await?;
            match self.fold_all(group).await {
                Ok(()) => continue,
                Err(error @ StorageError::Unavailable(_)) => return Err(error),
                Err(_) => {}
            }
            for product in group {
                self.store().keep_erasure(claim).await?;
                match self.fold_all(&[*product]).await {
                    Ok(()) => {}
                    Err(error @ StorageError::Unavailable(_)) => return Err(error),
                    Err(error) => {
                        stuck += usize::from(matches!(error, StorageError::Contended(_)));
                        failed = failed.or(Some(error));
                    }
                }
                if stuck >= MAX_STUCK {
                    return Ok(failed);
                }
            }
        }
        Ok(failed)
    }

    /// Folds what waits of these products now; not what comes meanwhile.
    pub(super) async fn fold_all(&self, products: &[ProductId]) -> Result<(), StorageError> {
        let most = usize::try_from(MAX_REVIEWS).unwrap_or(usize::MAX);
        while self.store().fold(products, self.now()).await?.reviews >= most {}
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
            .filter(|_| (1..=MAX_LINES).contains(&first));
        let Some(most) = most else {
            let reason = format!("must be 1 to {MAX_LINES}, not {first}");
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
            let author = author.clone();
            let page = self
                .maintain(|store| async move { part(&store, &author, place, wanted).await })
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
    after: Option<(i64, i64)>,
}

/// One line of an export.
struct Line {
    at: (i64, i64),
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
    let review = place.after.map(|(id, _)| ReviewId::from_i64(id));
    let line = |id: i64, text: String| Line { at: (id, 0), text };
    Ok(match place.part {
        "reviews" => {
            let page = store.page_of_author(author, review, most).await?;
            let read = |of: &Review| line(of.id.to_i64(), review_line(of));
            page.iter().map(read).collect()
        }
        "versions" => {
            let after = review.zip(place.after.map(|(_, revision)| revision));
            let page = store.page_of_versions(author, after, most).await?;
            let read = |(product, of, version): &(ProductId, ReviewId, ReviewVersion)| Line {
                at: (of.to_i64(), version.revision),
                text: version_line((*product, *of), version),
            };
            page.iter().map(read).collect()
        }
        "votes" => {
            let page = store.page_of_votes(author, review, most).await?;
            let read = |vote: &OwnVote| line(vote.review.to_i64(), vote_line(vote));
            page.iter().map(read).collect()
        }
        "reports" => {
            let page = store.page_of_reports(author, review, most).await?;
            let read = |(product, of, report): &(ProductId, ReviewId, Report)| {
                line(of.to_i64(), report_line((*product, *of), report))
            };
            page.iter().map(read).collect()
        }
        "replies" => {
            let page = store.page_of_replies(author, review, most).await?;
            let read = |of: &Review| line(of.id.to_i64(), reply_line(of));
            page.iter().map(read).collect()
        }
        _ => {
            let product = place.after.map(|(id, _)| ProductId::from_i64(id));
            let page = store.page_of_purchases(author, product, most).await?;
            let read = |of: &OwnPurchase| line(of.product.to_i64(), purchase_line(of));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_they_were_written() {
        for part in PARTS {
            for after in [None, Some((7, 0)), Some((9, 3))] {
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
