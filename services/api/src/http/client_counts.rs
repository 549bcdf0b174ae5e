//! How many things of one kind each client has: connections, web sockets, operations.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::graphql::Caller;

/// Counts things by client, up to a limit for each. Cheap to clone; clones share the counts.
#[derive(Clone, Debug)]
pub(super) struct ClientCounts(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limit: usize,
    /// Without clients that have nothing.
    counts: Mutex<HashMap<Caller, usize>>,
}

/// Counts one thing of a client until dropped.
#[derive(Debug)]
pub(super) struct ClientPlace {
    counts: ClientCounts,
    client: Caller,
}

impl ClientCounts {
    pub(super) fn new(limit: usize) -> Self {
        Self(Arc::new(Shared {
            limit,
            counts: Mutex::default(),
        }))
    }

    /// Counts one more thing of a client; returns `None` if the client has as many as it may.
    pub(super) fn enter(&self, client: &Caller) -> Option<ClientPlace> {
        let mut counts = self.0.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.get(client).copied().unwrap_or_default();
        if count >= self.0.limit {
            return None;
        }
        counts.insert(client.clone(), count + 1);
        Some(ClientPlace {
            counts: self.clone(),
            client: client.clone(),
        })
    }

    fn leave(&self, client: &Caller) {
        let mut counts = self.0.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(client) {
            *count -= 1;
            if *count == 0 {
                counts.remove(client);
            }
        }
    }
}

impl Drop for ClientPlace {
    fn drop(&mut self) {
        self.counts.leave(&self.client);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_a_limit_of_its_own_and_nothing_is_kept_of_those_who_left() {
        let counts = ClientCounts::new(2);
        let (ada, bob) = (Caller::Subject("ada".into()), Caller::Subject("bob".into()));
        let first = counts.enter(&ada).unwrap();
        let second = counts.enter(&ada).unwrap();
        assert!(counts.enter(&ada).is_none());
        let third = counts.enter(&bob).unwrap();
        drop(first);
        let fourth = counts.enter(&ada).unwrap();
        assert!(counts.enter(&ada).is_none());
        drop((second, third, fourth));
        assert!(counts.0.counts.lock().unwrap().is_empty());
    }
}
