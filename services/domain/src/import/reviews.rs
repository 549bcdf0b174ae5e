//! Importing reviews.

use std::collections::{BTreeMap, HashMap, HashSet};

use vitrine_model::id::{AuthorId, ProductId, ReviewId};
use vitrine_model::import::{ExternalRef, LineOutcome, Rejection, ReviewDraft, digest};
use vitrine_model::review::{Origin, Review, ReviewStatus};
use vitrine_storage::reviews::KnownReview;

use super::{ImportSession, check};
use crate::DomainError;

/// From so many reviews per product in a batch it pays to count them while they are stored.
const REVIEWS_PER_PRODUCT: usize = 4;

/// What the database knows of a batch of drafts.
struct Known {
    products: HashMap<ExternalRef, (ProductId, String)>,
    reviews: HashMap<ExternalRef, KnownReview>,
    authors: HashMap<(ProductId, AuthorId), Option<String>>,
}

impl ImportSession {
    /// Imports reviews as published ones; the outcomes are in the order of the drafts. Of several
    /// reviews of one product by one author the first is kept. The products' computed data follows
    /// when the session is finished.
    ///
    /// # Errors
    /// [`DomainError`] when the database fails. Drafts before may have been stored; importing them
    /// again leaves them alone.
    pub async fn reviews(
        &mut self,
        drafts: Vec<ReviewDraft>,
    ) -> Result<Vec<LineOutcome>, DomainError> {
        let mut outcomes: BTreeMap<usize, LineOutcome> = BTreeMap::new();
        let mut waiting: Vec<usize> = (0..drafts.len()).collect();
        while !waiting.is_empty() {
            let (round, later) = distinct(&drafts, waiting);
            outcomes.extend(self.review_round(&drafts, &round).await?);
            waiting = later;
        }
        Ok(outcomes.into_values().collect())
    }

    /// Imports drafts of different origin, no two of them by one author on one product.
    async fn review_round(
        &mut self,
        drafts: &[ReviewDraft],
        round: &[usize],
    ) -> Result<BTreeMap<usize, LineOutcome>, DomainError> {
        let mut outcomes = BTreeMap::new();
        let known = self.known_for(drafts, round).await?;
        let mut new = Vec::new();
        for at in round {
            let draft = &drafts[*at];
            match Self::review_of(draft, &known) {
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

    /// The review that a draft describes, with its digest; `Err` when nothing is to be done.
    fn review_of(draft: &ReviewDraft, known: &Known) -> Result<(Review, String), LineOutcome> {
        let digest = digest(draft);
        let before = known.reviews.get(&draft.origin);
        if before.is_some_and(|before| before.digest == digest) {
            return Err(LineOutcome::Unchanged);
        }
        let mut refused = check::review(draft);
        let product = known.products.get(&draft.product).map(|(id, _)| *id);
        if product.is_none() {
            refused.push(Rejection::new("product", no_product(&draft.product)));
        }
        if let (None, Some(product), Some(author)) = (before, product, &draft.author)
            && let Some(other) = known.authors.get(&(product, author.id.clone()))
        {
            refused.push(Rejection::new("author", already_reviewed(other.as_deref())));
        }
        match (refused.is_empty(), product) {
            (true, Some(product)) => {
                let id = before.map_or_else(ReviewId::random, |before| before.id);
                Ok((review(id, product, draft), digest))
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
        let places: Vec<usize> = new.iter().map(|(at, _, _)| *at).collect();
        let reviews: Vec<(Review, Option<String>)> = new
            .into_iter()
            .map(|(_, review, digest)| (review, Some(digest)))
            .collect();
        let refused = if self.writes() {
            self.store_reviews(reviews).await?
        } else {
            self.imagine(&reviews)
        };
        for (at, refused) in places.into_iter().zip(refused) {
            let outcome = match refused.as_deref() {
                None => LineOutcome::Created,
                Some(fields) if fields.contains("author") => {
                    LineOutcome::Rejected(vec![Rejection::new("author", already_reviewed(None))])
                }
                // Another import of the same feed was faster.
                Some(_) => LineOutcome::Unchanged,
            };
            outcomes.insert(at, outcome);
        }
        Ok(())
    }

    /// Stores new reviews. Where most of a batch is about few products it is counted at once, in
    /// one transaction; else, and if that is refused, reviews wait for the fold.
    async fn store_reviews(
        &self,
        reviews: Vec<(Review, Option<String>)>,
    ) -> Result<Vec<Option<String>>, DomainError> {
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
            store.insert_reviews(&reviews).await
        })
        .await
    }

    fn imagine(&mut self, reviews: &[(Review, Option<String>)]) -> Vec<Option<String>> {
        for (review, digest) in reviews {
            let Some(origin) = &review.origin else {
                continue;
            };
            if let Some(author) = &review.author {
                let by = (review.product_id, author.id.0.clone());
                self.imagined.authors.insert(by, origin.external_id.clone());
            }
            let at = ExternalRef {
                system: origin.system.clone(),
                external_id: origin.external_id.clone(),
            };
            self.imagined
                .reviews
                .insert(at, digest.clone().unwrap_or_default());
        }
        vec![None; reviews.len()]
    }

    async fn update_review(
        &self,
        review: Review,
        digest: String,
    ) -> Result<LineOutcome, DomainError> {
        if self.writes() {
            self.store(|store| async move { store.apply_imported_review(&review, &digest).await })
                .await?;
        }
        Ok(LineOutcome::Updated)
    }

    async fn known_for(
        &self,
        drafts: &[ReviewDraft],
        round: &[usize],
    ) -> Result<Known, DomainError> {
        let products = self
            .known_sources(round.iter().map(|at| &drafts[*at].product))
            .await?;
        let mut reviews = HashMap::new();
        let mut by_system: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for origin in round.iter().map(|at| &drafts[*at].origin) {
            if let Some(digest) = self.imagined.reviews.get(origin) {
                let known = KnownReview {
                    id: ReviewId::random(),
                    digest: digest.clone(),
                };
                reviews.insert(origin.clone(), known);
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
            let named = |(external_id, known)| {
                (
                    ExternalRef {
                        system: system.clone(),
                        external_id,
                    },
                    known,
                )
            };
            reviews.extend(found.into_iter().map(named));
        }
        let authors = self.known_authors(drafts, round, &products).await?;
        Ok(Known {
            products,
            reviews,
            authors,
        })
    }

    async fn known_authors(
        &self,
        drafts: &[ReviewDraft],
        round: &[usize],
        products: &HashMap<ExternalRef, (ProductId, String)>,
    ) -> Result<HashMap<(ProductId, AuthorId), Option<String>>, DomainError> {
        let pair = |draft: &ReviewDraft| {
            let (product, _) = products.get(&draft.product)?;
            Some((*product, draft.author.as_ref()?.id.clone()))
        };
        let pairs: Vec<(ProductId, AuthorId)> =
            round.iter().filter_map(|at| pair(&drafts[*at])).collect();
        let mut known: HashMap<(ProductId, AuthorId), Option<String>> = HashMap::new();
        for (product, author) in &pairs {
            if let Some(other) = self.imagined.authors.get(&(*product, author.0.clone())) {
                known.insert((*product, author.clone()), Some(other.clone()));
            }
        }
        let found = self
            .store(|store| async move { store.known_authors(&pairs).await })
            .await?;
        known.extend(found);
        Ok(known)
    }
}

fn review(id: ReviewId, product: ProductId, draft: &ReviewDraft) -> Review {
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
        media: Vec::new(),
        verified: false,
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
