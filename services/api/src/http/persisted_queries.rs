//! Queries that clients name instead of sending them: by their hash, with Apollo's protocol for
//! automatic persisted queries, or as trusted documents from a list that the shop has deployed.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use moka::sync::Cache;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::execution::{CacheUse, ErrorCode, Failure, GraphqlRequest};

/// The memory for queries that clients have registered, in bytes.
const MAX_CACHE_BYTES: u64 = 8 * 1024 * 1024;
/// How long this memory keeps a query before it asks the store again, which thereby learns that the
/// query is in use.
const CACHE_TIME: Duration = Duration::from_hours(24);
/// The version of the protocol.
const VERSION: u64 = 1;
/// The message that clients recognise.
const NOT_FOUND: &str = "PersistedQueryNotFound";

/// Keeps registered queries for all processes.
pub trait PersistedQueryStore: Send + Sync {
    /// Returns the query with this hash.
    fn load(&self, hash: String) -> BoxFuture<'static, Result<Option<String>, Failure>>;

    /// Stores a query; may do nothing.
    fn save(&self, hash: String, query: String);
}

/// The queries that clients may name.
#[derive(Clone)]
pub struct PersistedQueries {
    registered: Cache<String, Arc<str>>,
    store: Option<Arc<dyn PersistedQueryStore>>,
    trusted: Option<Arc<TrustedDocuments>>,
    cache_use: CacheUse,
}

/// A query that a client has sent with its hash, to be remembered once it has been found valid.
#[derive(Debug)]
pub(in crate::http) struct Registration {
    hash: String,
    query: String,
}

/// Where the text of a document is.
#[derive(Debug)]
pub(in crate::http) enum Document {
    /// In the request, from now on; to be registered once it has been found valid.
    Present(Option<Registration>),
    /// In the store, perhaps, under this hash.
    Stored(String),
}

impl PersistedQueries {
    /// Accepts all queries; keeps registered ones in the memory of this process.
    #[must_use]
    pub fn in_memory() -> Self {
        Self {
            registered: Cache::builder()
                .max_capacity(MAX_CACHE_BYTES)
                .time_to_live(CACHE_TIME)
                .weigher(|hash: &String, query: &Arc<str>| {
                    u32::try_from(hash.len() + query.len() + 128).unwrap_or(u32::MAX)
                })
                .build(),
            store: None,
            trusted: None,
            cache_use: CacheUse::default(),
        }
    }

    /// Shares registered queries with other processes.
    #[must_use]
    pub fn shared(mut self, store: impl PersistedQueryStore + 'static) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Accepts no queries but these.
    #[must_use]
    pub fn only(mut self, trusted: TrustedDocuments) -> Self {
        self.trusted = Some(Arc::new(trusted));
        self
    }

    /// Returns how often a query that a client named was in the memory of this process.
    #[must_use]
    pub fn cache_use(&self) -> &CacheUse {
        &self.cache_use
    }

    /// Adds the text to a request that names its document, if this process has it. Fails if the
    /// document is not allowed.
    pub(super) fn resolve(&self, request: &mut GraphqlRequest) -> Result<Document, Failure> {
        let named = named_by(request)?;
        if let Some(trusted) = &self.trusted {
            trusted.resolve(request, named.as_deref())?;
            return Ok(Document::Present(None));
        }
        match named.as_deref().map(hash_in).transpose()? {
            Some(hash) if request.query.is_empty() => {
                let registered = self.registered.get(&hash);
                self.cache_use.count(registered.is_some());
                let Some(query) = registered else {
                    return Ok(Document::Stored(hash));
                };
                request.query = query.to_string();
                Ok(Document::Present(None))
            }
            Some(hash) if hash == sha256(&request.query) => {
                let is_new = !self.registered.contains_key(&hash);
                Ok(Document::Present(is_new.then(|| Registration {
                    hash,
                    query: request.query.clone(),
                })))
            }
            Some(_) => Err(Failure::bad_input(
                "extensions.persistedQuery.sha256Hash: provided sha does not match query",
            )),
            None if request.document_id.is_some() => Err(Failure::bad_input(
                "documentId: this service has no trusted documents; send query",
            )),
            None if request.query.is_empty() => Err(Failure::bad_input("There is no query.")),
            None => Ok(Document::Present(None)),
        }
    }

    /// Returns the query with this hash from the store. Fails if it is not known.
    pub(super) async fn load(&self, hash: &str) -> Result<String, Failure> {
        let stored = match &self.store {
            Some(store) => store.load(hash.to_owned()).await?,
            None => None,
        };
        let query = stored.ok_or_else(not_found)?;
        self.registered
            .insert(hash.to_owned(), query.as_str().into());
        Ok(query)
    }

    /// Remembers a query that has been found valid.
    pub(super) fn register(&self, Registration { hash, query }: Registration) {
        self.registered.insert(hash.clone(), query.as_str().into());
        if let Some(store) = &self.store {
            store.save(hash, query);
        }
    }
}

impl fmt::Debug for PersistedQueries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PersistedQueries")
            .field("trusted", &self.trusted)
            .finish_non_exhaustive()
    }
}

/// Returns the name of a document in the form of Apollo's persisted queries.
fn named_by(request: &GraphqlRequest) -> Result<Option<String>, Failure> {
    let Some(extension) = request.extensions.get("persistedQuery") else {
        return Ok(None);
    };
    if extension.is_null() {
        return Ok(None);
    }
    if extension["version"].as_u64() != Some(VERSION) {
        return Err(Failure::bad_input(
            "extensions.persistedQuery.version: must be 1",
        ));
    }
    let name = extension["sha256Hash"].as_str().map(str::to_owned);
    name.map(Some).ok_or_else(no_hash)
}

/// Returns a hash in lower case, without the prefix that some compilers of documents write.
fn hash_in(name: &str) -> Result<String, Failure> {
    let hash = without_prefix(name).to_lowercase();
    let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then_some(hash).ok_or_else(no_hash)
}

fn without_prefix(name: &str) -> &str {
    name.strip_prefix("sha256:").unwrap_or(name)
}

fn no_hash() -> Failure {
    Failure::bad_input(
        "extensions.persistedQuery.sha256Hash: must be a SHA-256 hash in hexadecimal",
    )
}

fn sha256(text: &str) -> String {
    use std::fmt::Write as _;
    let mut hash = String::with_capacity(64);
    for byte in Sha256::digest(text) {
        // Writing to a string cannot fail.
        let _ = write!(hash, "{byte:02x}");
    }
    hash
}

fn not_found() -> Failure {
    Failure::new(ErrorCode::PersistedQueryNotFound, NOT_FOUND)
}

/// The documents that a shop's own clients send, by their ids.
pub struct TrustedDocuments {
    by_id: HashMap<String, Arc<str>>,
    by_hash: HashMap<String, Arc<str>>,
}

impl TrustedDocuments {
    /// Reads a list in the format of Apollo's (`operations` with `id` and `body`) or of Relay's
    /// compiler (an object of ids and texts). The error says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let list: Value =
            serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
        let Value::Object(list) = list else {
            return Err("not an object".to_owned());
        };
        let mut documents = Self {
            by_id: HashMap::new(),
            by_hash: HashMap::new(),
        };
        match list.get("operations") {
            Some(Value::Array(operations)) => {
                let format = list.get("format").and_then(Value::as_str);
                if format != Some("apollo-persisted-query-manifest") {
                    return Err("format: must be apollo-persisted-query-manifest".to_owned());
                }
                for (at, operation) in operations.iter().enumerate() {
                    let text = |field: &str| {
                        let text = operation[field].as_str().map(str::to_owned);
                        text.ok_or_else(|| format!("operations[{at}].{field}: must be a string"))
                    };
                    documents.add(text("id")?, &text("body")?);
                }
            }
            _ => {
                for (id, body) in list {
                    let body = body
                        .as_str()
                        .ok_or_else(|| format!("{id}: must be a string"))?;
                    documents.add(id, body);
                }
            }
        }
        if documents.by_id.is_empty() {
            return Err("it has no documents".to_owned());
        }
        Ok(documents)
    }

    /// Returns the documents with their ids, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.by_id.iter().map(|(id, body)| (id.as_str(), &**body))
    }

    fn add(&mut self, id: String, body: &str) {
        let body: Arc<str> = body.into();
        self.by_hash.insert(sha256(&body), Arc::clone(&body));
        self.by_id.insert(id, body);
    }

    /// Returns the document with this id or hash; either may have a prefix.
    fn find(&self, name: &str) -> Option<&Arc<str>> {
        let bare = without_prefix(name);
        let by_id = self.by_id.get(name).or_else(|| self.by_id.get(bare));
        by_id.or_else(|| self.by_hash.get(&bare.to_lowercase()))
    }

    /// Adds the text to a request that names a document of the list. A text is allowed only if the
    /// list has it.
    fn resolve(&self, request: &mut GraphqlRequest, named: Option<&str>) -> Result<(), Failure> {
        let name = request.document_id.as_deref().or(named);
        let found = match name {
            Some(name) => self.find(name),
            None => self.by_hash.get(&sha256(&request.query)),
        };
        let found = found.ok_or_else(|| {
            Failure::new(
                ErrorCode::Forbidden,
                "This service answers only documents that the shop has deployed.",
            )
        })?;
        if request.query.is_empty() {
            request.query = found.to_string();
        }
        if request.query != **found {
            return Err(Failure::bad_input(
                "query: differs from the document that is named",
            ));
        }
        Ok(())
    }
}

impl fmt::Debug for TrustedDocuments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrustedDocuments")
            .field("documents", &self.by_id.len())
            .finish_non_exhaustive()
    }
}
