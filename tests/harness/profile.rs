//! How the server executed the commands that were sent, from its own profiler ("Database
//! Profiler"): nothing about the service's queries is repeated here.

use std::collections::HashMap;

use futures_util::TryStreamExt as _;
use mongodb::IndexModel;
use mongodb::bson::{Bson, Document, doc};

use crate::App;

/// One command as the server executed it.
#[derive(Clone, Debug)]
pub struct Executed {
    entry: Document,
}

impl App {
    /// Has the server write down every command from now on.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn profiled(&self) {
        // The usual size of the collection would hold a few hundred entries.
        let create = doc! { "create": PROFILE, "capped": true, "size": 256_i64 << 20 };
        self.direct()
            .run_command(create)
            .await
            .expect("nobody profiled before");
        self.direct()
            .run_command(doc! { "profile": 2 })
            .await
            .expect("the server profiles");
    }

    /// Runs `work` and gives every command with a plan that it caused, in their order. Call
    /// [`App::profiled`] before.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn profile<T>(&self, work: impl Future<Output = T>) -> (T, Vec<Executed>) {
        let entries = self.direct().collection::<Document>(PROFILE);
        let before = entries
            .count_documents(self.planned())
            .await
            .expect("the server profiles");
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

    /// The names of the indexes of a collection, by the way plans name them: `{ status: 1 }`.
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
        indexes
            .expect("indexes are documents")
            .into_iter()
            .map(named)
            .collect()
    }

    /// Commands that have a plan, but for those that read the profiler's own collection, and those
    /// that look at what was counted ahead, which run in the background as well.
    fn planned(&self) -> Document {
        let left_out = [PROFILE, "category_generations", "facet_panels"];
        let left_out = left_out.map(|name| format!("{}.{name}", self.direct().name()));
        doc! { "ns": { "$nin": left_out.to_vec() }, "planSummary": { "$exists": true } }
    }
}

const PROFILE: &str = "system.profile";

impl Executed {
    /// How many index keys the server looked at.
    #[must_use]
    pub fn keys(&self) -> i64 {
        self.number("keysExamined")
    }

    /// How many documents it looked at.
    #[must_use]
    pub fn docs(&self) -> i64 {
        self.number("docsExamined")
    }

    /// How many it gave.
    #[must_use]
    pub fn rows(&self) -> i64 {
        self.number("nreturned")
    }

    /// Whether it sorted in memory.
    #[must_use]
    pub fn sorts(&self) -> bool {
        self.entry.get_bool("hasSortStage").unwrap_or(false)
    }

    /// What the command was: `find`, `aggregate`.
    #[must_use]
    pub fn command(&self) -> String {
        let command = self.entry.get_document("command").ok();
        let name = command.and_then(|command| command.keys().next());
        name.cloned().unwrap_or_default()
    }

    /// The plan in short: `IXSCAN { status: 1, … }`.
    #[must_use]
    pub fn plan(&self) -> &str {
        self.entry.get_str("planSummary").unwrap_or_default()
    }

    /// The names of the indexes that were used, each once. The profiler gives no stages for
    /// aggregations: for them the patterns tell.
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

    /// The stages of the plan, from the top down.
    #[must_use]
    pub fn stage_names(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.stages(&mut |stage| found.extend(stage.get_str("stage").map(str::to_owned)));
        found
    }

    /// The bounds of a field in every scan of an index that has it.
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

    /// The whole entry of the profiler.
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
