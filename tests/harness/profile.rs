//! How the server executed the commands that were sent, from its own profiler ("Database
//! Profiler"): nothing about the service's queries is repeated here.

use futures_util::TryStreamExt as _;
use mongodb::bson::{Bson, Document, doc};

use crate::App;

/// One command as the server executed it.
#[derive(Clone, Debug)]
pub struct Executed {
    entry: Document,
}

impl App {
    /// Runs `work` and gives every read of a collection that it caused, in their order.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn profile<T>(&self, work: impl AsyncFnOnce() -> T) -> (T, Vec<Executed>) {
        self.set_profiling(0).await;
        self.direct()
            .collection::<Document>(PROFILE)
            .drop()
            .await
            .expect("profiling is off");
        let size = 64_i64 << 20;
        let create = doc! { "create": PROFILE, "capped": true, "size": size };
        self.direct()
            .run_command(create)
            .await
            .expect("the collection was dropped");
        self.set_profiling(2).await;
        let done = work().await;
        self.set_profiling(0).await;
        (done, self.executed().await)
    }

    async fn set_profiling(&self, level: i32) {
        self.direct()
            .run_command(doc! { "profile": level })
            .await
            .expect("profiling is there");
    }

    async fn executed(&self) -> Vec<Executed> {
        let reads = doc! { "op": { "$in": ["query", "command", "getmore"] }, "planSummary": { "$exists": true } };
        let entries = self
            .direct()
            .collection::<Document>(PROFILE)
            .find(reads)
            .await;
        let entries: Vec<Document> = entries
            .expect("profiling is there")
            .try_collect()
            .await
            .expect("entries are documents");
        entries
            .into_iter()
            .map(|entry| Executed { entry })
            .collect()
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

    /// The plan in short: `IXSCAN { status: 1, … }`.
    #[must_use]
    pub fn plan(&self) -> &str {
        self.entry.get_str("planSummary").unwrap_or_default()
    }

    /// The names of the indexes that were used, each once.
    #[must_use]
    pub fn indexes(&self) -> Vec<String> {
        let mut found = Vec::new();
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
