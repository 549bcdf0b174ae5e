//! Categories and their tree. A product refers to its category by an id that never changes, so
//! renaming or moving a category writes no product. Ancestors are looked up in the
//! [`CategoryTree`].

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::id::CategoryId;
use crate::text::fold;

/// The maximum depth of the category tree.
pub const MAX_CATEGORY_DEPTH: usize = 8;

/// A category.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Category {
    /// The category's id.
    pub id: CategoryId,
    /// The part of a URL that identifies it; unique.
    pub slug: String,
    /// The name shown.
    pub name: String,
    /// The parent category; `None` for a root.
    pub parent: Option<CategoryId>,
    /// Other names by which feeds reach it: it had them, or an admin has set them.
    pub feed_names: Vec<FeedName>,
    /// The category that it was merged into: its id and slug mean that one from then on.
    pub merged_into: Option<CategoryId>,
    /// Starts at 1 and increases with every change of slug, name, parent or feed names, and when it is
    /// merged.
    pub revision: i64,
}

/// The maximum number of feed names of a category.
pub const MAX_FEED_NAMES: usize = 50;

/// A name below a category, by which feeds reach another category.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FeedName {
    /// The category below which feeds name it; `None` for a top-level name.
    pub parent: Option<CategoryId>,
    /// The name.
    pub name: String,
}

impl FeedName {
    /// Whether a name below a category is this one. Names are compared without regard to case and
    /// accents.
    #[must_use]
    pub fn is(&self, parent: Option<CategoryId>, name: &str) -> bool {
        self.parent == parent && fold(&self.name) == fold(name)
    }
}

/// Finds the category that feeds mean by a name below a category: the one that has it as a feed name,
/// otherwise the one of this name.
#[must_use]
pub fn find_by_feed_name<'c>(
    categories: &'c [Category],
    parent: Option<CategoryId>,
    name: &str,
) -> Option<&'c Category> {
    by_feed_name(categories, parent, name).next()
}

/// The categories that feeds may mean by a name below a category, the more likely first.
fn by_feed_name<'c>(
    categories: &'c [Category],
    parent: Option<CategoryId>,
    name: &str,
) -> impl Iterator<Item = &'c Category> {
    let named = |one: &&Category| one.feed_names.iter().any(|other| other.is(parent, name));
    let folded = fold(name);
    let own = move |one: &&Category| one.parent == parent && fold(&one.name) == folded;
    let first = categories.iter().find(named);
    first.into_iter().chain(categories.iter().find(own))
}

/// Finds the category that feeds mean by a path of names: where a name may mean two categories, the one
/// below which the rest of the path is.
#[must_use]
pub fn find_by_feed_path(
    categories: &[Category],
    parent: Option<CategoryId>,
    path: &[String],
) -> Option<CategoryId> {
    let (name, rest) = path.split_first()?;
    let mut found = by_feed_name(categories, parent, name);
    if rest.is_empty() {
        return found.next().map(|category| category.id);
    }
    found.find_map(|category| find_by_feed_path(categories, Some(category.id), rest))
}

impl Category {
    /// Replaces categories that were merged by those that they are part of.
    fn rename_parents(&mut self, merged: &HashMap<CategoryId, CategoryId>) {
        let feed_parents = self.feed_names.iter_mut().map(|one| &mut one.parent);
        for parent in feed_parents.chain([&mut self.parent]).flatten() {
            *parent = merged.get(parent).copied().unwrap_or(*parent);
        }
    }

    /// Returns a category at revision 1.
    #[must_use]
    pub fn new(id: CategoryId, slug: &str, name: &str, parent: Option<CategoryId>) -> Self {
        Self {
            id,
            slug: slug.to_owned(),
            name: name.to_owned(),
            parent,
            feed_names: Vec::new(),
            merged_into: None,
            revision: 1,
        }
    }
}

/// All categories as a tree. A category whose parent is missing, or that is its own ancestor, is
/// treated as a root, so that every category can be reached. One that was merged into another is not
/// part of the tree: its id and slug lead to the other, in products as in parents.
#[derive(Clone, Debug, Default)]
pub struct CategoryTree {
    categories: Vec<Category>,
    /// The categories that were merged, with the category that each is part of.
    merged: HashMap<CategoryId, CategoryId>,
    by_id: HashMap<CategoryId, usize>,
    by_slug: HashMap<String, usize>,
    children: HashMap<Option<CategoryId>, Vec<usize>>,
    shape: TreeShape,
}

/// The size of a category tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeShape {
    /// The number of categories.
    pub categories: usize,
    /// The number of roots.
    pub roots: usize,
    /// The maximum number of direct children of a category.
    pub children: usize,
    /// The number of levels.
    pub levels: usize,
}

impl CategoryTree {
    /// Builds the tree; siblings are sorted by name, as people read it: without case and accents.
    #[must_use]
    pub fn new(all: Vec<Category>) -> Self {
        let merged = merged(&all);
        let (gone, mut categories): (Vec<Category>, Vec<Category>) = all
            .into_iter()
            .partition(|category| merged.contains_key(&category.id));
        categories.sort_by_cached_key(|category| {
            let (name, slug) = (category.name.clone(), category.slug.clone());
            (fold(&name), name, slug)
        });
        for category in &mut categories {
            category.rename_parents(&merged);
        }
        let by_id = index(&categories, |category| category.id);
        let mut by_slug = index(&categories, |category| category.slug.clone());
        for one in gone {
            let at = by_id[&merged[&one.id]];
            by_slug.entry(one.slug).or_insert(at);
        }
        let mut tree = Self {
            categories,
            merged,
            by_id,
            by_slug,
            children: HashMap::new(),
            shape: TreeShape::default(),
        };
        for at in 0..tree.categories.len() {
            let parent = tree.valid_parent(&tree.categories[at]);
            tree.children.entry(parent).or_default().push(at);
        }
        tree.shape = tree.measure();
        tree
    }

    /// All categories, sorted by name.
    #[must_use]
    pub fn all(&self) -> &[Category] {
        &self.categories
    }

    /// The ids of all categories, also of those that were merged: products may have each of them.
    pub fn ids(&self) -> impl Iterator<Item = CategoryId> {
        let own = self.categories.iter().map(|category| category.id);
        own.chain(self.merged.keys().copied())
    }

    /// The size of the tree.
    #[must_use]
    pub const fn shape(&self) -> TreeShape {
        self.shape
    }

    fn measure(&self) -> TreeShape {
        let below = |parent: &Option<CategoryId>| self.children.get(parent).map_or(0, Vec::len);
        let parents = self.children.keys().filter(|parent| parent.is_some());
        let mut levels = 0;
        let mut level: Vec<CategoryId> = self.children(None).map(|root| root.id).collect();
        while !level.is_empty() {
            levels += 1;
            let children = level.iter().flat_map(|id| self.children(Some(*id)));
            level = children.map(|child| child.id).collect();
        }
        TreeShape {
            categories: self.categories.len(),
            roots: below(&None),
            children: parents.map(below).max().unwrap_or(0),
            levels,
        }
    }

    /// The category with this id, or that it was merged into.
    #[must_use]
    pub fn get(&self, id: CategoryId) -> Option<&Category> {
        let at = self.by_id.get(&self.current(id));
        at.map(|at| &self.categories[*at])
    }

    /// The id of the category that this one was merged into; otherwise its own.
    #[must_use]
    pub fn current(&self, id: CategoryId) -> CategoryId {
        self.merged.get(&id).copied().unwrap_or(id)
    }

    /// The category with this slug, or into which the one with this slug was merged.
    #[must_use]
    pub fn by_slug(&self, slug: &str) -> Option<&Category> {
        self.by_slug.get(slug).map(|at| &self.categories[*at])
    }

    /// The direct children of a category, or the roots for `None`.
    pub fn children(&self, parent: Option<CategoryId>) -> impl Iterator<Item = &Category> {
        let below = self.children.get(&parent).map_or(&[][..], Vec::as_slice);
        below.iter().map(|at| &self.categories[*at])
    }

    /// The parent of a category.
    #[must_use]
    pub fn parent(&self, id: CategoryId) -> Option<&Category> {
        let parent = self.valid_parent(self.get(id)?)?;
        self.get(parent)
    }

    /// The ancestors of a category, root first.
    #[must_use]
    pub fn ancestors(&self, id: CategoryId) -> Vec<&Category> {
        let mut up: Vec<&Category> =
            std::iter::successors(self.parent(id), |c| self.parent(c.id)).collect();
        up.reverse();
        up
    }

    /// This category and all its descendants, with those that were merged into one of them, in no
    /// particular order: what a filter by the category matches.
    #[must_use]
    pub fn subtree(&self, id: CategoryId) -> Vec<CategoryId> {
        let mut all = vec![self.current(id)];
        let mut at = 0;
        while at < all.len() {
            all.extend(self.children(Some(all[at])).map(|child| child.id));
            at += 1;
        }
        if !self.merged.is_empty() {
            let within: HashSet<CategoryId> = all.iter().copied().collect();
            let merged = self.merged.iter();
            all.extend(
                merged
                    .filter(|(_, into)| within.contains(into))
                    .map(|(id, _)| *id),
            );
        }
        all
    }

    /// The level of a category: 1 for a root, 0 when there is no such category.
    #[must_use]
    pub fn depth(&self, id: CategoryId) -> usize {
        self.get(id).map_or(0, |_| self.ancestors(id).len() + 1)
    }

    /// The number of levels of the subtree: 1 for a category without children, 0 when there is no
    /// such category.
    #[must_use]
    pub fn height(&self, id: CategoryId) -> usize {
        let own = self.depth(id);
        let depths = self.subtree(id).into_iter().map(|below| self.depth(below));
        depths
            .max()
            .map_or(0, |deepest| deepest + usize::from(own > 0) - own)
    }

    /// Returns true if the category would become its own ancestor when moved below `new_parent`.
    #[must_use]
    pub fn would_cycle(&self, id: CategoryId, new_parent: CategoryId) -> bool {
        self.subtree(id).contains(&new_parent)
    }

    /// The level of the lowest descendant of `id` if it moved below `new_parent`. A category that
    /// does not exist yet counts as one level.
    #[must_use]
    pub fn depth_below(&self, id: CategoryId, new_parent: Option<CategoryId>) -> usize {
        new_parent.map_or(0, |parent| self.depth(parent)) + self.height(id).max(1)
    }

    /// The parent, or `None` if the chain of parents is a cycle or leads to a missing category.
    fn valid_parent(&self, category: &Category) -> Option<CategoryId> {
        let mut up = category.parent;
        for _ in 0..=self.categories.len() {
            match up {
                None => return category.parent,
                Some(id) => up = self.get(id)?.parent,
            }
        }
        None
    }
}

/// The categories that were merged, with the category that each is part of now. One whose target is
/// missing, or that would be part of itself, was not merged.
fn merged(all: &[Category]) -> HashMap<CategoryId, CategoryId> {
    let into: HashMap<CategoryId, Option<CategoryId>> =
        all.iter().map(|one| (one.id, one.merged_into)).collect();
    let last = |one: &Category| {
        let mut at = one.merged_into?;
        for _ in 0..into.len() {
            match into.get(&at)? {
                None => return Some((one.id, at)),
                Some(next) => at = *next,
            }
        }
        None
    };
    all.iter().filter_map(last).collect()
}

fn index<K: std::hash::Hash + Eq>(
    all: &[Category],
    key: impl Fn(&Category) -> K,
) -> HashMap<K, usize> {
    all.iter()
        .enumerate()
        .map(|(at, category)| (key(category), at))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn category(id: u8, parent: Option<u8>) -> Category {
        let id_of = |n: u8| CategoryId::from_i64(n.into());
        Category::new(
            id_of(id),
            &format!("c{id}"),
            &format!("C{id}"),
            parent.map(id_of),
        )
    }

    #[test]
    fn siblings_are_sorted_without_case_and_accents() {
        let named = [
            "beauty",
            "Women",
            "CPU coolers",
            "Case accessories",
            "Écrans",
            "Ear pads",
        ];
        let categories = (1..).zip(named).map(|(id, name)| Category {
            name: name.to_owned(),
            ..category(id, None)
        });
        let tree = CategoryTree::new(categories.collect());
        let names: Vec<&str> = tree.children(None).map(|c| c.name.as_str()).collect();
        let expected = [
            "beauty",
            "Case accessories",
            "CPU coolers",
            "Ear pads",
            "Écrans",
            "Women",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn the_shape_of_a_tree_is_known() {
        let tree = CategoryTree::new(vec![
            category(1, None),
            category(2, None),
            category(3, Some(1)),
            category(4, Some(1)),
            category(5, Some(3)),
        ]);
        let shape = TreeShape {
            categories: 5,
            roots: 2,
            children: 2,
            levels: 3,
        };
        assert_eq!(tree.shape(), shape);
        assert_eq!(CategoryTree::new(Vec::new()).shape(), TreeShape::default());
    }

    #[test]
    fn categories_without_a_valid_parent_are_roots() {
        let tree = CategoryTree::new(vec![
            category(3, Some(2)),
            category(1, None),
            category(2, Some(1)),
            category(4, Some(9)),
            category(5, Some(6)),
            category(6, Some(5)),
        ]);
        let three = tree.by_slug("c3").unwrap().id;
        let names: Vec<&str> = tree
            .ancestors(three)
            .iter()
            .map(|c| c.name.as_str())
            .collect();
        assert_eq!(names, ["C1", "C2"]);
        assert_eq!(tree.subtree(tree.by_slug("c1").unwrap().id).len(), 3);
        let top: Vec<&str> = tree.children(None).map(|c| c.name.as_str()).collect();
        assert_eq!(top, ["C1", "C4", "C5", "C6"]);
    }

    #[test]
    fn a_merged_category_means_the_one_that_it_was_merged_into() {
        let id = |n: u8| CategoryId::from_i64(n.into());
        let into = |id: u8, parent: Option<u8>, target: u8| Category {
            merged_into: Some(CategoryId::from_i64(target.into())),
            ..category(id, parent)
        };
        let mut named = category(6, None);
        named.feed_names.push(FeedName {
            parent: Some(id(3)),
            name: "Lamps".to_owned(),
        });
        let tree = CategoryTree::new(vec![
            category(1, None),
            category(2, Some(1)),
            into(3, None, 4),
            into(4, None, 2),
            category(5, Some(3)),
            named,
            into(7, Some(1), 9),
            into(8, Some(1), 8),
        ]);
        let slugs: Vec<&str> = tree.all().iter().map(|c| c.slug.as_str()).collect();
        assert_eq!(
            slugs,
            ["c1", "c2", "c5", "c6", "c7", "c8"],
            "the others are part of c2"
        );
        assert_eq!(tree.get(id(3)).unwrap().slug, "c2");
        assert_eq!(tree.by_slug("c4").unwrap().slug, "c2");
        assert_eq!((tree.current(id(4)), tree.current(id(1))), (id(2), id(1)));
        let mut below = tree.subtree(id(3));
        below.sort();
        assert_eq!(below, [2, 3, 4, 5].map(id));
        let path: Vec<&str> = tree
            .ancestors(id(5))
            .iter()
            .map(|c| c.slug.as_str())
            .collect();
        assert_eq!(path, ["c1", "c2"]);
        assert_eq!(
            (tree.depth(id(5)), tree.depth(id(3)), tree.height(id(1))),
            (3, 2, 3)
        );
        assert_eq!(tree.get(id(6)).unwrap().feed_names[0].parent, Some(id(2)));
        assert!(tree.would_cycle(id(1), id(3)), "c3 is below c1 now");
    }

    #[test]
    fn depth_and_cycles_are_known_before_a_move() {
        let tree = CategoryTree::new(vec![
            category(1, None),
            category(2, Some(1)),
            category(3, Some(2)),
            category(4, Some(1)),
            category(5, None),
        ]);
        let id = |n: u8| CategoryId::from_i64(n.into());
        let levels = |n| (tree.depth(id(n)), tree.height(id(n)));
        let all = [1, 2, 3, 4, 5, 9].map(levels);
        assert_eq!(all, [(1, 3), (2, 2), (3, 1), (2, 1), (1, 1), (0, 0)]);
        assert!(tree.would_cycle(id(1), id(1)));
        assert!(tree.would_cycle(id(1), id(3)));
        assert!(!tree.would_cycle(id(3), id(1)));
        assert!(!tree.would_cycle(id(2), id(4)));
        assert_eq!(tree.depth_below(id(2), Some(id(4))), 4);
        assert_eq!(tree.depth_below(id(2), None), 2);
        assert_eq!(tree.depth_below(id(9), Some(id(3))), 4, "a new one");
    }
}
