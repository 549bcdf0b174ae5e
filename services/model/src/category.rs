//! Categories and the tree they form. A product names its leaf by an id that never changes, so
//! renaming or moving a category writes no product; whoever needs ancestors asks the tree.

use std::collections::HashMap;

use crate::id::CategoryId;

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
        let id_of = |n: u8| CategoryId::from_bytes([n; 16]);
        Category {
            id: id_of(id),
            slug: format!("c{id}"),
            name: format!("C{id}"),
            parent: parent.map(id_of),
        }
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
}
