//! How the server executed the commands that were sent, from its own profiler ("Database
//! Profiler"), so that no query of the service is repeated in a test.

use std::collections::HashMap;

use futures_util::TryStreamExt as _;
use mongodb::IndexModel;
use mongodb::bson::{Bson, Document, doc};
use vitrine_storage::product_changes::COMMENT;

use crate::App;

/// A command as the server executed it.
#[derive(Clone, Debug)]
pub struct Executed {
    entry: Document,
}

impl App {
    /// Makes the server record every command from now on.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn start_profiler(&self) {
        // With its default size the collection would hold a few hundred entries.
        let create = doc! { "create": PROFILE, "capped": true, "size": 256_i64 << 20 };
        self.direct()
            .run_command(create)
            .await
            .expect("the profiler is started once");
        self.direct()
            .run_command(doc! { "profile": 2 })
            .await
            .expect("the server profiles");
    }

    /// Runs `work` without products in memory; returns its result and every command with a plan that it
    /// sent, in their order. Call [`App::start_profiler`] before.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn profile<T>(&self, work: impl Future<Output = T>) -> (T, Vec<Executed>) {
        let entries = self.direct().collection::<Document>(PROFILE);
        let before = entries
            .count_documents(self.planned())
            .await
            .expect("the server profiles");
        self.catalog.forget_products();
        let done = work.await;
        let new = entries
            .find(self.planned())
            .skip(before)
            .await
            .expect("the server profiles");
        let new: Vec<Document> = new.try_collect().await.expect("entries are documents");
        (
            done,
            new.into_iter().map(|entry| Executed { entry }).collect(),
        )
    }

    /// Returns the names of the indexes of a collection, by their patterns in plans: `{ status: 1
    /// }`.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn index_patterns(&self, collection: &str) -> HashMap<String, String> {
        let indexes = self
            .direct()
            .collection::<Document>(collection)
            .list_indexes()
            .await;
        let indexes = indexes
            .expect("the collection is there")
            .try_collect::<Vec<_>>()
            .await;
        let named = |index: IndexModel| {
            let name = index
                .options
                .and_then(|options| options.name)
                .unwrap_or_default();
            let fields = index
                .keys
                .iter()
                .map(|(field, direction)| format!("{field}: {direction}"));
            (
                format!("{{ {} }}", fields.collect::<Vec<_>>().join(", ")),
                name,
            )
        };
        let is_partial = |index: &IndexModel| {
            let options = index.options.as_ref();
            options.is_some_and(|options| options.partial_filter_expression.is_some())
        };
        // A partial index may have the fields of a whole one, which is meant then.
        let (partial, whole): (Vec<_>, Vec<_>) = indexes
            .expect("indexes are documents")
            .into_iter()
            .partition(is_partial);
        partial.into_iter().chain(whole).map(named).collect()
    }

    /// Matches commands that have a plan, without those that read the profiler's own collection,
    /// and those that run in the background as well: they read precomputed facets, or follow changes.
    fn planned(&self) -> Document {
        let left_out = [PROFILE, "category_generations", "facet_panels"];
        let left_out = left_out.map(|name| format!("{}.{name}", self.direct().name()));
        doc! {
            "ns": { "$nin": left_out.to_vec() },
            "planSummary": { "$exists": true },
            "command.comment": { "$ne": COMMENT },
        }
    }
}

pub(crate) const PROFILE: &str = "system.profile";

impl Executed {
    /// Returns the number of index keys that the server examined.
    #[must_use]
    pub fn keys(&self) -> i64 {
        self.number("keysExamined")
    }

    /// Returns the number of documents that it examined.
    #[must_use]
    pub fn docs(&self) -> i64 {
        self.number("docsExamined")
    }

    /// Returns the number of documents that it returned.
    #[must_use]
    pub fn rows(&self) -> i64 {
        self.number("nreturned")
    }

    /// Returns whether it sorted in memory.
    #[must_use]
    pub fn sorts(&self) -> bool {
        self.entry.get_bool("hasSortStage").unwrap_or(false)
    }

    /// Returns the name of the command: `find`, `aggregate`.
    #[must_use]
    pub fn command(&self) -> String {
        let command = self.entry.get_document("command").ok();
        let name = command.and_then(|command| command.keys().next());
        name.cloned().unwrap_or_default()
    }

    /// Returns the summary of the plan: `IXSCAN { status: 1, … }`.
    #[must_use]
    pub fn plan(&self) -> &str {
        self.entry.get_str("planSummary").unwrap_or_default()
    }

    /// Returns the names of the indexes that were used, each once. The profiler records no stages
    /// of aggregations: their indexes are found by the patterns.
    #[must_use]
    pub fn indexes(&self, patterns: &HashMap<String, String>) -> Vec<String> {
        let mut found = Vec::new();
        if !self.entry.contains_key("execStats") {
            let scans = self.plan().split("IXSCAN ").skip(1);
            found.extend(
                scans
                    .filter_map(|scan| patterns.get(scan.trim_end_matches(", ")))
                    .cloned(),
            );
        }
        self.stages(&mut |stage| {
            if let Ok(name) = stage.get_str("indexName")
                && !found.iter().any(|known| known == name)
            {
                found.push(name.to_owned());
            }
        });
        found
    }

    /// Returns the stages of the plan, from the top down.
    #[must_use]
    pub fn stage_names(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.stages(&mut |stage| found.extend(stage.get_str("stage").map(str::to_owned)));
        found
    }

    /// Returns the bounds of a field in every scan of an index that has the field.
    #[must_use]
    pub fn bounds(&self, field: &str) -> Vec<Vec<String>> {
        let mut found = Vec::new();
        self.stages(&mut |stage| {
            let bounds = stage
                .get_document("indexBounds")
                .and_then(|all| all.get_array(field));
            if let Ok(bounds) = bounds {
                let text = |bound: &Bson| bound.as_str().unwrap_or_default().to_owned();
                found.push(bounds.iter().map(text).collect());
            }
        });
        found
    }

    /// Returns the whole entry of the profiler.
    #[must_use]
    pub fn entry(&self) -> &Document {
        &self.entry
    }

    fn number(&self, field: &str) -> i64 {
        match self.entry.get(field) {
            Some(Bson::Int32(n)) => i64::from(*n),
            Some(Bson::Int64(n)) => *n,
            _ => 0,
        }
    }

    fn stages(&self, look: &mut dyn FnMut(&Document)) {
        if let Ok(stats) = self.entry.get_document("execStats") {
            walk(stats, look);
        }
    }
}

fn walk(stage: &Document, look: &mut dyn FnMut(&Document)) {
    look(stage);
    for (_, value) in stage {
        match value {
            Bson::Document(inner) if inner.contains_key("stage") => walk(inner, look),
            Bson::Array(items) => {
                let stages = items.iter().filter_map(Bson::as_document);
                stages
                    .filter(|item| item.contains_key("stage"))
                    .for_each(|item| walk(item, look));
            }
            _ => {}
        }
    }
}
