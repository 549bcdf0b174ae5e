//! Categories by the path of their names; missing ones are created.

use vitrine_model::category::{Category, MAX_CATEGORY_DEPTH, find_by_feed_name, find_by_feed_path};
use vitrine_model::id::CategoryId;
use vitrine_model::import::Rejection;
use vitrine_model::text::{slug, slug_with};

use super::ImportSession;
use crate::DomainError;

impl ImportSession {
    /// The categories at these paths, in order; `None` when another process created one of them
    /// first, and the caller has to retry.
    pub(super) async fn categories_at(
        &mut self,
        paths: &[&[String]],
    ) -> Result<Option<Vec<CategoryId>>, DomainError> {
        let known = self.categories.len();
        let ids: Vec<CategoryId> = paths.iter().map(|path| self.category_at(path)).collect();
        let new = self.categories[known..].to_vec();
        if new.is_empty() {
            return Ok(Some(ids));
        }
        let names = new
            .iter()
            .map(|category| self.path_of(category))
            .collect::<Vec<_>>();
        if self.writes() {
            let all_new = self
                .store(|store| async move { store.insert_categories(&new).await })
                .await?;
            if !all_new {
                self.reload_reference().await?;
                return Ok(None);
            }
        }
        self.summary.new_categories.extend(names);
        Ok(Some(ids))
    }

    fn category_at(&mut self, path: &[String]) -> CategoryId {
        if let Some(known) = self.category_paths.get(path) {
            return *known;
        }
        let known = find_by_feed_path(&self.categories, None, path);
        let found = known.unwrap_or_else(|| self.add_path(path));
        self.category_paths.insert(path.to_vec(), found);
        found
    }

    /// Adds the categories of a path that are missing.
    fn add_path(&mut self, path: &[String]) -> CategoryId {
        let mut parent = None;
        for name in path {
            let found = find_by_feed_name(&self.categories, parent, name);
            let id = found.map(|category| category.id);
            parent = Some(id.unwrap_or_else(|| self.add_category(name, parent)));
        }
        parent.expect("a category path is not empty")
    }

    fn add_category(&mut self, name: &str, parent: Option<CategoryId>) -> CategoryId {
        let above = parent.and_then(|id| self.categories.iter().find(|category| category.id == id));
        let stored = &self.reference.categories;
        let new = &self.categories;
        let taken = |slug: &str| {
            stored.by_slug(slug).is_some() || new.iter().any(|category| category.slug == slug)
        };
        let slug = free_slug(name, above.map(|above| above.slug.as_str()), taken);
        let new = Category::new(CategoryId::random(), &slug, name.trim(), parent);
        let id = new.id;
        self.categories.push(new);
        id
    }

    /// Refuses a path of which a part would be nested too deeply: its first names may lead to a category
    /// that is further down.
    pub(super) fn check_depth(&self, path: &[String]) -> Result<(), Rejection> {
        let levels = self.reference.categories.shape().levels;
        if path.is_empty()
            || levels + path.len() <= MAX_CATEGORY_DEPTH
            || self.category_paths.contains_key(path)
            || find_by_feed_path(&self.categories, None, path).is_some()
        {
            return Ok(());
        }
        let (mut depth, mut above) = (0, Some(None));
        for name in path {
            let found = above.and_then(|above| find_by_feed_name(&self.categories, above, name));
            depth = found.map_or(depth + 1, |category| self.path_of(category).len());
            above = found.map(|category| Some(category.id));
        }
        if depth <= MAX_CATEGORY_DEPTH {
            return Ok(());
        }
        let message = format!(
            "the path leads to level {depth}, since an admin has moved or merged a part of it; at most {MAX_CATEGORY_DEPTH} are possible"
        );
        Err(Rejection::new("category", message))
    }

    fn path_of(&self, category: &Category) -> Vec<String> {
        let mut path = vec![category.name.clone()];
        let mut up = category.parent;
        while let Some(above) = up.and_then(|id| self.categories.iter().find(|c| c.id == id)) {
            path.insert(0, above.name.clone());
            up = above.parent;
        }
        path
    }
}

/// The name as a slug; if it is taken, with the parent's slug in front, or a number at the end.
pub(crate) fn free_slug(name: &str, parent: Option<&str>, taken: impl Fn(&str) -> bool) -> String {
    let own = slug(name).unwrap_or_else(|| "category".to_owned());
    let long = parent.map(|parent| slug(&format!("{parent}-{own}")));
    let long = long.flatten().unwrap_or_else(|| own.clone());
    let base = long.clone();
    let numbered = (2..).map(move |n| slug_with(&base, &n.to_string()));
    let mut candidates = [own.clone(), long.clone()].into_iter().chain(numbered);
    candidates
        .find(|slug| !taken(slug))
        .expect("numbers do not end")
}
