//! Queries for products.

use std::collections::HashMap;
use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;

use vitrine_model::cursor::ListFingerprint;
use vitrine_model::filter::{Condition, Direction, ProductFilter, ProductSort, ProductSortKey};
use vitrine_model::id::{CategoryId, ProductId, SupplierId};
use vitrine_model::product::ProductStatus;
use vitrine_model::spec::ValueType;
use vitrine_model::supplier::Supplier;
use vitrine_model::text::excerpt;
use vitrine_storage::examined::Counted;
use vitrine_storage::keyset::{Page, PageRequest};
pub use vitrine_storage::products::{ProductFields, ProductKey};
use vitrine_storage::products::{ProductList, SpecSort};
pub use vitrine_storage::views::ProductView;

pub use crate::filter::Hint;
use crate::page::{HasMore, Listed, PageArguments};
use crate::reference::Reference;
use crate::search::Search;
use crate::{Catalog, DomainError};

/// The products that a caller may see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Visibility {
    /// Active products.
    #[default]
    Public,
    /// All products, including drafts and archived ones.
    Everything,
}

impl Visibility {
    /// The statuses of visible products.
    #[must_use]
    pub const fn states(self) -> &'static [ProductStatus] {
        match self {
            Self::Public => &[ProductStatus::Active],
            Self::Everything => &ProductStatus::ALL,
        }
    }

    /// Whether a product is visible.
    pub(crate) fn shows(self, product: &ProductView) -> Result<bool, DomainError> {
        Ok(self.states().contains(&product.status()?))
    }
}

/// The maximum number of products sorted by the values of a spec key: no index has that order.
pub const MAX_SORTED_BY_SPEC: u64 = 10_000;

/// A request for a page of products.
#[derive(Clone, Debug)]
pub struct ProductsQuery {
    /// The filter.
    pub filter: ProductFilter,
    /// Only products that match this search text.
    pub search: Option<String>,
    /// The sort order. Relevance requires a search.
    pub sort: ProductSort,
    /// Sorts by the values of this spec key instead, in the direction of `sort`. Refused when more
    /// than [`MAX_SORTED_BY_SPEC`] products match the filter.
    pub sort_spec: Option<String>,
    /// The page arguments.
    pub page: PageArguments,
    /// What the caller may see.
    pub visibility: Visibility,
    /// The fields to read; `None` when no row is shown, and none is read.
    pub fields: Option<ProductFields>,
}

/// A page of products.
#[derive(Clone, Debug)]
pub struct ListedProducts {
    page: Listed<ProductView, ProductList>,
    /// Parts of the request that are possibly mistakes.
    pub hints: Vec<Hint>,
    pub(crate) query: ProductsQuery,
    pub(crate) search: Option<Search>,
    /// The number of products looked through, when not all were.
    pub looked_through: Option<u32>,
}

impl ListedProducts {
    /// Returns what all pages of this list have in common, whatever their sort order.
    #[must_use]
    pub fn selection(&self) -> impl Debug {
        let ProductsQuery {
            filter,
            search,
            visibility,
            ..
        } = &self.query;
        (filter, search, visibility)
    }
}

impl Deref for ListedProducts {
    type Target = Listed<ProductView, ProductList>;

    fn deref(&self) -> &Self::Target {
        &self.page
    }
}

/// A number of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// The number.
    pub value: u64,
    /// What the number means.
    pub relation: TotalRelation,
}

/// The meaning of a number of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TotalRelation {
    /// The exact number.
    Exact,
    /// A lower bound; counting stopped there.
    AtLeast,
    /// An approximation: some recent changes are not counted yet.
    Estimate,
}

impl Catalog {
    /// A product, if the caller may see it. None or one command; two if another product had its name
    /// before.
    pub async fn product(
        &self,
        key: ProductKey,
        visibility: Visibility,
    ) -> Result<Option<ProductView>, DomainError> {
        if let Some(memory) = self.memory_for(1) {
            return match self.remembered_product(&memory, key).await? {
                Some(view) if visibility.shows(&view)? => Ok(Some(view)),
                _ => Ok(None),
            };
        }
        self.read(|store| async move { store.get_product(&key, visibility.states()).await })
            .await
    }

    /// The products with these ids that the caller may see. One command; none if all are in memory.
    pub async fn products_by_id(
        &self,
        ids: Vec<ProductId>,
        visibility: Visibility,
    ) -> Result<HashMap<ProductId, ProductView>, DomainError> {
        if let Some(memory) = self.memory_for(ids.len()) {
            let found = self.remembered_products(&memory, ids).await?;
            let found = found.products.into_iter();
            let shown = |(id, view): (ProductId, ProductView)| match visibility.shows(&view) {
                Ok(true) => Some(Ok((id, view))),
                Ok(false) => None,
                Err(error) => Some(Err(error)),
            };
            return found.filter_map(shown).collect();
        }
        let found = self
            .read(|store| async move { store.get_many_products(&ids, visibility.states()).await });
        Ok(found
            .await?
            .into_iter()
            .map(|product| (product.id(), product))
            .collect())
    }

    /// The products with these stock-keeping units that the caller may see. One command.
    pub async fn products_by_sku(
        &self,
        skus: Vec<String>,
        visibility: Visibility,
    ) -> Result<HashMap<String, ProductView>, DomainError> {
        let states = visibility.states();
        let found =
            self.read(|store| async move { store.get_many_products_by_sku(&skus, states).await });
        let keyed = |view: ProductView| Ok((view.sku()?.to_owned(), view));
        found.await?.into_iter().map(keyed).collect()
    }

    /// A page of products. One command; two where priced products end and unpriced ones begin, or
    /// where products that are not in memory are read by their ids; one more to decide how products are
    /// found that only admins look for; none when no product can match or no row is shown. With rows in
    /// memory none, except for products that are not in memory and rows that have changed.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for an invalid filter or page, [`DomainError::InvalidCursor`] for a
    /// cursor of another list.
    pub async fn products(&self, query: ProductsQuery) -> Result<ListedProducts, DomainError> {
        let fingerprint = fingerprint(&query);
        let request = query.page.request(self, fingerprint)?;
        let (reference, mut condition) = self
            .product_condition(&query.filter, query.visibility)
            .await?;
        let mut hints = crate::filter::hints(&query.filter, &reference);
        let search = self
            .parse_search(query.search.as_deref(), query.visibility)
            .await?;
        let scan_sort_index = self.prefers_sort_index(&query, &mut condition, &reference);
        let scan_sort_index = search.is_none()
            && (scan_sort_index || self.sorts_too_many(&query, &condition).await?);
        let mut list = product_list(&query, condition, search.as_ref(), scan_sort_index)?;
        let mut looked_through = None;
        if let Some(search) = &search
            && !list.condition.is_nothing()
            && search.is_common()
            && !is_sorted_by_index(&query, search)
        {
            let condition = std::mem::replace(&mut list.condition, Condition::nothing());
            let limited = self.looked_through(condition, self.max_searched()).await?;
            (list.condition, looked_through) = limited;
            list.partial = looked_through.is_some();
        }
        if let Some(key) = &query.sort_spec {
            list.by_spec = self
                .spec_sort((key, query.visibility), &mut list.condition, &mut hints)
                .await?;
        }
        let is_nothing = list.condition.is_nothing();
        let page = if is_nothing || query.fields.is_none() {
            Page {
                rows: Vec::new(),
                more: !is_nothing,
                stopped: None,
            }
        } else {
            self.page_of_products(&list, &request, query.visibility)
                .await?
        };
        let page = Listed::new(self, fingerprint, list, request, page);
        let looked_through = looked_through.or(page.looked_through());
        Ok(ListedProducts {
            page,
            hints,
            query,
            search,
            looked_through,
        })
    }

    /// Whether the list has products after a page. At most one command, and those by which rows are brought up to date.
    pub async fn products_follow(&self, page: &ListedProducts) -> Result<bool, DomainError> {
        self.has_products(page, page.has_more_after()).await
    }

    /// Whether the list has products before a page. The same number of commands.
    pub async fn products_precede(&self, page: &ListedProducts) -> Result<bool, DomainError> {
        self.has_products(page, page.has_more_before()).await
    }

    /// The number of products in the list of a page, counted up to `max`. One command, or three if no
    /// index bounds the list; none when the page contains them all, or when the rows of their
    /// categories are in memory.
    pub async fn count_products(
        &self,
        page: &ListedProducts,
        max: u64,
    ) -> Result<Total, DomainError> {
        let condition = &page.list.condition;
        let (found, is_complete) = if let Some(all) = page.is_all() {
            (u64::try_from(all).unwrap_or(u64::MAX), true)
        } else if condition.is_nothing() {
            (0, true)
        } else if let Some(found) = self.count_loaded_rows(page, condition).await? {
            (found, true)
        } else {
            let limits = (self.max_examined(), page.query.visibility);
            let counted = self.count_examining(condition, max.saturating_add(1), limits);
            let counted = counted.await?;
            (counted.products, counted.is_complete)
        };
        let relation = if found > max || page.list.partial || !is_complete {
            TotalRelation::AtLeast
        } else {
            TotalRelation::Exact
        };
        let value = found.min(max);
        Ok(Total { value, relation })
    }

    /// The number of products that the caller may see in each category and its descendants; always
    /// exact. One command.
    pub async fn category_counts(
        &self,
        visibility: Visibility,
    ) -> Result<HashMap<CategoryId, u64>, DomainError> {
        let counts = self.own_counts().await?;
        let reference = self.reference();
        let below = |id: CategoryId| {
            let ids = reference.categories.subtree(id);
            let each = ids.iter().map(|id| counts.of_category(*id, visibility));
            each.sum::<u64>()
        };
        Ok(reference
            .categories
            .all()
            .iter()
            .map(|c| (c.id, below(c.id)))
            .collect())
    }

    /// The suppliers with these ids. One command.
    pub async fn suppliers_by_id(
        &self,
        ids: Vec<SupplierId>,
    ) -> Result<HashMap<SupplierId, Supplier>, DomainError> {
        let found = self
            .read(|store| async move { store.get_many_suppliers(&ids).await })
            .await?;
        Ok(found
            .into_iter()
            .map(|supplier| (supplier.id, supplier))
            .collect())
    }

    /// Whether a list that is filtered by what only admins may filter by would sort too many products.
    async fn sorts_too_many(
        &self,
        query: &ProductsQuery,
        condition: &Condition,
    ) -> Result<bool, DomainError> {
        let is_sorted = query.fields.is_some() && query.sort_spec.is_none();
        if !is_sorted || condition.is_nothing() || query.visibility != Visibility::Everything {
            return Ok(false);
        }
        let (condition, sort, max) = (condition.clone(), query.sort, self.max_products_read());
        self.read(|store| async move { store.sorts_more_than(&condition, sort, max).await })
            .await
    }

    /// The sort by a spec key; refused when too many products would have to be sorted. An unknown
    /// key adds a hint and sorts nothing.
    async fn spec_sort(
        &self,
        (key, visibility): (&str, Visibility),
        condition: &mut Condition,
        hints: &mut Vec<Hint>,
    ) -> Result<Option<SpecSort>, DomainError> {
        const PATH: &str = "sort[0].spec";
        let reference = self
            .reference_knowing(visibility, |reference| {
                reference.dictionary.get(key).is_some()
            })
            .await?;
        let limits = (self.max_products_read() / 2, visibility);
        let counted = if condition.is_nothing() {
            None
        } else {
            let counted = self.count_examining(condition, MAX_SORTED_BY_SPEC + 1, limits);
            Some(counted.await?)
        };
        let is_more =
            |counted: Counted| counted.products > MAX_SORTED_BY_SPEC || !counted.is_complete;
        if counted.is_some_and(|counted| counted.products == 0) {
            // They are not examined again.
            *condition = Condition::nothing();
        }
        if counted.is_some_and(is_more) {
            let reason = format!(
                "more than {MAX_SORTED_BY_SPEC} products would have to be read and sorted by {}; \
                 narrow the filter, for example to a category, or sort by a key such as PRICE",
                excerpt(key, 80).text
            );
            return Err(DomainError::invalid(PATH, reason));
        }
        let Some(entry) = reference.dictionary.get(key) else {
            hints.push(crate::filter::unknown_key_hint(PATH, key, &reference));
            return Ok(Some(SpecSort {
                names: Vec::new(),
                by_token: false,
            }));
        };
        if !entry.filterable {
            let reason = format!("{} may not be sorted by", entry.key);
            return Err(DomainError::invalid(PATH, reason));
        }
        let names = reference.dictionary.stored_names(key);
        Ok(Some(SpecSort {
            names: names.into_iter().map(str::to_owned).collect(),
            by_token: match entry.value_type {
                ValueType::Text | ValueType::Boolean => true,
                ValueType::Number | ValueType::Quantity | ValueType::Date => false,
            },
        }))
    }

    async fn has_products(
        &self,
        page: &ListedProducts,
        has_more: HasMore,
    ) -> Result<bool, DomainError> {
        let list = &page.list;
        match has_more {
            HasMore::Known(more) => Ok(more),
            HasMore::Lookup(_) if list.condition.is_nothing() => Ok(false),
            HasMore::Lookup(from) => {
                let request = PageRequest { size: 0, from };
                let visibility = page.query.visibility;
                if let Some(found) = self.page_of_rows(list, &request, visibility).await? {
                    return Ok(found.more);
                }
                let list = self.limited(list, visibility).await?;
                // The row of the cursor, or what lies beyond it, was in the list. To look for another one could examine as
                // much as a page.
                if list.looks_through.is_some() {
                    return Ok(true);
                }
                let from = request.from;
                self.read(|store| async move { store.list_continues(&list, from).await })
                    .await
            }
        }
    }

    /// The condition of all products that match a filter and a search text, for admins.
    pub(crate) async fn matching_condition(
        &self,
        filter: &ProductFilter,
        search: Option<&str>,
    ) -> Result<Condition, DomainError> {
        let (_, condition) = self
            .product_condition(filter, Visibility::Everything)
            .await?;
        let search = self.parse_search(search, Visibility::Everything).await?;
        Ok(match search {
            Some(search) => Condition::All(vec![condition, search.condition()]),
            None => condition,
        })
    }

    pub(crate) async fn product_condition(
        &self,
        filter: &ProductFilter,
        visibility: Visibility,
    ) -> Result<(Arc<Reference>, Condition), DomainError> {
        let known = |reference: &Reference| crate::filter::is_known(filter, reference);
        let reference = self.reference_knowing(visibility, known).await?;
        let condition = crate::filter::resolve(filter, visibility, &reference, self.currency())?;
        Ok((reference, condition))
    }
}

/// The list of a query.
fn product_list(
    query: &ProductsQuery,
    condition: Condition,
    search: Option<&Search>,
    scan_sort_index: bool,
) -> Result<ProductList, DomainError> {
    let by_relevance = query.sort.key == ProductSortKey::Relevance;
    if by_relevance && search.is_none() {
        let reason = "RELEVANCE needs a search; sort by something else";
        return Err(DomainError::invalid("sort[0].key", reason));
    }
    if by_relevance && query.sort.direction == Direction::Ascending {
        let reason = "RELEVANCE is always DESCENDING: best matches first";
        return Err(DomainError::invalid("sort[0].direction", reason));
    }
    let condition = match search {
        Some(search) => Condition::All(vec![condition, search.condition()]),
        None => condition,
    };
    let by_relevance = by_relevance && query.sort_spec.is_none();
    let ranking = search.filter(|_| by_relevance).map(Search::ranking);
    Ok(ProductList {
        condition,
        sort: query.sort,
        fields: query.fields.unwrap_or(ProductFields::Id),
        by_spec: None,
        ranking,
        partial: false,
        scan_sort_index,
        looks_through: None,
    })
}

/// Whether the index returns the matches of a search in sort order: a single word, no filter,
/// sorted by relevance or popularity.
fn is_sorted_by_index(query: &ProductsQuery, search: &Search) -> bool {
    let ordered = matches!(
        query.sort.key,
        ProductSortKey::Relevance | ProductSortKey::Popularity
    );
    let unfiltered = query.filter == ProductFilter::default();
    search.is_single() && unfiltered && ordered && query.sort_spec.is_none()
}

fn fingerprint(query: &ProductsQuery) -> ListFingerprint {
    let list = (&query.filter, &query.search, query.sort, &query.sort_spec);
    let filter = serde_json::to_vec(&list).expect("filters are plain data");
    ListFingerprint::of(&[
        b"products",
        &filter,
        &[u8::from(query.visibility == Visibility::Everything)],
    ])
}
