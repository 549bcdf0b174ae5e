//! Categories.

use std::sync::Arc;

use async_graphql::{Context, ID, Object, SimpleObject};
use vitrine_api_derive::{Direct, direct};
use vitrine_domain::DomainError;
use vitrine_domain::reference::Reference;
use vitrine_model::category;
use vitrine_model::id::{CategoryId, GlobalId};

use super::common::count;
use crate::execution::{List, NullableAt as _, R};
use crate::graphql::context::ContextExt as _;
use crate::graphql::permissions;

#[derive(Clone)]
pub(crate) struct Category {
    reference: Arc<Reference>,
    category: category::Category,
}

impl Category {
    /// Returns the category with this id.
    pub(crate) fn of(reference: &Arc<Reference>, id: CategoryId) -> Option<Self> {
        reference
            .categories
            .get(id)
            .map(|category| Self::new(reference, category))
    }

    /// Returns the category with this slug.
    pub(crate) fn by_slug(reference: &Arc<Reference>, slug: &str) -> Option<Self> {
        reference
            .categories
            .by_slug(slug)
            .map(|category| Self::new(reference, category))
    }

    /// Returns the children of a category, or the top-level categories.
    pub(crate) fn below(reference: &Arc<Reference>, parent: Option<CategoryId>) -> Vec<Self> {
        let below = reference.categories.children(parent);
        below
            .map(|category| Self::new(reference, category))
            .collect()
    }

    /// Returns the categories that a search finds.
    pub(crate) fn found(
        reference: &Arc<Reference>,
        search: &str,
    ) -> Result<Vec<Self>, DomainError> {
        let found = reference.find_categories(search)?.into_iter();
        Ok(found
            .map(|category| Self::new(reference, category))
            .collect())
    }

    fn feed_path(&self, one: &category::FeedName) -> FeedPath {
        let tree = &self.reference.categories;
        let above = one.parent.and_then(|id| tree.get(id));
        let higher = above.map(|above| tree.ancestors(above.id));
        let higher = higher.into_iter().flatten().chain(above);
        let mut names: Vec<String> = higher.map(|category| category.name.clone()).collect();
        names.push(one.name.clone());
        FeedPath { names }
    }

    pub(crate) fn new(reference: &Arc<Reference>, category: &category::Category) -> Self {
        Self {
            reference: Arc::clone(reference),
            category: category.clone(),
        }
    }
}

/// A path by which feeds reach a category.
#[derive(Clone, Debug, SimpleObject, Direct)]
pub(crate) struct FeedPath {
    /// The names, from the top-level category down.
    names: Vec<String>,
}

/// A category of products.
#[direct]
#[Object]
impl Category {
    /// The global id of the category.
    pub(crate) fn id(&self) -> ID {
        GlobalId::Category(self.category.id).encode().into()
    }

    /// The part of the URL that identifies the category; unique.
    fn slug(&self) -> &str {
        &self.category.slug
    }

    /// The name of the category.
    fn name(&self) -> &str {
        &self.category.name
    }

    /// The revision. Increases with every change of slug, name or parent.
    fn revision(&self) -> i32 {
        count(self.category.revision)
    }

    /// The names from the top-level category down to this one.
    fn path(&self) -> Vec<String> {
        let above = self.reference.categories.ancestors(self.category.id);
        above
            .into_iter()
            .chain([&self.category])
            .map(|category| category.name.clone())
            .collect()
    }

    /// The paths of names by which feeds reach this category, besides its own: those that it had before it was renamed or
    /// moved, and those that an admin has set. They come before the names of other categories. Visible to admins, null
    /// for others.
    fn feed_paths(&self, ctx: &Context<'_>) -> Option<List<FeedPath>> {
        if !permissions::has_role(ctx, "Category") {
            return None;
        }
        let names = self.category.feed_names.iter();
        Some(names.map(|one| self.feed_path(one)).collect())
    }

    /// The ancestors, from the top-level category down to the parent.
    fn ancestors(&self) -> List<Category> {
        let above = self.reference.categories.ancestors(self.category.id);
        above
            .into_iter()
            .map(|category| Self::new(&self.reference, category))
            .collect()
    }

    /// The parent category; null for a top-level category.
    fn parent(&self) -> Option<Category> {
        let parent = self.reference.categories.parent(self.category.id);
        parent.map(|category| Self::new(&self.reference, category))
    }

    /// The direct subcategories, sorted by name.
    fn children(&self) -> List<Category> {
        Self::below(&self.reference, Some(self.category.id)).into()
    }

    /// The number of products in this category and its subcategories that the caller may see;
    /// always exact. One database query for all categories of a request.
    async fn product_count(&self, ctx: &Context<'_>) -> Option<R<i32>> {
        let found = ctx.session().loaders.product_count(self.category.id).await;
        found.map(|n| n.map(count)).nullable_at(ctx)
    }
}
