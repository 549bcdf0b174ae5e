//! The operations of one connection.

use std::{collections::HashMap, sync::Arc};

use tokio::{
    sync::mpsc,
    task::{AbortHandle, JoinSet},
};

use super::operation_sink::{Answer, OperationSink};

/// The operations of one connection, each in a task of its own; they end when this is dropped.
#[derive(Debug)]
pub(super) struct Operations {
    tasks: JoinSet<()>,
    open: HashMap<Arc<str>, Open>,
    started: u64,
    limit: usize,
    queue: mpsc::Sender<Answer>,
}

/// An operation whose client has not heard of its end yet.
#[derive(Debug)]
struct Open {
    number: u64,
    task: AbortHandle,
}

impl Operations {
    pub(super) fn new(limit: usize, queue: mpsc::Sender<Answer>) -> Self {
        Self {
            tasks: JoinSet::new(),
            open: HashMap::new(),
            started: 0,
            limit,
            queue,
        }
    }

    /// Whether there is an operation with this id.
    pub(super) fn has(&self, id: &str) -> bool {
        self.open.contains_key(id)
    }

    /// Whether there are as many operations as there may be.
    pub(super) fn is_full(&self) -> bool {
        self.open.len() >= self.limit
    }

    /// Starts an operation. The connection must have room for it and none with its id.
    ///
    /// Tasks of operations that the client has ended may still be there: this waits for them,
    /// so that starting and ending in turns does not pile them up. They end at once.
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

    /// Ends an operation whose client has lost interest. An unknown id is no error: both sides
    /// may end an operation at the same time.
    pub(super) fn stop(&mut self, id: &str) {
        if let Some(open) = self.open.remove(id) {
            open.task.abort();
        }
    }

    /// Whether a message is still of interest. After the last one its id is free again.
    pub(super) fn admits(&mut self, answer: &Answer) -> bool {
        let open = self.open.get(&answer.id);
        let current = open.is_some_and(|open| open.number == answer.number);
        if current && answer.is_last {
            self.open.remove(&answer.id);
        }
        current
    }

    /// Waits until the task of some operation has ended; `false` if there is none.
    pub(super) async fn ended(&mut self) -> bool {
        self.tasks.join_next().await.is_some()
    }

    /// Ends all operations and waits until their tasks are gone.
    pub(super) async fn end(&mut self) {
        self.open.clear();
        self.tasks.shutdown().await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::mpsc;

    use super::{Answer, Operations};

    fn answer(number: u64) -> Answer {
        Answer {
            id: Arc::from("a"),
            number,
            text: "".into(),
            is_last: false,
        }
    }

    #[tokio::test]
    async fn messages_of_an_earlier_operation_with_the_same_id_are_not_delivered() {
        let (queue, _answers) = mpsc::channel(1);
        let mut operations = Operations::new(1, queue);
        operations
            .start("a".to_owned(), |_| std::future::pending())
            .await;
        assert!(operations.admits(&answer(1)));
        operations.stop("a");
        assert!(!operations.admits(&answer(1)));
        operations
            .start("a".to_owned(), |_| std::future::pending())
            .await;
        assert!(!operations.admits(&answer(1)));
        assert!(operations.admits(&answer(2)));
    }

    #[tokio::test]
    async fn ended_operations_do_not_pile_up() {
        let (queue, _answers) = mpsc::channel(1);
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
