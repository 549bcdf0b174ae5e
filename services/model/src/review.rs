//! Reviews, and the excerpts of the most helpful ones that every product carries.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::{AuthorId, CategoryId, ProductId, ReviewId};
use crate::product::Media;
use crate::rating::Stars;
use crate::text::excerpt;

/// How many of the most helpful reviews a product carries.
pub const TOP_REVIEWS: usize = 10;
/// The most characters of a review's body that the product carries.
pub const EXCERPT_CHARACTERS: usize = 300;
/// The longest title, in characters.
pub const MAX_TITLE_CHARACTERS: usize = 200;
/// The longest body, in characters.
pub const MAX_BODY_CHARACTERS: usize = 10_000;
/// The longest reply, in characters.
pub const MAX_REPLY_CHARACTERS: usize = 5_000;
/// The most pictures and films of a review.
pub const MAX_REVIEW_MEDIA: usize = 10;
/// How many of the last decisions about a review it carries; the log keeps all.
pub const MAX_DECISIONS: usize = 20;

/// Whether a review is seen and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewStatus {
    /// Waits for a moderator.
    Pending,
    /// Seen by everyone, and counted.
    Published,
    /// Refused by a moderator.
    Rejected,
    /// Taken back by its author.
    Deleted,
}

impl ReviewStatus {
    /// All states.
    pub const ALL: [Self; 4] = [
        Self::Pending,
        Self::Published,
        Self::Rejected,
        Self::Deleted,
    ];

    /// The name the state is stored by.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Published => "published",
            Self::Rejected => "rejected",
            Self::Deleted => "deleted",
        }
    }

    /// The state with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// Declares an enum that is stored and spoken of by name.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$case_doc:meta])* $case:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$case_doc])* $case,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$case),*];

            /// The name it is stored by.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$case => $text,)*
                }
            }

            /// The one with this name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.name() == name)
            }
        }
    };
}

named! {
    /// Why a moderator decided as they did.
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
        /// Written by somebody who gains from it.
        ConflictOfInterest = "conflict_of_interest",
        /// An earlier decision was wrong.
        Mistake = "mistake",
        /// Anything else; the note tells.
        Other = "other",
    }
}

named! {
    /// Why somebody thinks that a moderator should look at a review.
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
        /// Anything else; the note tells.
        Other = "other",
    }
}

named! {
    /// Why a review waits for a moderator.
    QueueReason {
        /// It is not seen before a moderator publishes it.
        Pending = "pending",
        /// Somebody reported it.
        Reported = "reported",
    }
}

named! {
    /// What a voter says of a review.
    Vote {
        /// It helps.
        Helpful = "helpful",
        /// It does not.
        Unhelpful = "unhelpful",
    }
}

/// A decision of a moderator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// When.
    pub at: Timestamp,
    /// Who: the subject of the moderator's token.
    pub by: String,
    /// What the review was.
    pub from: ReviewStatus,
    /// What it became.
    pub to: ReviewStatus,
    /// Why.
    pub reason: DecisionReason,
    /// What else there is to say; seen by moderators only.
    pub note: Option<String>,
}

/// What the shop answers to a review, for all to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// When it was written or last changed.
    pub at: Timestamp,
    /// Who: the subject of the writer's token.
    pub by: String,
    /// The text.
    pub text: String,
}

/// That a review waits for a moderator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    /// Why.
    pub reason: QueueReason,
    /// Since when.
    pub since: Timestamp,
}

/// A review as it was before its author changed it.
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewVersion {
    /// The revision it had.
    pub revision: i64,
    /// When it stopped being that.
    pub until: Timestamp,
    /// The stars it gave.
    pub rating: Stars,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
}

/// The aspects that products are rated by, by kind and by category.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DimensionTable {
    /// Of kinds.
    pub kinds: BTreeMap<String, Vec<String>>,
    /// Of categories and all below them.
    pub categories: BTreeMap<CategoryId, Vec<String>>,
}

impl DimensionTable {
    /// Those of a kind.
    #[must_use]
    pub fn of_kind(&self, kind: &str) -> &[String] {
        self.kinds.get(kind).map_or(&[], Vec::as_slice)
    }

    /// Those of a category itself.
    #[must_use]
    pub fn of_category(&self, category: CategoryId) -> &[String] {
        self.categories.get(&category).map_or(&[], Vec::as_slice)
    }
}

/// Who wrote a review, as shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// Who it is.
    pub id: AuthorId,
    /// The name shown.
    pub name: String,
}

/// Where an imported review comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// The feed's system.
    pub system: String,
    /// The review's id there.
    pub external_id: String,
}

/// A review in full.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// Identifies the review.
    pub id: ReviewId,
    /// The product it is about.
    pub product_id: ProductId,
    /// Who wrote it; absent on anonymous imports.
    pub author: Option<Author>,
    /// One to five stars.
    pub rating: Stars,
    /// Whether the author recommends the product, when told.
    pub recommended: Option<bool>,
    /// Stars for single aspects.
    pub dimensions: BTreeMap<String, Stars>,
    /// The title; may be empty.
    pub title: String,
    /// The text; may be empty on imports.
    pub body: String,
    /// The language as an IETF tag, when known.
    pub language: Option<String>,
    /// Pictures and films.
    pub media: Vec<Media>,
    /// Whether the author is known to have bought the product. Computed, never an input.
    pub verified: bool,
    /// Whether the author was given something for it.
    pub incentivized: bool,
    /// Where it was imported from.
    pub origin: Option<Origin>,
    /// Whether it is seen and counted.
    pub status: ReviewStatus,
    /// Votes that found it helpful, imported ones included.
    pub helpful: i64,
    /// Votes that did not, imported ones included.
    pub unhelpful: i64,
    /// Helpful votes that came with the import.
    pub imported_helpful: i64,
    /// Unhelpful votes that came with the import.
    pub imported_unhelpful: i64,
    /// When it was written; absent on imports without a date, which sort last.
    pub created_at: Option<Timestamp>,
    /// When its author last changed it.
    pub edited_at: Option<Timestamp>,
    /// Rises with each change by the author or a moderator.
    pub revision: i64,
    /// The last decisions of moderators, oldest first.
    pub decisions: Vec<Decision>,
    /// What the shop answered.
    pub reply: Option<Reply>,
    /// How many reports no moderator has looked at yet.
    pub reports: i64,
    /// Whether it waits for a moderator.
    pub queued: Option<Queued>,
    /// Rises when the review is written anew after it was deleted or rejected. Votes belong to one
    /// round; those of earlier ones count no more.
    pub round: i32,
    /// What of it is counted in its product at present.
    pub applied: Option<Applied>,
    /// Whether a fold has yet to look at it.
    pub dirty: bool,
}

/// What a review contributes to its product's computed data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Its stars.
    pub rating: Stars,
    /// The month it was written in, as [`Timestamp::month`] counts them.
    pub month: Option<i32>,
    /// Whether it recommends the product.
    pub recommended: Option<bool>,
    /// Its stars for single aspects.
    pub dimensions: BTreeMap<String, Stars>,
    /// What else it can be filtered by.
    pub traits: Traits,
}

/// What a review can be filtered by beside its stars.
///
/// Each combination of traits that a review has is one of its [`Traits::marks`], so that any filter
/// is a single value of an index; and the whole of them is its [`Traits::name`], by which its
/// product counts reviews, so that the number a filter leaves is known without counting.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Traits {
    /// It is by a verified buyer.
    pub verified: bool,
    /// It has pictures or films.
    pub media: bool,
    /// Its language, as a code of two letters; reviews in languages without one are not told
    /// apart, so that there are never more than a few hundred combinations.
    pub language: Option<String>,
}

const VERIFIED_MARK: &str = "v";
const MEDIA_MARK: &str = "m";
/// Stands between the parts of a name.
const JOINT: &str = ".";

impl Traits {
    /// All of them as one text; `None` when there are none.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        let parts = [
            self.verified.then_some(VERIFIED_MARK),
            self.media.then_some(MEDIA_MARK),
            self.language.as_deref(),
        ];
        let parts: Vec<&str> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(JOINT))
    }

    /// What [`Traits::name`] gave; `None` for other texts.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let mut traits = Self::default();
        for part in name.split(JOINT) {
            match part {
                VERIFIED_MARK => traits.verified = true,
                MEDIA_MARK => traits.media = true,
                other => traits.language = language_code(other),
            }
        }
        (traits.name().as_deref() == Some(name)).then_some(traits)
    }

    /// The names of all combinations of them, those without the buyer first and each of these
    /// again with it.
    #[must_use]
    pub fn marks(&self) -> Vec<String> {
        let media = self.media.then(|| MEDIA_MARK.to_owned());
        let language = self.language.clone();
        let both = media.as_ref().zip(language.as_ref());
        let both = both.map(|(media, language)| [media.as_str(), language].join(JOINT));
        let mut marks: Vec<String> = [media, language, both].into_iter().flatten().collect();
        if self.verified {
            let verified = marks
                .iter()
                .map(|mark| [VERIFIED_MARK, mark].join(JOINT))
                .collect::<Vec<_>>();
            marks.push(VERIFIED_MARK.to_owned());
            marks.extend(verified);
        }
        marks
    }

    /// Whether all of `wanted` are among them.
    #[must_use]
    pub fn include(&self, wanted: &Self) -> bool {
        (self.verified || !wanted.verified)
            && (self.media || !wanted.media)
            && (wanted.language.is_none() || self.language == wanted.language)
    }
}

/// The languages that have a code of two letters (ISO 639-1). No others are filtered by, so that
/// what a product counts of its reviews stays small whatever people write.
const LANGUAGES: &str = "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu \
    cv cy da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia \
    id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg \
    mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw \
    sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur \
    uz ve vi vo wa wo xh yi yo za zh zu";

/// The code of two letters that an IETF language tag begins with, in small letters.
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
    /// What it can be filtered by.
    #[must_use]
    pub fn traits(&self) -> Traits {
        Traits {
            verified: self.verified,
            media: !self.media.is_empty(),
            language: self.language.as_deref().and_then(language_code),
        }
    }

    /// What the review should contribute as it is now: nothing unless it is published.
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

    /// What the product would carry of it.
    #[must_use]
    pub fn top(&self) -> TopReview {
        let cut = excerpt(&self.body, EXCERPT_CHARACTERS);
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

/// The part of a helpful review that its product carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopReview {
    /// The review.
    pub id: ReviewId,
    /// Its stars.
    pub rating: Stars,
    /// Its title.
    pub title: String,
    /// The beginning of its body.
    pub excerpt: String,
    /// Whether the body goes on.
    pub truncated: bool,
    /// Who wrote it.
    pub author: Option<Author>,
    /// How many found it helpful.
    pub helpful: i64,
    /// Whether the author is known to have bought the product.
    pub verified: bool,
    /// When it was written.
    pub created_at: Option<Timestamp>,
}

/// The place of a review among the most helpful ones. The greatest comes first: most helpful, of
/// equals the newest (undated last), of those the greatest id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TopKey {
    /// How many found it helpful.
    pub helpful: i64,
    /// When it was written; `None` is less than any date.
    pub created_at: Option<Timestamp>,
    /// The review.
    pub id: ReviewId,
}

impl TopReview {
    /// Its place among the most helpful.
    #[must_use]
    pub const fn key(&self) -> TopKey {
        TopKey {
            helpful: self.helpful,
            created_at: self.created_at,
            id: self.id,
        }
    }

    /// The order in which products carry them.
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
    fn every_filter_that_fits_is_one_mark() {
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
            let fitting = all.iter().filter(|wanted| own.include(wanted));
            let mut fitting: Vec<String> = fitting.filter_map(Traits::name).collect();
            fitting.sort_unstable();
            let mut sorted = marks.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, fitting, "{own:?}");
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
    fn languages_are_codes_of_two_letters() {
        assert_eq!(language_code("en").as_deref(), Some("en"));
        assert_eq!(language_code("EN-gb").as_deref(), Some("en"));
        assert_eq!(language_code("de_AT").as_deref(), Some("de"));
        for other in ["", "e", "tlh", "english", "é1", "1a"] {
            assert_eq!(language_code(other), None, "{other}");
        }
    }
}
