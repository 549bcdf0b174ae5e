//! Importing reviews.
//!
//! New reviews are stored in one of two ways. A batch with at least four reviews per product on
//! average is inserted and counted in one transaction. Any other batch, and one that meets a write
//! conflict or a duplicate, is inserted as dirty; the fold counts it at the end of the import or
//! in the background. A process that dies in between leaves dirty reviews, which any process
//! folds.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use futures_util::future::BoxFuture;
use vitrine_model::id::{AuthorId, ProductId, ReviewId};
use vitrine_model::import::{ExternalRef, LineOutcome, Rejection, ReviewDraft};
use vitrine_model::picture::PictureUse;
use vitrine_model::product::Media;
use vitrine_model::review::{Origin, Review, ReviewStatus};
use vitrine_model::unit::UnitTable;
use vitrine_storage::StorageError;
use vitrine_storage::reviews::KnownReview;

use super::{ImportSession, dropped};
use crate::DomainError;
use crate::limits::plain_media;
use crate::specs::with_unit_ids;

/// With at least this many reviews per product in a batch, folding while inserting is cheaper.
const REVIEWS_PER_PRODUCT: usize = 4;

/// The external id of the review by an author on a product; `None` if it does not come from a feed.
type Authors = HashMap<(ProductId, AuthorId), Option<String>>;

const ERASED: &str = "its author was erased, and imports do not restore erased authors";
const CONCURRENT_IMPORT: &str = "another import wrote it at the same time; import the line again";

struct Known {
    products: HashMap<ExternalRef, (ProductId, String)>,
    reviews: HashMap<ExternalRef, KnownReview>,
    /// Ids claimed for reviews that are not stored yet.
    claimed: HashMap<ExternalRef, ReviewId>,
    authors: Authors,
    buyers: HashSet<(ProductId, AuthorId)>,
}

impl ImportSession {
    /// Imports reviews as published ones; returns the outcomes in the order of the drafts. Of
    /// several reviews of a product by one author, the first is kept. The computed data of products
    /// is updated when the session is finished.
    ///
    /// When the database fails, earlier drafts may have been stored; importing them again leaves
    /// them unchanged.
    pub fn reviews(
        &mut self,
        drafts: Vec<ReviewDraft>,
    ) -> BoxFuture<'_, Result<Vec<LineOutcome>, DomainError>> {
        Box::pin(self.import_reviews(drafts))
    }

    async fn import_reviews(
        &mut self,
        drafts: Vec<ReviewDraft>,
    ) -> Result<Vec<LineOutcome>, DomainError> {
        let mut outcomes: BTreeMap<usize, LineOutcome> = BTreeMap::new();
        let mut waiting: Vec<usize> = (0..drafts.len()).collect();
        self.dropped.clear();
        while !waiting.is_empty() {
            let (round, later) = distinct(&drafts, waiting);
            outcomes.extend(self.review_round(&drafts, &round).await?);
            waiting = later;
        }
        Ok(outcomes.into_values().collect())
    }

    /// Imports drafts of different origin, at most one per author and product.
    async fn review_round(
        &mut self,
        drafts: &[ReviewDraft],
        round: &[usize],
    ) -> Result<BTreeMap<usize, LineOutcome>, DomainError> {
        let mut outcomes = BTreeMap::new();
        let known = self.known_for(drafts, round).await?;
        let reference = self.catalog.reference();
        let mut new = Vec::new();
        for at in round {
            let draft = &drafts[*at];
            let mut dropped = Vec::new();
            let checked = self.review_of(draft, &known, &reference.units, &mut dropped);
            self.dropped
                .extend(dropped.into_iter().map(|one| (*at, one)));
            match checked {
                Err(outcome) => drop(outcomes.insert(*at, outcome)),
                Ok((review, digest)) if known.reviews.contains_key(&draft.origin) => {
                    let outcome = self.update_review(review, digest).await?;
                    outcomes.insert(*at, outcome);
                }
                Ok((review, digest)) => new.push((*at, review, digest)),
            }
        }
        self.insert_reviews(new, &mut outcomes).await?;
        Ok(outcomes)
    }

    /// The review that a draft describes, with its digest; `Err` when there is nothing to write.
    fn review_of(
        &self,
        draft: &ReviewDraft,
        known: &Known,
        units: &UnitTable,
        dropped: &mut Vec<Rejection>,
    ) -> Result<(Review, String), LineOutcome> {
        let mut digest = draft.digest();
        let before = known.reviews.get(&draft.origin);
        if before.is_some_and(|before| before.digest == digest) {
            return Err(LineOutcome::Unchanged);
        }
        if before.is_some_and(|before| before.erased) {
            return Err(LineOutcome::Rejected(vec![Rejection::new(
                "author", ERASED,
            )]));
        }
        let (draft, mut refused) = match dropped::review(draft, units, self.catalog.now()) {
            Ok(checked) => {
                dropped.extend(checked.dropped);
                (checked.draft, Vec::new())
            }
            Err(refused) => (Cow::Borrowed(draft), refused),
        };
        let draft = &*draft;
        if !dropped.is_empty() {
            digest = draft.digest();
            if before.is_some_and(|before| before.digest == digest) {
                return Err(LineOutcome::Unchanged);
            }
        }
        let product = known.products.get(&draft.product).map(|(id, _)| *id);
        if product.is_none() {
            refused.push(Rejection::new("product", no_product(&draft.product)));
        }
        if let (Some(before), Some(product)) = (before, product)
            && before.product != product
        {
            let reason = "the review was imported for another product, and reviews cannot be moved";
            refused.push(Rejection::new("product", reason));
        }
        if let (Some(product), Some(author)) = (product, &draft.author)
            && let Some(other) = known.authors.get(&(product, author.id.clone()))
            && (before.is_none() || other.as_deref() != Some(draft.origin.external_id.as_str()))
        {
            refused.push(Rejection::new("author", already_reviewed(other.as_deref())));
        }
        match (refused.is_empty(), product) {
            (true, Some(product)) => {
                let claimed = known.claimed.get(&draft.origin).copied();
                let id = before.map(|before| before.id).or(claimed);
                let id = id.unwrap_or_else(ReviewId::random);
                let bought = draft.author.as_ref().is_some_and(|author| {
                    let buyer = (product, author.id.clone());
                    known.buyers.contains(&buyer)
                });
                let review = Review {
                    verified: bought || draft.verified,
                    ..review(id, product, draft, units)
                };
                Ok((review, digest))
            }
            _ => Err(LineOutcome::Rejected(refused)),
        }
    }

    async fn insert_reviews(
        &mut self,
        new: Vec<(usize, Review, String)>,
        outcomes: &mut BTreeMap<usize, LineOutcome>,
    ) -> Result<(), DomainError> {
        if new.is_empty() {
            return Ok(());
        }
        let places: Vec<(usize, Option<Origin>, String)> = new
            .iter()
            .map(|(at, review, digest)| (*at, review.origin.clone(), digest.clone()))
            .collect();
        let reviews: Vec<(Review, Option<String>)> = new
            .into_iter()
            .map(|(_, review, digest)| (review, Some(digest)))
            .collect();
        let refused = if self.writes() {
            self.store_reviews(reviews).await?
        } else {
            self.simulate(&reviews)
        };
        for ((at, origin, digest), refused) in places.into_iter().zip(refused) {
            let outcome = match refused {
                None => LineOutcome::Created,
                Some(key) => self.refused_review(origin, &digest, &key).await?,
            };
            outcomes.insert(at, outcome);
        }
        Ok(())
    }

    /// Returns the outcome for a review whose insert was refused by a key: another import inserted
    /// it first, or its author already has a review.
    async fn refused_review(
        &self,
        origin: Option<Origin>,
        digest: &str,
        key: &str,
    ) -> Result<LineOutcome, DomainError> {
        let reason = match key {
            "_id" | "origin" => Rejection::new("external_id", CONCURRENT_IMPORT),
            _ => Rejection::new("author", already_reviewed(None)),
        };
        let refused = LineOutcome::Rejected(vec![reason]);
        let Some(Origin {
            system,
            external_id,
        }) = origin
        else {
            return Ok(refused);
        };
        let ids = vec![external_id.clone()];
        let found = self
            .store(|store| async move { store.known_reviews(&system, &ids).await })
            .await?;
        Ok(match found.reviews.get(&external_id) {
            Some(known) if known.digest == digest => LineOutcome::Unchanged,
            Some(_) => {
                let reason =
                    "another import stored it meanwhile, with other content; import the line again";
                LineOutcome::Rejected(vec![Rejection::new("external_id", reason)])
            }
            None => refused,
        })
    }

    /// Stores new reviews. If most of a batch concerns few products, they are folded in the same
    /// transaction; otherwise, or if that is refused, they wait for the fold worker.
    async fn store_reviews(
        &self,
        reviews: Vec<(Review, Option<String>)>,
    ) -> Result<Vec<Option<String>>, DomainError> {
        let shown = reviews.iter().map(|(review, _)| shown_by(review));
        self.catalog.claim_imported_pictures(shown).await?;
        let products: HashSet<ProductId> = reviews
            .iter()
            .map(|(review, _)| review.product_id)
            .collect();
        let (few, now) = (
            products.len() * REVIEWS_PER_PRODUCT <= reviews.len(),
            self.catalog.now(),
        );
        self.store(|store| async move {
            if few && store.insert_counted_reviews(&reviews, now).await? {
                return Ok(vec![None; reviews.len()]);
            }
            store.insert_reviews(&reviews, now).await
        })
        .await
    }

    fn simulate(&mut self, reviews: &[(Review, Option<String>)]) -> Vec<Option<String>> {
        for (review, digest) in reviews {
            let Some(origin) = &review.origin else {
                continue;
            };
            if let Some(author) = &review.author {
                let by = (review.product_id, author.id.0.clone());
                self.simulated
                    .authors
                    .insert(by, origin.external_id.clone());
            }
            let at = ExternalRef {
                system: origin.system.clone(),
                external_id: origin.external_id.clone(),
            };
            self.simulated
                .reviews
                .insert(at, (review.product_id, digest.clone().unwrap_or_default()));
        }
        vec![None; reviews.len()]
    }

    async fn update_review(
        &mut self,
        review: Review,
        digest: String,
    ) -> Result<LineOutcome, DomainError> {
        if !self.writes() {
            self.simulate(&[(review, Some(digest))]);
            return Ok(LineOutcome::Updated);
        }
        let shown = std::iter::once(shown_by(&review));
        self.catalog.claim_imported_pictures(shown).await?;
        let now = self.catalog.now();
        let updated = self.store(|store| async move {
            match store.apply_imported_review(&review, &digest, now).await {
                Err(StorageError::Conflict { .. }) => Ok(None),
                result => result.map(Some),
            }
        });
        let reason = match updated.await? {
            Some(true) => return Ok(LineOutcome::Updated),
            Some(false) => ERASED.to_owned(),
            None => already_reviewed(None),
        };
        Ok(LineOutcome::Rejected(vec![Rejection::new(
            "author", reason,
        )]))
    }

    async fn known_for(
        &self,
        drafts: &[ReviewDraft],
        round: &[usize],
    ) -> Result<Known, DomainError> {
        let products = self
            .known_sources(round.iter().map(|at| &drafts[*at].product))
            .await?;
        let (mut reviews, mut claimed) = (HashMap::new(), HashMap::new());
        let mut by_system: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for origin in round.iter().map(|at| &drafts[*at].origin) {
            if let Some((product, digest)) = self.simulated.reviews.get(origin) {
                let (id, digest) = (ReviewId::random(), digest.clone());
                reviews.insert(
                    origin.clone(),
                    KnownReview {
                        id,
                        product: *product,
                        digest,
                        erased: false,
                    },
                );
            }
            by_system
                .entry(origin.system.clone())
                .or_default()
                .push(origin.external_id.clone());
        }
        for (system, ids) in by_system {
            let of = system.clone();
            let found = self
                .store(|store| async move { store.known_reviews(&of, &ids).await })
                .await?;
            let origin = |external_id| ExternalRef {
                system: system.clone(),
                external_id,
            };
            // In a dry run, simulated writes take precedence.
            for (external_id, known) in found.reviews {
                reviews.entry(origin(external_id)).or_insert(known);
            }
            let found = found.claimed.into_iter();
            claimed.extend(found.map(|(external_id, claim)| (origin(external_id), claim)));
        }
        let claimed = self.valid_claims(drafts, round, &products, claimed).await?;
        let (authors, buyers) = self.known_authors(drafts, round, &products).await?;
        Ok(Known {
            products,
            reviews,
            claimed,
            authors,
            buyers,
        })
    }

    /// Returns the ids that an import claimed for these drafts before it was cut off. A claim for
    /// another product is deleted: the feed has changed since.
    async fn valid_claims(
        &self,
        drafts: &[ReviewDraft],
        round: &[usize],
        products: &HashMap<ExternalRef, (ProductId, String)>,
        claimed: HashMap<ExternalRef, (ProductId, ReviewId)>,
    ) -> Result<HashMap<ExternalRef, ReviewId>, DomainError> {
        let mut valid = HashMap::new();
        for draft in round.iter().map(|at| &drafts[*at]) {
            let Some(claim) = claimed.get(&draft.origin).copied() else {
                continue;
            };
            let product = products.get(&draft.product).map(|(id, _)| *id);
            if product == Some(claim.0) {
                valid.insert(draft.origin.clone(), claim.1);
            } else if product.is_some() && self.writes() {
                let origin = Origin {
                    system: draft.origin.system.clone(),
                    external_id: draft.origin.external_id.clone(),
                };
                self.store(|store| async move { store.delete_claim(&origin, claim).await })
                    .await?;
            }
        }
        Ok(valid)
    }

    async fn known_authors(
        &self,
        drafts: &[ReviewDraft],
        round: &[usize],
        products: &HashMap<ExternalRef, (ProductId, String)>,
    ) -> Result<(Authors, HashSet<(ProductId, AuthorId)>), DomainError> {
        let pair = |draft: &ReviewDraft| {
            let (product, _) = products.get(&draft.product)?;
            Some((*product, draft.author.as_ref()?.id.clone()))
        };
        let pairs: Vec<(ProductId, AuthorId)> =
            round.iter().filter_map(|at| pair(&drafts[*at])).collect();
        let mut known = Authors::new();
        for (product, author) in &pairs {
            if let Some(other) = self.simulated.authors.get(&(*product, author.0.clone())) {
                known.insert((*product, author.clone()), Some(other.clone()));
            }
        }
        let (found, buyers) = self
            .store(|store| async move {
                let buyers = store.known_buyers(&pairs).await?;
                Ok((store.known_authors(&pairs).await?, buyers))
            })
            .await?;
        known.extend(found);
        Ok((known, buyers))
    }
}

fn review(id: ReviewId, product: ProductId, draft: &ReviewDraft, units: &UnitTable) -> Review {
    let attributes = draft.attributes.iter();
    Review {
        id,
        product_id: product,
        author: draft.author.clone(),
        rating: draft.rating,
        recommended: draft.recommended,
        dimensions: draft.dimensions.clone(),
        title: draft.title.clone(),
        body: draft.body.clone(),
        language: draft.language.clone(),
        media: plain_media(&draft.media),
        verified: draft.verified,
        vouched: draft.verified,
        attributes: attributes.map(|one| with_unit_ids(one, units)).collect(),
        incentivized: draft.incentivized,
        origin: Some(Origin {
            system: draft.origin.system.clone(),
            external_id: draft.origin.external_id.clone(),
        }),
        status: ReviewStatus::Published,
        helpful: draft.helpful,
        unhelpful: draft.unhelpful,
        imported_helpful: draft.helpful,
        imported_unhelpful: draft.unhelpful,
        created_at: draft.created_at,
        edited_at: None,
        revision: 1,
        decisions: Vec::new(),
        reply: None,
        reports: 0,
        queued: None,
        round: 0,
        applied: None,
        dirty: true,
    }
}

fn no_product(product: &ExternalRef) -> String {
    format!(
        "there is no product {} of {}",
        product.external_id, product.system
    )
}

fn already_reviewed(other: Option<&str>) -> String {
    let which = other.map_or_else(String::new, |id| format!(" (review {id})"));
    format!("the author has already reviewed this product{which}; the first review is kept")
}

/// The first draft of each origin, and of each author on each product; the others wait.
fn distinct(drafts: &[ReviewDraft], waiting: Vec<usize>) -> (Vec<usize>, Vec<usize>) {
    let (mut origins, mut authors) = (HashSet::new(), HashSet::new());
    waiting.into_iter().partition(|at| {
        let draft = &drafts[*at];
        let author = draft.author.as_ref().map(|author| author.id.clone());
        let alone = author.is_none_or(|author| authors.insert((draft.product.clone(), author)));
        origins.insert(draft.origin.clone()) && alone
    })
}
/// What shows the media of a review.
fn shown_by(review: &Review) -> (PictureUse, &[Media]) {
    let by = PictureUse::Review(review.product_id, review.id);
    (by, &review.media)
}
