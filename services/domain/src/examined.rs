//! How many products a list or a count may examine.
//!
//! A filter that no index bounds would examine every product of its states and categories before it finds that none
//! matches. Where these are more than twice [`Catalog::max_examined`], a page of a list stops there, and the next page
//! continues; a count stops there, and is a lower bound. Of fewer products all are examined: without a limit, the database
//! needs half as long for each.

use vitrine_model::filter::Condition;
use vitrine_storage::examined::{Counted, ExaminedScope, scope_of_count, scope_of_list};
use vitrine_storage::products::ProductList;

use crate::category_counts::CategoryCounts;
use crate::products::Visibility;
use crate::{Catalog, DomainError};

impl Catalog {
    /// The maximum number of products that a page of a list examines, and a count of its products: 1,250 by
    /// default. The database needs about six microseconds for each, so a page takes it eight milliseconds at most.
    pub(crate) fn max_examined(&self) -> u32 {
        self.max_products_read() / 8
    }

    /// Limits what a list examines, if that could be too many products. At most one command, and one for the numbers of
    /// products in categories if they are not in memory.
    pub(crate) async fn limited(
        &self,
        list: &ProductList,
        visibility: Visibility,
    ) -> Result<ProductList, DomainError> {
        let (mut list, max) = (list.clone(), self.max_examined());
        let Some(scope) = scope_of_list(&list) else {
            return Ok(list);
        };
        if !self.has_more_than(&scope, 2 * max, visibility).await? {
            return Ok(list);
        }
        self.read(|store| async move {
            store.limit_list(&mut list, max).await?;
            Ok(list)
        })
        .await
    }

    /// Counts the products that match a condition, up to `max`, among at most `examined` products, or among all if they
    /// are not more than twice as many. One command, and
    /// at most two more where no index bounds the condition.
    pub(crate) async fn count_examining(
        &self,
        condition: &Condition,
        max: u64,
        (examined, visibility): (u32, Visibility),
    ) -> Result<Counted, DomainError> {
        let is_limited = match scope_of_count(condition) {
            Some(scope) => self.has_more_than(&scope, 2 * examined, visibility).await?,
            None => false,
        };
        let condition = condition.clone();
        self.read(|store| async move {
            if is_limited {
                return store.count_within(&condition, max, examined).await;
            }
            Ok(Counted {
                products: store.count_products(&condition, max).await?,
                is_complete: true,
            })
        })
        .await
    }

    /// Whether a scope has more products than this.
    async fn has_more_than(
        &self,
        scope: &ExaminedScope,
        max: u32,
        visibility: Visibility,
    ) -> Result<bool, DomainError> {
        let counts = match self.changes() {
            Some(changes) => self.counts_after(changes).await?,
            None => self.own_counts().await?,
        };
        Ok(products(&counts, scope, visibility) > u64::from(max))
    }
}

fn products(counts: &CategoryCounts, scope: &ExaminedScope, visibility: Visibility) -> u64 {
    let of = |id| counts.of_category(id, visibility);
    match &scope.categories {
        Some(ids) => ids.iter().copied().map(of).sum(),
        None => counts.known().map(of).sum(),
    }
}
