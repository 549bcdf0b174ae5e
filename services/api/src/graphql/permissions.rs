//! Who may use which field: one table for all root fields, and for the fields that show something
//! to some callers only.
//!
//! Resolvers take their check from this table by the name of the field that is being resolved. The
//! schema for routers tags the fields of the shop from it, and `docs/operations.md` shows it.

use async_graphql::Context;

use super::context::ContextExt as _;
use super::viewer::{Role, Viewer};
use crate::execution::{ErrorCode, Failure};

/// Who may use a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Every caller, also without a token.
    Everyone,
    /// Callers with one of these roles. Others get `UNAUTHENTICATED` without a token and
    /// `FORBIDDEN` with one.
    Roles(&'static [Role]),
    /// Callers with one of these roles. Others get null.
    ShownTo(&'static [Role]),
    /// The author of the object, and callers with one of these roles. Others get null.
    AuthorAnd(&'static [Role]),
    /// Callers with one of these roles get an exact number, others a rounded one.
    ExactFor(&'static [Role]),
    /// Every caller with a token, about itself; null without a token.
    Own,
}

use Access::{AuthorAnd, Everyone, ExactFor, Own, Roles, ShownTo};

const ADMINS: &[Role] = &[Role::Admin];
const MODERATORS: &[Role] = &[Role::Moderator, Role::Admin];
const SERVICES: &[Role] = &[Role::Service, Role::Admin];
const SHOPPERS: &[Role] = &[Role::Shopper];

/// All root fields, and all fields that do not show everybody the same, by type and field. Fields
/// of the interface `Product` stand for those of all kinds.
pub const PERMISSIONS: &[(&str, Access)] = &[
    ("Query.auditFindings", Roles(ADMINS)),
    ("Query.bulkChange", Roles(ADMINS)),
    ("Query.bulkChanges", Roles(ADMINS)),
    ("Query.categories", Everyone),
    ("Query.category", Everyone),
    ("Query.dataVersions", Roles(ADMINS)),
    ("Query.exportAuthor", Roles(ADMINS)),
    ("Query.fairnessReport", Roles(MODERATORS)),
    ("Query.history", Roles(ADMINS)),
    ("Query.import", Roles(ADMINS)),
    ("Query.imports", Roles(ADMINS)),
    ("Query.moderationCounts", Roles(MODERATORS)),
    ("Query.moderationQueue", Roles(MODERATORS)),
    ("Query.node", Everyone),
    ("Query.nodes", Everyone),
    ("Query.product", Everyone),
    ("Query.products", Everyone),
    ("Query.ratingStatsAudit", Roles(ADMINS)),
    ("Query.searchSuggestions", Everyone),
    ("Query.specKey", Everyone),
    ("Query.specKeys", Everyone),
    ("Query.suggestedSpecKeys", Everyone),
    ("Query.supplier", Everyone),
    ("Query.suppliers", Everyone),
    ("Query.trending", Everyone),
    ("Query.units", Everyone),
    ("Query.viewer", Own),
    ("Query.workers", Roles(ADMINS)),
    ("Mutation.archiveProduct", Roles(ADMINS)),
    ("Mutation.createCategory", Roles(ADMINS)),
    ("Mutation.createProduct", Roles(ADMINS)),
    ("Mutation.createSupplier", Roles(ADMINS)),
    ("Mutation.defineReviewDimensions", Roles(ADMINS)),
    ("Mutation.defineSpecKey", Roles(ADMINS)),
    ("Mutation.defineUnit", Roles(ADMINS)),
    ("Mutation.deleteReview", Roles(SHOPPERS)),
    ("Mutation.editReview", Roles(SHOPPERS)),
    ("Mutation.eraseAuthor", Roles(ADMINS)),
    ("Mutation.mergeCategories", Roles(ADMINS)),
    ("Mutation.mergeSpecKeys", Roles(ADMINS)),
    ("Mutation.moderateReview", Roles(MODERATORS)),
    ("Mutation.recordActivity", Everyone),
    ("Mutation.recordPurchase", Roles(SERVICES)),
    ("Mutation.releaseFields", Roles(ADMINS)),
    ("Mutation.removeSpecs", Roles(ADMINS)),
    ("Mutation.removeVote", Roles(SHOPPERS)),
    ("Mutation.repairRatingStats", Roles(ADMINS)),
    ("Mutation.replyToReview", Roles(MODERATORS)),
    ("Mutation.reportReview", Roles(SHOPPERS)),
    ("Mutation.restoreProduct", Roles(ADMINS)),
    ("Mutation.revertCategory", Roles(ADMINS)),
    ("Mutation.revertProduct", Roles(ADMINS)),
    ("Mutation.revertSpecKey", Roles(ADMINS)),
    ("Mutation.setSpecs", Roles(ADMINS)),
    ("Mutation.startBulkChange", Roles(ADMINS)),
    ("Mutation.startImport", Roles(ADMINS)),
    ("Mutation.stopBulkChange", Roles(ADMINS)),
    ("Mutation.stopImport", Roles(ADMINS)),
    ("Mutation.submitReview", Roles(SHOPPERS)),
    ("Mutation.updateCategory", Roles(ADMINS)),
    ("Mutation.updateProduct", Roles(ADMINS)),
    ("Mutation.updateSpecKey", Roles(ADMINS)),
    ("Mutation.updateSupplier", Roles(ADMINS)),
    ("Mutation.voteReview", Roles(SHOPPERS)),
    ("Subscription.ratingChanged", Everyone),
    ("Subscription.reviewAdded", Everyone),
    ("Category.feedPaths", ShownTo(ADMINS)),
    ("Product.activity", ShownTo(SERVICES)),
    ("Product.feeds", ShownTo(ADMINS)),
    ("Product.outlier", ShownTo(ADMINS)),
    ("Product.overrides", ShownTo(ADMINS)),
    ("Product.viewerReview", Own),
    ("ProductCounters.unitsSold", ExactFor(SERVICES)),
    ("ProductCounters.unitsSoldInMonth", ExactFor(SERVICES)),
    ("Review.moderation", ShownTo(MODERATORS)),
    ("Review.queueReason", ShownTo(MODERATORS)),
    ("Review.queuedSince", ShownTo(MODERATORS)),
    ("Review.reports", ShownTo(MODERATORS)),
    ("Review.versions", AuthorAnd(MODERATORS)),
    ("Review.viewerVote", Own),
    ("ReviewReply.by", ShownTo(MODERATORS)),
    ("Supplier.propagation", ShownTo(ADMINS)),
    ("Supplier.source", ShownTo(ADMINS)),
];

/// Returns who may use a field, named by type and field.
#[must_use]
pub fn access(field: &str) -> Option<Access> {
    let mut rows = PERMISSIONS.iter();
    rows.find(|(name, _)| *name == field)
        .map(|(_, access)| *access)
}

impl Access {
    /// Returns true if only callers with a role of the shop get anything from the field.
    #[must_use]
    pub fn is_for_staff(self) -> bool {
        match self {
            Roles(roles) | ShownTo(roles) => !roles.contains(&Role::Shopper),
            Everyone | AuthorAnd(_) | ExactFor(_) | Own => false,
        }
    }

    /// Returns the roles that the field is for; none if it is for all callers.
    #[must_use]
    pub fn roles(self) -> &'static [Role] {
        match self {
            Roles(roles) | ShownTo(roles) | AuthorAnd(roles) | ExactFor(roles) => roles,
            Everyone | Own => &[],
        }
    }
}

/// Returns the subject of the caller of the root field that is being resolved. `root` is the type
/// of the field.
///
/// # Errors
/// [`ErrorCode::Unauthenticated`] for anonymous callers, [`ErrorCode::Forbidden`] for callers
/// without the role.
pub(super) fn subject<'a>(ctx: &'a Context<'_>, root: &str) -> Result<&'a str, Failure> {
    permitted(&ctx.session().viewer, &name_of(ctx, root))
}

/// Whether the caller has a role that the field which is being resolved is for. `parent` is the
/// type of the field in the table.
pub(super) fn has_role(ctx: &Context<'_>, parent: &str) -> bool {
    may_use(ctx, &name_of(ctx, parent))
}

/// Whether the caller has a role that a field is for, named by type and field.
pub(super) fn may_use(ctx: &Context<'_>, field: &str) -> bool {
    permitted(&ctx.session().viewer, field).is_ok()
}

fn name_of(ctx: &Context<'_>, parent: &str) -> String {
    format!("{parent}.{}", ctx.item.node.name.node)
}

fn permitted<'a>(viewer: &'a Viewer, field: &str) -> Result<&'a str, Failure> {
    let Some(access) = access(field) else {
        return Err(Failure::internal(format!("nobody may use {field}")));
    };
    let roles = access.roles();
    let Some(subject) = &viewer.subject else {
        let message = format!("This needs the token of {}.", with_article(roles));
        return Err(Failure::new(ErrorCode::Unauthenticated, message));
    };
    if roles.iter().any(|role| viewer.has(*role)) {
        return Ok(subject);
    }
    let names: Vec<_> = roles.iter().map(|role| role.name()).collect();
    let message = format!("This needs the role {}.", names.join(" or "));
    Err(Failure::new(ErrorCode::Forbidden, message))
}

fn with_article(roles: &[Role]) -> &'static str {
    match roles.first() {
        Some(Role::Shopper) => "a shopper",
        Some(Role::Moderator) => "a moderator",
        Some(Role::Admin) => "an admin",
        Some(Role::Service) => "a service",
        None => "a caller",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use apollo_compiler::Schema;

    use super::*;

    fn viewer(subject: Option<&str>, roles: &[Role]) -> Viewer {
        Viewer {
            subject: subject.map(str::to_owned),
            roles: roles.to_vec(),
        }
    }

    #[test]
    fn a_refusal_names_the_roles() {
        let refusal = |viewer: &Viewer, field: &str| {
            let failure = permitted(viewer, field).unwrap_err();
            (failure.code(), failure.message().to_owned())
        };
        let (nobody, ada) = (viewer(None, &[]), viewer(Some("ada"), &[Role::Shopper]));
        let queue = "Query.moderationQueue";
        assert_eq!(
            refusal(&nobody, queue),
            (
                ErrorCode::Unauthenticated,
                "This needs the token of a moderator.".to_owned()
            )
        );
        assert_eq!(
            refusal(&ada, queue),
            (
                ErrorCode::Forbidden,
                "This needs the role moderator or admin.".to_owned()
            )
        );
        // A role without a subject cannot come from a token.
        let anonymous = viewer(None, &[Role::Admin]);
        assert_eq!(refusal(&anonymous, queue).0, ErrorCode::Unauthenticated);
        assert_eq!(refusal(&ada, "Query.nowhere").0, ErrorCode::Internal);
        let ada = viewer(Some("ada"), &[Role::Shopper, Role::Admin]);
        assert_eq!(permitted(&ada, queue).unwrap(), "ada");
        assert_eq!(permitted(&ada, "Mutation.submitReview").unwrap(), "ada");
    }

    /// A new root field without a row fails here, and so does a row without a field.
    #[test]
    fn every_root_field_has_a_row_and_every_row_a_field() {
        let engine = crate::graphql::described::engine();
        let schema = Schema::parse_and_validate(engine.sdl(), "schema.graphql").unwrap();
        let rows: BTreeSet<_> = PERMISSIONS.iter().map(|(field, _)| *field).collect();
        assert_eq!(rows.len(), PERMISSIONS.len(), "a field has two rows");
        for root in ["Query", "Mutation", "Subscription"] {
            for field in schema.get_object(root).unwrap().fields.keys() {
                let name = format!("{root}.{field}");
                assert!(rows.contains(name.as_str()), "{name} has no row");
            }
        }
        for row in rows {
            let (parent, field) = row.split_once('.').unwrap();
            assert!(schema.type_field(parent, field).is_ok(), "{row}");
        }
    }

    /// What a field shows to whom is in its description, in fixed words.
    #[test]
    fn fields_for_some_callers_have_a_row() {
        let engine = crate::graphql::described::engine();
        let schema = Schema::parse_and_validate(engine.sdl(), "schema.graphql").unwrap();
        for object in schema.types.values().filter_map(|ty| ty.as_object()) {
            let is_product = object.implements_interfaces.contains("Product");
            let parent = if is_product {
                "Product"
            } else {
                object.name.as_str()
            };
            for (field, definition) in &object.fields {
                let text = definition.description.as_deref().unwrap_or_default();
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                let restricted = [
                    "isible to",
                    "null for others",
                    "null without a token",
                    "exact for",
                ];
                if restricted.iter().any(|words| text.contains(words)) {
                    let name = format!("{parent}.{field}");
                    assert!(access(&name).is_some(), "{name} has no row");
                }
            }
        }
    }
}
