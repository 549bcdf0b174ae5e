//! Erasing an author's data, with a receipt; and exporting it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vitrine_model::clock::Timestamp;
use vitrine_model::cursor::{InvalidCursor, KeyValue, ListFingerprint, Position};
use vitrine_model::erasure::{ErasurePolicy, ErasureReceipt, Residue};
use vitrine_model::id::{AuthorId, GlobalId, PictureId, ProductId, ReviewId, Subject};
use vitrine_model::picture::Picture;
use vitrine_model::review::{Review, ReviewVersion};
use vitrine_model::worker::WorkerRun;
use vitrine_storage::erasure::{ErasureClaim, ErasurePart, OwnPurchase, OwnVote};
use vitrine_storage::fold::MAX_REVIEWS;
use vitrine_storage::reviewing::Report;
use vitrine_storage::{StorageError, Store};

use super::{ReviewKey, checks};
use crate::outcome::{Outcome, ValidationErrors};
use crate::{Catalog, DomainError};

/// The number of documents per erased batch.
const BATCH: u32 = 200;
/// The number of products per fold.
const FOLD_BATCH: usize = 50;
/// How many products with constant write conflicts are tried one by one; the rest is left to the
/// fold worker.
const MAX_STUCK: usize = 4;
/// How often a caller polls an erasure that another process executes.
const POLL_EVERY: Duration = Duration::from_millis(200);
/// The time budget of a worker run.
const RUN_TIME: Duration = Duration::from_secs(4);
/// How often all parts are swept again for data written meanwhile.
const MAX_ROUNDS: usize = 5;
/// The maximum number of lines per page of an export.
pub const MAX_LINES: i32 = 1_000;

/// The result of an erasure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erased {
    /// The author's subject.
    pub author: String,
    /// What was erased.
    pub receipt: ErasureReceipt,
    /// What still names the author: nothing, unless they continue to write.
    pub residue: Residue,
}

/// A page of an author's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorExport {
    /// JSON texts, one for each review, version, vote, report, reply, purchase and uploaded picture.
    pub lines: Vec<String>,
    /// The cursor of the next page; `None` at the end.
    pub next: Option<String>,
}

impl Catalog {
    /// Erases an author from reviews, the copies of them, earlier versions, votes, replies, reports,
    /// purchases and uploaded pictures. Can be interrupted at any point and called again; a worker completes it too.
    ///
    /// A repeated request with the same policy keeps the receipt, and extends it if the author has
    /// written since. A request with another policy gets a receipt of its own: anonymized data no
    /// longer belongs to anybody and remains. An erasure that another process executes is taken
    /// over.
    ///
    /// Fails when the database fails; a worker then completes the erasure.
    pub async fn erase_author(
        &self,
        by: Subject<'_>,
        author: AuthorId,
        policy: ErasurePolicy,
    ) -> Result<Outcome<Erased>, DomainError> {
        let mut errors = ValidationErrors::default();
        checks::subject(&author.0, "authorId", &mut errors);
        if !errors.is_empty() {
            return Ok(Outcome::Refused {
                refusals: errors.0,
                current: None,
            });
        }
        let (catalog, by, id) = (self.clone(), by.0.to_owned(), author);
        let erased = self.maintain(|store| async move {
            let now = catalog.now();
            catalog.erase_with_policy((&by, now), &id, policy).await?;
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

    /// Erases an author again whose receipt an export has. Returns whether there was anything to do.
    pub(crate) async fn restore_erasure(
        &self,
        author: AuthorId,
        receipt: ErasureReceipt,
    ) -> Result<bool, DomainError> {
        let catalog = self.clone();
        self.maintain(|store| async move {
            let known = store.erasure(&author).await?;
            let is_done = |known: &ErasureReceipt| {
                known.policy == receipt.policy && known.finished_at.is_some()
            };
            if known.as_ref().is_some_and(is_done) && store.residue(&author).await?.is_empty() {
                return Ok(false);
            }
            let by = (receipt.by.as_str(), receipt.started_at);
            catalog
                .erase_with_policy(by, &author, receipt.policy)
                .await?;
            Ok(true)
        })
        .await
    }

    async fn erase_with_policy(
        &self,
        (by, now): (&str, Timestamp),
        author: &AuthorId,
        policy: ErasurePolicy,
    ) -> Result<(), StorageError> {
        let store = self.store();
        // The most recent request executes the erasure; those it was taken over from wait.
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
                _ => store.open_erasure(author, policy, by, now).await?,
            };
            let Some(claim) = claim else {
                tokio::time::sleep(POLL_EVERY).await;
                continue;
            };
            match self.erase(&claim, None).await {
                Err(StorageError::TakenOver) => waits = true,
                // An erasure begun with another policy is first completed with that policy.
                Ok(true) if claim.policy != policy => {}
                ended => return ended.map(drop),
            }
        }
    }

    /// Continues interrupted erasures for a few seconds. Returns the number of completed and of
    /// open ones, including those that other processes execute. A failing erasure does not block
    /// the others.
    ///
    /// Fails with the first error, after all were tried.
    pub async fn continue_erasures(&self) -> Result<WorkerRun, DomainError> {
        let catalog = self.clone();
        self.maintain(|store| async move {
            let open = store.count_open_erasures().await?;
            let until = Instant::now() + RUN_TIME;
            let (mut run, mut tried, mut failed) = (WorkerRun::default(), Vec::new(), None);
            while open > 0
                && Instant::now() < until
                && let Some(claim) = store.claim_erasure(&tried).await?
            {
                match catalog.erase(&claim, Some(until)).await {
                    Ok(completed) => run.done += u64::from(completed),
                    // It is retried within a second.
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

    /// Sweeps all parts until nothing is left, the author writes faster, or the time is over.
    /// Returns whether nothing is left. Releases the lease unless the erasure is complete.
    async fn erase(
        &self,
        claim: &ErasureClaim,
        until: Option<Instant>,
    ) -> Result<bool, StorageError> {
        let ended = self.erase_rounds(claim, until).await;
        if !matches!(ended, Ok(true) | Err(StorageError::TakenOver)) {
            // Otherwise others would wait for the lease to expire.
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
            let erased = self.delete_erased_pictures(store, &claim.author);
            if !erased.await? {
                // Later, or in a process that can reach the files.
                return Ok(false);
            }
            let residue = store.residue(&claim.author).await?;
            if residue.is_empty() {
                return store.close_erasure(claim, self.now()).await.map(|()| true);
            }
            if residue.top_reviews > 0 {
                // An earlier run was interrupted before it folded the products.
                let with_copies = store.products_with_copies_of(&claim.author).await?;
                if let Some(error) = self.fold_erased(claim, with_copies).await? {
                    return Err(error);
                }
            }
        }
        Ok(false)
    }

    /// Folds products, in groups where possible. Returns the first error of products that were
    /// skipped.
    async fn fold_erased(
        &self,
        claim: &ErasureClaim,
        products: Vec<ProductId>,
    ) -> Result<Option<StorageError>, StorageError> {
        let products: Vec<ProductId> = BTreeSet::from_iter(products).into_iter().collect();
        let (mut stuck, mut failed) = (0, None);
        for group in products.chunks(FOLD_BATCH) {
            self.store().renew_erasure(claim).await?;
            match self.fold_all(group).await {
                Ok(()) => continue,
                Err(error @ StorageError::Unavailable(_)) => return Err(error),
                Err(_) => {}
            }
            for product in group {
                self.store().renew_erasure(claim).await?;
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

    /// Folds all dirty reviews of these products, but not reviews that arrive meanwhile.
    pub(super) async fn fold_all(&self, products: &[ProductId]) -> Result<(), StorageError> {
        let limit = usize::try_from(MAX_REVIEWS).unwrap_or(usize::MAX);
        while self.store().fold(products, self.now()).await?.reviews >= limit {}
        Ok(())
    }

    /// A page of an author's data after a cursor: reviews, their versions, votes, reports, replies
    /// written for the shop, purchases, uploaded pictures. Includes reviews in any state.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] when `first` is out of range, [`DomainError::InvalidCursor`] for a
    /// cursor of another export.
    pub async fn export_author(
        &self,
        author: &str,
        after: Option<&str>,
        first: i32,
    ) -> Result<AuthorExport, DomainError> {
        let limit = u32::try_from(first)
            .ok()
            .filter(|_| (1..=MAX_LINES).contains(&first));
        let Some(limit) = limit else {
            let reason = format!("must be 1 to {MAX_LINES}, not {first}");
            return Err(DomainError::invalid("first", reason));
        };
        let export = ListFingerprint::of(&[b"export", author.as_bytes()]);
        let read = |after| ExportPosition::read(&self.cursors().decode(export, after)?);
        let place = after.map(read).transpose();
        let mut place = place
            .map_err(|source| DomainError::InvalidCursor {
                field: "after",
                source,
            })?
            .unwrap_or(ExportPosition::START);
        let mut lines = Vec::new();
        let author = AuthorId(author.to_owned());
        loop {
            let remaining = limit - u32::try_from(lines.len()).unwrap_or(limit);
            if remaining == 0 {
                return Ok(AuthorExport {
                    lines,
                    next: Some(self.cursors().encode(export, &place.position())),
                });
            }
            let (catalog, author) = (self.clone(), author.clone());
            let page = self
                .maintain(|store| async move {
                    part((&catalog, &store), &author, place, remaining).await
                })
                .await?;
            let read = u32::try_from(page.len()).unwrap_or(remaining);
            place.after = page.last().map(|line| line.at).or(place.after);
            lines.extend(page.into_iter().map(|line| line.text));
            if read < remaining {
                let next = PARTS.iter().skip_while(|part| **part != place.part).nth(1);
                let Some(next) = next else {
                    return Ok(AuthorExport { lines, next: None });
                };
                place = ExportPosition {
                    part: next,
                    after: None,
                };
            }
        }
    }
}

/// The parts of an export, in order.
const PARTS: [&str; 7] = [
    "reviews",
    "versions",
    "votes",
    "reports",
    "replies",
    "purchases",
    "pictures",
];

/// The position of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ExportPosition {
    part: &'static str,
    /// The last exported document: its id, and for versions the revision.
    after: Option<(i64, i64)>,
}

struct Line {
    at: (i64, i64),
    text: String,
}

impl ExportPosition {
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
    (catalog, store): (&Catalog, &Store),
    author: &AuthorId,
    place: ExportPosition,
    limit: u32,
) -> Result<Vec<Line>, StorageError> {
    let review = place.after.map(|(id, _)| ReviewId::from_i64(id));
    let line = |id: i64, text: String| Line { at: (id, 0), text };
    Ok(match place.part {
        "reviews" => {
            let page = store.page_reviews_by_author(author, review, limit).await?;
            let read = |of: &Review| line(of.id.to_i64(), review_line(of));
            page.iter().map(read).collect()
        }
        "versions" => {
            let after = review.zip(place.after.map(|(_, revision)| revision));
            let page = store.page_versions_of(author, after, limit).await?;
            let read = |(product, of, version): &(ProductId, ReviewId, ReviewVersion)| Line {
                at: (of.to_i64(), version.revision),
                text: version_line((*product, *of), version),
            };
            page.iter().map(read).collect()
        }
        "votes" => {
            let page = store.page_votes_of(author, review, limit).await?;
            let read = |vote: &OwnVote| line(vote.review.to_i64(), vote_line(vote));
            page.iter().map(read).collect()
        }
        "reports" => {
            let page = store.page_reports_of(author, review, limit).await?;
            let read = |(product, of, report): &(ProductId, ReviewId, Report)| {
                line(of.to_i64(), report_line((*product, *of), report))
            };
            page.iter().map(read).collect()
        }
        "replies" => {
            let page = store.page_replies_of(author, review, limit).await?;
            let read = |of: &Review| line(of.id.to_i64(), reply_line(of));
            page.iter().map(read).collect()
        }
        "pictures" => {
            let picture = place.after.map(|(id, _)| PictureId::from_i64(id));
            let page = store.page_pictures_of(author, picture, limit).await?;
            let read = |of: &Picture| line(of.name.id.to_i64(), picture_line(of, catalog));
            page.iter().map(read).collect()
        }
        _ => {
            let product = place.after.map(|(id, _)| ProductId::from_i64(id));
            let page = store.page_purchases_of(author, product, limit).await?;
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
    let attributes: Vec<Value> = review
        .attributes
        .iter()
        .map(|one| json!({ "name": one.key, "text": one.value.display() }))
        .collect();
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
        "attributes": attributes,
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

fn picture_line(picture: &Picture, catalog: &Catalog) -> String {
    json!({
        "type": "picture",
        "url": catalog.picture_address(picture.name),
        "width": picture.width,
        "height": picture.height,
        "at": picture.created_at.to_string(),
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
    fn positions_survive_a_round_trip() {
        for part in PARTS {
            for after in [None, Some((7, 0)), Some((9, 3))] {
                let place = ExportPosition { part, after };
                assert_eq!(ExportPosition::read(&place.position()), Ok(place));
            }
        }
        let mut other = ExportPosition::START.position();
        other.keys[0] = KeyValue::Text("something else".to_owned());
        assert_eq!(ExportPosition::read(&other), Err(InvalidCursor::Version));
        other.keys.clear();
        assert_eq!(ExportPosition::read(&other), Err(InvalidCursor::Version));
    }
}
