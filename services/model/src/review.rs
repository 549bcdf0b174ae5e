//! Reviews, and the excerpts of the most helpful ones that are embedded in products.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strum::EnumCount;

use crate::clock::Timestamp;
use crate::id::{AuthorId, CategoryId, ProductId, ReviewId};
use crate::product::Media;
use crate::rating::Stars;
use crate::spec::Spec;
use crate::text::excerpt;

/// The maximum number of reviews embedded in a product: its most helpful ones.
pub const MAX_TOP_REVIEWS: usize = 10;
/// The maximum number of characters of a review's body that are embedded in its product.
pub const MAX_EXCERPT_CHARACTERS: usize = 300;
/// The maximum length of a title, in characters.
pub const MAX_TITLE_CHARACTERS: usize = 200;
/// The maximum length of a body, in characters.
pub const MAX_BODY_CHARACTERS: usize = 10_000;
/// The maximum length of a reply, in characters.
pub const MAX_REPLY_CHARACTERS: usize = 5_000;
/// The maximum number of images and videos of a review.
pub const MAX_REVIEW_MEDIA: usize = 10;
/// The maximum number of attributes of a review.
pub const MAX_REVIEW_ATTRIBUTES: usize = 20;
/// The maximum length of a text in an attribute of a review, in bytes.
pub const MAX_ATTRIBUTE_BYTES: usize = 256;
/// The maximum number of moderation decisions embedded in a review: its latest ones. The log keeps
/// all.
pub const MAX_DECISIONS: usize = 20;

/// The status of a review; only published ones are visible and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, EnumCount)]
#[serde(rename_all = "snake_case")]
pub enum ReviewStatus {
    /// Waiting for a moderator.
    Pending,
    /// Visible to everyone, and counted.
    Published,
    /// Rejected by a moderator.
    Rejected,
    /// Deleted by its author.
    Deleted,
}

impl ReviewStatus {
    /// All statuses.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Pending,
        Self::Published,
        Self::Rejected,
        Self::Deleted,
    ];

    /// The name under which the status is stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Published => "published",
            Self::Rejected => "rejected",
            Self::Deleted => "deleted",
        }
    }

    /// The status with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// Declares an enum whose values have names, under which they are stored and shown.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$case_doc:meta])* $case:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$case_doc])* $case,)*
        }

        impl $name {
            /// All values.
            pub const ALL: &[Self] = &[$(Self::$case),*];

            /// The name under which the value is stored.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$case => $text,)*
                }
            }

            /// The value with this name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.name() == name)
            }
        }
    };
}

named! {
    /// The reason for a moderator's decision.
    DecisionReason {
        /// Nothing is wrong with it.
        Acceptable = "acceptable",
        /// Advertising.
        Spam = "spam",
        /// Insults, hate, threats.
        Offensive = "offensive",
        /// Not about the product.
        OffTopic = "off_topic",
        /// Personal data of the author or of others.
        PersonalData = "personal_data",
        /// Not written from experience.
        Fake = "fake",
        /// Against the law.
        Illegal = "illegal",
        /// Written by someone with an interest in the product.
        ConflictOfInterest = "conflict_of_interest",
        /// An earlier decision was wrong.
        Mistake = "mistake",
        /// Anything else; see the note.
        Other = "other",
    }
}

named! {
    /// The reason for a report of a review.
    ReportReason {
        /// Advertising.
        Spam = "spam",
        /// Insults, hate, threats.
        Offensive = "offensive",
        /// Not about the product.
        OffTopic = "off_topic",
        /// Personal data of the author or of others.
        PersonalData = "personal_data",
        /// Not written from experience.
        Fake = "fake",
        /// Against the law.
        Illegal = "illegal",
        /// Anything else; see the note.
        Other = "other",
    }
}

named! {
    /// The reason why a review is in the moderation queue.
    QueueReason {
        /// It is visible only after a moderator has published it.
        Pending = "pending",
        /// It was reported.
        Reported = "reported",
    }
}

named! {
    /// A vote on a review.
    Vote {
        /// The review is helpful.
        Helpful = "helpful",
        /// The review is not helpful.
        Unhelpful = "unhelpful",
    }
}

/// A moderation decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// When it was made.
    pub at: Timestamp,
    /// The subject of the moderator's token.
    pub by: String,
    /// The status before.
    pub from: ReviewStatus,
    /// The status after.
    pub to: ReviewStatus,
    /// Why.
    pub reason: DecisionReason,
    /// A comment, visible to moderators only.
    pub note: Option<String>,
}

/// The shop's public reply to a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// When it was written or last changed.
    pub at: Timestamp,
    /// The subject of the writer's token.
    pub by: String,
    /// The text.
    pub text: String,
}

/// The place of a review in the moderation queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    /// Why.
    pub reason: QueueReason,
    /// When it was queued.
    pub since: Timestamp,
}

/// An earlier version of a review, from before a change by its author.
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewVersion {
    /// Its revision.
    pub revision: i64,
    /// When it was replaced.
    pub until: Timestamp,
    /// Its rating.
    pub rating: Stars,
    /// The title.
    pub title: String,
    /// Its text.
    pub body: String,
}

/// The rating dimensions of products, by kind and by category.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DimensionTable {
    /// The dimensions of kinds.
    pub kinds: BTreeMap<String, Vec<String>>,
    /// The dimensions of categories and their descendants.
    pub categories: BTreeMap<CategoryId, Vec<String>>,
}

impl DimensionTable {
    /// The dimensions of a kind.
    #[must_use]
    pub fn of_kind(&self, kind: &str) -> &[String] {
        self.kinds.get(kind).map_or(&[], Vec::as_slice)
    }

    /// The dimensions of a category itself, without those of its ancestors.
    #[must_use]
    pub fn of_category(&self, category: CategoryId) -> &[String] {
        self.categories.get(&category).map_or(&[], Vec::as_slice)
    }
}

/// The author of a review, as shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// The author's id.
    pub id: AuthorId,
    /// The name shown.
    pub name: String,
}

/// The source of an imported review.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// The source system.
    pub system: String,
    /// The review's id in that system.
    pub external_id: String,
}

/// A review with all its fields.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says something else of the review"
)]
pub struct Review {
    /// The review's id.
    pub id: ReviewId,
    /// The product it is about.
    pub product_id: ProductId,
    /// The author; `None` for anonymous imports.
    pub author: Option<Author>,
    /// The rating.
    pub rating: Stars,
    /// Whether the author recommends the product; `None` if not answered.
    pub recommended: Option<bool>,
    /// Ratings by dimension.
    pub dimensions: BTreeMap<String, Stars>,
    /// The title; may be empty.
    pub title: String,
    /// The text; may be empty on imports.
    pub body: String,
    /// The language as an IETF tag, when known.
    pub language: Option<String>,
    /// Images and videos.
    pub media: Vec<Media>,
    /// Whether the author is known to have bought the product: the shop recorded a purchase, or the
    /// source vouches for one. Computed, never an input.
    pub verified: bool,
    /// Whether the source of an imported review vouches for a purchase.
    pub vouched: bool,
    /// Facts about the reviewer that a feed has: `hours_played`, `age_group`. They are like specs,
    /// but their keys are not in the dictionary.
    pub attributes: Vec<Spec>,
    /// Whether the author received something for it.
    pub incentivized: bool,
    /// The source, for imported reviews.
    pub origin: Option<Origin>,
    /// The status.
    pub status: ReviewStatus,
    /// The number of helpful votes, including imported ones.
    pub helpful: i64,
    /// The number of unhelpful votes, including imported ones.
    pub unhelpful: i64,
    /// The number of imported helpful votes.
    pub imported_helpful: i64,
    /// The number of imported unhelpful votes.
    pub imported_unhelpful: i64,
    /// When it was written; `None` for imports without a date, which sort last.
    pub created_at: Option<Timestamp>,
    /// When its author last changed it.
    pub edited_at: Option<Timestamp>,
    /// Increases with each change by the author or a moderator.
    pub revision: i64,
    /// The latest moderation decisions, oldest first; at most [`MAX_DECISIONS`].
    pub decisions: Vec<Decision>,
    /// The shop's reply.
    pub reply: Option<Reply>,
    /// The number of open reports.
    pub reports: i64,
    /// Its place in the moderation queue, if it is queued.
    pub queued: Option<Queued>,
    /// Increases when the review is written again after it was deleted or rejected. Votes belong to
    /// a round; those of earlier rounds no longer count.
    pub round: i32,
    /// The contribution that is currently counted in its product.
    pub applied: Option<Applied>,
    /// Whether it is waiting to be folded.
    pub dirty: bool,
}

/// The contribution of a review to its product's computed data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The rating.
    pub rating: Stars,
    /// The month it was written in, as [`Timestamp::month`] counts them.
    pub month: Option<i32>,
    /// Whether the author recommends the product; `None` if not answered.
    pub recommended: Option<bool>,
    /// Ratings by dimension.
    pub dimensions: BTreeMap<String, Stars>,
    /// The other properties it can be filtered by.
    pub traits: Traits,
}

/// The properties of a review, other than its rating, that it can be filtered by.
///
/// Each combination of a review's traits is one of its [`Traits::marks`], so that every filter is a
/// single value of an index. The combination of all its traits is its [`Traits::name`]; products
/// count their reviews by it, so that the number of reviews that match a filter is known without
/// counting.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Traits {
    /// The author is a verified buyer.
    pub verified: bool,
    /// It has images or videos.
    pub media: bool,
    /// Its language, as a two-letter code; `None` for languages without one, so that there are
    /// never more than a few hundred combinations.
    pub language: Option<String>,
}

const VERIFIED_MARK: &str = "v";
const MEDIA_MARK: &str = "m";
/// The separator of the parts of a name.
const SEPARATOR: &str = ".";

impl Traits {
    /// The name of this combination of traits; `None` if it is empty.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        let parts = [
            self.verified.then_some(VERIFIED_MARK),
            self.media.then_some(MEDIA_MARK),
            self.language.as_deref(),
        ];
        let parts: Vec<&str> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(SEPARATOR))
    }

    /// The traits with this [`Traits::name`]; `None` for other texts.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let mut traits = Self::default();
        for part in name.split(SEPARATOR) {
            match part {
                VERIFIED_MARK => traits.verified = true,
                MEDIA_MARK => traits.media = true,
                other => traits.language = language_code(other),
            }
        }
        (traits.name().as_deref() == Some(name)).then_some(traits)
    }

    /// The names of all non-empty combinations of these traits: first those without the verified
    /// buyer, then each of these with it.
    #[must_use]
    pub fn marks(&self) -> Vec<String> {
        let media = self.media.then(|| MEDIA_MARK.to_owned());
        let language = self.language.clone();
        let both = media.as_ref().zip(language.as_ref());
        let both = both.map(|(media, language)| [media.as_str(), language].join(SEPARATOR));
        let mut marks: Vec<String> = [media, language, both].into_iter().flatten().collect();
        if self.verified {
            let verified = marks
                .iter()
                .map(|mark| [VERIFIED_MARK, mark].join(SEPARATOR))
                .collect::<Vec<_>>();
            marks.push(VERIFIED_MARK.to_owned());
            marks.extend(verified);
        }
        marks
    }

    /// Returns true if all required traits are among these.
    #[must_use]
    pub fn include(&self, required: &Self) -> bool {
        (self.verified || !required.verified)
            && (self.media || !required.media)
            && (required.language.is_none() || self.language == required.language)
    }
}

/// The languages that have a two-letter code (ISO 639-1). Reviews cannot be filtered by others, so
/// that the counts of a product stay small whatever tags reviews have.
const LANGUAGES: &str = "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu \
    cv cy da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia \
    id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg \
    mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw \
    sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur \
    uz ve vi vo wa wo xh yi yo za zh zu";

/// The two-letter code at the start of an IETF language tag, in lower case; `None` for other tags.
#[must_use]
pub fn language_code(tag: &str) -> Option<String> {
    let code = tag.split(['-', '_']).next().unwrap_or_default();
    let code = code.to_ascii_lowercase();
    LANGUAGES
        .split_ascii_whitespace()
        .any(|known| known == code)
        .then_some(code)
}

impl Review {
    /// The properties it can be filtered by.
    #[must_use]
    pub fn traits(&self) -> Traits {
        Traits {
            verified: self.verified,
            media: !self.media.is_empty(),
            language: self.language.as_deref().and_then(language_code),
        }
    }

    /// The contribution the review should make in its current state: `None` unless it is published.
    #[must_use]
    pub fn contribution(&self) -> Option<Applied> {
        (self.status == ReviewStatus::Published).then(|| Applied {
            rating: self.rating,
            month: self.created_at.map(Timestamp::month),
            recommended: self.recommended,
            dimensions: self.dimensions.clone(),
            traits: self.traits(),
        })
    }

    /// The part of the review that is embedded in its product.
    #[must_use]
    pub fn top(&self) -> TopReview {
        let cut = excerpt(&self.body, MAX_EXCERPT_CHARACTERS);
        TopReview {
            id: self.id,
            rating: self.rating,
            title: self.title.clone(),
            excerpt: cut.text,
            truncated: cut.truncated,
            author: self.author.clone(),
            helpful: self.helpful,
            verified: self.verified,
            created_at: self.created_at,
        }
    }
}

/// The part of a helpful review that is embedded in its product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopReview {
    /// The review's id.
    pub id: ReviewId,
    /// The rating.
    pub rating: Stars,
    /// The title.
    pub title: String,
    /// The beginning of the body.
    pub excerpt: String,
    /// Whether the body is longer than the excerpt.
    pub truncated: bool,
    /// The author.
    pub author: Option<Author>,
    /// The number of helpful votes.
    pub helpful: i64,
    /// Whether the author is known to have bought the product.
    pub verified: bool,
    /// When it was written.
    pub created_at: Option<Timestamp>,
}

/// The rank of a review among the most helpful ones. The greatest comes first: most helpful, then
/// newest (undated last), then greatest id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TopKey {
    /// The number of helpful votes.
    pub helpful: i64,
    /// When it was written; `None` is less than any date.
    pub created_at: Option<Timestamp>,
    /// The review's id.
    pub id: ReviewId,
}

impl TopReview {
    /// The sort key among the most helpful reviews.
    #[must_use]
    pub const fn key(&self) -> TopKey {
        TopKey {
            helpful: self.helpful,
            created_at: self.created_at,
            id: self.id,
        }
    }

    /// Compares two reviews in the order in which products list them.
    #[must_use]
    pub fn order(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traits(verified: bool, media: bool, language: Option<&str>) -> Traits {
        Traits {
            verified,
            media,
            language: language.map(str::to_owned),
        }
    }

    #[test]
    fn every_matching_filter_is_one_mark() {
        let mut all = Vec::new();
        for verified in [false, true] {
            for media in [false, true] {
                for language in [None, Some("en"), Some("de")] {
                    all.push(traits(verified, media, language));
                }
            }
        }
        for own in &all {
            let marks = own.marks();
            let matching = all.iter().filter(|required| own.include(required));
            let mut matching: Vec<String> = matching.filter_map(Traits::name).collect();
            matching.sort_unstable();
            let mut sorted = marks.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, matching, "{own:?}");
            let name = own.name();
            assert_eq!(
                name.as_deref()
                    .map_or_else(|| Some(Traits::default()), Traits::named),
                Some(own.clone())
            );
        }
        assert_eq!(
            traits(true, true, Some("en")).marks(),
            ["m", "en", "m.en", "v", "v.m", "v.en", "v.m.en"]
        );
        for other in ["", "m.v", "en.v", "v.v", "en.de"] {
            assert_eq!(Traits::named(other), None, "{other}");
        }
    }

    #[test]
    fn languages_are_two_letter_codes() {
        assert_eq!(language_code("en").as_deref(), Some("en"));
        assert_eq!(language_code("EN-gb").as_deref(), Some("en"));
        assert_eq!(language_code("de_AT").as_deref(), Some("de"));
        for other in ["", "e", "tlh", "english", "é1", "1a"] {
            assert_eq!(language_code(other), None, "{other}");
        }
    }
}
