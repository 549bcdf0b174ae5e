//! Taking an author out of everything, with a receipt; and giving an author everything they wrote.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use vitrine_model::erasure::{ErasurePolicy, ErasureReceipt, Residue};
use vitrine_model::id::{AuthorId, GlobalId, ProductId, ReviewId};
use vitrine_model::review::Review;
use vitrine_storage::Store;
use vitrine_storage::erasure::{OwnPurchase, OwnVote};

use super::checks;
use crate::admin::Outcome;
use crate::admin::refusals::Found;
use crate::{Catalog, DomainError};

/// How many documents are changed between two notes of how far it has come.
const BATCH: u32 = 200;
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
    /// JSON texts, one for each review, vote and purchase.
    pub lines: Vec<String>,
    /// Where the next ones begin; `None` at the end.
    pub next: Option<String>,
}

impl Catalog {
    /// Takes an author out of reviews, the copies of them, earlier versions, votes, replies, reports
    /// and purchases. May be cut off anywhere and called again; workers complete it too. Of an author
    /// who was erased before, the receipt goes on: it counts all that was ever done.
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
                let begun = store.erasure(&id).await?;
                let mut receipt = begun.unwrap_or_else(|| ErasureReceipt {
                    policy,
                    by,
                    started_at: catalog.now(),
                    finished_at: None,
                    reviews: 0,
                    votes: 0,
                    replies: 0,
                    reports: 0,
                    purchases: 0,
                    orders: 0,
                });
                let is_done = receipt.finished_at.is_some() && receipt.policy == policy;
                if !is_done || !store.residue(&id).await?.is_empty() {
                    receipt.policy = policy;
                    receipt.finished_at = None;
                    catalog.erase(&id, &mut receipt).await?;
                }
                let residue = Residue {
                    top_reviews: store.top_reviews_of(&id).await?,
                    ..store.residue(&id).await?
                };
                Ok(Erased {
                    author: id.0,
                    receipt,
                    residue,
                })
            })
            .await?;
        Ok(Outcome::Done(erased))
    }

    /// Completes erasures that were cut off. Gives how many.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails.
    pub async fn continue_erasures(&self) -> Result<usize, DomainError> {
        let catalog = self.clone();
        self.shielded(async move {
            let open = catalog.store().open_erasures(BATCH).await?;
            // Those that were begun a moment ago are still on their way where they began.
            let late = catalog.now().plus_millis(-60_000);
            let mut done = 0;
            for (author, mut receipt) in open {
                if receipt.started_at <= late {
                    catalog.erase(&author, &mut receipt).await?;
                    done += 1;
                }
            }
            Ok(done)
        })
        .await
    }

    async fn erase(
        &self,
        author: &AuthorId,
        receipt: &mut ErasureReceipt,
    ) -> Result<(), vitrine_storage::StorageError> {
        let store = self.store();
        store.keep_erasure(author, receipt).await?;
        let policy = receipt.policy;
        for _ in 0..MOST_ROUNDS {
            loop {
                let products = store.erase_reviews(author, policy, BATCH).await?;
                if products.is_empty() {
                    break;
                }
                receipt.reviews += count(products.len());
                store.keep_erasure(author, receipt).await?;
                self.fold_these(store, products).await?;
            }
            loop {
                let products = store.erase_votes(author, policy, BATCH).await?;
                if products.is_empty() {
                    break;
                }
                receipt.votes += count(products.len());
                store.keep_erasure(author, receipt).await?;
                self.fold_these(store, products).await?;
            }
            receipt.replies += signed(store.erase_replies(author, policy).await?);
            loop {
                let reports = store.erase_reports(author, BATCH).await?;
                receipt.reports += signed(reports);
                if reports == 0 {
                    break;
                }
            }
            receipt.purchases += signed(store.erase_purchases(author).await?);
            receipt.orders += signed(store.erase_orders(author).await?);
            store.keep_erasure(author, receipt).await?;
            if store.residue(author).await?.is_empty() {
                receipt.finished_at = Some(self.now());
                return store.keep_erasure(author, receipt).await;
            }
        }
        Ok(())
    }

    async fn fold_these(
        &self,
        store: &Store,
        products: Vec<ProductId>,
    ) -> Result<(), vitrine_storage::StorageError> {
        let products: BTreeSet<ProductId> = products.into_iter().collect();
        for product in products {
            while store.fold(&[product], self.now()).await?.reviews > 0 {}
        }
        Ok(())
    }

    /// Some of what an author wrote, behind where the last lines ended: reviews, then votes, then
    /// purchases. In any state: it is theirs.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for a number of lines or a place that is not possible.
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
        let mut place = Place::read(after)?;
        let mut lines = Vec::new();
        let author = AuthorId(author.to_owned());
        loop {
            let wanted = most - u32::try_from(lines.len()).unwrap_or(most);
            if wanted == 0 {
                return Ok(AuthorExport {
                    lines,
                    next: Some(place.text()),
                });
            }
            let before = lines.len();
            let (store, author) = (self.store().clone(), author.clone());
            place = match place {
                Place::Reviews(at) => {
                    let page = self
                        .shielded(async move { store.page_of_author(&author, at, wanted).await })
                        .await?;
                    lines.extend(page.iter().map(review_line));
                    Place::Reviews(page.last().map(|review| review.id).or(at))
                }
                Place::Votes(at) => {
                    let page = self
                        .shielded(async move { store.page_of_votes(&author, at, wanted).await })
                        .await?;
                    lines.extend(page.iter().map(vote_line));
                    Place::Votes(page.last().map(|vote| vote.review).or(at))
                }
                Place::Purchases(at) => {
                    let page = self
                        .shielded(async move { store.page_of_purchases(&author, at, wanted).await })
                        .await?;
                    lines.extend(page.iter().map(purchase_line));
                    Place::Purchases(page.last().map(|purchase| purchase.product).or(at))
                }
            };
            let read = u32::try_from(lines.len() - before).unwrap_or(wanted);
            if read < wanted {
                place = match place {
                    Place::Reviews(_) => Place::Votes(None),
                    Place::Votes(_) => Place::Purchases(None),
                    Place::Purchases(_) => return Ok(AuthorExport { lines, next: None }),
                };
            }
        }
    }
}

/// Where an export goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Reviews(Option<ReviewId>),
    Votes(Option<ReviewId>),
    Purchases(Option<ProductId>),
}

impl Place {
    fn text(self) -> String {
        let shown = |id: Option<String>| id.unwrap_or_default();
        match self {
            Self::Reviews(id) => format!("r{}", shown(id.map(|id| id.to_string()))),
            Self::Votes(id) => format!("v{}", shown(id.map(|id| id.to_string()))),
            Self::Purchases(id) => format!("p{}", shown(id.map(|id| id.to_string()))),
        }
    }

    fn read(text: Option<&str>) -> Result<Self, DomainError> {
        let Some(text) = text else {
            return Ok(Self::Reviews(None));
        };
        let wrong = || DomainError::invalid("after", "must be the end of an earlier part");
        let (what, id) = text.split_at_checked(1).ok_or_else(wrong)?;
        let id: Option<[u8; 16]> = match id {
            "" => None,
            id => Some(*uuid::Uuid::parse_str(id).map_err(|_| wrong())?.as_bytes()),
        };
        match what {
            "r" => Ok(Self::Reviews(id.map(ReviewId::from_bytes))),
            "v" => Ok(Self::Votes(id.map(ReviewId::from_bytes))),
            "p" => Ok(Self::Purchases(id.map(ProductId::from_bytes))),
            _ => Err(wrong()),
        }
    }
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

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_go_on_where_they_ended() {
        let places = [
            Place::Reviews(None),
            Place::Reviews(Some(ReviewId::random())),
            Place::Votes(Some(ReviewId::random())),
            Place::Purchases(None),
            Place::Purchases(Some(ProductId::random())),
        ];
        for place in places {
            assert_eq!(Place::read(Some(&place.text())).unwrap(), place);
        }
        assert_eq!(Place::read(None).unwrap(), Place::Reviews(None));
        for wrong in ["", "x", "r1", "é"] {
            assert!(Place::read(Some(wrong)).is_err(), "{wrong:?}");
        }
    }
}
