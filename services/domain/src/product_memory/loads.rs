//! Products that are being read into memory, and the look-ups that use the memory.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::FutureExt as _;
use futures_util::future::Shared;
use tokio::sync::oneshot;
use vitrine_model::id::ProductId;
use vitrine_model::product::ProductStatus;
use vitrine_storage::products::ProductKey;
use vitrine_storage::views::ProductView;

use super::{Entry, ProductMemory, State};
use crate::{Catalog, DomainError};

/// The result of a [`Load`], for those who wait for it. An error when the load has failed.
pub(crate) type SharedLoad<V = ProductView> = Shared<oneshot::Receiver<Option<V>>>;

/// What a caller does who needs a product.
pub(crate) enum Join<V: Clone + Send + Sync + 'static = ProductView> {
    /// Takes it from memory, where it has just arrived.
    Found(V),
    /// Waits for another caller, who has begun to read it. The product has not been forgotten since.
    Wait(SharedLoad<V>),
    /// Reads it, for all who ask meanwhile.
    Load(Load<V>),
}

/// A product that is being read. Those who wait get an error when this is dropped.
pub(crate) struct Load<V: Clone + Send + Sync + 'static = ProductView> {
    memory: Arc<ProductMemory<V>>,
    key: ProductKey,
    number: u64,
    epoch: u64,
    /// How many products had been forgotten when it began.
    forgotten: u64,
    answer: Option<oneshot::Sender<Option<V>>>,
}

impl<V: Clone + Send + Sync + 'static> ProductMemory<V> {
    /// Joins those who need a product that was not in memory a moment ago.
    pub(crate) fn join(self: &Arc<Self>, key: &ProductKey) -> Join<V> {
        let mut state = self.state();
        if let Some((_, load)) = state.loads.get(key) {
            return Join::Wait(load.clone());
        }
        if let ProductKey::Id(id) = key
            && let Some(view) = self.find(*id)
        {
            return Join::Found(view);
        }
        let (answer, loaded) = oneshot::channel();
        state.load_count += 1;
        let number = state.load_count;
        state.loads.insert(key.clone(), (number, loaded.shared()));
        Join::Load(Load {
            memory: Arc::clone(self),
            key: key.clone(),
            number,
            epoch: self.epoch.load(Ordering::Acquire),
            forgotten: state.forgotten_count,
            answer: Some(answer),
        })
    }
}

impl<V: Clone + Send + Sync + 'static> Load<V> {
    /// The key of the product.
    pub(crate) fn key(&self) -> &ProductKey {
        &self.key
    }

    /// Remembers the product that was found, unless it has been forgotten meanwhile, and hands it to all who wait.
    pub(crate) fn finish(mut self, found: Option<(ProductId, &V)>) {
        let memory = Arc::clone(&self.memory);
        let mut state = memory.state();
        self.end(&mut state);
        if let Some((id, view)) = found
            && memory.epoch.load(Ordering::Acquire) == self.epoch
            && !state.is_forgotten_since(self.forgotten, id)
        {
            let (epoch, view) = (self.epoch, view.clone());
            memory.entries.insert(id, Entry { epoch, view });
        }
        drop(state);
        // Otherwise the memory would exceed its size for a while.
        memory.entries.run_pending_tasks();
        if let Some(answer) = self.answer.take() {
            // There may be nobody.
            let _ = answer.send(found.map(|(_, view)| view.clone()));
        }
    }

    /// Lets nobody wait for it any more.
    fn end(&self, state: &mut State<V>) {
        let own = |(number, _): &(u64, SharedLoad<V>)| *number == self.number;
        if state.loads.get(&self.key).is_some_and(own) {
            state.loads.remove(&self.key);
        }
    }
}

impl<V: Clone + Send + Sync + 'static> Drop for Load<V> {
    fn drop(&mut self) {
        if self.answer.is_some() {
            self.end(&mut self.memory.state());
        }
    }
}

/// Products that were looked up together.
pub(crate) struct Remembered {
    /// Those that exist.
    pub(crate) products: HashMap<ProductId, ProductView>,
    /// How many of them were in memory.
    pub(crate) in_memory: usize,
}

impl Catalog {
    /// The memory of products for a look-up of this many, unless it is switched off or must not be used.
    pub(crate) fn memory_for(&self, products: usize) -> Option<Arc<ProductMemory>> {
        let memory = self.product_memory()?;
        if memory.is_current() {
            return Some(Arc::clone(memory));
        }
        memory.bypass(products);
        None
    }

    /// Returns the product with this key, in any status: from memory, or with one command, or two if another product
    /// had its name before.
    pub(crate) async fn remembered_product(
        &self,
        memory: &Arc<ProductMemory>,
        key: ProductKey,
    ) -> Result<Option<ProductView>, DomainError> {
        if let Some(id) = self.store().cached_product_id(&key) {
            let found = self.loaded(memory, ProductKey::Id(id)).await?;
            match found {
                Some(view) if key.is_of(&view)? => return Ok(Some(view)),
                None if key == ProductKey::Id(id) => return Ok(None),
                // The name may belong to another product now.
                _ => {}
            }
        }
        self.loaded(memory, key).await
    }

    /// Returns the products with these ids, in any status: from memory, and the rest with one command.
    pub(crate) async fn remembered_products(
        &self,
        memory: &Arc<ProductMemory>,
        ids: Vec<ProductId>,
    ) -> Result<Remembered, DomainError> {
        let mut found = HashMap::with_capacity(ids.len());
        let (mut loads, mut awaited) = (Vec::new(), Vec::new());
        for id in ids {
            if let Some(view) = memory.get(id) {
                found.insert(id, view);
                continue;
            }
            match memory.join(&ProductKey::Id(id)) {
                Join::Found(view) => drop(found.insert(id, view)),
                Join::Wait(load) => awaited.push(load),
                Join::Load(load) => loads.push((id, load)),
            }
        }
        let in_memory = found.len();
        if !loads.is_empty() {
            let read = self.read(|store| async move {
                let ids: Vec<ProductId> = loads.iter().map(|(id, _)| *id).collect();
                let read = store.get_many_products(&ids, &ProductStatus::ALL).await?;
                let read = read.into_iter().map(|view| (view.id(), view));
                let read: HashMap<ProductId, ProductView> = read.collect();
                for (id, load) in loads {
                    load.finish(read.get(&id).map(|view| (id, view)));
                }
                Ok(read)
            });
            found.extend(read.await?);
        }
        for load in awaited {
            let loaded = self.await_load(load).await?;
            found.extend(loaded.map(|view| (view.id(), view)));
        }
        Ok(Remembered {
            products: found,
            in_memory,
        })
    }

    async fn loaded(
        &self,
        memory: &Arc<ProductMemory>,
        key: ProductKey,
    ) -> Result<Option<ProductView>, DomainError> {
        if let ProductKey::Id(id) = key
            && let Some(view) = memory.get(id)
        {
            return Ok(Some(view));
        }
        match memory.join(&key) {
            Join::Found(view) => Ok(Some(view)),
            Join::Wait(load) => self.await_load(load).await,
            Join::Load(load) => {
                let read = self.read(|store| async move {
                    let found = store.look_up_product(load.key(), &ProductStatus::ALL);
                    let found = found.await?;
                    load.finish(found.as_ref().map(|view| (view.id(), view)));
                    Ok(found)
                });
                read.await
            }
        }
    }

    async fn await_load(&self, load: SharedLoad) -> Result<Option<ProductView>, DomainError> {
        let loaded = self.within_read_limit(load).await?;
        // The caller who read it has the reason.
        loaded.map_err(|_| DomainError::Unavailable(None))
    }
}
