//! The operations of one connection.

use std::{collections::HashMap, sync::Arc};

use tokio::{
    sync::mpsc,
    task::{AbortHandle, JoinSet},
};

use super::operation_sink::{OperationSink, OutgoingMessage};

/// The operations of one connection, each in its own task. Dropping this aborts them.
#[derive(Debug)]
pub(super) struct Operations {
    tasks: JoinSet<()>,
    open: HashMap<Arc<str>, Open>,
    started: u64,
    limit: usize,
    queue: mpsc::Sender<OutgoingMessage>,
}

/// An operation whose last message has not been sent yet.
#[derive(Debug)]
struct Open {
    number: u64,
    task: AbortHandle,
}

impl Operations {
    pub(super) fn new(limit: usize, queue: mpsc::Sender<OutgoingMessage>) -> Self {
        Self {
            tasks: JoinSet::new(),
            open: HashMap::new(),
            started: 0,
            limit,
            queue,
        }
    }

    /// Whether an operation with this id is open.
    pub(super) fn has(&self, id: &str) -> bool {
        self.open.contains_key(id)
    }

    /// Whether the limit of open operations is reached.
    pub(super) fn is_full(&self) -> bool {
        self.open.len() >= self.limit
    }

    /// Starts an operation. The limit must not be reached and the id must not be in use.
    ///
    /// Waits for aborted tasks that have not ended yet, so that starting and completing operations
    /// in turns does not accumulate tasks. Aborted tasks end at once.
    pub(super) async fn start<F>(&mut self, id: String, work: impl FnOnce(OperationSink) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        while self.tasks.len() >= self.limit && self.ended().await {}
        self.started += 1;
        let (id, number) = (Arc::<str>::from(id), self.started);
        let operation_sink = OperationSink {
            id: Arc::clone(&id),
            number,
            queue: self.queue.clone(),
        };
        let task = self.tasks.spawn(work(operation_sink));
        self.open.insert(id, Open { number, task });
    }

    /// Aborts an operation. An unknown id is not an error, because client and server may complete
    /// an operation at the same time.
    pub(super) fn stop(&mut self, id: &str) {
        if let Some(open) = self.open.remove(id) {
            open.task.abort();
        }
    }

    /// Whether a message belongs to an open operation. The last message frees the id of its
    /// operation.
    pub(super) fn accepts(&mut self, message: &OutgoingMessage) -> bool {
        let open = self.open.get(&message.id);
        let current = open.is_some_and(|open| open.number == message.number);
        if current && message.is_last {
            self.open.remove(&message.id);
        }
        current
    }

    /// Waits until a task has ended. Returns false if there is none.
    pub(super) async fn ended(&mut self) -> bool {
        self.tasks.join_next().await.is_some()
    }

    /// Aborts all operations and waits until their tasks have ended.
    pub(super) async fn end(&mut self) {
        self.open.clear();
        self.tasks.shutdown().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::mpsc;

    use super::{Operations, OutgoingMessage};

    fn message(number: u64) -> OutgoingMessage {
        OutgoingMessage {
            id: Arc::from("a"),
            number,
            text: "".into(),
            is_last: false,
        }
    }

    #[tokio::test]
    async fn messages_of_an_earlier_operation_with_the_same_id_are_not_delivered() {
        let (queue, _outgoing) = mpsc::channel(1);
        let mut operations = Operations::new(1, queue);
        operations
            .start("a".to_owned(), |_| std::future::pending())
            .await;
        assert!(operations.accepts(&message(1)));
        operations.stop("a");
        assert!(!operations.accepts(&message(1)));
        operations
            .start("a".to_owned(), |_| std::future::pending())
            .await;
        assert!(!operations.accepts(&message(1)));
        assert!(operations.accepts(&message(2)));
    }

    #[tokio::test]
    async fn aborted_operations_do_not_accumulate() {
        let (queue, _outgoing) = mpsc::channel(1);
        let mut operations = Operations::new(3, queue);
        for _ in 0..100 {
            operations
                .start("a".to_owned(), |_| std::future::pending())
                .await;
            operations.stop("a");
            assert!(operations.tasks.len() <= 3);
        }
        assert!(!operations.is_full());
    }
}
