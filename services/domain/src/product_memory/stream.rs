//! The change stream that keeps the memory of products true.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use vitrine_storage::product_changes::ProductChanges;
use vitrine_storage::product_writes::ProductListener;
use vitrine_storage::views::ProductView;
use vitrine_storage::{StorageError, Store};

use super::{ProductMemory, ProductMemoryOptions};

/// The pause before a stream that was lost is opened again. It doubles while that fails.
const PAUSE: Duration = Duration::from_millis(250);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(8);

/// The memory of products, with the sources of its invalidations: the change stream, and the writes of this process.
pub(crate) struct Remembering {
    pub(crate) memory: Arc<ProductMemory>,
    /// Invalidates the products that this process writes.
    _listener: Arc<ProductListener>,
    /// The task that reads the stream; it ends with this.
    task: tokio::sync::Mutex<JoinSet<()>>,
}

impl std::fmt::Debug for Remembering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remembering").finish_non_exhaustive()
    }
}

impl Remembering {
    /// Begins to remember products of a database. Until its change stream is open, the memory is not used.
    pub(crate) fn begin(store: &Store, options: ProductMemoryOptions) -> Self {
        let memory = Arc::new(ProductMemory::new(options, ProductView::stored_bytes));
        let listening = Arc::clone(&memory);
        let listener: Arc<ProductListener> = Arc::new(move |written| listening.written(written));
        store.on_product_writes(&listener);
        let mut task = JoinSet::new();
        task.spawn(follow_forever(store.clone(), Arc::clone(&memory)));
        Self {
            memory,
            _listener: listener,
            task: tokio::sync::Mutex::new(task),
        }
    }

    /// Ends the stream. From then on products are read from the database.
    pub(crate) async fn end(&self) {
        self.task.lock().await.shutdown().await;
        self.memory.close();
    }
}

async fn follow_forever(store: Store, memory: Arc<ProductMemory>) {
    let (mut was_open, mut pause) = (true, PAUSE);
    loop {
        let lost = store.next_loss_of_primary();
        // An empty stream is answered three times while a product may have its greatest age: the confirmation of one
        // answer is as old as the answer before.
        let error = match store.product_changes(memory.max_age / 3).await {
            Ok(Some(changes)) => {
                (was_open, pause) = (true, PAUSE);
                tokio::select! {
                    error = follow(changes, &memory) => error,
                    () = lost => StorageError::LostPrimary,
                }
            }
            Ok(None) => {
                tracing::info!(
                    "products are not kept in memory: the database is a sharded cluster"
                );
                return;
            }
            Err(error) => error,
        };
        memory.close();
        if was_open {
            tracing::warn!(%error, "the changes of products were lost; the memory of products is emptied");
        }
        was_open = false;
        tokio::time::sleep(pause).await;
        pause = MAX_PAUSE.min(pause * 2);
    }
}

/// Follows a stream until it ends.
async fn follow(mut changes: ProductChanges, memory: &ProductMemory) -> StorageError {
    memory.open(changes.opened());
    loop {
        match changes.next().await {
            Ok(changed) => {
                let are_some = changed.counts || !changed.products.is_empty();
                memory.forget(&changed.products);
                if changed.counts {
                    memory.change_counts();
                }
                if let Some(at) = changed.complete_until {
                    memory.confirm(at);
                    if are_some {
                        tokio::time::sleep(memory.pause).await;
                    }
                }
            }
            Err(error) => return error,
        }
    }
}
