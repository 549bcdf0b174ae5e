//! Validates documents before the library sees them, and caches the results.

use std::{fmt, sync::Arc};

use apollo_compiler::{
    ExecutableDocument,
    parser::Parser,
    validation::{DiagnosticList, Valid},
};
use async_graphql::Variables;
use moka::sync::Cache;
use sha2::{Digest, Sha256};

use super::{
    CacheUse, ErrorCode, Location, ResponseError, Scalars, ValidatedDocument, ValidatorError,
    descriptions, document_size,
    limits::{MAX_CACHE_BYTES, MAX_CHARACTERS, MAX_ERRORS, MAX_MESSAGE, MAX_NESTING, MAX_TOKENS},
    literals,
    normal_form::{NormalForm, normalise},
    plan::DocumentPlan,
    rules::Rules,
    scan,
    suggestions::suggestion,
};

/// The cache key of a normal form: the hash of the document, the index of the operation and the
/// state of its switches.
type NormalFormKey = ([u8; 32], usize, u64);

/// A normal form, or the error if it would be too large.
type Normalised = Result<Arc<NormalForm>, ResponseError>;

/// Validates documents against one schema. Cheap to clone; clones share their caches.
#[derive(Clone)]
pub struct DocumentValidator {
    rules: Arc<Rules>,
    documents: Cache<[u8; 32], Arc<ValidatedDocument>>,
    normal_forms: Cache<NormalFormKey, Normalised>,
    cache_use: CacheUse,
}

/// An operation of a validated document with its coerced variables.
pub(super) struct SelectedOperation<'a> {
    pub(super) validated: &'a ValidatedDocument,
    pub(super) plan: &'a DocumentPlan,
    pub(super) index: usize,
    pub(super) variables: &'a Variables,
}

impl DocumentValidator {
    /// Creates a validator for a schema, given in the schema definition language.
    pub fn new(sdl: &str, scalars: Scalars) -> Result<Self, ValidatorError> {
        Ok(Self {
            rules: Arc::new(Rules::new(sdl, scalars)?),
            documents: Cache::builder()
                .max_capacity(MAX_CACHE_BYTES)
                .weigher(|_, validated: &Arc<ValidatedDocument>| validated.weight)
                .build(),
            normal_forms: Cache::builder()
                .max_capacity(MAX_CACHE_BYTES)
                .weigher(|_, normal: &Normalised| weight(normal))
                .build(),
            cache_use: CacheUse::default(),
        })
    }

    /// Validates a document, or returns the cached result.
    #[must_use]
    pub fn validate(&self, query: &str) -> Arc<ValidatedDocument> {
        self.look_up(query).0
    }

    /// Validates a document, or returns the cached result. Also returns whether it was cached.
    pub(super) fn look_up(&self, query: &str) -> (Arc<ValidatedDocument>, bool) {
        if let Err(refusal) = short_enough(query) {
            let refused = ValidatedDocument::refused([0; 32], vec![refusal]);
            return (Arc::new(refused), false);
        }
        let key: [u8; 32] = Sha256::digest(query).into();
        let entry = self.documents.entry(key);
        let entry = entry.or_insert_with(|| Arc::new(self.validate_uncached(key, query)));
        let is_cached = !entry.is_fresh();
        self.cache_use.count(is_cached);
        (entry.into_value(), is_cached)
    }

    /// Returns how often a validated document was in the cache.
    #[must_use]
    pub fn cache_use(&self) -> &CacheUse {
        &self.cache_use
    }

    /// Returns the normal form of an operation for these variables, from the cache if possible.
    pub(super) fn normal_form(&self, selected: &SelectedOperation<'_>) -> Normalised {
        let operation = &selected.plan.operations[selected.index];
        let compute = || {
            normalise(
                &self.rules,
                &selected.plan.document,
                &operation.operation,
                selected.variables,
            )
            .map(Arc::new)
            .map_err(ResponseError::from)
        };
        match operation.switch_bits(selected.variables) {
            Some(bits) => {
                let key = (selected.validated.key, selected.index, bits);
                self.normal_forms.get_with(key, compute)
            }
            None => compute(),
        }
    }

    pub(super) fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    fn validate_uncached(&self, key: [u8; 32], query: &str) -> ValidatedDocument {
        match self.examine(query) {
            Ok(plan) => ValidatedDocument::accepted(key, plan, query.len()),
            Err(errors) => ValidatedDocument::refused(key, errors),
        }
    }

    fn examine(&self, query: &str) -> Result<DocumentPlan, Vec<ResponseError>> {
        // The specification ignores a byte order mark.
        let query = query.strip_prefix('\u{feff}').unwrap_or(query);
        small_enough(query).map_err(|error| vec![error])?;
        let document = self.parse_and_validate(&descriptions::blanked(query))?;
        let never_null = literals::check(&self.rules, &document)?;
        document_size::check(&document)?;
        Ok(DocumentPlan::new(document, never_null))
    }

    fn parse_and_validate(
        &self,
        query: &str,
    ) -> Result<Valid<ExecutableDocument>, Vec<ResponseError>> {
        let syntax = Parser::new()
            .recursion_limit(MAX_NESTING * 2)
            .token_limit(MAX_CHARACTERS)
            .parse_ast(query, "query.graphql")
            .map_err(|error| errors(ErrorCode::GraphqlParseFailed, &error.errors))?;
        syntax
            .to_executable_validate(&self.rules.schema)
            .map_err(|error| {
                let mut errors = errors(ErrorCode::GraphqlValidationFailed, &error.errors);
                drop_consequences(&mut errors);
                for error in &mut errors {
                    error.suggestion = suggestion(&self.rules.schema, &error.message);
                }
                errors
            })
    }
}

impl fmt::Debug for DocumentValidator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DocumentValidator").finish_non_exhaustive()
    }
}

/// Estimates the size of a normal form in the cache, on the safe side.
fn weight(normal: &Normalised) -> u32 {
    let fields = normal.as_ref().map_or(1, |normal| normal.fields);
    u32::try_from(fields * 512 + 512).unwrap_or(u32::MAX)
}

fn short_enough(query: &str) -> Result<(), ResponseError> {
    // A character has at most four bytes, so most texts need no counting.
    let fits = query.len() <= MAX_CHARACTERS
        || (query.len() <= MAX_CHARACTERS * 4 && query.chars().count() <= MAX_CHARACTERS);
    refuse_unless(fits, || {
        format!("The document is longer than {MAX_CHARACTERS} characters.")
    })
}

fn small_enough(query: &str) -> Result<(), ResponseError> {
    let size = scan::measure(query);
    refuse_unless(size.nesting <= MAX_NESTING, || {
        format!("Brackets are nested deeper than {MAX_NESTING} levels.")
    })?;
    refuse_unless(size.tokens <= MAX_TOKENS, || {
        format!("The document has more than {MAX_TOKENS} tokens.")
    })
}

/// Refuses a request with [`ErrorCode::CostExceeded`] unless it is small enough.
pub(super) fn refuse_unless(
    fits: bool,
    message: impl FnOnce() -> String,
) -> Result<(), ResponseError> {
    if fits {
        return Ok(());
    }
    Err(ResponseError::new(ErrorCode::CostExceeded, message()))
}

fn errors(code: ErrorCode, diagnostics: &DiagnosticList) -> Vec<ResponseError> {
    // A selection is also called empty if it has only unknown fields. Their errors are the cause.
    let is_consequence = |error: &ResponseError| error.message.contains("have a subselection set");
    let mut errors: Vec<_> = diagnostics
        .iter()
        .take(MAX_ERRORS)
        .map(|diagnostic| {
            let diagnostic = diagnostic.to_json();
            let locations = diagnostic.locations.iter().map(|location| Location {
                line: location.line,
                column: location.column,
            });
            ResponseError::new(code, shortened(diagnostic.message)).located(locations)
        })
        .collect();
    errors.sort_by_key(is_consequence);
    errors
}

/// Drops errors that only follow from others: a selection whose fields are all unknown counts as
/// empty, too.
fn drop_consequences(errors: &mut Vec<ResponseError>) {
    let is_unknown = |error: &ResponseError| error.message.contains("does not have a field");
    if errors.iter().any(is_unknown) {
        errors.retain(|error| !error.message.contains("must have a subselection set"));
    }
}

fn shortened(mut message: String) -> String {
    if message.len() > MAX_MESSAGE {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE));
        message.push('…');
    }
    message
}
