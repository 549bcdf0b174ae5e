//! The caller and the roles that grant permissions.

use vitrine_domain::products::Visibility;

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

    /// Returns true for admins with a subject.
    #[must_use]
    pub(crate) fn is_admin(&self) -> bool {
        self.subject.is_some() && self.has(Role::Admin)
    }

    /// Returns true for moderators and admins, who see reviewed products in any status.
    #[must_use]
    pub(crate) fn moderates(&self) -> bool {
        self.subject.is_some() && (self.has(Role::Moderator) || self.has(Role::Admin))
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
