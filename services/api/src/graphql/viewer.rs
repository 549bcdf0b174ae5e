//! The caller and the roles that grant permissions.

use vitrine_domain::products::Visibility;

use crate::execution::{ErrorCode, Failure};

/// A role that grants permissions beyond reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// May write reviews and votes.
    Shopper,
    /// May moderate reviews.
    Moderator,
    /// May manage the catalogue.
    Admin,
    /// Another service, such as the order system.
    Service,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 4] = [Self::Shopper, Self::Moderator, Self::Admin, Self::Service];

    /// Returns the name of the role in tokens.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shopper => "shopper",
            Self::Moderator => "moderator",
            Self::Admin => "admin",
            Self::Service => "service",
        }
    }

    /// Returns the role with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// The caller. Without a token it is anonymous and may read what is on sale.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Viewer {
    /// The token's subject; `None` for an anonymous caller.
    pub subject: Option<String>,
    /// The token's roles.
    pub roles: Vec<Role>,
}

impl Viewer {
    /// Returns true if the caller has the role.
    #[must_use]
    pub fn has(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    /// Returns true for moderators, admins and services.
    #[must_use]
    pub fn is_staff(&self) -> bool {
        let roles = [Role::Moderator, Role::Admin, Role::Service];
        roles.iter().any(|role| self.has(*role))
    }

    /// Returns the subject of an admin.
    ///
    /// # Errors
    /// [`ErrorCode::Unauthenticated`] for anonymous callers, [`ErrorCode::Forbidden`] for other
    /// roles.
    pub(crate) fn admin(&self) -> Result<&str, Failure> {
        let anonymous = "This needs the token of an admin.";
        self.with(&[Role::Admin], anonymous, "This needs the role admin.")
    }

    /// Returns the subject of a shopper. No other role will do, because the subject becomes the
    /// author of reviews and votes.
    ///
    /// # Errors
    /// As [`Viewer::admin`].
    pub(crate) fn shopper(&self) -> Result<&str, Failure> {
        let anonymous = "This needs the token of a shopper.";
        self.with(&[Role::Shopper], anonymous, "This needs the role shopper.")
    }

    /// Returns the subject of a moderator or admin.
    ///
    /// # Errors
    /// As [`Viewer::admin`].
    pub(crate) fn moderator(&self) -> Result<&str, Failure> {
        let anonymous = "This needs the token of a moderator.";
        let other = "This needs the role moderator or admin.";
        self.with(&[Role::Moderator, Role::Admin], anonymous, other)
    }

    /// Returns the subject of another service or of an admin.
    ///
    /// # Errors
    /// As [`Viewer::admin`].
    pub(crate) fn service(&self) -> Result<&str, Failure> {
        let anonymous = "This needs the token of a service.";
        let other = "This needs the role service or admin.";
        self.with(&[Role::Service, Role::Admin], anonymous, other)
    }

    fn with(
        &self,
        roles: &[Role],
        anonymous: &'static str,
        other: &'static str,
    ) -> Result<&str, Failure> {
        let Some(subject) = &self.subject else {
            return Err(Failure::new(ErrorCode::Unauthenticated, anonymous));
        };
        if roles.iter().any(|role| self.has(*role)) {
            Ok(subject)
        } else {
            Err(Failure::new(ErrorCode::Forbidden, other))
        }
    }

    /// Returns which products the caller may see.
    #[must_use]
    pub fn visibility(&self) -> Visibility {
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
    fn only_admins_pass_as_admin() {
        let viewer = |subject: Option<&str>, roles: &[Role]| Viewer {
            subject: subject.map(str::to_owned),
            roles: roles.to_vec(),
        };
        let refused = |viewer: Viewer| viewer.admin().map_err(|failure| failure.code()).err();
        assert_eq!(refused(viewer(None, &[])), Some(ErrorCode::Unauthenticated));
        // A role without a subject cannot come from a token.
        let anonymous = viewer(None, &[Role::Admin]);
        assert_eq!(refused(anonymous), Some(ErrorCode::Unauthenticated));
        for role in [Role::Shopper, Role::Moderator, Role::Service] {
            let ada = viewer(Some("ada"), &[role]);
            assert_eq!(refused(ada), Some(ErrorCode::Forbidden));
        }
        let ada = viewer(Some("ada"), &[Role::Shopper, Role::Admin]);
        assert_eq!(ada.admin().unwrap(), "ada");
    }

    #[test]
    fn each_role_grants_only_its_permissions() {
        let granted = |role: Role| {
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
        assert_eq!(granted(Role::Shopper), [true, false, false]);
        assert_eq!(granted(Role::Moderator), [false, true, false]);
        assert_eq!(granted(Role::Service), [false, false, true]);
        assert_eq!(granted(Role::Admin), [false, true, true]);
        let anonymous = Viewer::default();
        let refused = [
            anonymous.shopper(),
            anonymous.moderator(),
            anonymous.service(),
        ];
        for refused in refused {
            let code = refused.map_err(|failure| failure.code()).err();
            assert_eq!(code, Some(ErrorCode::Unauthenticated));
        }
    }
}
