//! Random sequences of everything that people do with reviews, compared with a simple reference in
//! memory; and concurrent ones, after which everything is recounted.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use vitrine_domain::Catalog;
use vitrine_domain::outcome::Outcome;
use vitrine_domain::reviewing::{
    ModerationAction, ModerationInput, Purchase, ReviewContent, ReviewPatch,
};
use vitrine_harness::{App, product, test};
use vitrine_model::id::{ProductId, ReviewId};
use vitrine_model::product::{Media, MediaKind, ProductStatus};
use vitrine_model::review::{DecisionReason, ReportReason, Review, ReviewStatus, Vote};
use vitrine_storage::products::ProductKey;

use super::check;

const AUTHORS: [&str; 4] = ["ann", "ben", "cem", "dia"];

/// An act: an author is one of [`AUTHORS`]; a review is named by its author.
#[derive(Clone, Debug)]
enum Act {
    Submit {
        by: usize,
        stars: i64,
        recommended: Option<bool>,
    },
    Edit {
        by: usize,
        stars: i64,
    },
    Delete {
        by: usize,
    },
    Vote {
        by: usize,
        on: usize,
        vote: Option<Vote>,
    },
    Report {
        by: usize,
        on: usize,
    },
    Buy {
        by: usize,
    },
    Moderate {
        on: usize,
        verdict: ModerationAction,
    },
    Reply {
        on: usize,
        text: bool,
    },
    Fold,
}

fn act() -> impl Strategy<Value = Act> {
    let who = || 0..AUTHORS.len();
    let vote = prop_oneof![
        3 => Just(Some(Vote::Helpful)),
        1 => Just(Some(Vote::Unhelpful)),
        1 => Just(None),
    ];
    let verdict = prop_oneof![
        Just(ModerationAction::Publish),
        Just(ModerationAction::Reject),
        Just(ModerationAction::Restore),
    ];
    prop_oneof![
        4 => (who(), 1..=5_i64, prop::option::of(any::<bool>()))
            .prop_map(|(by, stars, recommended)| Act::Submit { by, stars, recommended }),
        2 => (who(), 1..=5_i64).prop_map(|(by, stars)| Act::Edit { by, stars }),
        1 => who().prop_map(|by| Act::Delete { by }),
        4 => (who(), who(), vote).prop_map(|(by, on, vote)| Act::Vote { by, on, vote }),
        1 => (who(), who()).prop_map(|(by, on)| Act::Report { by, on }),
        1 => who().prop_map(|by| Act::Buy { by }),
        2 => (who(), verdict).prop_map(|(on, verdict)| Act::Moderate { on, verdict }),
        1 => (who(), any::<bool>()).prop_map(|(on, text)| Act::Reply { on, text }),
        1 => Just(Act::Fold),
    ]
}

/// A review in the reference.
#[derive(Clone, Debug)]
struct Known {
    status: ReviewStatus,
    stars: i64,
    recommended: Option<bool>,
    votes: BTreeMap<usize, Vote>,
    reports: BTreeSet<usize>,
    /// Whether the last decision hid it.
    hidden: bool,
    reply: bool,
}

impl Known {
    fn edit(&mut self, stars: i64) {
        if self.stars != stars && self.status != ReviewStatus::Published {
            self.status = ReviewStatus::Pending;
        }
        self.stars = stars;
    }

    fn moderate(&mut self, verdict: ModerationAction) {
        let to = match verdict {
            ModerationAction::Publish => ReviewStatus::Published,
            ModerationAction::Reject => ReviewStatus::Rejected,
            ModerationAction::Restore => ReviewStatus::Pending,
        };
        let waits = self.status == ReviewStatus::Pending || !self.reports.is_empty();
        if to != self.status || (waits && verdict != ModerationAction::Restore) {
            self.hidden = to != ReviewStatus::Published;
            self.status = to;
            self.reports.clear();
        }
    }
}

/// The expected state of a product.
#[derive(Debug, Default)]
struct Shop {
    reviews: BTreeMap<usize, Known>,
    buyers: BTreeSet<usize>,
}

impl Shop {
    /// Applies an act, and returns whether it is possible.
    fn act(&mut self, act: &Act) -> bool {
        match *act {
            Act::Submit {
                by,
                stars,
                recommended,
            } => self.submit(by, stars, recommended),
            Act::Edit { by, stars } => {
                let edited = self.existing(by).map(|known| known.edit(stars));
                edited.is_some()
            }
            Act::Delete { by } => {
                let deleted = self.existing(by);
                deleted
                    .map(|known| known.status = ReviewStatus::Deleted)
                    .is_some()
            }
            Act::Vote { by, on, vote } => match self.published(on) {
                Some(known) if by != on => {
                    match vote {
                        Some(vote) => known.votes.insert(by, vote),
                        None => known.votes.remove(&by),
                    };
                    true
                }
                _ => false,
            },
            Act::Report { by, on } => {
                let reported = self.published(on).map(|known| known.reports.insert(by));
                reported.is_some()
            }
            Act::Buy { by } => {
                self.buyers.insert(by);
                true
            }
            Act::Moderate { on, verdict } => {
                let moderated = self.existing(on).map(|known| known.moderate(verdict));
                moderated.is_some()
            }
            Act::Reply { on, text } => {
                let replied = self.published(on).map(|known| known.reply = text);
                replied.is_some()
            }
            Act::Fold => true,
        }
    }

    fn submit(&mut self, by: usize, stars: i64, recommended: Option<bool>) -> bool {
        let before = self.reviews.get(&by);
        let possible = before.is_none_or(|known| {
            matches!(known.status, ReviewStatus::Deleted | ReviewStatus::Rejected)
        });
        if possible {
            let hidden = before.is_some_and(|known| known.hidden);
            let reports = before.map_or_else(BTreeSet::new, |known| known.reports.clone());
            let status = if hidden || !reports.is_empty() {
                ReviewStatus::Pending
            } else {
                ReviewStatus::Published
            };
            let new = Known {
                status,
                stars,
                recommended,
                votes: BTreeMap::new(),
                reports,
                hidden,
                reply: false,
            };
            self.reviews.insert(by, new);
        }
        possible
    }

    fn existing(&mut self, by: usize) -> Option<&mut Known> {
        let known = self.reviews.get_mut(&by);
        known.filter(|known| known.status != ReviewStatus::Deleted)
    }

    fn published(&mut self, on: usize) -> Option<&mut Known> {
        let known = self.reviews.get_mut(&on);
        known.filter(|known| known.status == ReviewStatus::Published)
    }
}

fn content(stars: i64, recommended: Option<bool>) -> ReviewContent {
    ReviewContent {
        rating: stars,
        recommended,
        dimensions: Vec::new(),
        title: format!("{stars} stars"),
        body: "What there is to say.".to_owned(),
        language: language(stars),
        media: media(stars),
        author_name: None,
    }
}

/// Reviews of some stars have a language, so that edits change filtered fields.
fn language(stars: i64) -> Option<String> {
    ["en", "de-AT", "EN-gb"]
        .get(usize::try_from(stars % 4).unwrap())
        .map(|&tag| tag.to_owned())
}

fn media(stars: i64) -> Vec<Media> {
    let picture = Media {
        url: "https://example.org/lamp.jpg".to_owned(),
        alt: None,
        kind: MediaKind::Image,
    };
    std::iter::repeat_n(picture, usize::from(stars % 2 == 0)).collect()
}

fn done<T>(outcome: &Outcome<T>) -> bool {
    matches!(outcome, Outcome::Done(_))
}

/// The review of an author, or one that does not exist.
async fn review_by(catalog: &Catalog, product: ProductId, author: usize) -> (ReviewId, i64) {
    let mine = |review: &Review| {
        let author_of = review.author.as_ref().map(|author| author.id.0.as_str());
        author_of == Some(AUTHORS[author])
    };
    let found = catalog.own_reviews(AUTHORS[author], vec![product]).await;
    let found = found.unwrap().remove(&product).filter(mine);
    found.map_or_else(
        || (ReviewId::from_i64(0), 1),
        |review| (review.id, review.revision),
    )
}

/// Executes an act through the catalogue, and returns whether it was done.
async fn execute(catalog: &Catalog, product: ProductId, act: &Act) -> bool {
    match *act {
        Act::Submit {
            by,
            stars,
            recommended,
        } => {
            let content = content(stars, recommended);
            let submitted = catalog.submit_review(AUTHORS[by], None, product, content);
            done(&submitted.await.unwrap())
        }
        Act::Edit { by, stars } => edit(catalog, product, by, stars).await,
        Act::Delete { by } => {
            let (id, _) = review_by(catalog, product, by).await;
            let deleted = catalog.delete_review(AUTHORS[by], (product, id), None);
            done(&deleted.await.unwrap())
        }
        Act::Vote { by, on, vote } => {
            let (id, _) = review_by(catalog, product, on).await;
            let voted = catalog.vote_review(AUTHORS[by], (product, id), vote);
            done(&voted.await.unwrap())
        }
        Act::Report { by, on } => {
            let (id, _) = review_by(catalog, product, on).await;
            let reason = ReportReason::Spam;
            let reported = catalog.report_review(AUTHORS[by], (product, id), reason, None);
            done(&reported.await.unwrap())
        }
        Act::Buy { by } => {
            let purchase = Purchase {
                product,
                customer: AUTHORS[by].to_owned(),
                at: None,
                quantity: 1,
                order: None,
            };
            done(&catalog.record_purchase(purchase).await.unwrap())
        }
        Act::Moderate { on, verdict } => moderate(catalog, product, on, verdict).await,
        Act::Reply { on, text } => {
            let (id, _) = review_by(catalog, product, on).await;
            let text = text.then(|| "Thank you.".to_owned());
            let replied = catalog.reply_to_review("shop", (product, id), text, None);
            done(&replied.await.unwrap())
        }
        Act::Fold => {
            catalog.fold_and_move_ranks().await.unwrap();
            true
        }
    }
}

async fn edit(catalog: &Catalog, product: ProductId, by: usize, stars: i64) -> bool {
    let (id, revision) = review_by(catalog, product, by).await;
    let patch = ReviewPatch {
        rating: Some(stars),
        language: Some(language(stars)),
        media: Some(media(stars)),
        ..ReviewPatch::default()
    };
    let edited = catalog.edit_review(AUTHORS[by], (product, id), revision, patch);
    done(&edited.await.unwrap())
}

async fn moderate(
    catalog: &Catalog,
    product: ProductId,
    on: usize,
    verdict: ModerationAction,
) -> bool {
    let (id, _) = review_by(catalog, product, on).await;
    let judgement = ModerationInput {
        action: verdict,
        reason: DecisionReason::Other,
        note: None,
        expected_revision: None,
    };
    let moderated = catalog.moderate_review("mod", (product, id), judgement);
    done(&moderated.await.unwrap())
}

async fn new_product(app: &App, name: &str) -> ProductId {
    app.has([product(name)]).await;
    let key = ProductKey::Slug(name.to_owned());
    let found = app.store.get_product(&key, &[ProductStatus::Active]).await;
    found.unwrap().unwrap().product().unwrap().id
}

/// Compares the stored ratings, after all folds, with the reference.
async fn compare(app: &App, name: &str, shop: &Shop) -> Result<(), TestCaseError> {
    app.catalog.fold_and_move_ranks().await.unwrap();
    app.audit().await;
    let key = ProductKey::Slug(name.to_owned());
    let found = app.store.get_product(&key, &[ProductStatus::Active]).await;
    let product = found.unwrap().unwrap().product().unwrap();
    let seen = || {
        let seen = shop.reviews.iter();
        seen.filter(|(_, known)| known.status == ReviewStatus::Published)
    };
    let mut histogram = [0_i64; 5];
    for (_, known) in seen() {
        histogram[usize::try_from(known.stars - 1).unwrap()] += 1;
    }
    prop_assert_eq!(product.computed.stats.histogram.0, histogram);
    let said = |yes| i64::try_from(seen().filter(|(_, k)| k.recommended == Some(yes)).count());
    prop_assert_eq!(product.computed.stats.recommended.yes, said(true).unwrap());
    prop_assert_eq!(product.computed.stats.recommended.no, said(false).unwrap());
    // With equal votes the newest comes first; the clock does not move, so ids decide.
    let mut expected: Vec<(String, i64, bool)> = seen()
        .map(|(by, known)| {
            let helpful = known.votes.values().filter(|vote| **vote == Vote::Helpful);
            let helpful = i64::try_from(helpful.count()).unwrap();
            (AUTHORS[*by].to_owned(), helpful, shop.buyers.contains(by))
        })
        .collect();
    let mut shown: Vec<(String, i64, bool)> = product
        .computed
        .top_reviews
        .iter()
        .map(|top| {
            (
                top.author.as_ref().unwrap().id.0.clone(),
                top.helpful,
                top.verified,
            )
        })
        .collect();
    prop_assert!(shown.is_sorted_by(|a, b| a.1 >= b.1));
    expected.sort();
    shown.sort();
    prop_assert_eq!(shown, expected);
    for (by, known) in &shop.reviews {
        let own = app
            .catalog
            .own_reviews(AUTHORS[*by], vec![product.id])
            .await;
        let own = own.unwrap().remove(&product.id);
        prop_assert_eq!(own.is_none(), known.status == ReviewStatus::Deleted);
        let Some(own) = own else { continue };
        prop_assert_eq!(own.status, known.status);
        prop_assert_eq!(i64::from(own.rating), known.stars);
        prop_assert_eq!(own.verified, shop.buyers.contains(by));
        prop_assert_eq!(own.reply.is_some(), known.reply);
        prop_assert_eq!(own.reports, i64::try_from(known.reports.len()).unwrap());
    }
    Ok(())
}

#[test]
fn any_schedule_ends_as_the_reference_in_memory() {
    test(async |app| {
        let number = std::cell::Cell::new(0);
        let schedules = prop::collection::vec(act(), 1..40);
        check(30, &schedules, app, async |app, schedule| {
            number.set(number.get() + 1);
            let name = format!("p{}", number.get());
            let product = new_product(app, &name).await;
            let mut shop = Shop::default();
            for act in &schedule {
                let expected = shop.act(act);
                let was = execute(&app.catalog, product, act).await;
                prop_assert_eq!(was, expected, "{:?} of {:?}", act, schedule);
            }
            compare(app, &name, &shop).await
        });
    });
}

#[test]
fn concurrent_schedules_leave_consistent_counts() {
    test(async |app| {
        let schedules = prop::collection::vec(prop::collection::vec(act(), 1..15), 8);
        let number = std::cell::Cell::new(0);
        check(6, &schedules, app, async |app, schedules| {
            number.set(number.get() + 1);
            let product = new_product(app, &format!("q{}", number.get())).await;
            let other = app.other_process().await;
            let mut actors = tokio::task::JoinSet::new();
            for (n, schedule) in schedules.into_iter().enumerate() {
                let catalog = if n % 2 == 0 { &app.catalog } else { &other };
                let catalog = catalog.clone();
                actors.spawn(async move {
                    for act in &schedule {
                        execute(&catalog, product, act).await;
                    }
                });
            }
            actors.join_all().await;
            other.drain().await;
            app.catalog.fold_and_move_ranks().await.unwrap();
            app.audit().await;
            let stored = app.catalog.rating_stats_audit(None, 1, Some(product)).await;
            prop_assert_eq!(stored.unwrap().differences, []);
            Ok(())
        });
    });
}
