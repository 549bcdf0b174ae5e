//! Commands that fail on purpose, by the server's `failCommand` fail point ("Fail points" in the
//! server's own documentation). For tests with a server of their own, see
//! [`crate::test_on_own_server`].

use mongodb::bson::{Bson, Document, doc};

use crate::App;

impl App {
    /// Makes the next `times` of these commands fail as `how` says: with an `errorCode`, or by
    /// `closeConnection`.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn fail_next(&self, times: i32, commands: &[&str], how: Document) {
        let mut data = doc! { "failCommands": commands.to_vec() };
        data.extend(how);
        self.fail_point(doc! { "mode": { "times": times }, "data": data })
            .await;
    }

    /// Lets the first `times` of these commands pass and makes the next one fail.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn fail_after(&self, times: i32, commands: &[&str], how: Document) {
        let mut data = doc! { "failCommands": commands.to_vec() };
        data.extend(how);
        self.fail_point(doc! { "mode": { "skip": times }, "data": data })
            .await;
    }

    /// Holds for ten seconds a command that `data` describes as the server does, and those after it;
    /// the first `passing` of them pass.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn hold_after(&self, passing: i32, data: Document) -> Held {
        let mut stuck = doc! { "blockConnection": true, "blockTimeMS": 10_000 };
        stuck.extend(data);
        let entered = self
            .fail_point(doc! { "mode": { "skip": passing }, "data": stuck })
            .await;
        Held {
            admin: self.direct().client().database("admin"),
            entered: entered + 1,
        }
    }

    /// Makes no command fail any longer. Waits for a command that is held.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn stop_failing(&self) {
        self.fail_point(doc! { "mode": "off" }).await;
    }

    /// Makes the primary step down. There is no other member, so it is elected again a moment
    /// later.
    pub async fn step_down(&self) {
        let admin = self.direct().client().database("admin");
        let down = doc! { "replSetStepDown": 1, "secondaryCatchUpPeriodSecs": 0, "force": true };
        // The connection may break.
        let _ = admin.run_command(down).await;
    }

    /// Makes the server abort abandoned transactions after two seconds instead of a minute: until
    /// then they conflict with other writers.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn expire_abandoned_transactions_soon(&self) {
        let admin = self.direct().client().database("admin");
        let soon = doc! { "setParameter": 1, "transactionLifetimeLimitSeconds": 2 };
        let set = admin.run_command(soon).await;
        set.expect("the server has the parameter");
    }

    /// Makes the server kill all sessions, and so abort all transactions. For moments in which
    /// nothing else is running.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn kill_abandoned_transactions(&self) {
        let admin = self.direct().client().database("admin");
        let ended = admin.run_command(doc! { "killAllSessions": [] }).await;
        ended.expect("the server ends sessions");
    }

    /// Returns the result of `during` while a top-level field of a product's document is damaged.
    ///
    /// # Panics
    /// When the product or the field does not exist.
    pub async fn with_damaged<T>(
        &self,
        slug: &str,
        field: &str,
        during: impl Future<Output = T>,
    ) -> T {
        let product = self.documents("products", doc! { "slug": slug }).await;
        let value = product[0].get(field).expect("the field exists").clone();
        let set = async |value: Bson| {
            let products = self.direct().collection::<Document>("products");
            products
                .update_one(doc! { "slug": slug }, doc! { "$set": { field: value } })
                .bypass_document_validation(true)
                .await
                .expect("the database writes");
        };
        set(Bson::Boolean(true)).await;
        let result = during.await;
        set(value).await;
        result
    }

    /// Sets the fail point; returns how often commands have entered it.
    async fn fail_point(&self, what: Document) -> i64 {
        let mut command = doc! { "configureFailPoint": "failCommand" };
        command.extend(what);
        let admin = self.direct().client().database("admin");
        let set = admin.run_command(command).await;
        let set = set.expect("the server has test commands");
        let entered = set.get("count").and_then(Bson::as_i64);
        entered.unwrap_or_default()
    }
}

/// A command that is held by the server as soon as a process sends it.
#[derive(Debug)]
pub struct Held {
    admin: mongodb::Database,
    entered: i64,
}

impl Held {
    /// Waits until the command is held. Returns false if the process that would send it has ended before.
    pub async fn is_reached(&self, mut has_ended: impl FnMut() -> bool) -> bool {
        let wait = doc! { "waitForFailPoint": "failCommand", "timesEntered": self.entered, "maxTimeMS": 500 };
        loop {
            if self.admin.run_command(wait.clone()).await.is_ok() {
                return true;
            }
            if has_ended() {
                return false;
            }
        }
    }
}
