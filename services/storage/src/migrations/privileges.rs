//! Which privileges of a migration the database user lacks. Asked before the first step: a migration that stops halfway
//! has to be completed by another user.

use std::collections::BTreeSet;

use mongodb::bson::{Bson, Document, doc};

use super::{MigrationError, Plan, Step};
use crate::schema::desired;
use crate::{StorageError, Store};

/// What every migration does: it reads the schema and its records, takes the lock, and writes records.
const ALWAYS: [&str; 5] = ["find", "insert", "listCollections", "listIndexes", "update"];

impl Step {
    /// The privileges of this step, as the server calls the actions.
    fn actions(&self) -> &'static [&'static str] {
        match self {
            Self::Create(_) => &["createCollection", "createIndex"],
            Self::SetValidator(_) => &["collMod"],
            Self::BuildIndexes { .. } => &["createIndex"],
            Self::Apply { .. } => &["insert", "remove", "update"],
            Self::DropIndex { replaced, .. } if *replaced => &["createIndex", "dropIndex"],
            Self::DropIndex { .. } => &["dropIndex"],
        }
    }
}

impl Store {
    /// Asks whether the database user may do what a plan needs. Writes nothing.
    ///
    /// # Errors
    /// [`MigrationError::Privileges`] when the user may not.
    pub async fn check_privileges(&self, plan: &Plan, drops: bool) -> Result<(), MigrationError> {
        let dropped = plan.unwanted.iter().filter(|_| drops);
        let steps: Vec<&Step> = plan.steps.iter().chain(dropped).collect();
        if steps.is_empty() {
            return Ok(());
        }
        let ask = doc! { "connectionStatus": 1, "showPrivileges": true };
        let admin = self.client.database("admin");
        let status = admin.run_command(ask).await.map_err(StorageError::from)?;
        let mut needed: BTreeSet<&str> = ALWAYS.into_iter().collect();
        needed.extend(steps.iter().flat_map(|step| step.actions()));
        // The lock is taken before the plan is applied, and creates the collection that it is in.
        let is_lock = |step: &&Step| matches!(step, Step::Create(name) if name == "leases");
        if steps.iter().any(is_lock) {
            needed.insert("collMod");
        }
        let database = self.db.name();
        let lacking = lacking(&status, database, &needed);
        if lacking.is_empty() {
            return Ok(());
        }
        Err(MigrationError::Privileges {
            database: database.to_owned(),
            lacking: lacking.join(", "),
        })
    }
}

/// The needed actions that the users of a connection lack in some collection of this release.
fn lacking(status: &Document, database: &str, needed: &BTreeSet<&str>) -> Vec<String> {
    let Ok(info) = status.get_document("authInfo") else {
        return Vec::new();
    };
    let has_user = info
        .get_array("authenticatedUsers")
        .is_ok_and(|users| !users.is_empty());
    if !has_user {
        return Vec::new();
    }
    let granted = info
        .get_array("authenticatedUserPrivileges")
        .map_or(&[][..], Vec::as_slice);
    let collections = desired().into_iter().map(|schema| schema.collection);
    let collections: Vec<String> = collections.collect();
    let lacks = |action: &&str| {
        collections
            .iter()
            .any(|collection| !may(granted, database, collection, action))
    };
    let lacking = needed.iter().copied().filter(lacks);
    lacking.map(str::to_owned).collect()
}

/// Whether one of these privileges allows an action in a collection.
fn may(granted: &[Bson], database: &str, collection: &str, action: &str) -> bool {
    granted
        .iter()
        .filter_map(Bson::as_document)
        .any(|privilege| {
            let allows = privilege
                .get_array("actions")
                .is_ok_and(|actions| actions.iter().any(|one| one.as_str() == Some(action)));
            let resource = privilege.get_document("resource");
            allows && resource.is_ok_and(|resource| covers(resource, database, collection))
        })
}

/// Whether a resource includes a collection. An empty name stands for all.
fn covers(resource: &Document, database: &str, collection: &str) -> bool {
    let named = |field: &str, name: &str| {
        resource
            .get_str(field)
            .is_ok_and(|one| one.is_empty() || one == name)
    };
    resource.get_bool("anyResource").unwrap_or(false)
        || (named("db", database) && named("collection", collection))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(privileges: Vec<Document>) -> Document {
        doc! { "authInfo": {
            "authenticatedUsers": [{ "user": "ada", "db": "admin" }],
            "authenticatedUserPrivileges": privileges,
        } }
    }

    #[test]
    fn privileges_are_those_on_all_collections() {
        let needed = BTreeSet::from(["collMod", "find"]);
        let on = |db: &str, collection: &str, actions: &[&str]| {
            let actions: Vec<&str> = actions.to_vec();
            doc! { "resource": { "db": db, "collection": collection }, "actions": actions }
        };
        for (privileges, missing) in [
            (vec![], vec!["collMod", "find"]),
            (vec![on("shop", "", &["find"])], vec!["collMod"]),
            (vec![on("shop", "", &["find", "collMod"])], vec![]),
            (
                vec![on("", "", &["find"]), on("shop", "", &["collMod"])],
                vec![],
            ),
            (
                vec![on("other", "", &["find", "collMod"])],
                vec!["collMod", "find"],
            ),
            (
                vec![
                    on("shop", "", &["find"]),
                    on("shop", "products", &["collMod"]),
                ],
                vec!["collMod"],
            ),
            (
                vec![doc! { "resource": { "anyResource": true }, "actions": ["find", "collMod"] }],
                vec![],
            ),
        ] {
            assert_eq!(
                lacking(&status(privileges.clone()), "shop", &needed),
                missing,
                "{privileges:?}"
            );
        }
        let nobody =
            doc! { "authInfo": { "authenticatedUsers": [], "authenticatedUserPrivileges": [] } };
        assert_eq!(lacking(&nobody, "shop", &needed), [""; 0]);
    }
}
