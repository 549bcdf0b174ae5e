//! Checks for tests that every write of products is announced: compares the driver's command events with the
//! announcements ([`crate::product_writes`]).

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mongodb::bson::Document;
use mongodb::event::command::CommandEvent;
use vitrine_model::id::ProductId;

use crate::product_writes::{WrittenProducts, products_written};
use crate::store::transaction_id;

/// A product that was written; `None` for products that the command does not name.
type Written = Option<ProductId>;

type Transaction = (String, i64);

/// Writes of products and where they are on their way.
#[derive(Debug, Default)]
pub(crate) struct Unannounced(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Outside of transactions, without a reply; by request.
    sent: HashMap<i32, Vec<Written>>,
    /// In transactions that have not ended.
    open: HashMap<Transaction, Vec<Written>>,
    /// The transactions that are being committed, by request.
    commits: HashMap<i32, Transaction>,
    /// Replied to, but not announced.
    due: BTreeSet<Written>,
}

impl Unannounced {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows an event of the driver.
    pub(crate) fn observe(&self, event: &CommandEvent) {
        match event {
            CommandEvent::Started(event) => {
                self.state()
                    .sent(event.request_id, &event.command_name, &event.command);
            }
            CommandEvent::Succeeded(event) => self.state().replied(event.request_id),
            CommandEvent::Failed(event) => self.state().replied(event.request_id),
            _ => {}
        }
    }

    /// Follows an announcement.
    pub(crate) fn announced(&self, written: WrittenProducts<'_>) {
        let mut state = self.state();
        match written {
            WrittenProducts::Any => state.due.clear(),
            WrittenProducts::These(ids) => {
                for id in ids {
                    state.due.remove(&Some(*id));
                }
            }
        }
    }

    /// Returns what has to be announced.
    pub(crate) fn due(&self) -> Vec<String> {
        let state = self.state();
        let text = |one: &Written| one.map_or("unknown".to_owned(), |id| id.to_string());
        state.due.iter().map(text).collect()
    }
}

impl State {
    fn sent(&mut self, request: i32, name: &str, command: &Document) {
        let written = || match products_written(name, command) {
            Some(products) => products.into_iter().map(Some).collect(),
            None => vec![None],
        };
        let Some(transaction) = transaction_id(command) else {
            let written = written();
            if !written.is_empty() {
                self.sent.insert(request, written);
            }
            return;
        };
        match name {
            "commitTransaction" => drop(self.commits.insert(request, transaction)),
            "abortTransaction" => drop(self.open.remove(&transaction)),
            _ => {
                let open = self.open.entry(transaction).or_default();
                open.extend(written());
            }
        }
    }

    fn replied(&mut self, request: i32) {
        let written = self.sent.remove(&request).unwrap_or_default();
        self.due.extend(written);
        let committed = self.commits.remove(&request);
        let written = committed.and_then(|transaction| self.open.remove(&transaction));
        self.due.extend(written.unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::doc;

    use super::*;

    fn product(id: i64) -> ProductId {
        ProductId::from_i64(id)
    }

    fn update(filter: Document) -> Document {
        doc! { "update": "products", "updates": [{ "q": filter, "u": {} }] }
    }

    fn in_transaction(mut command: Document) -> Document {
        command.extend(doc! { "autocommit": false, "lsid": { "id": 5 }, "txnNumber": 1_i64 });
        command
    }

    #[test]
    fn a_write_is_due_once_it_is_replied_to() {
        let all = Unannounced::default();
        all.state()
            .sent(1, "update", &update(doc! { "_id": 7_i64 }));
        all.announced(WrittenProducts::These(&[product(7)]));
        all.state().replied(1);
        assert_eq!(all.due(), [product(7).to_string()], "that was too early");
        all.announced(WrittenProducts::These(&[product(7)]));
        assert!(all.due().is_empty());
    }

    #[test]
    fn a_transaction_is_due_once_it_is_committed() {
        let all = Unannounced::default();
        let write = in_transaction(update(doc! { "_id": { "$in": [7_i64, 8_i64] } }));
        let commit = in_transaction(doc! { "commitTransaction": 1 });
        all.state().sent(1, "update", &write);
        all.state().replied(1);
        assert!(all.due().is_empty());
        all.state().sent(2, "commitTransaction", &commit);
        all.state().replied(2);
        assert_eq!(all.due(), [product(7).to_string(), product(8).to_string()]);
        let abort = in_transaction(doc! { "abortTransaction": 1 });
        all.announced(WrittenProducts::Any);
        all.state().sent(3, "update", &write);
        all.state().sent(4, "abortTransaction", &abort);
        all.state().replied(4);
        assert!(all.due().is_empty());
    }
}
