//! Creating, renaming, moving and merging categories. Products refer to them by an immutable id, so no
//! product is written.

use std::collections::HashMap;

use vitrine_model::category::{
    Category, CategoryTree, FeedName, MAX_CATEGORY_DEPTH, MAX_FEED_NAMES, find_by_feed_name,
};
use vitrine_model::history::HistoryOf;
use vitrine_model::id::CategoryId;
use vitrine_model::text::{collapse, excerpt, fold};
use vitrine_storage::StorageError;
use vitrine_storage::write::WriteUnit;

use super::commands::{Attempt, Change, Command, Step};
use super::reverts::{category_patch, not_kept, of_revision};
use super::{CategoryPatch, MutationRequest, NewCategory};
use crate::import::categories::free_slug;
use crate::limits::{self, MAX_LABEL_CHARACTERS};
use crate::outcome::{Outcome, UserError, UserErrorCode, ValidationErrors};
use crate::{Catalog, DomainError};

impl Catalog {
    /// Creates a category.
    pub async fn create_category(
        &self,
        request: MutationRequest,
        new: NewCategory,
    ) -> Result<Outcome<Category>, DomainError> {
        let create = CreateCategory {
            id: CategoryId::random(),
            new: new.clone(),
        };
        self.execute(request, ("createCategory", "", &new), create)
            .await
    }

    /// Renames or moves a category. No product is written.
    pub async fn update_category(
        &self,
        request: MutationRequest,
        id: CategoryId,
        patch: CategoryPatch,
    ) -> Result<Outcome<Category>, DomainError> {
        let named = ("updateCategory", &*id.to_string(), &patch);
        let update = UpdateCategory {
            id,
            edit: CategoryEdit::Patch(patch.clone()),
        };
        self.execute(request, named, update).await
    }

    /// Merges one category into another: its products, subcategories and the words of feeds are the
    /// other's from then on. No product is written.
    pub async fn merge_categories(
        &self,
        request: MutationRequest,
        from: CategoryId,
        into: CategoryId,
    ) -> Result<Outcome<Category>, DomainError> {
        let named = ("mergeCategories", &*from.to_string(), &into.to_string());
        self.execute(request, named, MergeCategories { from, into })
            .await
    }
}

struct MergeCategories {
    from: CategoryId,
    into: CategoryId,
}

struct CreateCategory {
    id: CategoryId,
    new: NewCategory,
}

pub(super) struct UpdateCategory {
    pub(super) id: CategoryId,
    pub(super) edit: CategoryEdit,
}

pub(super) enum CategoryEdit {
    Patch(CategoryPatch),
    /// Restores this revision.
    Revert(i64),
}

impl Command for CreateCategory {
    type Answer = Category;

    async fn attempt(
        &self,
        unit: &mut WriteUnit,
        at: &Attempt,
    ) -> Result<Step<Category>, StorageError> {
        let tree = CategoryTree::new(unit.categories().await?);
        let category = match create(self.id, &self.new, &tree) {
            Ok(category) => category,
            Err(refusals) => return Ok(Step::refused(refusals, None)),
        };
        match unit.insert_category(&category).await {
            // Another writer has inserted a category with this slug.
            Err(StorageError::Conflict { .. }) => Ok(Step::Retry),
            inserted => {
                inserted?;
                let of = HistoryOf::Category(category.id);
                unit.record_created(&of, &at.by, at.now).await?;
                Ok(Step::done(category, Change::Reference))
            }
        }
    }
}

impl Command for UpdateCategory {
    type Answer = Category;

    async fn attempt(
        &self,
        unit: &mut WriteUnit,
        at: &Attempt,
    ) -> Result<Step<Category>, StorageError> {
        let tree = CategoryTree::new(unit.categories().await?);
        let Some(before) = tree.get(self.id) else {
            let message = "there is no such category";
            let refusal = UserError::new(UserErrorCode::NotFound, &[&"id"], message);
            return Ok(Step::refuse(refusal, None));
        };
        if let Some(refusal) = at.stale("category", before.revision) {
            return Ok(Step::refuse(refusal, Some(before.clone())));
        }
        let updated = match &self.edit {
            CategoryEdit::Patch(patch) => update(before, patch, &tree),
            CategoryEdit::Revert(revision) => {
                let earlier = unit.earlier_category(before, *revision, at.now).await?;
                earlier.map_or_else(
                    || Err(vec![not_kept("category", *revision, before.revision)]),
                    |earlier| {
                        let updated = update(before, &category_patch(earlier, &tree), &tree);
                        updated.map_err(of_revision)
                    },
                )
            }
        };
        let mut after = match updated {
            Ok(after) => after,
            Err(refusals) => return Ok(Step::refused(refusals, Some(before.clone()))),
        };
        if after == *before {
            return Ok(Step::done(after, Change::Nothing));
        }
        after.revision += 1;
        match unit.replace_category(&after, before.revision).await {
            Ok(true) => {
                let by = match self.edit {
                    CategoryEdit::Patch(_) => at.by.clone(),
                    CategoryEdit::Revert(revision) => at.by.reverting_to(revision),
                };
                unit.record_category_change(before, &after, (&by, at.now))
                    .await?;
                Ok(Step::done(after, Change::Reference))
            }
            Ok(false) | Err(StorageError::Conflict { .. }) => Ok(Step::Retry),
            Err(error) => Err(error),
        }
    }
}

impl Command for MergeCategories {
    type Answer = Category;

    async fn attempt(
        &self,
        unit: &mut WriteUnit,
        at: &Attempt,
    ) -> Result<Step<Category>, StorageError> {
        let tree = CategoryTree::new(unit.categories().await?);
        let found = [("from", self.from), ("into", self.into)].map(|(field, id)| {
            tree.get(id).ok_or_else(|| {
                let message = "there is no such category";
                UserError::new(UserErrorCode::NotFound, &[&field], message)
            })
        });
        let (from, into) = match found {
            [Ok(from), Ok(into)] => (from, into),
            found => {
                let refusals = found.into_iter().filter_map(Result::err).collect();
                return Ok(Step::refused(refusals, None));
            }
        };
        if let Some(refusal) = at.stale("category", into.revision) {
            return Ok(Step::refuse(refusal, Some(into.clone())));
        }
        if from.id == into.id && self.from != self.into {
            return Ok(Step::done(into.clone(), Change::Nothing));
        }
        let (gone, kept) = match merge(from, into, &tree) {
            Ok(merged) => merged,
            Err(refusals) => return Ok(Step::refused(refusals, Some(into.clone()))),
        };
        for (before, after) in [(from, &gone), (into, &kept)] {
            if !unit.replace_category(after, before.revision).await? {
                return Ok(Step::Retry);
            }
            unit.record_category_change(before, after, (&at.by, at.now))
                .await?;
        }
        Ok(Step::done(kept, Change::Reference))
    }
}

/// Returns both categories as they are after one was merged into the other.
fn merge(
    from: &Category,
    into: &Category,
    tree: &CategoryTree,
) -> Result<(Category, Category), Vec<UserError>> {
    let mut errors = ValidationErrors::default();
    check_merge(from, into, tree, &mut errors);
    let place = FeedName {
        parent: from.parent,
        name: from.name.clone(),
    };
    let mut kept = into.clone();
    let leads_elsewhere = |one: &FeedName| {
        let mut others = tree.all().iter().filter(|other| other.id != from.id);
        others.any(|other| {
            other
                .feed_names
                .iter()
                .any(|name| name.is(one.parent, &one.name))
        })
    };
    for one in from.feed_names.iter().chain([&place]) {
        if !one.is(kept.parent, &kept.name) && !leads_elsewhere(one) {
            kept.feed_names.push(one.clone());
        }
    }
    let fits = limits::ensure(kept.feed_names.len() <= MAX_FEED_NAMES, || {
        let paths = kept.feed_names.len();
        format!("feeds would reach it by {paths} paths; {MAX_FEED_NAMES} are possible, remove some")
    });
    errors.cap(&[&"into"], fits);
    if !errors.is_empty() {
        return Err(errors.0);
    }
    kept.revision += 1;
    let gone = Category {
        feed_names: Vec::new(),
        merged_into: Some(into.id),
        revision: from.revision + 1,
        ..from.clone()
    };
    Ok((gone, kept))
}

/// Checks the places of categories that are to be merged: subcategories keep theirs.
fn check_merge(
    from: &Category,
    into: &Category,
    tree: &CategoryTree,
    errors: &mut ValidationErrors,
) {
    if from.id == into.id {
        errors.invalid(&[&"into"], "a category cannot be merged into itself");
        return;
    }
    if tree.would_cycle(from.id, into.id) {
        let message = format!(
            "{:?} is below {:?}: merge in the other direction, or move it first",
            into.name, from.name
        );
        errors.invalid(&[&"into"], message);
        return;
    }
    let depth = tree.depth(into.id) + tree.height(from.id) - 1;
    let fits = limits::ensure(depth <= MAX_CATEGORY_DEPTH, || {
        format!(
            "the subcategories would be nested {depth} levels deep; at most {MAX_CATEGORY_DEPTH} are allowed"
        )
    });
    errors.cap(&[&"into"], fits);
    let kept: HashMap<String, &Category> = tree
        .children(Some(into.id))
        .filter(|child| child.id != from.id)
        .map(|child| (fold(&child.name), child))
        .collect();
    let twice = tree
        .children(Some(from.id))
        .find(|child| kept.contains_key(&fold(&child.name)));
    if let Some(child) = twice {
        let message = format!(
            "both have a subcategory {:?}: merge these first, or rename one",
            child.name
        );
        errors.taken(&[&"from"], message);
    }
}

fn create(
    id: CategoryId,
    new: &NewCategory,
    tree: &CategoryTree,
) -> Result<Category, Vec<UserError>> {
    let mut errors = ValidationErrors::default();
    let parent = match &new.parent {
        None => None,
        Some(slug) => find_parent(slug, tree, &mut errors),
    };
    let name = collapse(&new.name);
    let above = parent.and_then(|id| tree.get(id));
    let slug = new.slug.clone().unwrap_or_else(|| {
        let taken = |slug: &str| tree.by_slug(slug).is_some();
        free_slug(&name, above.map(|above| above.slug.as_str()), taken)
    });
    let category = Category::new(id, &slug, &name, parent);
    check(&category, tree, &mut errors);
    if errors.is_empty() {
        Ok(category)
    } else {
        Err(errors.0)
    }
}

fn update(
    before: &Category,
    patch: &CategoryPatch,
    tree: &CategoryTree,
) -> Result<Category, Vec<UserError>> {
    let mut errors = ValidationErrors::default();
    let mut after = before.clone();
    if let Some(name) = &patch.name {
        after.name = collapse(name);
    }
    if let Some(slug) = &patch.slug {
        after.slug.clone_from(slug);
    }
    match &patch.parent {
        None => {}
        Some(None) => after.parent = None,
        Some(Some(slug)) => after.parent = find_parent(slug, tree, &mut errors),
    }
    if let Some(paths) = &patch.feed_paths {
        after.feed_names = feed_names(&after, paths, tree, &mut errors);
    }
    check(&after, tree, &mut errors);
    keep_feed_name(before, &mut after, tree, &mut errors);
    if errors.is_empty() {
        Ok(after)
    } else {
        Err(errors.0)
    }
}

/// Reads the paths by which feeds reach a category.
fn feed_names(
    category: &Category,
    paths: &[Vec<String>],
    tree: &CategoryTree,
    errors: &mut ValidationErrors,
) -> Vec<FeedName> {
    let most = limits::ensure(paths.len() <= MAX_FEED_NAMES, || {
        format!("{} paths; {MAX_FEED_NAMES} are possible", paths.len())
    });
    errors.cap(&[&"feedPaths"], most);
    let mut names: Vec<FeedName> = Vec::new();
    for (at, path) in paths.iter().take(MAX_FEED_NAMES).enumerate() {
        match feed_name(category, path, tree) {
            Ok(one) if names.iter().any(|other| other.is(one.parent, &one.name)) => {}
            Ok(one) => names.push(one),
            Err((code, message)) => {
                errors
                    .0
                    .push(UserError::new(code, &[&"feedPaths", &at], message));
            }
        }
    }
    names
}

/// Reads a path by which feeds reach a category: all names but the last lead to another category.
fn feed_name(
    category: &Category,
    path: &[String],
    tree: &CategoryTree,
) -> Result<FeedName, (UserErrorCode, String)> {
    let Some((name, above)) = path.split_last() else {
        let message = "a path has at least one name".to_owned();
        return Err((UserErrorCode::Invalid, message));
    };
    limits::text(name, 1..=MAX_LABEL_CHARACTERS)
        .map_err(|wrong| (UserErrorCode::Invalid, wrong))?;
    let mut parent = None;
    for step in above {
        let found = find_by_feed_name(tree.all(), parent, step).ok_or_else(|| {
            let shown = excerpt(step, 80).text;
            let message = format!("there is no category {shown:?} at this place of the path");
            (UserErrorCode::NotFound, message)
        })?;
        parent = Some(found.id);
    }
    let name = collapse(name);
    let mut others = tree.all().iter().filter(|other| other.id != category.id);
    let other = others.find(|other| other.feed_names.iter().any(|one| one.is(parent, &name)));
    match other {
        Some(other) => {
            let message = format!("feeds reach the category {:?} by this path", other.name);
            Err((UserErrorCode::Taken, message))
        }
        None => Ok(FeedName { parent, name }),
    }
}

/// Remembers the place that a category leaves: feeds that name it go on reaching the category. The
/// place that it gets is its own.
fn keep_feed_name(
    before: &Category,
    after: &mut Category,
    tree: &CategoryTree,
    errors: &mut ValidationErrors,
) {
    let is_at = |one: &FeedName, at: &Category| one.is(at.parent, &at.name);
    let own = after.clone();
    after.feed_names.retain(|one| !is_at(one, &own));
    let left = FeedName {
        parent: before.parent,
        name: before.name.clone(),
    };
    if is_at(&left, &own) {
        return;
    }
    let mut names = tree.all().iter().flat_map(|category| &category.feed_names);
    if !names.any(|one| one.is(left.parent, &left.name)) {
        after.feed_names.push(left);
        let fits = limits::ensure(after.feed_names.len() <= MAX_FEED_NAMES, || {
            format!(
                "the path that the category leaves would be the {}st; {MAX_FEED_NAMES} are possible, remove some",
                MAX_FEED_NAMES + 1
            )
        });
        errors.cap(&[&"feedPaths"], fits);
    }
}

fn find_parent(
    slug: &str,
    tree: &CategoryTree,
    errors: &mut ValidationErrors,
) -> Option<CategoryId> {
    let parent = tree.by_slug(slug).map(|parent| parent.id);
    if parent.is_none() {
        let shown = excerpt(slug, 80).text;
        let message =
            format!("there is no category {shown:?}; use the slug of an existing category");
        errors.missing(&[&"parent"], message);
    }
    parent
}

/// Checks a category against the others.
fn check(category: &Category, tree: &CategoryTree, errors: &mut ValidationErrors) {
    let name = limits::text(&category.name, 1..=MAX_LABEL_CHARACTERS);
    errors.check(&[&"name"], name);
    errors.check(&[&"slug"], limits::slug(&category.slug));
    let other = tree.by_slug(&category.slug);
    let is_itself = |other: &Category| (other.id, &other.slug) == (category.id, &category.slug);
    if let Some(other) = other.filter(|other| !is_itself(other)) {
        let name = &other.name;
        let message = if other.slug == category.slug {
            format!("the category {name:?} has the slug {}", other.slug)
        } else {
            format!(
                "a category with the slug {} was merged into {name:?}",
                category.slug
            )
        };
        errors.taken(&[&"slug"], message);
    }
    let named = |other: &Category| (&other.name, other.parent) == (&category.name, category.parent);
    let same = tree.get(category.id).is_some_and(named);
    let folded = fold(&category.name);
    let mut siblings = tree.children(category.parent);
    if !same && siblings.any(|other| other.id != category.id && fold(&other.name) == folded) {
        let message = format!(
            "there is a category {:?} at the same place; names are compared without regard to \
             case and accents",
            category.name
        );
        errors.taken(&[&"name"], message);
    }
    check_place(category, tree, errors);
}

fn check_place(category: &Category, tree: &CategoryTree, errors: &mut ValidationErrors) {
    let (id, parent) = (category.id, category.parent);
    if parent.is_some_and(|parent| tree.would_cycle(id, parent)) {
        let message = "a category cannot be moved below itself";
        errors.invalid(&[&"parent"], message);
        return;
    }
    let depth = tree.depth_below(id, parent);
    let moved = tree.get(id).is_none_or(|before| before.parent != parent);
    if moved && depth > MAX_CATEGORY_DEPTH {
        let message = format!(
            "categories would be nested {depth} levels deep; at most {MAX_CATEGORY_DEPTH} are allowed"
        );
        errors.cap(&[&"parent"], Err(message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u8) -> CategoryId {
        CategoryId::from_i64(n.into())
    }

    /// `c1` down to `c{depth}`, each the parent of the next, and the root `side`.
    fn tree(depth: u8) -> CategoryTree {
        let chain = (1..=depth).map(|n| {
            let parent = (n > 1).then(|| id(n - 1));
            Category::new(id(n), &format!("c{n}"), &format!("C{n}"), parent)
        });
        let side = Category::new(id(100), "side", "Side", None);
        CategoryTree::new(chain.chain([side]).collect())
    }

    fn new(name: &str, slug: Option<&str>, parent: Option<&str>) -> NewCategory {
        NewCategory {
            name: name.to_owned(),
            slug: slug.map(str::to_owned),
            parent: parent.map(str::to_owned),
        }
    }

    fn refused<T>(result: Result<T, Vec<UserError>>) -> Vec<(UserErrorCode, String)> {
        ValidationErrors(result.err().unwrap_or_default()).codes_and_paths()
    }

    #[test]
    fn a_new_category_gets_a_parent_and_a_slug() {
        let tree = tree(2);
        let made = create(id(50), &new(" Big  Screens ", None, Some("c1")), &tree).unwrap();
        assert_eq!(
            (
                made.name.as_str(),
                made.slug.as_str(),
                made.parent,
                made.revision
            ),
            ("Big Screens", "big-screens", Some(id(1)), 1)
        );
        let made = create(id(50), &new("Side", None, Some("c1")), &tree).unwrap();
        assert_eq!(
            made.slug, "c1-side",
            "the slug that is taken gets its parent's"
        );
        let made = create(id(50), &new("?!", None, None), &tree).unwrap();
        assert_eq!(made.slug, "category");
    }

    #[test]
    fn all_errors_of_a_new_category_are_reported() {
        let tree = tree(8);
        let all = refused(create(id(50), &new(" ", Some("A B"), Some("x")), &tree));
        let at = |code, place: &str| (code, place.to_owned());
        assert_eq!(
            all,
            [
                at(UserErrorCode::NotFound, "parent"),
                at(UserErrorCode::Invalid, "name"),
                at(UserErrorCode::Invalid, "slug"),
            ]
        );
        let all = refused(create(id(50), &new("SÏDE", Some("c3"), None), &tree));
        assert_eq!(
            all,
            [
                at(UserErrorCode::Taken, "slug"),
                at(UserErrorCode::Taken, "name")
            ]
        );
        assert!(create(id(50), &new("Side", None, Some("c1")), &tree).is_ok());
        assert!(create(id(50), &new("Leaf", None, Some("c7")), &tree).is_ok());
        let deep = refused(create(id(50), &new("Leaf", None, Some("c8")), &tree));
        assert_eq!(deep, [at(UserErrorCode::TooLarge, "parent")]);
    }

    #[test]
    fn a_category_moves_with_its_descendants() {
        let tree = tree(7);
        let one = tree.get(id(1)).unwrap();
        let into = |slug: Option<&str>| CategoryPatch {
            parent: Some(slug.map(str::to_owned)),
            ..CategoryPatch::default()
        };
        assert_eq!(
            update(one, &into(Some("side")), &tree).unwrap().parent,
            Some(id(100))
        );
        let at = |code| [(code, "parent".to_owned())];
        for below in ["c1", "c2", "c7"] {
            let refused = refused(update(one, &into(Some(below)), &tree));
            assert_eq!(refused, at(UserErrorCode::Invalid), "{below}");
        }
        let side = tree.get(id(100)).unwrap();
        assert!(update(side, &into(Some("c7")), &tree).is_ok());
        let deeper = self::tree(8);
        let one = deeper.get(id(1)).unwrap();
        let all = refused(update(one, &into(Some("side")), &deeper));
        assert_eq!(all, at(UserErrorCode::TooLarge), "nine levels");
        let two = deeper.get(id(2)).unwrap();
        assert_eq!(update(two, &into(None), &deeper).unwrap().parent, None);
    }

    #[test]
    fn a_category_may_keep_its_name_slug_and_parent() {
        let tree = tree(3);
        let two = tree.get(id(2)).unwrap();
        let same = CategoryPatch {
            name: Some("C2".to_owned()),
            slug: Some("c2".to_owned()),
            parent: Some(Some("c1".to_owned())),
            ..CategoryPatch::default()
        };
        assert_eq!(update(two, &same, &tree).as_ref(), Ok(two));
        let other_case = CategoryPatch {
            name: Some("c2".to_owned()),
            ..CategoryPatch::default()
        };
        assert_eq!(update(two, &other_case, &tree).unwrap().name, "c2");
    }
}
