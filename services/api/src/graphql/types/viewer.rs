//! Who asks, as the schema shows it.

use async_graphql::{Enum, SimpleObject};

use crate::graphql::viewer;

/// What a caller may do beside reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "viewer::Role")]
pub(crate) enum Role {
    /// Writes reviews and votes.
    Shopper,
    /// Decides over reviews.
    Moderator,
    /// Runs the catalogue.
    Admin,
    /// Another service, such as the order system.
    Service,
}

/// The bearer of the token that came with the request.
#[derive(Clone, Debug, SimpleObject)]
pub(crate) struct Viewer {
    /// The token's subject: the author of what the caller writes.
    subject: String,
    /// The token's roles.
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
