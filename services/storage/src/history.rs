//! The history of products, categories and spec keys. Entries are inserted by the transaction that changes the object,
//! and have the changed fields before and after.
//!
//! Copies of other documents are no part of it: the name and price of the items of a bundle, and its price, change
//! without an entry.

use mongodb::bson::raw::{RawDocument, RawDocumentBuf};
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use vitrine_model::category::Category;
use vitrine_model::clock::Timestamp;
use vitrine_model::contribution::Content;
use vitrine_model::history::{
    ChangeOrigin, ChangedBy, FieldValue, HISTORY_KEPT_MILLIS, HistoryEntry, HistoryOf, MAX_HISTORY,
};
use vitrine_model::id::{CategoryId, ProductId, random_number};
use vitrine_model::product::{Details, Product};
use vitrine_model::spec::{SpecKey, ValueType};

use crate::documents::contribution::{content, read_content};
use crate::documents::{REFERENCE_VERSION, put, reference};
use crate::keyset::{Boundary, Column, ColumnKind, ListQuery, Page, PageRequest};
use crate::raw::{Fields, Read, date, stored_id};
use crate::write::WriteUnit;
use crate::{StorageError, Store};

mod shown;

const HISTORY: &str = "history";

/// The fields of an object that its history covers.
type State = Document;

/// The content of a product at an earlier revision.
#[derive(Clone, Debug, PartialEq)]
pub struct EarlierProduct {
    /// The stock-keeping unit.
    pub sku: String,
    /// The slug.
    pub slug: String,
    /// Everything else, but the items of a bundle.
    pub content: Content,
    /// The products of a bundle with their quantities.
    pub items: Option<Vec<(ProductId, i32)>>,
}

/// An entry as it is stored.
struct Stored {
    revision: i64,
    previous: Option<i64>,
    is_expired: bool,
    origin: ChangeOrigin,
    before: State,
    after: State,
}

impl Store {
    /// Returns a page of the history of an object, newest first. One command.
    pub async fn page_history(
        &self,
        of: &HistoryOf,
        request: &PageRequest,
    ) -> Result<Page<HistoryEntry>, StorageError> {
        self.read_page(&list(of), request, read_entry).await
    }

    /// Counts the entries of the history of an object. One command, from the index `object`.
    pub async fn count_history(&self, of: &HistoryOf) -> Result<u64, StorageError> {
        let entries = self.documents(HISTORY);
        let count = entries.count_documents(object(of));
        let count = count.hint(Hint::Name("object".to_owned()));
        Ok(count.max_time(self.max_time).await?)
    }

    /// Returns whether the history of an object has entries after (or before) this position.
    pub async fn has_history(&self, of: &HistoryOf, from: Boundary) -> Result<bool, StorageError> {
        self.has_row(&list(of), &from).await
    }
}

impl WriteUnit {
    /// Records that an object was created.
    pub async fn record_created(
        &mut self,
        of: &HistoryOf,
        by: &ChangedBy,
        at: Timestamp,
    ) -> Result<(), StorageError> {
        let changed = (State::new(), State::new());
        self.record_history(of, (None, 1), changed, (by, at)).await
    }

    /// Records a change of a product.
    pub(crate) async fn record_product_change(
        &mut self,
        before: &Product,
        after: &Product,
        by: &ChangedBy,
    ) -> Result<(), StorageError> {
        let changed = changed(&product_state(before), &product_state(after));
        let revisions = (Some(before.revision), after.revision);
        let of = HistoryOf::Product(after.id);
        self.record_history(&of, revisions, changed, (by, after.updated_at))
            .await
    }

    /// Records a change of a category.
    pub async fn record_category_change(
        &mut self,
        before: &Category,
        after: &Category,
        (by, at): (&ChangedBy, Timestamp),
    ) -> Result<(), StorageError> {
        let changed = changed(&category_state(before), &category_state(after));
        let revisions = (Some(before.revision), after.revision);
        let of = HistoryOf::Category(after.id);
        self.record_history(&of, revisions, changed, (by, at)).await
    }

    /// Records a change of a spec key.
    pub async fn record_spec_key_change(
        &mut self,
        before: &SpecKey,
        after: &SpecKey,
        (by, at): (&ChangedBy, Timestamp),
    ) -> Result<(), StorageError> {
        let changed = changed(&key_state(before), &key_state(after));
        let revisions = (Some(before.revision), after.revision);
        let of = HistoryOf::SpecKey(after.key.clone());
        self.record_history(&of, revisions, changed, (by, at)).await
    }

    /// Inserts an entry, and deletes the one that is too old. A revision that changed no field of the history has an
    /// entry too: what is between two entries cannot be restored.
    async fn record_history(
        &mut self,
        of: &HistoryOf,
        (previous, revision): (Option<i64>, i64),
        (before, after): (State, State),
        (by, at): (&ChangedBy, Timestamp),
    ) -> Result<(), StorageError> {
        let mut entry = doc! { "_id": stored_id(random_number()) };
        entry.insert("schema_version", REFERENCE_VERSION);
        entry.extend(object(of));
        entry.extend(doc! {
            "revision": revision,
            "at": date(at),
            "origin": by.origin.name(),
            "by": &by.name,
            "before": before,
            "after": after,
            "expires_at": date(at.plus_millis(HISTORY_KEPT_MILLIS)),
        });
        put(&mut entry, "previous", previous);
        put(
            &mut entry,
            "kept",
            (!by.kept.is_empty()).then_some(&by.kept),
        );
        put(&mut entry, "reverted_to", by.reverted_to);
        self.insert(HISTORY, vec![entry]).await?;
        if revision > MAX_HISTORY {
            let mut old = object(of);
            old.insert("revision", doc! { "$lte": revision - MAX_HISTORY });
            self.delete(HISTORY, old).await?;
        }
        Ok(())
    }

    /// Returns the content of a product at an earlier revision; `None` if its history does not reach back so far.
    pub async fn earlier_product(
        &mut self,
        product: &Product,
        revision: i64,
        now: Timestamp,
    ) -> Result<Option<EarlierProduct>, StorageError> {
        let of = HistoryOf::Product(product.id);
        let since = self.history_since(&of, revision, now).await?;
        let state = since.and_then(|since| {
            earlier((product_state(product), product.revision), &since, revision)
        });
        state.map(read_product_state).transpose()
    }

    /// Returns a category as it was at an earlier revision; `None` if its history does not reach back so far.
    pub async fn earlier_category(
        &mut self,
        category: &Category,
        revision: i64,
        now: Timestamp,
    ) -> Result<Option<Category>, StorageError> {
        let of = HistoryOf::Category(category.id);
        let since = self.history_since(&of, revision, now).await?;
        let state = since.and_then(|since| {
            earlier(
                (category_state(category), category.revision),
                &since,
                revision,
            )
        });
        let read = |state| read_state(state, |fields| read_category_state(category, fields));
        state.map(read).transpose()
    }

    /// Returns a spec key as it was at an earlier revision; `None` if its history does not reach back so far. Names
    /// that were merged into the key since then are among its aliases: a merge cannot be taken back.
    pub async fn earlier_spec_key(
        &mut self,
        key: &SpecKey,
        revision: i64,
        now: Timestamp,
    ) -> Result<Option<SpecKey>, StorageError> {
        let of = HistoryOf::SpecKey(key.key.clone());
        let since = self.history_since(&of, revision, now).await?;
        let Some(since) = since else {
            return Ok(None);
        };
        let merges = since
            .iter()
            .filter(|entry| entry.origin == ChangeOrigin::KeyMerge);
        let mut merged: Vec<String> = merges.flat_map(Stored::new_aliases).collect();
        merged.retain(|name| key.aliases.contains(name) || key.absorbing.contains(name));
        let Some(state) = earlier((key_state(key), key.revision), &since, revision) else {
            return Ok(None);
        };
        let mut earlier = read_state(state, |fields| read_key_state(key, fields))?;
        earlier.aliases.extend(merged);
        earlier.aliases.sort_unstable();
        earlier.aliases.dedup();
        Ok(Some(earlier))
    }

    /// Deletes the history of a spec key that is merged into another one: its name may become a new key.
    pub(crate) async fn forget_spec_key_history(&mut self, key: &str) -> Result<(), StorageError> {
        let of = HistoryOf::SpecKey(key.to_owned());
        self.delete(HISTORY, object(&of)).await.map(drop)
    }

    /// Returns the entries after a revision, newest first; `None` if some of them are no longer kept.
    async fn history_since(
        &mut self,
        of: &HistoryOf,
        revision: i64,
        now: Timestamp,
    ) -> Result<Option<Vec<Stored>>, StorageError> {
        let mut filter = object(of);
        filter.insert("revision", doc! { "$gt": revision });
        let (store, session) = self.parts();
        let collection = store.raw(HISTORY);
        let find = collection.find(filter).sort(doc! { "revision": -1 });
        let mut cursor = find.session(&mut *session).await?;
        let mut since = Vec::new();
        while let Some(entry) = cursor.next(session).await {
            since.push(read_stored(&entry?, now)?);
        }
        // An expired entry may be deleted at any time, perhaps before an older one.
        let is_kept = since.iter().all(|entry| !entry.is_expired);
        Ok(is_kept.then_some(since))
    }
}

impl Stored {
    /// The aliases that the change added.
    fn new_aliases(&self) -> Vec<String> {
        let names = |state: &State| -> Vec<String> {
            let names = state.get_array("aliases").into_iter().flatten();
            names.filter_map(Bson::as_str).map(str::to_owned).collect()
        };
        let before = names(&self.before);
        let mut new = names(&self.after);
        new.retain(|name| !before.contains(name));
        new
    }
}

/// The fields that identify an object.
fn object(of: &HistoryOf) -> Document {
    let (kind, object) = match of {
        HistoryOf::Product(id) => ("product", stored_id(id.to_i64())),
        HistoryOf::Category(id) => ("category", stored_id(id.to_i64())),
        HistoryOf::SpecKey(key) => ("spec_key", Bson::String(key.clone())),
    };
    doc! { "of": kind, "object": object }
}

fn list(of: &HistoryOf) -> ListQuery {
    let column = Column::new("revision", ColumnKind::Integer);
    ListQuery {
        descending: true,
        ..ListQuery::by(column, (HISTORY, "object"), object(of))
    }
}

/// Returns the fields that differ, before and after.
fn changed(before: &State, after: &State) -> (State, State) {
    let differs = |field: &str| before.get(field) != after.get(field);
    let only = |state: &State| -> State {
        let fields = state.iter().filter(|(field, _)| differs(field));
        fields
            .map(|(field, value)| (field.clone(), value.clone()))
            .collect()
    };
    (only(before), only(after))
}

/// Takes back changes of an object that has the revision `now`, newest first. `None` if they do not reach back to the
/// wanted revision without a gap.
fn earlier((mut state, now): (State, i64), since: &[Stored], revision: i64) -> Option<State> {
    if revision > now {
        return None;
    }
    let mut reached = Some(now);
    for entry in since {
        if reached != Some(entry.revision) {
            return None;
        }
        reached = entry.previous;
    }
    if reached != Some(revision) {
        return None;
    }
    for entry in since {
        for field in entry.after.keys() {
            state.remove(field);
        }
        for (field, value) in &entry.before {
            state.insert(field, value);
        }
    }
    Some(state)
}

/// Returns the fields of what is said about a product, as a history shows them. A supplier has no name.
#[must_use]
pub fn shown_content(said: &Content) -> Vec<(String, FieldValue)> {
    shown::shown_fields(&content(said))
}

fn product_state(product: &Product) -> State {
    let mut state = content(&Content::of(product));
    let supplier = product.supplier.as_ref();
    put(
        &mut state,
        "supplier",
        supplier.map(|supplier| {
            doc! { "_id": stored_id(supplier.id.to_i64()), "name": &supplier.name }
        }),
    );
    if let Details::Bundle(bundle) = &product.details {
        let items = bundle.items.iter();
        let items = items.map(|item| {
            doc! { "product_id": stored_id(item.product_id.to_i64()), "quantity": item.quantity }
        });
        let items: Vec<Document> = items.collect();
        state.insert("details", doc! { "items": items });
    }
    state.insert("sku", &product.sku);
    state.insert("slug", &product.slug);
    state
}

fn read_product_state(mut state: State) -> Result<EarlierProduct, StorageError> {
    if let Some(Bson::Document(supplier)) = state.remove("supplier") {
        put(&mut state, "supplier", supplier.get("_id").cloned());
    }
    let is_bundle = state.get_str("kind").ok() == Some("bundle");
    let details = is_bundle.then(|| state.remove("details")).flatten();
    let items = details.map(|details| {
        let items = doc! { "details": details };
        read_state(items, |fields| {
            fields.doc("details")?.docs("items", read_item)
        })
    });
    let items = items.transpose()?;
    read_state(state, |fields| {
        Ok(EarlierProduct {
            sku: fields.string("sku")?,
            slug: fields.string("slug")?,
            content: read_content(fields)?,
            items,
        })
    })
}

fn read_item(fields: Fields<'_>) -> Read<(ProductId, i32)> {
    let quantity = i32::try_from(fields.i64("quantity")?);
    let quantity = quantity.map_err(|_| fields.corrupt("quantity"))?;
    Ok((ProductId::from_i64(fields.id("product_id")?), quantity))
}

fn category_state(category: &Category) -> State {
    let mut state = doc! { "name": &category.name, "slug": &category.slug };
    let parent = category.parent.map(CategoryId::to_i64);
    put(&mut state, "parent", parent.map(stored_id));
    let names: Vec<&str> = category.feed_names.iter().map(|one| &*one.name).collect();
    put(
        &mut state,
        "feed_paths",
        (!names.is_empty()).then_some(names),
    );
    let into = category.merged_into.map(CategoryId::to_i64);
    put(&mut state, "merged_into", into.map(stored_id));
    state
}

fn read_category_state(category: &Category, fields: &Fields<'_>) -> Read<Category> {
    Ok(Category {
        name: fields.string("name")?,
        slug: fields.string("slug")?,
        parent: fields.opt_id("parent")?.map(CategoryId::from_i64),
        ..category.clone()
    })
}

fn key_state(key: &SpecKey) -> State {
    let mut state = reference::spec_key(key);
    for field in [
        "_id",
        "schema_version",
        "used",
        "published",
        "revision",
        "earlier_type",
        "guessed_by",
    ] {
        state.remove(field);
    }
    // A key that was merged into this one becomes a plain alias without a new revision.
    let mut names: Vec<&String> = key.aliases.iter().chain(&key.absorbing).collect();
    names.sort_unstable();
    put(&mut state, "aliases", (!names.is_empty()).then_some(names));
    state
}

fn read_key_state(key: &SpecKey, fields: &Fields<'_>) -> Read<SpecKey> {
    let value_type = ValueType::named(fields.str("type")?);
    let text = |value: mongodb::bson::raw::RawBsonRef<'_>| value.as_str().map(str::to_owned);
    let allowed = fields.items("allowed_values", text)?;
    Ok(SpecKey {
        label: fields.string("label")?,
        value_type: value_type.ok_or_else(|| fields.corrupt("type"))?,
        dimension: fields.opt_string("dimension")?,
        base_unit: fields.opt_string("base_unit")?,
        facetable: fields.bool("facetable")?,
        filterable: fields.bool("filterable")?,
        allowed_values: (!allowed.is_empty()).then_some(allowed),
        aliases: fields.items("aliases", text)?,
        ..key.clone()
    })
}

/// Decodes a state with the readers of documents.
fn read_state<T>(state: State, read: impl FnOnce(&Fields<'_>) -> Read<T>) -> Read<T> {
    let raw = RawDocumentBuf::try_from(state);
    let raw = raw.map_err(|_| StorageError::Corrupt {
        collection: HISTORY,
        id: String::new(),
        field: "before".to_owned(),
    })?;
    read(&Fields::of(HISTORY, &raw))
}

fn read_stored(entry: &RawDocument, now: Timestamp) -> Read<Stored> {
    let fields = Fields::of(HISTORY, entry);
    Ok(Stored {
        revision: fields.i64("revision")?,
        previous: fields.opt_i64("previous")?,
        is_expired: fields.date("expires_at")? <= now,
        origin: read_origin(&fields)?,
        before: fields.doc("before")?.deserialize("before")?,
        after: fields.doc("after")?.deserialize("after")?,
    })
}

fn read_origin(fields: &Fields<'_>) -> Read<ChangeOrigin> {
    ChangeOrigin::named(fields.str("origin")?).ok_or_else(|| fields.corrupt("origin"))
}

fn read_entry(entry: &RawDocument) -> Read<HistoryEntry> {
    let fields = Fields::of(HISTORY, entry);
    let state = |field| -> Read<State> { fields.doc(field)?.deserialize(field) };
    Ok(HistoryEntry {
        revision: fields.i64("revision")?,
        previous: fields.opt_i64("previous")?,
        at: fields.date("at")?,
        by: ChangedBy {
            origin: read_origin(&fields)?,
            name: fields.string("by")?,
            reverted_to: fields.opt_i64("reverted_to")?,
            kept: fields.items("kept", |field| field.as_str().map(str::to_owned))?,
        },
        fields: shown::field_changes(&state("before")?, &state("after")?),
    })
}
