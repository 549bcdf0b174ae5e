//! Who asks, and what they may do.

use vitrine_domain::products::Visibility;

use crate::execution::{ErrorCode, Failure};

/// What a caller may do beside reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Writes reviews and votes.
    Shopper,
    /// Decides over reviews.
    Moderator,
    /// Runs the catalogue.
    Admin,
    /// Another service, such as the order system.
    Service,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 4] = [Self::Shopper, Self::Moderator, Self::Admin, Self::Service];

    /// The name that tokens carry.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shopper => "shopper",
            Self::Moderator => "moderator",
            Self::Admin => "admin",
            Self::Service => "service",
        }
    }

    /// The role with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// Who asks. Without a token: nobody in particular, who may read what is on sale.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Viewer {
    /// The token's subject.
    pub subject: Option<String>,
    /// The token's roles.
    pub roles: Vec<Role>,
}

impl Viewer {
    /// Whether the caller has a role.
    #[must_use]
    pub fn has(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    /// The subject of a caller who runs the catalogue.
    ///
    /// # Errors
    /// [`ErrorCode::Unauthenticated`] for strangers, [`ErrorCode::Forbidden`] for others.
    pub(crate) fn admin(&self) -> Result<&str, Failure> {
        let stranger = "This needs the token of an admin.";
        self.with(&[Role::Admin], stranger, "This needs the role admin.")
    }

    /// The subject of a caller who writes reviews and votes. They are the author of what they
    /// write, so no other role will do.
    ///
    /// # Errors
    /// As [`Viewer::admin`].
    pub(crate) fn shopper(&self) -> Result<&str, Failure> {
        let stranger = "This needs the token of a shopper.";
        self.with(&[Role::Shopper], stranger, "This needs the role shopper.")
    }

    /// The subject of a caller who decides over reviews.
    ///
    /// # Errors
    /// As [`Viewer::admin`].
    pub(crate) fn moderator(&self) -> Result<&str, Failure> {
        let stranger = "This needs the token of a moderator.";
        let other = "This needs the role moderator or admin.";
        self.with(&[Role::Moderator, Role::Admin], stranger, other)
    }

    /// The subject of a caller who is another service, or runs the catalogue.
    ///
    /// # Errors
    /// As [`Viewer::admin`].
    pub(crate) fn service(&self) -> Result<&str, Failure> {
        let stranger = "This needs the token of a service.";
        let other = "This needs the role service or admin.";
        self.with(&[Role::Service, Role::Admin], stranger, other)
    }

    fn with(
        &self,
        roles: &[Role],
        stranger: &'static str,
        other: &'static str,
    ) -> Result<&str, Failure> {
        let Some(subject) = &self.subject else {
            return Err(Failure::new(ErrorCode::Unauthenticated, stranger));
        };
        if roles.iter().any(|role| self.has(*role)) {
            Ok(subject)
        } else {
            Err(Failure::new(ErrorCode::Forbidden, other))
        }
    }

    /// What the caller may see.
    #[must_use]
    pub fn sight(&self) -> Visibility {
        if self.has(Role::Admin) {
            Visibility::Everything
        } else {
            Visibility::Public
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_admins_run_the_catalogue() {
        let viewer = |subject: Option<&str>, roles: &[Role]| Viewer {
            subject: subject.map(str::to_owned),
            roles: roles.to_vec(),
        };
        let refused = |viewer: Viewer| viewer.admin().map_err(|failure| failure.code()).err();
        assert_eq!(refused(viewer(None, &[])), Some(ErrorCode::Unauthenticated));
        // A role without a subject cannot come from a token.
        let nobody = viewer(None, &[Role::Admin]);
        assert_eq!(refused(nobody), Some(ErrorCode::Unauthenticated));
        for role in [Role::Shopper, Role::Moderator, Role::Service] {
            let ada = viewer(Some("ada"), &[role]);
            assert_eq!(refused(ada), Some(ErrorCode::Forbidden));
        }
        let ada = viewer(Some("ada"), &[Role::Shopper, Role::Admin]);
        assert_eq!(ada.admin().unwrap(), "ada");
    }

    #[test]
    fn roles_open_what_they_are_for() {
        let open = |role: Role| {
            let viewer = Viewer {
                subject: Some("ada".to_owned()),
                roles: vec![role],
            };
            [
                viewer.shopper().is_ok(),
                viewer.moderator().is_ok(),
                viewer.service().is_ok(),
            ]
        };
        assert_eq!(open(Role::Shopper), [true, false, false]);
        assert_eq!(open(Role::Moderator), [false, true, false]);
        assert_eq!(open(Role::Service), [false, false, true]);
        assert_eq!(open(Role::Admin), [false, true, true]);
        let stranger = Viewer::default();
        let refused = [stranger.shopper(), stranger.moderator(), stranger.service()];
        for refused in refused {
            let code = refused.map_err(|failure| failure.code()).err();
            assert_eq!(code, Some(ErrorCode::Unauthenticated));
        }
    }
}
