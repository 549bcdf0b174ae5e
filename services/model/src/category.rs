//! Categories and the tree they form. A product names its leaf by an id that never changes, so
//! renaming or moving a category writes no product; whoever needs ancestors asks the tree.

use std::collections::HashMap;

use crate::id::CategoryId;

/// How many levels a tree of categories may have.
pub const MAX_CATEGORY_DEPTH: usize = 8;

/// A category.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Category {
    /// Identifies the category.
    pub id: CategoryId,
    /// Its part of an address; unique.
    pub slug: String,
    /// Its name.
    pub name: String,
    /// The category it is in, unless it is at the top.
    pub parent: Option<CategoryId>,
    /// Rises with every change of slug, name or parent. Begins with 1.
    pub revision: i64,
}

impl Category {
    /// A category nobody has changed yet.
    #[must_use]
    pub fn new(id: CategoryId, slug: &str, name: &str, parent: Option<CategoryId>) -> Self {
        Self {
            id,
            slug: slug.to_owned(),
            name: name.to_owned(),
            parent,
            revision: 1,
        }
    }
}

/// All categories as a tree. A category whose parent is missing, or that is its own ancestor, is
/// treated as a top one, so that every category can be reached.
#[derive(Clone, Debug, Default)]
pub struct CategoryTree {
    categories: Vec<Category>,
    by_id: HashMap<CategoryId, usize>,
    by_slug: HashMap<String, usize>,
    children: HashMap<Option<CategoryId>, Vec<usize>>,
}

impl CategoryTree {
    /// The tree of these categories; siblings are in the order of their names.
    #[must_use]
    pub fn new(mut categories: Vec<Category>) -> Self {
        categories.sort_by(|a, b| (&a.name, &a.slug).cmp(&(&b.name, &b.slug)));
        let by_id = index(&categories, |category| category.id);
        let by_slug = index(&categories, |category| category.slug.clone());
        let mut tree = Self {
            categories,
            by_id,
            by_slug,
            children: HashMap::new(),
        };
        for at in 0..tree.categories.len() {
            let parent = tree.sound_parent(&tree.categories[at]);
            tree.children.entry(parent).or_default().push(at);
        }
        tree
    }

    /// Every category, by name.
    #[must_use]
    pub fn all(&self) -> &[Category] {
        &self.categories
    }

    /// The category with this id.
    #[must_use]
    pub fn get(&self, id: CategoryId) -> Option<&Category> {
        self.by_id.get(&id).map(|at| &self.categories[*at])
    }

    /// The category with this slug.
    #[must_use]
    pub fn by_slug(&self, slug: &str) -> Option<&Category> {
        self.by_slug.get(slug).map(|at| &self.categories[*at])
    }

    /// The categories right below this one, or at the top.
    pub fn children(&self, parent: Option<CategoryId>) -> impl Iterator<Item = &Category> {
        let below = self.children.get(&parent).map_or(&[][..], Vec::as_slice);
        below.iter().map(|at| &self.categories[*at])
    }

    /// The category this one is in.
    #[must_use]
    pub fn parent(&self, id: CategoryId) -> Option<&Category> {
        let parent = self.sound_parent(self.get(id)?)?;
        self.get(parent)
    }

    /// From the top down to right above this category.
    #[must_use]
    pub fn ancestors(&self, id: CategoryId) -> Vec<&Category> {
        let mut up: Vec<&Category> =
            std::iter::successors(self.parent(id), |c| self.parent(c.id)).collect();
        up.reverse();
        up
    }

    /// This category and all below it, in no particular order: what a filter by it stands for.
    #[must_use]
    pub fn subtree(&self, id: CategoryId) -> Vec<CategoryId> {
        let mut all = vec![id];
        let mut at = 0;
        while at < all.len() {
            all.extend(self.children(Some(all[at])).map(|child| child.id));
            at += 1;
        }
        all
    }

    /// On which level the category is: 1 at the top, 0 when there is no such category.
    #[must_use]
    pub fn depth(&self, id: CategoryId) -> usize {
        self.get(id).map_or(0, |_| self.ancestors(id).len() + 1)
    }

    /// How many levels the category and those below it take: 1 when nothing is below it, 0 when
    /// there is no such category.
    #[must_use]
    pub fn height(&self, id: CategoryId) -> usize {
        let own = self.depth(id);
        let depths = self.subtree(id).into_iter().map(|below| self.depth(below));
        depths
            .max()
            .map_or(0, |deepest| deepest + usize::from(own > 0) - own)
    }

    /// Whether the category would be its own ancestor if it moved below `new_parent`.
    #[must_use]
    pub fn would_cycle(&self, id: CategoryId, new_parent: CategoryId) -> bool {
        self.subtree(id).contains(&new_parent)
    }

    /// How many levels there would be on the way from the top to the lowest category below this
    /// one if it moved below `new_parent`. A category that does not exist yet counts as one level.
    #[must_use]
    pub fn depth_below(&self, id: CategoryId, new_parent: Option<CategoryId>) -> usize {
        new_parent.map_or(0, |parent| self.depth(parent)) + self.height(id).max(1)
    }

    /// The parent, unless following parents from here never ends or leads nowhere.
    fn sound_parent(&self, category: &Category) -> Option<CategoryId> {
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
    fn trees() {
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
    fn moving_a_category() {
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
