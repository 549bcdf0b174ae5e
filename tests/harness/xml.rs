//! XML documents as trees, and the rules of the feeds that Google reads.

use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};
use vitrine_model::clock::Timestamp;

/// An element with what is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// The name, with its prefix.
    pub name: String,
    /// The attributes, in their order.
    pub attributes: Vec<(String, String)>,
    /// The text directly in it.
    pub text: String,
    /// The elements in it.
    pub children: Vec<Element>,
}

impl Element {
    /// Reads a document.
    ///
    /// # Panics
    /// When it is not well-formed, or has a character that XML forbids.
    #[must_use]
    pub fn read(document: &str) -> Self {
        let is_forbidden = |c: char| {
            c < ' ' && !matches!(c, '\t' | '\n' | '\r') || matches!(c, '\u{fffe}'..='\u{ffff}')
        };
        assert!(!document.contains(is_forbidden), "forbidden characters");
        let mut reader = Reader::from_str(document);
        let mut open = vec![Self::default()];
        loop {
            match reader.read_event().expect("well-formed XML") {
                Event::Start(start) => open.push(Self::begin(&start)),
                Event::Empty(start) => child(&mut open, Self::begin(&start)),
                Event::End(_) => {
                    let mut done = open.pop().expect("an element is open");
                    done.text = unescape(&done.text).expect("valid escapes").into_owned();
                    child(&mut open, done);
                }
                Event::Text(text) => last(&mut open).text.push_str(&text),
                Event::GeneralRef(name) => {
                    let reference = format!("&{};", &*name);
                    last(&mut open).text.push_str(&reference);
                }
                Event::Eof => break,
                _ => {}
            }
        }
        assert_eq!(open.len(), 1, "all elements are closed");
        let root = open.pop().expect("the document");
        root.children.into_iter().next().expect("a root element")
    }

    fn begin(start: &BytesStart<'_>) -> Self {
        let attributes = start.attributes().map(|attribute| {
            let attribute = attribute.expect("valid attributes");
            let value = unescape(&attribute.value).expect("valid escapes");
            (attribute.key.0.to_owned(), value.into_owned())
        });
        Self {
            name: start.name().0.to_owned(),
            attributes: attributes.collect(),
            ..Self::default()
        }
    }

    /// The elements with this name in it.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> + 'a {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The first element at a path of names: `ratings/overall`.
    #[must_use]
    pub fn at(&self, path: &str) -> Option<&Self> {
        path.split('/').try_fold(self, |element, name| {
            element.children.iter().find(|child| child.name == name)
        })
    }

    /// The text of the first element at a path; empty if there is none.
    #[must_use]
    pub fn text_at(&self, path: &str) -> &str {
        self.at(path).map_or("", |element| element.text.as_str())
    }

    /// The value of an attribute.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

fn last(open: &mut [Element]) -> &mut Element {
    open.last_mut().expect("the document is open")
}

fn child(open: &mut [Element], done: Element) {
    last(open).children.push(done);
}

/// The elements that a review may have, in this order.
const REVIEW: [&str; 16] = [
    "review_id",
    "reviewer",
    "is_verified_purchase",
    "is_incentivized_review",
    "review_timestamp",
    "title",
    "content",
    "review_language",
    "review_country",
    "pros",
    "cons",
    "review_url",
    "reviewer_images",
    "ratings",
    "products",
    "is_spam",
];
/// Those that it must have.
const REQUIRED_OF_REVIEW: [&str; 7] = [
    "review_id",
    "reviewer/name",
    "review_timestamp",
    "content",
    "review_url",
    "ratings/overall",
    "products/product/product_url",
];

/// What is wrong with a feed of reviews, by the schema of version 2.4.
#[must_use]
pub fn review_feed_faults(feed: &Element) -> Vec<String> {
    let mut faults = Faults::default();
    faults.ensure(feed.name == "feed", "the root is feed");
    faults.order(
        "feed",
        feed,
        &["version", "aggregator", "publisher", "reviews"],
    );
    faults.ensure(feed.text_at("version") == "2.4", "the version is 2.4");
    faults.filled("feed", feed, &["publisher/name"]);
    let mut ids = Vec::new();
    for review in feed.at("reviews").into_iter().flat_map(|all| &all.children) {
        let id = review.text_at("review_id").to_owned();
        faults.ensure(review.name == "review", "reviews has reviews");
        faults.order(&id, review, &REVIEW);
        faults.filled(&id, review, &REQUIRED_OF_REVIEW);
        let at = review.text_at("review_timestamp");
        faults.ensure(Timestamp::parse(at).is_ok(), "a timestamp is RFC 3339");
        for name in ["is_verified_purchase", "is_incentivized_review"] {
            let value = review.text_at(name);
            faults.ensure(
                matches!(value, "true" | "false"),
                "a boolean is true or false",
            );
        }
        if let Some(url) = review.at("review_url") {
            let kind = url.attribute("type");
            faults.ensure(
                matches!(kind, Some("singleton" | "group")),
                "review_url has a type",
            );
            faults.address(&url.text);
        }
        if let Some(overall) = review.at("ratings/overall") {
            let range = (overall.attribute("min"), overall.attribute("max"));
            faults.ensure(range == (Some("1"), Some("5")), "a rating has min and max");
            let stars = overall.text.parse::<u8>();
            faults.ensure(
                stars.is_ok_and(|stars| (1..=5).contains(&stars)),
                "1 to 5 stars",
            );
        }
        for product in review
            .at("products")
            .into_iter()
            .flat_map(|all| &all.children)
        {
            product_of_review(&id, product, &mut faults);
        }
        ids.push(id);
    }
    let count = ids.len();
    ids.sort();
    ids.dedup();
    faults.ensure(ids.len() == count, "ids of reviews are unique");
    faults.0
}

fn product_of_review(id: &str, product: &Element, faults: &mut Faults) {
    faults.order(id, product, &["product_ids", "product_name", "product_url"]);
    faults.address(product.text_at("product_url"));
    let Some(ids) = product.at("product_ids") else {
        return;
    };
    faults.order(id, ids, &["gtins", "mpns", "skus", "brands", "asins"]);
    for gtin in ids.at("gtins").into_iter().flat_map(|all| &all.children) {
        let digits = gtin
            .text
            .chars()
            .all(|c| c.is_ascii_digit() || " -xX".contains(c));
        faults.ensure(
            digits && gtin.text.len() >= 7,
            "a GTIN has 7 digits or more",
        );
    }
}

/// The attributes that a product must have, and the maximum lengths of attributes.
const REQUIRED_OF_PRODUCT: [&str; 7] = [
    "g:id",
    "g:title",
    "g:description",
    "g:link",
    "g:image_link",
    "g:availability",
    "g:price",
];
const LENGTHS: [(&str, usize); 7] = [
    ("g:id", 50),
    ("g:title", 150),
    ("g:description", 5_000),
    ("g:brand", 70),
    ("g:mpn", 70),
    ("g:product_type", 750),
    ("g:link", 2_000),
];

/// What is wrong with a feed of products, by the product data specification.
#[must_use]
pub fn product_feed_faults(feed: &Element) -> Vec<String> {
    let mut faults = Faults::default();
    let is_rss = feed.name == "rss" && feed.attribute("version") == Some("2.0");
    faults.ensure(is_rss, "the root is RSS 2.0");
    let namespace = feed.attribute("xmlns:g");
    faults.ensure(
        namespace == Some("http://base.google.com/ns/1.0"),
        "the namespace",
    );
    let Some(channel) = feed.at("channel") else {
        faults.ensure(false, "a channel");
        return faults.0;
    };
    faults.filled("channel", channel, &["title", "link", "description"]);
    let mut ids = Vec::new();
    for item in channel.all("item") {
        let id = item.text_at("g:id").to_owned();
        faults.filled(&id, item, &REQUIRED_OF_PRODUCT);
        for (name, max) in LENGTHS {
            let length = item.text_at(name).chars().count();
            faults.ensure(
                length <= max,
                &format!("{id}: {name} has {length} characters"),
            );
        }
        faults.address(item.text_at("g:link"));
        faults.address(item.text_at("g:image_link"));
        let availability = item.text_at("g:availability");
        faults.ensure(
            matches!(availability, "in_stock" | "out_of_stock"),
            "an availability",
        );
        let price = item.text_at("g:price").split_once(' ');
        let is_price = price.is_some_and(|(amount, currency)| {
            amount.parse::<f64>().is_ok_and(|amount| amount > 0.0) && currency.len() == 3
        });
        faults.ensure(is_price, &format!("{id}: a price"));
        let pictures = item.all("g:additional_image_link").count();
        faults.ensure(pictures <= 10, &format!("{id}: {pictures} more pictures"));
        for detail in item.all("g:product_detail") {
            faults.filled(&id, detail, &["g:attribute_name", "g:attribute_value"]);
        }
        ids.push(id);
    }
    let count = ids.len();
    ids.sort();
    ids.dedup();
    faults.ensure(ids.len() == count, "ids of products are unique");
    faults.0
}

#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn ensure(&mut self, holds: bool, rule: &str) {
        if !holds {
            self.0.push(rule.to_owned());
        }
    }

    /// The children are among these, each at most once, in this order.
    fn order(&mut self, of: &str, element: &Element, order: &[&str]) {
        let mut rest = order.iter();
        for child in &element.children {
            let fits = rest.any(|name| *name == child.name);
            self.ensure(
                fits,
                &format!(
                    "{of}: {} is not at its place in {}",
                    child.name, element.name
                ),
            );
        }
    }

    fn filled(&mut self, of: &str, element: &Element, paths: &[&str]) {
        for path in paths {
            let is_filled = !element.text_at(path).trim().is_empty();
            self.ensure(is_filled, &format!("{of}: {path} is missing or empty"));
        }
    }

    fn address(&mut self, url: &str) {
        let is_address = url.starts_with("https://") || url.starts_with("http://");
        let plain = url.is_ascii() && !url.contains(char::is_whitespace);
        self.ensure(is_address && plain, &format!("{url:?} is an address"));
    }
}
