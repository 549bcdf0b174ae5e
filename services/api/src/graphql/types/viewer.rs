//! The caller, as shown in the schema.

use async_graphql::{Enum, SimpleObject};
use vitrine_api_derive::Direct;

use crate::graphql::viewer;

/// A role that grants permissions beyond reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum, Direct)]
#[graphql(remote = "viewer::Role")]
pub(crate) enum Role {
    /// May write reviews and votes.
    Shopper,
    /// May moderate reviews.
    Moderator,
    /// May manage the catalogue.
    Admin,
    /// Another service, such as the order system.
    Service,
}

/// The caller, identified by the token of the request.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct Viewer {
    /// The token's subject, which is also the author id of the caller's reviews and votes.
    subject: String,
    /// The roles granted by the token.
    roles: Vec<Role>,
}

impl Viewer {
    /// The caller; `None` without a token.
    pub(crate) fn of(viewer: &viewer::Viewer) -> Option<Self> {
        let subject = viewer.subject.clone()?;
        let roles = viewer.roles.iter().copied().map(Role::from).collect();
        Some(Self { subject, roles })
    }
}
