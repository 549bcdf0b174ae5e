//! Who asks, and what they may do.

use vitrine_domain::products::Sight;

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

    /// What the caller may see.
    #[must_use]
    pub fn sight(&self) -> Sight {
        if self.has(Role::Admin) {
            Sight::Everything
        } else {
            Sight::Public
        }
    }
}
