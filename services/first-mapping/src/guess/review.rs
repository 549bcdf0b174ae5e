//! Guesses about reviews.

use super::texts::{list, one_or_list, plain, quoted, sure, unsure};
use super::{Finder, Guess, GuessedTable, Guesses};
use crate::dates::Dates;
use crate::meanings;
use crate::paths::Facts;
use crate::values::booleans;

/// What the products must be for reviews to find them.
const PRODUCTS: &str = "the products must be there, from a feed of the same system; otherwise product_system \
                        names theirs, or a [product] derives them from the rows";
/// From so many headings that begin with it on, the rows are reviews.
const MANY: usize = 3;

/// Words in the headings of texts that are reviews.
const REVIEWS: [&str; 7] = [
    "review",
    "bewertung",
    "rezension",
    "avis",
    "resena",
    "recensione",
    "recenzja",
];

/// What tells that rows are reviews.
struct Signs {
    rating: String,
    product: String,
    body: Option<String>,
    title: Option<String>,
}

impl Finder<'_> {
    /// The guesses about rows that are reviews; `None` if they are none.
    pub(super) fn review(&mut self) -> Option<Guesses> {
        self.of_reviews = true;
        let signs = self.signs_of_review();
        let Some(signs) = signs else {
            self.of_reviews = false;
            self.taken.clear();
            return None;
        };
        let mut fields = Vec::new();
        let shown = self.published_reviews();
        fields.extend(shown);
        let email = self.find("email", |facts| !facts.listed);
        let author = self.author(email.as_deref());
        let dated = self.review_date();
        fields.push(self.id_of_review(&signs, email.as_deref()));
        fields.push(unsure("product", self.at(&signs.product), PRODUCTS));
        let facts = self.facts(&signs.rating);
        let highest = facts
            .and_then(|facts| facts.range)
            .map_or(5.0, |(_, high)| high);
        fields.push(self.rating_of(&signs.rating, highest));
        for (setting, path) in [("title", &signs.title), ("body", &signs.body)] {
            fields.extend(path.as_ref().map(|path| self.text_of_review(setting, path)));
        }
        fields.extend(author);
        fields.extend(dated);
        fields.extend(self.votes_and_flags());
        let tables = self.pictures_of_review();
        self.remarks.extend(self.left_of_review());
        Some(Guesses {
            reviews: true,
            fields,
            tables: tables.into_iter().collect(),
            remarks: std::mem::take(&mut self.remarks),
            ..Guesses::default()
        })
    }

    fn signs_of_review(&mut self) -> Option<Signs> {
        let stars = self.find("rating", |facts| {
            facts.are_mostly_numbers() && is_scale(facts) && !facts.listed
        });
        let rating = match stars {
            Some(stars) => stars,
            None => self.find("recommended", |facts| !facts.listed && is_flag(facts))?,
        };
        let title = self.look_for("review_title", is_written);
        let bodies = self.ranked("body", is_written).into_iter();
        let body = bodies.into_iter().find(|path| Some(path) != title.as_ref());
        if !self.are_reviews(body.as_deref()) {
            return None;
        }
        self.taken
            .extend(title.clone().into_iter().chain(body.clone()));
        let single = |facts: &Facts| !facts.listed && !facts.personal;
        let product = self.find("reviewed", single);
        let product = product.or_else(|| self.reviewed_in_list())?;
        Some(Signs {
            rating,
            product,
            body,
            title,
        })
    }

    /// Whether rows with ratings are reviews: these have a text, and somebody or a day, but no price.
    fn are_reviews(&self, body: Option<&str>) -> bool {
        let single = |facts: &Facts| !facts.listed;
        let has = |meaning: &str| self.look_for(meaning, single).is_some();
        let about = self
            .paths
            .all()
            .filter(|(_, facts)| facts.heading.words.starts_with("review"));
        let email = self.look_for("email", |facts| single(facts) && facts.personal);
        let is_signed = email.is_some()
            || ["author_name", "author_id", "review_date"]
                .into_iter()
                .any(has);
        let facts = body.and_then(|body| self.facts(body));
        let named = |facts: &Facts| {
            REVIEWS
                .iter()
                .any(|word| facts.heading.words.contains(word))
        };
        let is_long = facts.is_some_and(|facts| facts.length() > 30 || named(facts));
        let priced = self.look_for("price", |facts| single(facts) && facts.are_mostly_numbers());
        let is_review = about.count() >= MANY || is_long || (is_signed && body.is_some());
        is_review && priced.is_none()
    }

    /// The first id of a list of those of the product.
    fn reviewed_in_list(&self) -> Option<String> {
        let mut ids = self.paths.all().filter(|(path, facts)| {
            let means = meanings::mentions("reviewed", &facts.heading.words);
            facts.listed && means && !self.is_taken(path) && super::finder::has_first(path)
        });
        ids.next().map(|(path, _)| path.to_owned())
    }

    /// The rating at a path, whose scale may stand beside it.
    fn rating_of(&self, path: &str, highest: f64) -> Guess {
        let beside = path
            .strip_suffix(".#text")
            .map(|element| [format!("{element}.@min"), format!("{element}.@max")]);
        let scale = beside.filter(|scale| scale.iter().all(|path| self.facts(path).is_some()));
        let words = self.facts(path).filter(|facts| !facts.are_mostly_numbers());
        let words = words.and_then(|facts| booleans(facts.all()));
        if let Some([yes, no]) = words {
            let stars =
                |words: Vec<String>, stars| words.into_iter().map(move |word| (word, stars));
            let values: Vec<(String, &str)> = stars(yes, "5").chain(stars(no, "1")).collect();
            let values = super::texts::table(&values);
            let value = format!("{{ from = {}, values = {values} }}", self.at(path));
            let remark = "no path has stars; yes becomes 5, and no becomes 1";
            return unsure("rating", value, remark);
        }
        match scale {
            Some(scale) => sure(
                "rating",
                format!("{{ from = {}, scale = {} }}", self.at(path), list(&scale)),
            ),
            None => rating(&self.at(path), highest),
        }
    }

    /// The id of a review: its own, otherwise a digest of what makes it this one.
    fn id_of_review(&mut self, signs: &Signs, email: Option<&str>) -> Guess {
        if let Some(key) = self.key_of_rows() {
            return key;
        }
        let rows = self.paths.rows();
        let fits = |facts: &Facts| {
            let words = facts.heading.words.as_str();
            // A product that has one review here.
            let of_product = words != "id" && meanings::rank("reviewed", words).is_some();
            let is_own = facts.are_different() && !facts.listed && !facts.personal;
            facts.known == rows && is_own && !of_product
        };
        if let Some(path) = self.find("review_id", fits) {
            return sure("external_id", quoted(&path));
        }
        let unnamed = self.facts("\"\"").is_some_and(fits);
        if unnamed {
            let remark = "the column without a name is different in every row";
            self.taken.push("\"\"".to_owned());
            return unsure("external_id", quoted("\"\""), remark);
        }
        let mut paths = vec![signs.product.as_str()];
        paths.extend(email);
        let others = self.taken.iter().filter(|path| {
            let words = self
                .facts(path)
                .map_or("", |facts| facts.heading.words.as_str());
            let is = |meaning: &str| meanings::rank(meaning, words).is_some();
            is("review_date") || (email.is_none() && (is("author_name") || is("author_id")))
        });
        paths.extend(others.map(String::as_str));
        paths.dedup();
        if !self.lines.are_unique(&paths) {
            paths.extend(signs.body.as_deref());
        }
        if !self.lines.are_unique(&paths) {
            paths.extend(signs.title.as_deref());
        }
        let value = format!("{{ digest = {} }}", list(&paths));
        unsure(
            "external_id",
            value,
            "reviews have no id; this one changes when one of these does",
        )
    }

    fn author(&mut self, email: Option<&str>) -> Option<Guess> {
        let single = |facts: &Facts| !facts.listed && facts.known > 0;
        let id = self.find("author_id", |facts| single(facts) && !facts.personal);
        let name = self.find("author_name", |facts| {
            single(facts) && !facts.personal && !facts.are_numbers()
        });
        let id = match (id, email) {
            (Some(id), _) => Some(format!("id = {}", self.at(&id))),
            // Nobody sees the address, and one author is one.
            (None, Some(email)) => Some(format!("id = {{ digest = [{}] }}", quoted(email))),
            (None, None) => None,
        };
        let name = name.map(|name| format!("name = {}", self.name_of_author(&name)));
        let author: Vec<String> = id.into_iter().chain(name).collect();
        (!author.is_empty()).then(|| sure("author", format!("{{ {} }}", author.join(", "))))
    }

    /// The name of an author, unless an attribute beside it says that there is none.
    fn name_of_author(&self, path: &str) -> String {
        let flag = path
            .strip_suffix(".#text")
            .map(|element| format!("{element}.@is_anonymous"));
        match flag.filter(|flag| self.facts(flag).is_some()) {
            Some(flag) => format!(
                "{{ from = {}, where = {{ {} = {{ not = \"true\" }} }} }}",
                self.at(path),
                super::texts::key_of(&flag)
            ),
            None => self.at(path),
        }
    }

    fn review_date(&mut self) -> Option<Guess> {
        let dated = |facts: &Facts| {
            !facts.listed && (Dates::of(facts.all()).is_some() || unix(facts).is_some())
        };
        let path = self.find("review_date", dated)?;
        let facts = self.facts(&path)?;
        let from = self.at(&path);
        if let Some(unit) = unix(facts) {
            return Some(sure(
                "created_at",
                format!("{{ from = {from}, date = \"{unit}\" }}"),
            ));
        }
        Some(date("created_at", &from, &Dates::of(facts.all())?))
    }

    fn text_of_review(&self, setting: &str, path: &str) -> Guess {
        let html = self.facts(path).is_some_and(Facts::have_html);
        let settings: Vec<String> = html
            .then(|| "html = \"once\"".to_owned())
            .into_iter()
            .collect();
        sure(setting, super::texts::field(&self.at(path), &settings))
    }

    fn votes_and_flags(&mut self) -> Vec<Guess> {
        let mut fields = Vec::new();
        let numbers = |facts: &Facts| facts.are_numbers() && !facts.listed;
        if let Some(pair) = self.find("helpful", |facts| facts.are_numbers() && facts.listed) {
            // Helpful votes, and all votes.
            let list = plain(&pair);
            fields.push(sure("helpful", quoted(&format!("{list}[0]"))));
            fields.push(sure("votes", quoted(&format!("{list}[1]"))));
            return fields;
        }
        let all = self.look_for("votes", numbers).is_some();
        for setting in ["helpful", if all { "votes" } else { "unhelpful" }] {
            let found = self.find(setting, numbers);
            fields.extend(found.map(|path| {
                sure(
                    setting,
                    format!("{{ from = {}, on_bad = \"drop_value\" }}", self.at(&path)),
                )
            }));
        }
        for setting in ["verified", "recommended"] {
            let flags = |facts: &Facts| !facts.listed && is_flag(facts);
            let Some(path) = self.find(setting, flags) else {
                continue;
            };
            let settings = self.facts(&path).map_or(Vec::new(), words_of_flag);
            fields.push(sure(
                setting,
                super::texts::field(&self.at(&path), &settings),
            ));
        }
        let language = self.find("language", |facts| !facts.listed && facts.length() <= 5);
        fields.extend(language.map(|path| sure("language", self.at(&path))));
        fields
    }

    fn pictures_of_review(&mut self) -> Option<GuessedTable> {
        let path = self.find("review_images", Facts::are_addresses)?;
        Some(self.media(&path, None, "review"))
    }

    /// What the mapping makes nothing of.
    fn left_of_review(&self) -> Option<String> {
        let left = self
            .paths
            .all()
            .filter(|(path, facts)| facts.known > 0 && !self.is_taken(path))
            .filter(|(_, facts)| {
                // What belongs to people is no fact about them to be shown.
                let about = ["reviewer_", "customer_"];
                let words = &facts.heading.words;
                let bare = about.iter().find_map(|start| words.strip_prefix(start));
                !facts.personal && !meanings::mentions("private", bare.unwrap_or(words))
            });
        let left: Vec<&str> = left.map(|(path, _)| plain(path)).collect();
        let all = left.join(", ");
        (!left.is_empty()).then(|| {
            format!("nothing is made of these; facts about the reviewer may stand in [review.attributes] with include: {all}")
        })
    }
}

/// Whether values are what people write.
fn is_written(facts: &Facts) -> bool {
    let is_other = facts.listed || facts.personal || facts.are_addresses();
    facts.texts > 0 && !is_other && facts.signs().is_none()
}

/// Whether numbers may be ratings.
fn is_scale(facts: &Facts) -> bool {
    facts
        .range
        .is_some_and(|(low, high)| low >= 0.0 && high <= 100.0)
}

/// Whether values say yes or no: by words for these, by 0 and 1, or by one word alone.
fn is_flag(facts: &Facts) -> bool {
    booleans(facts.all()).is_some() || are_bits(facts) || is_verified(facts)
}

/// Whether all values are a word such as `Verified Buyer`.
fn is_verified(facts: &Facts) -> bool {
    let words = ["verif", "confirmed"];
    facts.all().all(|text| {
        words
            .iter()
            .any(|word| text.to_lowercase().starts_with(word))
    })
}

/// The settings with the words for yes and no.
fn words_of_flag(facts: &Facts) -> Vec<String> {
    if are_bits(facts) {
        return Vec::new();
    }
    let words = booleans(facts.all()).unwrap_or_else(|| {
        let yes = facts.all().map(str::to_lowercase).collect();
        [yes, vec!["unverified".to_owned()]]
    });
    let lines = super::pieces::yes_and_no(&words);
    lines
        .iter()
        .map(|line| format!("{} = {}", line.setting, line.value))
        .collect()
}

/// Whether all values are 0 and 1.
fn are_bits(facts: &Facts) -> bool {
    facts.all().all(|value| value == "0" || value == "1")
}

/// How numbers of seconds or milliseconds since 1970 are read.
fn unix(facts: &Facts) -> Option<&'static str> {
    let (low, high) = facts.range.filter(|_| facts.are_numbers())?;
    let years = |low_limit: f64, high_limit: f64| low >= low_limit && high <= high_limit;
    if years(3e8, 4e9) {
        Some("unix")
    } else {
        years(3e11, 4e12).then_some("unix_millis")
    }
}

/// A date with its patterns.
pub(super) fn date(setting: &str, from: &str, dates: &Dates) -> Guess {
    let pattern =
        (!dates.patterns.is_empty()).then(|| format!("date = {}", one_or_list(&dates.patterns)));
    let settings: Vec<String> = pattern
        .into_iter()
        .chain(["on_bad = \"drop_value\"".to_owned()])
        .collect();
    let value = super::texts::field(from, &settings);
    match dates.remark() {
        Some(remark) => unsure(setting, value, remark),
        None => sure(setting, value),
    }
}

/// The rating at a path whose highest value is this one.
pub(super) fn rating(path: &str, highest: f64) -> Guess {
    let scales = [1.0, 5.0, 10.0, 20.0, 100.0];
    match scales.into_iter().find(|scale| highest <= *scale) {
        Some(5.0) | None => {
            let value = format!("{{ from = {path}, round = \"nearest\" }}");
            sure("rating", value)
        }
        Some(best) => {
            let value = format!("{{ from = {path}, scale = [0, {best}] }}");
            unsure("rating", value, format!("the scale seems to end at {best}"))
        }
    }
}
