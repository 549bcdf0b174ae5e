//! Mutations: what callers order, and what became of it.

use std::future::IntoFuture;
use std::pin::Pin;

use serde_json::Value;
use vitrine_api::graphql::Role;
use vitrine_domain::Catalog;

use crate::App;
use crate::ask::Answer;
use crate::shown::shown;

/// A mutation of the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// The field.
    pub name: &'static str,
    /// What is usually selected of its payload.
    pub selection: &'static str,
    /// Who may give it: anybody with one of these roles.
    pub roles: &'static [Role],
}

const PRODUCT: &str =
    "product { id revision kind sku slug name status specs { key text qualifier } }";
const CATEGORY: &str = "category { id revision slug name path }";
const SUPPLIER: &str = "supplier { id revision name country }";
const UNIT: &str = "unit { symbol dimension factor offset ucum aliases }";
const SPEC_KEY: &str = "specKey { key revision label type dimension baseUnit facetable filterable allowedValues aliases }";

/// A review after it was written.
const WRITTEN: &str = "review { id revision rating title body status verified author { name } } \
                       product { id ratingStats { count average } } statsPending";
/// A review after something was said of it.
const MARKED: &str = "review { id revision status helpfulCount unhelpfulCount reply { text } }";

/// All mutations, with what is usually selected.
pub const MUTATIONS: [Mutation; 27] = [
    of("createProduct", PRODUCT),
    of("updateProduct", PRODUCT),
    of("setSpecs", PRODUCT),
    of("removeSpecs", PRODUCT),
    of("archiveProduct", PRODUCT),
    of("restoreProduct", PRODUCT),
    of("createCategory", CATEGORY),
    of("updateCategory", CATEGORY),
    of("createSupplier", SUPPLIER),
    of("updateSupplier", SUPPLIER),
    of("defineUnit", UNIT),
    of("defineSpecKey", SPEC_KEY),
    of("updateSpecKey", SPEC_KEY),
    of(
        "mergeSpecKeys",
        "specKey { key revision aliases } remaining",
    ),
    for_shoppers("submitReview", WRITTEN),
    for_shoppers("editReview", WRITTEN),
    for_shoppers("deleteReview", WRITTEN),
    for_shoppers("voteReview", MARKED),
    for_shoppers("removeVote", MARKED),
    for_shoppers("reportReview", MARKED),
    for_moderators("moderateReview", WRITTEN),
    for_moderators("replyToReview", MARKED),
    for_services("recordPurchase", "product { id } recorded"),
    // Anybody may.
    for_roles(
        &Role::ALL,
        "recordActivity",
        "counted repeated ignored { index reason }",
    ),
    of(
        "eraseAuthor",
        "receipt { policy startedAt finishedAt reviews votes replies reports purchases orders } \
         residue { reviews versions topReviews votes replies reports purchases orders }",
    ),
    of(
        "repairRatingStats",
        "product { id ratingStats { count average } } \
         differences { productId field stored expected }",
    ),
    of("defineReviewDimensions", "names"),
];

const fn of(name: &'static str, selection: &'static str) -> Mutation {
    for_roles(&[Role::Admin], name, selection)
}

const fn for_shoppers(name: &'static str, selection: &'static str) -> Mutation {
    for_roles(&[Role::Shopper], name, selection)
}

const fn for_moderators(name: &'static str, selection: &'static str) -> Mutation {
    for_roles(&[Role::Moderator, Role::Admin], name, selection)
}

const fn for_services(name: &'static str, selection: &'static str) -> Mutation {
    for_roles(&[Role::Service, Role::Admin], name, selection)
}

const fn for_roles(
    roles: &'static [Role],
    name: &'static str,
    selection: &'static str,
) -> Mutation {
    Mutation {
        name,
        selection,
        roles,
    }
}

/// The mutation with this name.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn mutation(name: &str) -> Mutation {
    let found = MUTATIONS.into_iter().find(|mutation| mutation.name == name);
    found.unwrap_or_else(|| panic!("there is no mutation {name}"))
}

impl Mutation {
    /// The document that gives it as `it`, with its input as the variable `input`.
    #[must_use]
    pub fn document(&self) -> String {
        let Self {
            name, selection, ..
        } = self;
        let (first, rest) = name.split_at(1);
        let input = format!("{}{rest}Input", first.to_uppercase());
        format!(
            "mutation($input: {input}!) {{ it: {name}(input: $input) {{ {selection} \
             userErrors {{ code message path currentRevision }} }} }}"
        )
    }
}

/// An order that is about to be given; awaiting it gives it.
#[derive(Debug)]
pub struct OrderGiven<'a> {
    ask: crate::ask::Ask<'a>,
}

impl App {
    /// An order of the admin.
    #[must_use]
    pub fn order(&self, name: &str, input: Value) -> OrderGiven<'_> {
        let document = mutation(name).document();
        let ask = self.query(&document).as_admin().with("input", input);
        OrderGiven { ask }
    }

    /// An order of somebody with this name, in the first role that may give it.
    #[must_use]
    pub fn order_by(&self, subject: &str, name: &str, input: Value) -> OrderGiven<'_> {
        self.order_as(mutation(name).roles[0], subject, name, input)
    }

    /// An order of somebody with this role and name.
    #[must_use]
    pub fn order_as(&self, role: Role, subject: &str, name: &str, input: Value) -> OrderGiven<'_> {
        let document = mutation(name).document();
        let ask = self.query(&document).with_roles(subject, &[role]);
        OrderGiven {
            ask: ask.with("input", input),
        }
    }
}

impl OrderGiven<'_> {
    /// Gives it as another admin.
    #[must_use]
    pub fn by(mut self, subject: &str) -> Self {
        self.ask = self.ask.by_admin(subject);
        self
    }

    /// Gives it to another process.
    #[must_use]
    pub fn through(mut self, catalog: &Catalog) -> Self {
        self.ask = self.ask.through(catalog);
        self
    }
}

impl<'a> IntoFuture for OrderGiven<'a> {
    type Output = Reply;
    type IntoFuture = Pin<Box<dyn Future<Output = Reply> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { Reply(self.ask.await) })
    }
}

/// What became of an order.
#[derive(Clone, Debug)]
pub struct Reply(pub Answer);

impl Reply {
    /// The payload of an order that was carried out.
    ///
    /// # Panics
    /// When it was refused or failed.
    #[track_caller]
    #[expect(clippy::must_use_candidate, reason = "it is an assertion as well")]
    pub fn done(&self) -> &Value {
        let it = self.0.at("/it");
        assert_eq!(it["userErrors"], Value::Array(Vec::new()), "{}", shown(it));
        it
    }

    /// Why it was refused, each reason as `CODE at path: message`.
    ///
    /// # Panics
    /// When it was carried out, or failed.
    #[track_caller]
    #[must_use]
    pub fn refused(&self) -> Vec<String> {
        let errors = self.0.at("/it/userErrors").as_array().expect("a list");
        assert!(!errors.is_empty(), "it was carried out: {}", self.0.shown());
        errors.iter().map(told).collect()
    }

    /// The code and path of each reason, without its message.
    ///
    /// # Panics
    /// As [`Reply::refused`].
    #[track_caller]
    #[must_use]
    pub fn places(&self) -> Vec<String> {
        let place = |told: String| told.split(": ").next().unwrap_or_default().to_owned();
        self.refused().into_iter().map(place).collect()
    }

    /// The text at a JSON pointer below the payload of an order that was carried out.
    ///
    /// # Panics
    /// When it was not, or no text stands there.
    #[track_caller]
    #[must_use]
    pub fn text(&self, pointer: &str) -> String {
        let found = self.done().pointer(pointer).and_then(Value::as_str);
        found
            .unwrap_or_else(|| panic!("no text at {pointer} of {}", self.0.shown()))
            .to_owned()
    }

    /// The number at a JSON pointer below the payload of an order that was carried out.
    ///
    /// # Panics
    /// When it was not, or no number stands there.
    #[track_caller]
    #[must_use]
    pub fn number(&self, pointer: &str) -> i64 {
        let found = self.done().pointer(pointer).and_then(Value::as_i64);
        found.unwrap_or_else(|| panic!("no number at {pointer} of {}", self.0.shown()))
    }

    /// The payload, whatever became of the order.
    ///
    /// # Panics
    /// When it failed.
    #[track_caller]
    #[must_use]
    pub fn payload(&self) -> &Value {
        self.0.at("/it")
    }
}

fn told(error: &Value) -> String {
    let path = error["path"].as_array().expect("a path");
    let path: Vec<&str> = path.iter().filter_map(Value::as_str).collect();
    let code = error["code"].as_str().expect("a code");
    let message = error["message"].as_str().expect("a message");
    if path.is_empty() {
        format!("{code}: {message}")
    } else {
        format!("{code} at {}: {message}", path.join("."))
    }
}
