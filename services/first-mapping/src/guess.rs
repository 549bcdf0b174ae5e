//! Guesses: which path is the id, the name, the price.

use vitrine_model::product::Kind;

use super::gathered::{Gathered, Lines};
use super::paths::{Facts, Paths, last_word};

mod lists;
mod variants;

/// A setting that is guessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Guess {
    pub(super) setting: String,
    pub(super) value: String,
    /// What is unsure about it.
    pub(super) unsure: Option<String>,
}

/// A table of settings that are guessed.
#[derive(Clone, Debug)]
pub(super) struct GuessedTable {
    /// Its heading.
    pub(super) setting: String,
    pub(super) lines: Vec<Guess>,
}

/// All guesses about a feed.
#[derive(Clone, Debug, Default)]
pub(super) struct Guesses {
    /// Whether the rows are reviews; otherwise products.
    pub(super) reviews: bool,
    /// Words that mean "unknown".
    pub(super) unknown: Vec<String>,
    pub(super) fields: Vec<Guess>,
    pub(super) tables: Vec<GuessedTable>,
    /// Which lines are one product.
    pub(super) gathered: Option<Gathered>,
    /// What the mapping lacks.
    pub(super) remarks: Vec<String>,
}

/// Names of columns, the likeliest first.
const IDS: [&str; 18] = [
    "id",
    "external_id",
    "product_id",
    "item_id",
    "uniq_id",
    "asin",
    "sku",
    "code",
    "item_number",
    "article_number",
    "supplier_aid",
    "supplier_pid",
    "article_id",
    "part_number",
    "ean",
    "gtin",
    "handle",
    "url_key",
];
const REVIEW_IDS: [&str; 4] = ["review_id", "id", "external_id", "recommendation_id"];
const PRODUCTS: [&str; 9] = [
    "product_id",
    "product",
    "asin",
    "item_id",
    "sku",
    "clothing_id",
    "app_id",
    "hotel_id",
    "isbn",
];
const NAMES: [&str; 8] = [
    "name",
    "title",
    "product_name",
    "product_title",
    "item_name",
    "description_short",
    "label",
    "model",
];
const DESCRIPTIONS: [&str; 7] = [
    "description",
    "long_description",
    "description_long",
    "long",
    "body_html",
    "text",
    "about",
];
const BRANDS: [&str; 7] = [
    "brand",
    "manufacturer",
    "manufacturer_name",
    "maker",
    "vendor",
    "brand_name",
    "make",
];
const CATEGORIES: [&str; 9] = [
    "category",
    "categories",
    "product_type",
    "category_path",
    "breadcrumbs",
    "department",
    "genre",
    "path",
    "type",
];
const PRICES: [&str; 8] = [
    "price",
    "sale_price",
    "current_price",
    "price_amount",
    "amount",
    "retail_price",
    "list_price",
    "regular_price",
];
/// Names of prices in the hundredth part of their currency.
const CENTS: [&str; 5] = [
    "price_cents",
    "price_in_cents",
    "amount_cents",
    "cents",
    "price_minor",
];
const CURRENCIES: [&str; 3] = ["currency", "price_currency", "currency_code"];
const SKUS: [&str; 5] = ["ean", "gtin", "gtin13", "upc", "barcode"];
const IMAGES: [&str; 9] = [
    "image",
    "images",
    "image_url",
    "image_link",
    "img",
    "picture",
    "pictures",
    "photo",
    "thumbnail",
];
const ALTS: [&str; 5] = ["alt", "alt_text", "image_alt_text", "caption", "text"];
const RATINGS: [&str; 7] = [
    "rating",
    "stars",
    "score",
    "overall",
    "review_rating",
    "points",
    "grade",
];
const BODIES: [&str; 7] = [
    "review_text",
    "review",
    "body",
    "text",
    "review_body",
    "comment",
    "content",
];
const TITLES: [&str; 5] = ["title", "summary", "review_title", "headline", "subject"];
const AUTHORS: [&str; 7] = [
    "user_id",
    "reviewer_id",
    "author_id",
    "customer_id",
    "author",
    "user",
    "reviewer",
];
const AUTHOR_NAMES: [&str; 5] = [
    "user_name",
    "reviewer_name",
    "author_name",
    "profile_name",
    "nickname",
];
const UNKNOWN: [&str; 11] = [
    "Default Title",
    "-",
    "--",
    "?",
    "n/a",
    "N/A",
    "NA",
    "null",
    "NULL",
    "None",
    "unknown",
];
/// Texts that are longer on average are no specs.
const MAX_SPEC_CHARACTERS: usize = 120;

impl Guesses {
    pub(super) fn of(paths: &Paths, lines: &Lines) -> Self {
        let mut finder = Finder {
            paths,
            taken: Vec::new(),
        };
        let rating = finder.find(&RATINGS, |facts| facts.are_numbers() && !facts.listed);
        let body = finder.find(&BODIES, |facts| facts.length() > 30 && !facts.listed);
        let product = finder.find(&PRODUCTS, |facts| !facts.are_different() && !facts.listed);
        let mut guesses = if let (Some(rating), Some(body), Some(product)) = (rating, body, product)
        {
            finder.review(&rating, &body, &product)
        } else {
            finder.taken.clear();
            match lines.gathered(&NAMES) {
                Some(gathered) => finder.gathered(gathered),
                None => finder.product(),
            }
        };
        guesses.unknown = unknown(paths);
        guesses
    }
}

/// Words among the values that mean "unknown".
fn unknown(paths: &Paths) -> Vec<String> {
    let is_met = |word: &&&str| paths.all().any(|(_, facts)| facts.values.contains(**word));
    UNKNOWN
        .iter()
        .filter(is_met)
        .map(|word| (*word).to_owned())
        .collect()
}

/// Finds paths by their names.
struct Finder<'p> {
    paths: &'p Paths,
    taken: Vec<String>,
}

impl Finder<'_> {
    /// The path whose last step has the first of these names, otherwise the one that goes through
    /// such a step, and whose values fit. It is not found again.
    fn find(&mut self, names: &[&str], fits: impl Fn(&Facts) -> bool) -> Option<String> {
        let free: Vec<&str> = self
            .paths
            .all()
            .filter(|(path, facts)| {
                let taken = self.taken.iter().any(|taken| taken == path);
                facts.known > 0 && fits(facts) && !taken
            })
            .map(|(path, _)| path)
            .collect();
        // Of several the one with the fewest steps.
        let depth = |path: &&&str| path.matches(['.', '[']).count();
        let ending = |name: &&str| {
            let paths = free.iter().filter(|path| last_word(path) == **name);
            paths.min_by_key(depth)
        };
        let through = |name: &&str| {
            let goes = |path: &&&str| path.split('.').any(|step| last_word(step) == **name);
            let is_id = |path: &&&str| last_word(path) == "id";
            let named = |path: &&&str| NAMES.contains(&last_word(path).as_str());
            let paths = free.iter().filter(goes).filter(|path| !is_id(path));
            paths.min_by_key(|path| (!named(path), depth(path)))
        };
        let found = names
            .iter()
            .find_map(ending)
            .or(names.iter().find_map(through))?;
        let found = (*found).to_owned();
        self.taken.push(found.clone());
        Some(found)
    }

    /// As [`Finder::find`], otherwise the path whose last step ends with the first of these names.
    fn find_similar(&mut self, names: &[&str], fits: impl Fn(&Facts) -> bool) -> Option<String> {
        if let Some(found) = self.find(names, &fits) {
            return Some(found);
        }
        let ends = |path: &str, name: &str| last_word(path).ends_with(&format!("_{name}"));
        let found = names.iter().find_map(|name| {
            let free = |path: &str| !self.taken.iter().any(|taken| taken == path);
            let mut paths = self.paths.all();
            paths.find(|(path, facts)| {
                facts.known > 0 && fits(facts) && ends(path, name) && free(path)
            })
        });
        let found = found?.0.to_owned();
        self.taken.push(found.clone());
        Some(found)
    }

    fn facts(&self, path: &str) -> Option<&Facts> {
        self.paths
            .all()
            .find(|(known, _)| *known == path)
            .map(|(_, facts)| facts)
    }

    /// The id of the rows: by its name, otherwise the first path with a different value in each row.
    fn id(&mut self, names: &[&str]) -> Guess {
        let rows = self.paths.rows();
        let fits = |facts: &Facts| facts.known == rows && facts.are_different() && !facts.listed;
        if let Some(path) = self.find(names, fits) {
            return sure("external_id", quoted(&path));
        }
        let any = self
            .paths
            .all()
            .find(|(_, facts)| fits(facts) && facts.length() <= 64);
        if let Some((path, _)) = any {
            let path = path.to_owned();
            self.taken.push(path.clone());
            let remark = format!("no path has the name of an id; {path} is different in every row");
            return unsure("external_id", quoted(&path), remark);
        }
        let remark = "no path is different in every row; the number of the line is another one when \
                      lines are added before it";
        unsure("external_id", "\"^line\"".to_owned(), remark)
    }

    fn product(&mut self) -> Guesses {
        let mut fields = vec![self.id(&IDS)];
        let id = self.taken.last().cloned();
        let review = self.review_in_list(id.as_deref());
        fields.push(
            match self.find(&NAMES, |facts| facts.texts > 0 && !facts.listed) {
                Some(path) => sure("name", quoted(&path)),
                None => unsure(
                    "name",
                    "\"name\"".to_owned(),
                    "no path has the name of a name",
                ),
            },
        );
        fields.push(kind());
        fields.push(self.category());
        let text = |facts: &Facts| facts.length() > 20 && !facts.listed;
        if let Some(path) = self.find(&DESCRIPTIONS, text) {
            let html = self.facts(&path).is_some_and(Facts::have_html);
            fields.push(description(&path, html));
        }
        if let Some(path) = self.find(&BRANDS, |facts| facts.texts > 0 && !facts.listed) {
            fields.push(sure("brand", quoted(&path)));
        }
        if let Some(path) = self.find(&SKUS, |facts| facts.are_different() && !facts.listed) {
            let remark = "products of other feeds with the same number become one product";
            fields.push(unsure("sku", quoted(&path), remark));
        }
        fields.extend(self.price());
        let mut tables = Vec::new();
        let images = self.images();
        let remarks = if images.is_some() {
            None
        } else {
            self.names_of_pictures()
        };
        tables.extend(images);
        let pieces = self.pieces();
        tables.push(self.specs());
        tables.extend(self.numbers_in_text(Self::is_spec));
        tables.extend(pieces);
        tables.extend(review);
        Guesses {
            fields,
            tables,
            remarks: remarks.into_iter().collect(),
            ..Guesses::default()
        }
    }

    fn category(&mut self) -> Guess {
        let Some(path) = self.find(&CATEGORIES, |facts| facts.texts > 0) else {
            let value = "{ value = [\"Products\"] }".to_owned();
            return unsure("category", value, "no path has the name of a category");
        };
        let Some(facts) = self.facts(&path) else {
            return unsure("category", quoted(&path), "");
        };
        if facts.listed {
            let value = format!("{{ levels = [{}] }}", quoted(&path));
            let remark =
                "each item is a level; if each is a category, from and pick instead of levels";
            return unsure("category", value, remark);
        }
        let separator = [" > ", ">", " / ", "|", "/"];
        let cuts = |separator: &&&str| facts.first.iter().any(|text| text.contains(**separator));
        match separator.iter().find(cuts) {
            Some(separator) => {
                let separator = separator.trim();
                let value = format!("{{ from = {}, separator = {separator:?} }}", quoted(&path));
                unsure(
                    "category",
                    value,
                    format!("{separator:?} seems to separate the levels"),
                )
            }
            None => sure("category", quoted(&path)),
        }
    }

    fn price(&mut self) -> Option<Guess> {
        if let Some(cents) = self.find(&CENTS, |facts| facts.are_numbers() && !facts.listed) {
            let settings = format!("{}, divide = 100", quoted(&cents));
            return Some(self.price_with(&settings, "divide = 100, because the name says cents"));
        }
        let numbers = |facts: &Facts| facts.numbers * 2 > facts.known;
        let single = self.find_similar(&PRICES, |facts| numbers(facts) && !facts.listed);
        let Some(path) = single else {
            return self.price_in_list();
        };
        let comma = self
            .facts(&path)?
            .first
            .iter()
            .any(|text| text.contains(','));
        let decimal = if comma { ", decimal = \",\"" } else { "" };
        Some(self.price_with(&format!("{}{decimal}", quoted(&path)), ""))
    }

    /// The price with these settings of its amount.
    fn price_with(&mut self, settings: &str, remark: &str) -> Guess {
        let amount = format!("{{ from = {settings}, on_bad = \"drop_value\" }}");
        let code = |facts: &Facts| facts.length() == 3;
        let currency = self.find(&CURRENCIES, |facts| code(facts) && !facts.listed);
        let (currency, guess) = match currency {
            Some(currency) => (quoted(&currency), ""),
            None => (
                "{ value = \"EUR\" }".to_owned(),
                "no path has a currency; EUR is a guess",
            ),
        };
        let value = format!("{{ amount = {amount}, currency = {currency} }}");
        let remarks = [remark, guess]
            .into_iter()
            .filter(|remark| !remark.is_empty());
        let remarks: Vec<&str> = remarks.collect();
        if remarks.is_empty() {
            sure("price", value)
        } else {
            unsure("price", value, remarks.join("; "))
        }
    }

    fn images(&mut self) -> Option<GuessedTable> {
        let path = self
            .find(&IMAGES, |facts| facts.addresses * 2 > facts.known)
            .or_else(|| {
                let picture = |text: &String| {
                    let text = text.to_lowercase();
                    [".jpg", ".jpeg", ".png", ".webp"]
                        .iter()
                        .any(|end| text.contains(end))
                };
                let mut paths = self.paths.all().filter(|(_, facts)| {
                    facts.addresses * 2 > facts.known && facts.first.iter().any(picture)
                });
                paths.next().map(|(path, _)| path.to_owned())
            })?;
        self.taken.push(path.clone());
        let (mut lines, mut alt) = (Vec::new(), None);
        let url = match path.rsplit_once("[]") {
            Some((list, inside)) => {
                lines.push(sure("each", quoted(list)));
                let listed = format!("{list}[]");
                alt = self.inside(&listed, &ALTS);
                self.taken.push(listed);
                inside.strip_prefix('.').unwrap_or(".").to_owned()
            }
            None => path,
        };
        let bad = "on_bad = \"drop_value\"";
        lines.push(sure("url", format!("{{ from = {}, {bad} }}", quoted(&url))));
        lines.extend(alt.map(|alt| sure("alt", quoted(&alt))));
        Some(GuessedTable {
            setting: "[[product.media]]".to_owned(),
            lines,
        })
    }

    /// Whether the values at a path are specs.
    fn is_spec(&self, path: &str, facts: &Facts) -> bool {
        let is = |taken: &String| path == taken || covers(taken, path);
        let differ = facts.known == self.paths.rows() && facts.are_different();
        let none = self.taken.iter().any(is)
            || facts.addresses > 0
            || facts.length() > MAX_SPEC_CHARACTERS
            || path.starts_with('@')
            || last_word(path) == "id"
            || (differ && !facts.are_numbers());
        !none
    }

    /// Rules for numbers that the feed writes as text, as tables and XML do.
    fn numbers_in_text(&self, is_spec: impl Fn(&Self, &str, &Facts) -> bool) -> Vec<GuessedTable> {
        let mut tables = Vec::new();
        for decimal in [None, Some(",")] {
            let numbers = self.paths.all().filter(|(path, facts)| {
                facts.numbers_in_text() == Some(decimal.is_some()) && is_spec(self, path, facts)
            });
            let paths = numbers.filter(|(path, _)| !self.pieces_of(path));
            let paths: Vec<String> = paths
                .map(|(path, _)| quoted(path.strip_suffix("[]").unwrap_or(path)))
                .collect();
            if paths.is_empty() {
                continue;
            }
            let mut lines = vec![sure("path", format!("[{}]", paths.join(", ")))];
            lines.push(sure("type", "\"number\"".to_owned()));
            lines.extend(decimal.map(|sign| sure("decimal", quoted(sign))));
            tables.push(GuessedTable {
                setting: "[[product.specs.rules]]".to_owned(),
                lines,
            });
        }
        tables
    }

    /// The specs are what is left, without addresses and long texts.
    fn specs(&self) -> GuessedTable {
        let mut excluded: Vec<String> = Vec::new();
        for (path, _) in self
            .paths
            .all()
            .filter(|(path, facts)| !self.is_spec(path, facts))
        {
            let mut lists = self.taken.iter().filter(|taken| taken.ends_with("[]"));
            let path = lists
                .find(|list| covers(list, path))
                .map_or(path, String::as_str);
            if self.pieces_of(path) {
                continue;
            }
            let path = quoted(path.strip_suffix("[]").unwrap_or(path));
            if !excluded.contains(&path) {
                excluded.push(path);
            }
        }
        let remark =
            "all other paths are specs; units, and columns that are none, are yours to say";
        let on_bad = sure("on_bad", "\"drop_value\"".to_owned());
        let exclude = unsure("exclude", format!("[{}]", excluded.join(", ")), remark);
        GuessedTable {
            setting: "[product.specs]".to_owned(),
            lines: vec![on_bad, exclude],
        }
    }

    fn review(&mut self, rating: &str, body: &str, product: &str) -> Guesses {
        let mut fields = vec![self.id(&REVIEW_IDS)];
        fields.push(unsure(
            "product",
            quoted(product),
            "the products must be there, from a feed of the same system; otherwise product_system \
             names theirs, or a [product] derives them from the rows",
        ));
        let range = self.facts(rating).and_then(|facts| facts.range);
        fields.push(self::rating(rating, range.map_or(5.0, |(_, high)| high)));
        fields.push(sure("body", quoted(body)));
        if let Some(title) = self.find(&TITLES, |facts| facts.texts > 0 && !facts.listed) {
            fields.push(sure("title", quoted(&title)));
        }
        let id = self
            .find(&AUTHORS, |facts| !facts.listed)
            .map(|path| format!("id = {}", quoted(&path)));
        let name = self.find(&AUTHOR_NAMES, |facts| !facts.listed);
        let name = name.map(|path| format!("name = {}", quoted(&path)));
        let author: Vec<String> = id.into_iter().chain(name).collect();
        if !author.is_empty() {
            fields.push(sure("author", format!("{{ {} }}", author.join(", "))));
        }
        Guesses {
            reviews: true,
            fields,
            ..Guesses::default()
        }
    }
}

fn sure(setting: &str, value: String) -> Guess {
    Guess {
        setting: setting.to_owned(),
        value,
        unsure: None,
    }
}

fn unsure(setting: &str, value: String, remark: impl Into<String>) -> Guess {
    Guess {
        unsure: Some(remark.into()),
        ..sure(setting, value)
    }
}

/// Returns true if a path is below a list.
fn covers(list: &str, path: &str) -> bool {
    list.ends_with("[]") && path.starts_with(list)
}

/// The rating at a path whose highest value is this one.
fn rating(path: &str, highest: f64) -> Guess {
    let scales = [1.0, 5.0, 10.0, 20.0, 100.0];
    match scales.into_iter().find(|scale| highest <= *scale) {
        Some(5.0) | None => {
            let value = format!("{{ from = {}, round = \"nearest\" }}", quoted(path));
            sure("rating", value)
        }
        Some(best) => {
            let value = format!("{{ from = {}, scale = [0, {best}] }}", quoted(path));
            unsure("rating", value, format!("the scale seems to end at {best}"))
        }
    }
}

fn kind() -> Guess {
    // Bundles consist of products, which a mapping cannot name.
    let typed = Kind::TYPED.iter().filter(|kind| **kind != Kind::Bundle);
    let typed: Vec<&str> = typed.map(|kind| kind.name()).collect();
    let remark = format!(
        "\"product\"; a word of your own, or one of {}",
        typed.join(", ")
    );
    unsure("kind", "{ value = \"product\" }".to_owned(), remark)
}

fn description(path: &str, html: bool) -> Guess {
    let path = quoted(path);
    let value = if html {
        format!("{{ from = {path}, html = \"page\" }}")
    } else {
        path
    };
    sure("description", value)
}

/// A path as TOML.
pub(super) fn quoted(path: &str) -> String {
    toml::Value::String(path.to_owned()).to_string()
}
