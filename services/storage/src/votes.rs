//! Votes on reviews.
//!
//! Votes that arrive together are written in one transaction, with the counters of their reviews and
//! the top reviews of the products. Votes on a hot product leave the top reviews to a later fold, so
//! that they do not conflict with other writers of the product.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use futures_util::TryStreamExt as _;
use mongodb::ClientSession;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, Document, doc};
use mongodb::error::Error;
use mongodb::options::Hint;
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{AuthorId, ProductId, ReviewId};
use vitrine_model::product::ProductStatus;
use vitrine_model::review::{Review, ReviewStatus, Vote};

use crate::documents::REFERENCE_VERSION;
use crate::fold::FoldState;
use crate::product_writes::ProductWrite;
use crate::raw::{Fields, date, one_of, stored_id};
use crate::reviewing::{ReactionOutcome, VOTES, published};
use crate::reviews::{self, not_newer};
use crate::transaction::{TransactionError, commit, retry_contended};
use crate::{StorageError, Store, products};

/// A vote that is cast, changed or withdrawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewVote {
    /// The product of the review.
    pub product: ProductId,
    /// The review.
    pub review: ReviewId,
    /// Who votes.
    pub voter: AuthorId,
    /// The vote; `None` withdraws it.
    pub vote: Option<Vote>,
}

/// When the top reviews of a product follow votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TopReviews {
    /// In the transaction of the votes, unless the product is hot.
    Now,
    /// In a later fold.
    Later,
}

/// The stored votes of voters on reviews, each with its round.
type StoredVotes = HashMap<(ReviewId, AuthorId), (Vote, i32)>;

/// The effects of votes.
#[derive(Default)]
struct Effects {
    /// For each vote.
    outcomes: Vec<ReactionOutcome>,
    /// The rows to write or to remove.
    rows: HashMap<(ReviewId, AuthorId), Option<(Vote, i32)>>,
    /// How the counters of reviews change: helpful and unhelpful.
    counters: BTreeMap<ReviewId, (i64, i64)>,
}

impl Store {
    /// Writes votes in one transaction that is not retried. Returns the outcome of each; a review
    /// that is `dirty` then has to be folded.
    ///
    /// # Errors
    /// [`StorageError::Contended`] after a write conflict; nothing was written then.
    pub async fn write_votes(
        &self,
        votes: &[NewVote],
        now: Timestamp,
    ) -> Result<Vec<ReactionOutcome>, StorageError> {
        let written = self.try_votes(votes, TopReviews::Now, now).await;
        written.map_err(TransactionError::into_storage)
    }

    /// Writes a vote and leaves the top reviews of the product to a fold.
    ///
    /// # Errors
    /// [`StorageError::Contended`] after too many write conflicts; nothing was written then.
    pub async fn write_vote_uncounted(
        &self,
        vote: &NewVote,
        now: Timestamp,
    ) -> Result<ReactionOutcome, StorageError> {
        let vote = std::slice::from_ref(vote);
        let written = retry_contended(async || {
            let written = self.try_votes(vote, TopReviews::Later, now).await;
            written.map_err(TransactionError::into_storage)
        });
        let outcome = written.await?.pop();
        outcome.ok_or_else(|| Error::custom("a vote without an outcome").into())
    }

    async fn try_votes(
        &self,
        votes: &[NewVote],
        top_reviews: TopReviews,
        now: Timestamp,
    ) -> Result<Vec<ReactionOutcome>, TransactionError> {
        let mut session = self.begin().await?;
        // The end of a write is announced after its transaction.
        let mut write = None;
        let done = self
            .votes_in(&mut session, votes, top_reviews, &mut write, now)
            .await;
        // A repeated vote changes nothing, but its outcome is returned only when it is
        // majority-committed.
        let needs_commit = |outcome: &ReactionOutcome| {
            matches!(outcome, ReactionOutcome::Done(_) | ReactionOutcome::Same(_))
        };
        match done {
            Ok(outcomes) if outcomes.iter().any(needs_commit) => {
                commit(&mut session).await?;
                Ok(outcomes)
            }
            other => {
                // The server aborts abandoned transactions itself.
                let _ = session.abort_transaction().await;
                other
            }
        }
    }

    async fn votes_in(
        &self,
        session: &mut ClientSession,
        votes: &[NewVote],
        top_reviews: TopReviews,
        write: &mut Option<ProductWrite>,
        now: Timestamp,
    ) -> Result<Vec<ReactionOutcome>, TransactionError> {
        let mut reviews = self.published_reviews(session, votes).await?;
        let ids: BTreeSet<ProductId> = reviews.values().map(|one| one.product_id).collect();
        let ids: Vec<Bson> = ids.iter().map(|id| stored_id(id.to_i64())).collect();
        if ids.is_empty() {
            return Ok(vec![ReactionOutcome::Gone; votes.len()]);
        }
        let mut states = match top_reviews {
            TopReviews::Now => self.fold_states(session, ids.clone()).await?,
            TopReviews::Later => HashMap::new(),
        };
        let on_sale = match top_reviews {
            TopReviews::Now => on_sale(&states),
            TopReviews::Later => self.those_on_sale(session, ids).await?,
        };
        reviews.retain(|_, review| on_sale.contains(&review.product_id));
        let stored = self.stored_votes(session, votes).await?;
        let follows_now = |review: &Review| {
            let state = states.get(&review.product_id);
            let is_counted = !review.dirty && review.applied == review.contribution();
            is_counted && state.is_some_and(|state| !state.newer && !state.outlier.is_hot(now))
        };
        let effects = effects(votes, &mut reviews, &stored, follows_now);
        if effects.rows.is_empty() {
            return Ok(effects.outcomes);
        }
        self.write_vote_rows(session, &effects, &reviews, now)
            .await?;
        self.write_counters(session, &effects, &reviews, now)
            .await?;
        let mut by_product: BTreeMap<ProductId, Vec<Review>> = BTreeMap::new();
        let counted = reviews.into_values().filter(|review| !review.dirty);
        for review in counted.filter(|review| effects.counters.contains_key(&review.id)) {
            by_product
                .entry(review.product_id)
                .or_default()
                .push(review);
        }
        states.retain(|id, _| by_product.contains_key(id));
        *write = Some(self.product_write(by_product.keys().copied()));
        self.fold_into(session, &mut states, &by_product, now)
            .await?;
        Ok(effects.outcomes)
    }

    /// Returns those of the reviews that are published.
    async fn published_reviews(
        &self,
        session: &mut ClientSession,
        votes: &[NewVote],
    ) -> Result<HashMap<ReviewId, Review>, TransactionError> {
        let keys: BTreeSet<(ProductId, ReviewId)> = votes
            .iter()
            .map(|vote| (vote.product, vote.review))
            .collect();
        let ids = keys.iter().map(|(_, id)| stored_id(id.to_i64())).collect();
        let products: BTreeSet<ProductId> = keys.iter().map(|(product, _)| *product).collect();
        let products = products.iter().map(|id| stored_id(id.to_i64())).collect();
        let filter = doc! {
            "_id": one_of(ids),
            "product_id": one_of(products),
            "status": ReviewStatus::Published.name(),
        };
        let collection = self.raw(reviews::COLLECTION);
        let find = collection.find(filter).hint(by_id()).session(&mut *session);
        let mut cursor = find.await?;
        let mut reviews = HashMap::new();
        while let Some(doc) = cursor.next(session).await {
            let doc = doc?;
            not_newer(&doc)?;
            let review = reviews::read(&doc)?;
            reviews.insert(review.id, review);
        }
        Ok(reviews)
    }

    async fn those_on_sale(
        &self,
        session: &mut ClientSession,
        ids: Vec<Bson>,
    ) -> Result<HashSet<ProductId>, TransactionError> {
        let filter = doc! { "_id": one_of(ids), "status": ProductStatus::Active.name() };
        let collection = self.raw(products::COLLECTION);
        let find = collection.find(filter).projection(doc! { "_id": 1 });
        let mut cursor = find.hint(by_id()).session(&mut *session).await?;
        let mut products = HashSet::new();
        while let Some(doc) = cursor.next(session).await {
            let id = Fields::of(products::COLLECTION, &doc?).id("_id")?;
            products.insert(ProductId::from_i64(id));
        }
        Ok(products)
    }

    async fn stored_votes(
        &self,
        session: &mut ClientSession,
        votes: &[NewVote],
    ) -> Result<StoredVotes, TransactionError> {
        let rows = votes.iter().map(|vote| row_id(vote.review, &vote.voter));
        let collection = self.raw(VOTES);
        let find = collection.find(doc! { "_id": one_of(rows.collect()) });
        let mut cursor = find.hint(by_id()).session(&mut *session).await?;
        let mut stored = HashMap::new();
        while let Some(row) = cursor.next(session).await {
            let row = row?;
            let id = Fields::of(VOTES, &row).doc("_id")?;
            let pair = (ReviewId::from_i64(id.id("r")?), AuthorId(id.string("u")?));
            stored.extend(read_vote(&row)?.map(|vote| (pair, vote)));
        }
        Ok(stored)
    }

    async fn write_vote_rows(
        &self,
        session: &mut ClientSession,
        effects: &Effects,
        reviews: &HashMap<ReviewId, Review>,
        now: Timestamp,
    ) -> Result<(), TransactionError> {
        let (mut written, mut removed) = (Vec::new(), Vec::new());
        for ((review, voter), vote) in &effects.rows {
            let id = row_id(*review, voter);
            let (Some((vote, round)), Some(review)) = (vote, reviews.get(review)) else {
                removed.push(doc! { "q": { "_id": id }, "limit": 1 });
                continue;
            };
            let set = doc! {
                "schema_version": REFERENCE_VERSION,
                "product_id": stored_id(review.product_id.to_i64()),
                "value": vote.name(),
                "round": round,
                "at": date(now),
            };
            written.push(doc! { "q": { "_id": id }, "u": { "$set": set }, "upsert": true });
        }
        self.update_each(session, VOTES, written).await?;
        if !removed.is_empty() {
            let command = doc! { "delete": VOTES, "deletes": removed };
            self.db.run_command(command).session(&mut *session).await?;
        }
        Ok(())
    }

    /// Writes the counters of reviews, and the dirty marks of those that are folded later.
    async fn write_counters(
        &self,
        session: &mut ClientSession,
        effects: &Effects,
        reviews: &HashMap<ReviewId, Review>,
        now: Timestamp,
    ) -> Result<(), TransactionError> {
        let changed = effects.counters.iter();
        let changed = changed.filter_map(|(id, by)| Some((reviews.get(id)?, by)));
        let update = |(review, (helpful, unhelpful)): (&Review, &(i64, i64))| {
            let mut filter = published(review.product_id, review.id);
            filter.insert("round", review.round);
            let mut update = doc! { "$inc": { "helpful": helpful, "unhelpful": unhelpful } };
            if review.dirty {
                update.insert("$set", doc! { "dirty": true });
                update.insert("$min", doc! { "dirty_since": date(now) });
            }
            doc! { "q": filter, "u": update }
        };
        let updates: Vec<Document> = changed.map(update).collect();
        self.update_each(session, reviews::COLLECTION, updates)
            .await
    }

    /// Returns the votes of a voter on these reviews, with the round of each. One command.
    pub async fn votes_of(
        &self,
        voter: &AuthorId,
        reviews: &[ReviewId],
    ) -> Result<HashMap<ReviewId, (Vote, i32)>, StorageError> {
        let rows: Vec<Bson> = reviews.iter().map(|id| row_id(*id, voter)).collect();
        let collection = self.raw(VOTES);
        let find = collection
            .find(doc! { "_id": { "$in": rows } })
            .hint(by_id());
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let mut votes = HashMap::new();
        for row in &found {
            let id = Fields::of(VOTES, row).doc("_id")?.id("r")?;
            if let Some(vote) = read_vote(row)? {
                votes.insert(ReviewId::from_i64(id), vote);
            }
        }
        Ok(votes)
    }
}

/// Applies votes in turn to these reviews and their stored votes. `follows_now`: whether the top
/// reviews of its product follow a review in the same transaction; any other review becomes dirty.
fn effects(
    votes: &[NewVote],
    reviews: &mut HashMap<ReviewId, Review>,
    stored: &StoredVotes,
    follows_now: impl Fn(&Review) -> bool,
) -> Effects {
    let mut effects = Effects::default();
    for vote in votes {
        let review = reviews.get_mut(&vote.review);
        let Some(review) = review.filter(|review| review.product_id == vote.product) else {
            effects.outcomes.push(ReactionOutcome::Gone);
            continue;
        };
        let author = review.author.as_ref();
        if author.is_some_and(|author| author.id == vote.voter) {
            effects.outcomes.push(ReactionOutcome::Own(review.clone()));
            continue;
        }
        let row = (vote.review, vote.voter.clone());
        let row_before = match effects.rows.get(&row) {
            Some(written) => *written,
            None => stored.get(&row).copied(),
        };
        // A vote of an earlier round does not count.
        let before = row_before.filter(|(_, round)| *round == review.round);
        let before = before.map(|(vote, _)| vote);
        if before == vote.vote {
            if vote.vote.is_none() && row_before.is_some() {
                effects.rows.insert(row, None);
            }
            effects.outcomes.push(ReactionOutcome::Same(review.clone()));
            continue;
        }
        let counts =
            |which: Vote| i64::from(vote.vote == Some(which)) - i64::from(before == Some(which));
        let (helpful, unhelpful) = (counts(Vote::Helpful), counts(Vote::Unhelpful));
        if !effects.counters.contains_key(&review.id) {
            review.dirty = !follows_now(review);
        }
        review.helpful += helpful;
        review.unhelpful += unhelpful;
        let counters = effects.counters.entry(review.id).or_default();
        *counters = (counters.0 + helpful, counters.1 + unhelpful);
        let written = vote.vote.map(|vote| (vote, review.round));
        effects.rows.insert(row, written);
        effects.outcomes.push(ReactionOutcome::Done(review.clone()));
    }
    effects
}

fn on_sale(states: &HashMap<ProductId, FoldState>) -> HashSet<ProductId> {
    let active = |state: &FoldState| state.product.status == ProductStatus::Active;
    let on_sale = states.iter().filter(|(_, state)| active(state));
    on_sale.map(|(id, _)| *id).collect()
}

fn row_id(review: ReviewId, voter: &AuthorId) -> Bson {
    Bson::Document(doc! { "r": stored_id(review.to_i64()), "u": &voter.0 })
}

fn by_id() -> Hint {
    Hint::Name("_id_".to_owned())
}

fn read_vote(doc: &RawDocumentBuf) -> Result<Option<(Vote, i32)>, StorageError> {
    let fields = Fields::of(VOTES, doc);
    let vote = Vote::named(fields.str("value")?);
    let round = i32::try_from(fields.i64("round")?).map_err(|_| fields.corrupt("round"))?;
    Ok(vote.map(|vote| (vote, round)))
}
