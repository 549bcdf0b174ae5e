//! Judges documents before the library sees them, and remembers the documents.

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
    ErrorCode, Location, ResponseError, Scalars, ValidatedDocument, ValidatorError,
    limits::{CACHE_BYTES, MAX_CHARACTERS, MAX_ERRORS, MAX_MESSAGE, MAX_NESTING, MAX_TOKENS},
    literals, measure,
    normal::{Normal, normalise},
    plan::Plan,
    rules::Rules,
    scan,
};

/// A normal form is remembered by its document, its operation and the state of its switches.
type ShapeKey = ([u8; 32], usize, u64);

/// The same form of refusal for what could not be brought into normal form.
type Normalised = Result<Arc<Normal>, ResponseError>;

/// Judges documents against one schema.
#[derive(Clone)]
pub struct DocumentValidator {
    rules: Arc<Rules>,
    documents: Cache<[u8; 32], Arc<ValidatedDocument>>,
    normals: Cache<ShapeKey, Normalised>,
}

/// An operation with its variables, of which a normal form is wanted.
pub(super) struct Shape<'a> {
    pub(super) validated: &'a ValidatedDocument,
    pub(super) plan: &'a Plan,
    pub(super) index: usize,
    pub(super) variables: &'a Variables,
}

impl DocumentValidator {
    /// A validator for the schema with this text.
    pub fn new(sdl: &str, scalars: Scalars) -> Result<Self, ValidatorError> {
        Ok(Self {
            rules: Arc::new(Rules::new(sdl, scalars)?),
            documents: Cache::builder()
                .max_capacity(CACHE_BYTES)
                .weigher(|_, validated: &Arc<ValidatedDocument>| validated.weight)
                .build(),
            normals: Cache::builder()
                .max_capacity(CACHE_BYTES)
                .weigher(|_, normal: &Normalised| weight(normal))
                .build(),
        })
    }

    /// The validated on a document, from memory if it was judged before.
    #[must_use]
    pub fn validate(&self, query: &str) -> Arc<ValidatedDocument> {
        if let Err(refusal) = short_enough(query) {
            return Arc::new(ValidatedDocument::refused([0; 32], vec![refusal]));
        }
        let key: [u8; 32] = Sha256::digest(query).into();
        self.documents
            .get_with(key, || Arc::new(self.validate_uncached(key, query)))
    }

    /// The normal form of an operation, from memory if there is one for these variables.
    pub(super) fn normal(&self, shape: &Shape<'_>) -> Normalised {
        let chosen = &shape.plan.operations[shape.index];
        let anew = || {
            normalise(
                &self.rules,
                &shape.plan.document,
                &chosen.operation,
                shape.variables,
            )
            .map(Arc::new)
            .map_err(ResponseError::from)
        };
        match chosen.switched(shape.variables) {
            Some(switched) => {
                let key = (shape.validated.key, shape.index, switched);
                self.normals.get_with(key, anew)
            }
            None => anew(),
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

    fn examine(&self, query: &str) -> Result<Plan, Vec<ResponseError>> {
        small_enough(query).map_err(|error| vec![error])?;
        let document = self.parse_and_validate(query)?;
        let never_null = literals::check(&self.rules, &document)?;
        measure::check(&document)?;
        Ok(Plan::new(document, never_null))
    }

    fn parse_and_validate(
        &self,
        query: &str,
    ) -> Result<Valid<ExecutableDocument>, Vec<ResponseError>> {
        let syntax = Parser::new()
            .recursion_limit(MAX_NESTING * 2)
            .token_limit(MAX_CHARACTERS)
            .parse_ast(query, "query.graphql")
            .map_err(|error| reasons(ErrorCode::GraphqlParseFailed, &error.errors))?;
        syntax
            .to_executable_validate(&self.rules.schema)
            .map_err(|error| reasons(ErrorCode::GraphqlValidationFailed, &error.errors))
    }
}

impl fmt::Debug for DocumentValidator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DocumentValidator").finish_non_exhaustive()
    }
}

/// An estimate on the safe side of what a normal form takes.
fn weight(normal: &Normalised) -> u32 {
    let fields = normal.as_ref().map_or(1, |normal| normal.fields);
    u32::try_from(fields * 512 + 512).unwrap_or(u32::MAX)
}

fn short_enough(query: &str) -> Result<(), ResponseError> {
    // A character has at most four bytes, so most texts need not be counted.
    let fits = query.len() <= MAX_CHARACTERS
        || (query.len() <= MAX_CHARACTERS * 4 && query.chars().count() <= MAX_CHARACTERS);
    refuse_unless(fits, || {
        format!("The document is longer than {MAX_CHARACTERS} characters.")
    })
}

fn small_enough(query: &str) -> Result<(), ResponseError> {
    let found = scan::measure(query);
    refuse_unless(found.nesting <= MAX_NESTING, || {
        format!("Brackets are nested deeper than {MAX_NESTING} levels.")
    })?;
    refuse_unless(found.tokens <= MAX_TOKENS, || {
        format!("The document has more than {MAX_TOKENS} tokens.")
    })
}

/// The refusal of something too large.
pub(super) fn refuse_unless(
    fits: bool,
    message: impl FnOnce() -> String,
) -> Result<(), ResponseError> {
    if fits {
        return Ok(());
    }
    Err(ResponseError::new(ErrorCode::CostExceeded, message()))
}

fn reasons(code: ErrorCode, diagnostics: &DiagnosticList) -> Vec<ResponseError> {
    diagnostics
        .iter()
        .take(MAX_ERRORS)
        .map(|diagnostic| {
            let found = diagnostic.to_json();
            let places = found.locations.iter().map(|place| Location {
                line: place.line,
                column: place.column,
            });
            ResponseError::new(code, shortened(found.message)).located(places)
        })
        .collect()
}

fn shortened(mut message: String) -> String {
    if message.len() > MAX_MESSAGE {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE));
        message.push('…');
    }
    message
}
