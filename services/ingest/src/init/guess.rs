//! Guesses: which path is the id, the name, the price.

use vitrine_model::product::Kind;

use super::paths::{Facts, Paths};

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
}

/// Names of columns, the likeliest first.
const IDS: [&str; 14] = [
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
const NAMES: [&str; 7] = [
    "name",
    "title",
    "product_name",
    "product_title",
    "item_name",
    "label",
    "model",
];
const DESCRIPTIONS: [&str; 5] = [
    "description",
    "long_description",
    "body_html",
    "text",
    "about",
];
const BRANDS: [&str; 6] = [
    "brand",
    "manufacturer",
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
const UNKNOWN: [&str; 10] = [
    "-", "--", "?", "n/a", "N/A", "NA", "null", "NULL", "None", "unknown",
];
/// Texts that are longer on average are no specs.
const MAX_SPEC_CHARACTERS: usize = 120;

impl Guesses {
    pub(super) fn of(paths: &Paths) -> Self {
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
            finder.product()
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
        let ending = |name: &&str| free.iter().find(|path| last_word(path) == **name);
        let through = |name: &&str| {
            let mut paths = free.iter();
            paths.find(|path| path.split('.').any(|step| last_word(step) == **name))
        };
        let found = names
            .iter()
            .find_map(ending)
            .or(names.iter().find_map(through))?;
        let found = (*found).to_owned();
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
        let rows = self.paths.rows();
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
        // Bundles consist of products, which a mapping cannot name.
        let typed = Kind::TYPED.iter().filter(|kind| **kind != Kind::Bundle);
        let typed: Vec<&str> = typed.map(|kind| kind.name()).collect();
        let kind = format!(
            "\"product\"; a word of your own, or one of {}",
            typed.join(", ")
        );
        fields.push(unsure("kind", "{ value = \"product\" }".to_owned(), kind));
        fields.push(self.category());
        let text = |facts: &Facts| facts.length() > 20 && !facts.listed;
        if let Some(path) = self.find(&DESCRIPTIONS, text) {
            let html = self.facts(&path).is_some_and(|facts| {
                facts.first.iter().any(|text| {
                    text.contains("</") || text.contains("<br") || text.contains("&amp;")
                })
            });
            fields.push(sure(
                "description",
                if html {
                    format!("{{ from = {}, html = \"page\" }}", quoted(&path))
                } else {
                    quoted(&path)
                },
            ));
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
        tables.extend(self.images());
        tables.push(self.specs(rows));
        Guesses {
            fields,
            tables,
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
        let path = self.find(&PRICES, |facts| {
            facts.numbers * 2 > facts.known && !facts.listed
        })?;
        let comma = self
            .facts(&path)?
            .first
            .iter()
            .any(|text| text.contains(','));
        let decimal = if comma { ", decimal = \",\"" } else { "" };
        let amount = format!(
            "{{ from = {}{decimal}, on_bad = \"drop_value\" }}",
            quoted(&path)
        );
        let code = |facts: &Facts| facts.length() == 3;
        Some(if let Some(currency) = self.find(&CURRENCIES, code) {
            let currency = quoted(&currency);
            sure(
                "price",
                format!("{{ amount = {amount}, currency = {currency} }}"),
            )
        } else {
            let value = format!("{{ amount = {amount}, currency = {{ value = \"EUR\" }} }}");
            unsure("price", value, "no path has a currency; EUR is a guess")
        })
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
        let mut lines = Vec::new();
        let url = match path.rsplit_once("[]") {
            Some((list, inside)) => {
                lines.push(sure("each", quoted(list)));
                inside.strip_prefix('.').unwrap_or(".").to_owned()
            }
            None => path,
        };
        let bad = "on_bad = \"drop_value\"";
        lines.push(sure("url", format!("{{ from = {}, {bad} }}", quoted(&url))));
        Some(GuessedTable {
            setting: "[[product.media]]".to_owned(),
            lines,
        })
    }

    /// The specs are what is left, without addresses and long texts.
    fn specs(&self, rows: usize) -> GuessedTable {
        let unlike = |facts: &Facts| facts.addresses > 0 || facts.length() > MAX_SPEC_CHARACTERS;
        let none = |path: &str, facts: &Facts| {
            self.taken.iter().any(|taken| taken == path)
                || unlike(facts)
                || (facts.known == rows && facts.are_different() && !facts.are_numbers())
        };
        let excluded: Vec<String> = self
            .paths
            .all()
            .filter(|(path, facts)| none(path, facts))
            .map(|(path, _)| quoted(path.strip_suffix("[]").unwrap_or(path)))
            .collect();
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
        let best = self
            .facts(rating)
            .and_then(|facts| facts.range)
            .map_or(5.0, |(_, high)| high);
        let best = [1.0, 5.0, 10.0, 20.0, 100.0]
            .into_iter()
            .find(|scale| best <= *scale);
        fields.push(match best {
            Some(5.0) | None => {
                let value = format!("{{ from = {}, round = \"nearest\" }}", quoted(rating));
                sure("rating", value)
            }
            Some(best) => {
                let value = format!("{{ from = {}, scale = [0, {best}] }}", quoted(rating));
                unsure("rating", value, format!("the scale seems to end at {best}"))
            }
        });
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

/// A path as TOML.
fn quoted(path: &str) -> String {
    toml::Value::String(path.to_owned()).to_string()
}

/// The last step of a path as words: `offers[].imageURL` is `image_url`.
fn last_word(path: &str) -> String {
    let path = path.trim_end_matches("[]");
    let last = path.rsplit('.').next().unwrap_or(path).trim_matches('"');
    let mut words = String::new();
    let mut small = false;
    for letter in last.chars() {
        if letter.is_alphanumeric() {
            if letter.is_uppercase() && small {
                words.push('_');
            }
            words.extend(letter.to_lowercase());
        } else if !words.is_empty() && !words.ends_with('_') {
            words.push('_');
        }
        small = letter.is_lowercase();
    }
    words.trim_end_matches('_').to_owned()
}
