//! How large a document may be. All of them are checked before any command to the database.

/// The longest document, in characters.
pub(super) const MAX_CHARACTERS: usize = 20_000;
/// The most lexical tokens of a document.
pub(super) const MAX_TOKENS: usize = 5_000;
/// The deepest nesting of brackets of any kind in the text. Far below what the parser can
/// recurse into on a small stack, far above what twelve levels of fields with nested filters
/// or a standard introspection query need.
pub(super) const MAX_NESTING: usize = 64;
/// The deepest field; introspection fields apart, they have a rule of their own.
pub(super) const MAX_DEPTH: usize = 12;
/// The most aliases in a document: each makes the same field run once more.
pub(super) const MAX_ALIASES: usize = 30;
/// The most fields at the root of an operation.
pub(super) const MAX_ROOT_FIELDS: usize = 10;
/// The same for mutations, which run one after the other.
pub(super) const MAX_MUTATIONS: usize = 5;
/// The most fields of an operation once every fragment is written out where it is spread.
/// The largest page of the storefront has a few hundred; a document of 5,000 tokens without
/// repeated fragments cannot reach it; forty fragments that double each other exceed it by a
/// factor of a hundred million.
pub(super) const MAX_FIELDS: u64 = 10_000;
/// The most steps to merge the selections of an operation, over all its concrete types.
pub(super) const MAX_MERGE_STEPS: usize = 200_000;
/// How many errors of one document are reported: the first few are the useful ones, and the
/// refusal of a hostile document must not be larger than the document.
pub(super) const MAX_ERRORS: usize = 10;
/// The longest message of the validator that is passed on, in bytes.
pub(super) const MAX_MESSAGE: usize = 500;
/// How many hints an answer has at most: of many alike, the first few are the useful ones.
pub(super) const MAX_HINTS: usize = 20;
/// How many bytes of documents are remembered.
pub(super) const CACHE_BYTES: u64 = 32 * 1024 * 1024;
