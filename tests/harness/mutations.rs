//! Mutations, and assertions on their payloads.

use std::future::IntoFuture;
use std::pin::Pin;

use serde_json::Value;
use vitrine_api::graphql::Role;
use vitrine_domain::Catalog;

use crate::App;
use crate::pretty::pretty;
use crate::request::Answer;

/// A mutation of the schema, as the tests call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// The name of its field.
    pub name: &'static str,
    /// The selection on its payload, without the user errors.
    pub selection: &'static str,
    /// The roles that may call it: any one of them is enough.
    pub roles: &'static [Role],
}

const PRODUCT: &str =
    "product { id revision kind sku slug name status specs { key text qualifier } }";
const CATEGORY: &str = "category { id revision slug name path }";
const SUPPLIER: &str = "supplier { id revision name country }";
const UNIT: &str = "unit { symbol dimension factor offset ucum aliases }";
const BULK_CHANGE: &str = "bulkChange { id state dryRun startedBy stopRequestedBy }";
const SPEC_KEY: &str = "specKey { key revision label type dimension baseUnit facetable filterable allowedValues aliases }";

/// The payload of a mutation that writes a review.
const WRITTEN: &str = "review { id revision rating title body status verified author { name } } \
                       product { id ratingStats { count average } } statsPending";
/// The payload of a mutation of votes, reports and replies.
const MARKED: &str = "review { id revision status helpfulCount unhelpfulCount reply { text } }";

/// All mutations of the schema.
pub const MUTATIONS: [Mutation; 36] = [
    of("createProduct", PRODUCT),
    of("updateProduct", PRODUCT),
    of("setSpecs", PRODUCT),
    of("removeSpecs", PRODUCT),
    of("archiveProduct", PRODUCT),
    of("restoreProduct", PRODUCT),
    of("revertProduct", PRODUCT),
    of("releaseFields", PRODUCT),
    of("createCategory", CATEGORY),
    of("updateCategory", CATEGORY),
    of("revertCategory", CATEGORY),
    of("mergeCategories", CATEGORY),
    of("createSupplier", SUPPLIER),
    of("updateSupplier", SUPPLIER),
    of("startBulkChange", BULK_CHANGE),
    of("stopBulkChange", BULK_CHANGE),
    of("startImport", "import { id state stopRequestedBy }"),
    of("stopImport", "import { id state stopRequestedBy }"),
    of("defineUnit", UNIT),
    of("defineSpecKey", SPEC_KEY),
    of("updateSpecKey", SPEC_KEY),
    of("revertSpecKey", SPEC_KEY),
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
    // Every caller may.
    for_roles(
        &Role::ALL,
        "recordActivity",
        "counted repeated ignored { index reason }",
    ),
    of(
        "eraseAuthor",
        "receipt { policy startedAt finishedAt reviews votes replies reports purchases pictures idempotencyRecords } \
         residue { reviews versions topReviews votes replies reports purchases pictures idempotencyRecords }",
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

/// Returns the mutation with this name.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn mutation(name: &str) -> Mutation {
    let mutation = MUTATIONS.into_iter().find(|mutation| mutation.name == name);
    mutation.unwrap_or_else(|| panic!("there is no mutation {name}"))
}

impl Mutation {
    /// Returns its document: the field has the alias `it`, the input is the variable `input`.
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

/// A mutation that is sent when it is awaited.
#[derive(Debug)]
pub struct MutationCall<'a> {
    request: crate::request::Request<'a>,
}

impl App {
    /// Builds a mutation of an admin.
    #[must_use]
    pub fn mutate(&self, name: &str, input: Value) -> MutationCall<'_> {
        let document = mutation(name).document();
        let request = self.query(&document).as_admin().with("input", input);
        MutationCall { request }
    }

    /// Builds a mutation of a caller with this name, in the first role that may call it.
    #[must_use]
    pub fn mutate_by(&self, subject: &str, name: &str, input: Value) -> MutationCall<'_> {
        self.mutate_as(mutation(name).roles[0], subject, name, input)
    }

    /// Builds a mutation of a caller with this role and name.
    #[must_use]
    pub fn mutate_as(
        &self,
        role: Role,
        subject: &str,
        name: &str,
        input: Value,
    ) -> MutationCall<'_> {
        let document = mutation(name).document();
        let request = self.query(&document).with_roles(subject, &[role]);
        MutationCall {
            request: request.with("input", input),
        }
    }
}

impl MutationCall<'_> {
    /// Sends it as the admin with this name.
    #[must_use]
    pub fn by(mut self, subject: &str) -> Self {
        self.request = self.request.by_admin(subject);
        self
    }

    /// Sends it to another process.
    #[must_use]
    pub fn through(mut self, catalog: &Catalog) -> Self {
        self.request = self.request.through(catalog);
        self
    }
}

impl<'a> IntoFuture for MutationCall<'a> {
    type Output = Reply;
    type IntoFuture = Pin<Box<dyn Future<Output = Reply> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { Reply(self.request.await) })
    }
}

/// The answer to a mutation.
#[derive(Clone, Debug)]
pub struct Reply(pub Answer);

impl Reply {
    /// Returns the payload of a mutation without user errors.
    ///
    /// # Panics
    /// When there are errors or user errors.
    #[track_caller]
    #[expect(clippy::must_use_candidate, reason = "it is an assertion as well")]
    pub fn done(&self) -> &Value {
        let it = self.0.at("/it");
        assert_eq!(it["userErrors"], Value::Array(Vec::new()), "{}", pretty(it));
        it
    }

    /// Returns its user errors, each as `CODE at path: message`.
    ///
    /// # Panics
    /// When there are none, or the mutation failed.
    #[track_caller]
    #[must_use]
    pub fn user_errors(&self) -> Vec<String> {
        let errors = self.0.at("/it/userErrors").as_array().expect("a list");
        assert!(!errors.is_empty(), "no user errors: {}", self.0.pretty());
        errors.iter().map(user_error).collect()
    }

    /// Returns its user errors, each as `CODE at path`.
    ///
    /// # Panics
    /// When there are none, or the mutation failed.
    #[track_caller]
    #[must_use]
    pub fn user_error_paths(&self) -> Vec<String> {
        let path = |error: String| error.split(": ").next().unwrap_or_default().to_owned();
        self.user_errors().into_iter().map(path).collect()
    }

    /// Returns the text at a JSON pointer below the payload: `/product/name`.
    ///
    /// # Panics
    /// When there are errors, or no text is there.
    #[track_caller]
    #[must_use]
    pub fn text(&self, pointer: &str) -> String {
        let text = self.done().pointer(pointer).and_then(Value::as_str);
        text.unwrap_or_else(|| panic!("no text at {pointer} of {}", self.0.pretty()))
            .to_owned()
    }

    /// Returns the number at a JSON pointer below the payload.
    ///
    /// # Panics
    /// When there are errors, or no number is there.
    #[track_caller]
    #[must_use]
    pub fn number(&self, pointer: &str) -> i64 {
        let number = self.done().pointer(pointer).and_then(Value::as_i64);
        number.unwrap_or_else(|| panic!("no number at {pointer} of {}", self.0.pretty()))
    }

    /// Returns the payload, with or without user errors.
    ///
    /// # Panics
    /// When the mutation failed.
    #[track_caller]
    #[must_use]
    pub fn payload(&self) -> &Value {
        self.0.at("/it")
    }
}

fn user_error(error: &Value) -> String {
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
