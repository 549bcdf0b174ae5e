//! The history of products, categories and spec keys.

use std::sync::Arc;

use async_graphql::{Context, Enum, Object, SimpleObject};
use futures_util::FutureExt as _;
use vitrine_api_derive::{Direct, direct};
use vitrine_domain::history::ListedHistory;
use vitrine_domain::reference::Reference;
use vitrine_model::history::{self, FieldValue};
use vitrine_model::id::{CategoryId, GlobalId};
use vitrine_model::text::excerpt;

use super::common::{TotalCount, count};
use super::page::{Ends, PageInfo};
use crate::execution::{At as _, List, R};
use crate::graphql::context::ContextExt as _;
use crate::graphql::scalars::DateTime;

/// The maximum length of a value that is shown, in characters.
const MAX_SHOWN: usize = 1_000;

/// What caused a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
#[graphql(remote = "history::ChangeOrigin")]
pub(crate) enum ChangeOrigin {
    /// A mutation of an admin.
    Mutation,
    /// A mutation of an admin that restored an earlier revision.
    Revert,
    /// A mutation of an admin that gave fields back to the feeds.
    Release,
    /// A bulk change of an admin.
    BulkChange,
    /// An import.
    Import,
    /// A merge of spec keys: of the key into which it was merged, and of products that had the other one.
    KeyMerge,
}

/// A changed field, for people to read.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct FieldChange {
    /// The field: `name`, `price`, `specs.weight`, `details.isbn`. The values of a spec key with a qualifier are a field
    /// of their own: `specs.weight (packed)`.
    field: String,
    /// The value before: a text of at most 1,000 characters, numbers with their unit, several values separated by
    /// commas, the slug of a category, the name of a supplier. Null if there was none.
    before: Option<String>,
    /// The value after, in the same form. Null if there is none.
    after: Option<String>,
}

/// A change of a product, category or spec key.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct HistoryEntry {
    /// The revision that the change made.
    revision: i32,
    /// The revision before, which `revertProduct` and its like can restore. Null if the change created the object.
    previous_revision: Option<i32>,
    /// When it was made.
    changed_at: DateTime,
    /// The subject of the admin's token, the source system of the import, or the name of the worker.
    changed_by: String,
    /// What caused it.
    origin: ChangeOrigin,
    /// The revision that was restored; null unless `origin` is `REVERT`.
    reverted_to: Option<i32>,
    /// The fields that it changed. Empty if it created the object, or changed nothing that a history has.
    fields: List<FieldChange>,
    /// The fields of which an import says something else, and that it left as people have edited them: `name`,
    /// `specs.weight`. Empty unless `origin` is `IMPORT`.
    kept_fields: Vec<String>,
}

/// An entry of a history, with its cursor.
#[derive(SimpleObject, Direct)]
pub(crate) struct HistoryEdge {
    /// The position in the history.
    cursor: String,
    /// The entry.
    node: HistoryEntry,
}

pub(crate) struct HistoryConnection {
    page: ListedHistory,
    /// Has the slugs of categories.
    reference: Arc<Reference>,
}

impl HistoryConnection {
    pub(crate) const fn new(page: ListedHistory, reference: Arc<Reference>) -> Self {
        Self { page, reference }
    }

    fn entry(&self, entry: &history::HistoryEntry) -> HistoryEntry {
        let text = |value: &Option<FieldValue>| {
            let value = value.as_ref();
            value.map(|value| shown_value(value, &self.reference))
        };
        let fields = entry.fields.iter().map(|change| FieldChange {
            field: change.field.clone(),
            before: text(&change.before),
            after: text(&change.after),
        });
        HistoryEntry {
            revision: count(entry.revision),
            previous_revision: entry.previous.map(count),
            changed_at: DateTime(entry.at),
            changed_by: entry.by.name.clone(),
            origin: entry.by.origin.into(),
            reverted_to: entry.by.reverted_to.map(count),
            fields: fields.collect(),
            kept_fields: entry.by.kept.clone(),
        }
    }
}

/// A value as a text for people.
pub(super) fn shown_value(value: &FieldValue, reference: &Reference) -> String {
    match value {
        FieldValue::Text(text) => excerpt(text, MAX_SHOWN).text,
        FieldValue::Category(id) => slug(*id, reference),
        FieldValue::Supplier(_, name) => name.clone(),
    }
}

fn slug(id: CategoryId, reference: &Reference) -> String {
    let category = reference.categories.get(id);
    category.map_or_else(
        || GlobalId::Category(id).encode(),
        |category| category.slug.clone(),
    )
}

/// A page of the history of a product, category or spec key.
#[direct]
#[Object]
impl HistoryConnection {
    /// The entries with their cursors.
    fn edges(&self) -> List<HistoryEdge> {
        let rows = self.page.rows.iter();
        rows.map(|row| HistoryEdge {
            cursor: row.cursor(),
            node: self.entry(&row.value),
        })
        .collect()
    }

    /// The entries.
    fn nodes(&self) -> List<HistoryEntry> {
        let rows = self.page.rows.iter();
        rows.map(|row| self.entry(&row.value)).collect()
    }

    /// The position of the page in the history.
    fn page_info(&self) -> PageInfo<'_> {
        PageInfo(Ends::History(&self.page))
    }

    /// The number of entries. Counted only if selected.
    async fn total_count(&self, ctx: &Context<'_>) -> R<TotalCount> {
        let catalog = &ctx.session().catalog;
        let counted = catalog.count_history(&self.page).boxed().await;
        counted.map(TotalCount::exact).at(ctx)
    }
}
