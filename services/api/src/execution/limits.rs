//! Limits on documents. All are checked before the first database command.

/// The maximum length of a document, in characters.
pub(super) const MAX_CHARACTERS: usize = 20_000;
/// The maximum number of lexical tokens in a document.
pub(super) const MAX_TOKENS: usize = 5_000;
/// The maximum nesting of brackets of any kind in the text. Far less than the parser's recursion
/// can handle on a small stack, and far more than twelve levels of fields with nested filters or a
/// standard introspection query need.
pub(super) const MAX_NESTING: usize = 64;
/// The maximum depth of fields. Introspection fields have a separate limit.
pub(super) const MAX_DEPTH: usize = 12;
/// The maximum number of aliases in a document. Each alias runs a field once more.
pub(super) const MAX_ALIASES: usize = 30;
/// The maximum number of root fields of a query.
pub(super) const MAX_ROOT_FIELDS: usize = 10;
/// The maximum number of root fields of a mutation; they run one after the other.
pub(super) const MAX_MUTATIONS: usize = 5;
/// The maximum number of fields of an operation after all fragments are expanded. The largest
/// storefront page has a few hundred. A document of 5,000 tokens without repeated fragments cannot
/// reach the limit; forty fragments that each spread the next one twice exceed it by a factor of a
/// hundred million.
pub(super) const MAX_FIELDS: u64 = 10_000;
/// The maximum number of steps for merging the selections of an operation, over all its concrete
/// types.
pub(super) const MAX_MERGE_STEPS: usize = 200_000;
/// The maximum number of errors reported for a document: the first few are the useful ones, and the
/// response to a hostile document must not be larger than the document.
pub(super) const MAX_ERRORS: usize = 10;
/// The maximum length of a validation message sent to the client, in bytes.
pub(super) const MAX_MESSAGE: usize = 500;
/// The maximum number of hints in a response: of many similar ones, the first few are the useful
/// ones.
pub(super) const MAX_HINTS: usize = 20;
/// The maximum size of the document cache, in bytes.
pub(super) const MAX_CACHE_BYTES: u64 = 32 * 1024 * 1024;
