//! Exports: the catalogue as a stream of parts, each after what it refers to.
//!
//! One task reads and a bounded channel hands over, so memory does not grow with the catalogue. A
//! window of products with their reviews is of one point in time, later windows are of later ones.
//! A product that is written meanwhile is exported as it was before or after. Before each window
//! the reference data is compared by its version and sent again if it has changed, so that a
//! product never refers to something that was not sent before it.

use std::collections::{HashMap, HashSet};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use vitrine_model::category::CategoryTree;
use vitrine_model::contribution::Contribution;
use vitrine_model::erasure::ErasureReceipt;
use vitrine_model::filter::{Condition, ProductFilter};
use vitrine_model::id::{AuthorId, ProductId, SupplierId};
use vitrine_model::product::{Details, Product};
use vitrine_model::review::ReviewStatus;
use vitrine_model::supplier::Supplier;
use vitrine_storage::export::CatalogueSnapshot;
use vitrine_storage::views::ProductView;
use vitrine_storage::{StorageError, Store};

use crate::filter::Hint;
use crate::products::Visibility;
use crate::{Catalog, DomainError};

pub use vitrine_storage::export::{
    ReferenceData, ReviewHistory, StoredDecision, StoredReport, StoredReview, StoredVersion,
    StoredVote,
};
pub use vitrine_storage::reviewing::Report;

/// How many products are read at a time.
const WINDOW: u32 = 250;
/// How many reviews are read at a time.
const REVIEWS: usize = 500;
/// How many receipts of erasures are read at a time.
const ERASURES: u32 = 500;
/// How many parts wait to be taken.
const MAX_WAITING_PARTS: usize = 8;

/// What to export.
#[derive(Clone, Debug)]
pub struct ExportRequest {
    /// Which products; those that the visibility includes.
    pub filter: ProductFilter,
    /// Active products, or all.
    pub visibility: Visibility,
    /// Which of their reviews.
    pub reviews: ExportedReviews,
    /// Whether to leave out bundles of which some item is not exported, because such a bundle
    /// cannot be imported.
    pub complete_bundles: bool,
    /// The first product; `None` for all.
    pub from: Option<ProductId>,
}

/// Which reviews to export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportedReviews {
    /// None.
    None,
    /// Published ones, without what happened to them.
    Published,
    /// All, with what happened to them.
    WithHistory,
}

/// A part of an export.
#[derive(Clone, Debug)]
pub enum ExportPart {
    /// All data that products refer to, apart from suppliers: at the beginning, and whenever it has
    /// changed. Categories come after their parents.
    Reference(Box<ReferenceData>),
    /// Suppliers, in the order of their ids: all at the beginning, later those that have changed.
    Suppliers(Vec<Supplier>),
    /// A product.
    Product(Box<ExportedProduct>),
    /// Reviews of the product before them.
    Reviews(Vec<StoredReview>),
    /// Receipts of erasures, before all products of an export with reviews: an earlier export may have what was erased.
    Erasures(Vec<(AuthorId, ErasureReceipt)>),
    /// A bundle is left out, because the export does not have all of its items.
    IncompleteBundle(ProductId),
}

/// A product as an export has it.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportedProduct {
    /// The product, without its top reviews.
    pub product: Product,
    /// What its sources say, if it does not follow from the product.
    pub said: Vec<Contribution>,
}

/// A running export. It ends early when this is dropped.
#[derive(Debug)]
pub struct ExportStream {
    parts: mpsc::Receiver<ExportPart>,
    reading: JoinHandle<Result<(), DomainError>>,
    /// Parts of the filter that are possibly mistakes.
    pub hints: Vec<Hint>,
}

impl Catalog {
    /// Begins an export.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for an invalid filter, [`DomainError::Forbidden`] for one that asks
    /// for products that the visibility excludes.
    pub async fn export(&self, request: ExportRequest) -> Result<ExportStream, DomainError> {
        let (filter, visibility) = (&request.filter, request.visibility);
        let (reference, condition) = self.product_condition(filter, visibility).await?;
        let hints = crate::filter::hints(filter, &reference);
        let (sender, parts) = mpsc::channel(MAX_WAITING_PARTS);
        let catalog = self.clone();
        let reading = self.detached(async move {
            let read = catalog.maintain(|store| {
                let reader = Reader {
                    store,
                    request,
                    condition,
                    parts: sender,
                    reference: None,
                    suppliers: HashMap::new(),
                };
                reader.run()
            });
            read.await
        });
        Ok(ExportStream {
            parts,
            reading,
            hints,
        })
    }
}

impl ExportStream {
    /// The next part; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<ExportPart>, DomainError> {
        if let Some(part) = self.parts.recv().await {
            return Ok(Some(part));
        }
        match (&mut self.reading).await {
            Ok(read) => read.map(|()| None),
            Err(lost) => Err(DomainError::Internal(Box::new(lost))),
        }
    }
}

/// Nobody takes the parts any more.
struct Abandoned;

/// Why a window was not read to its end.
enum Stopped {
    Abandoned,
    Failed(StorageError),
}

impl From<Abandoned> for Stopped {
    fn from(_: Abandoned) -> Self {
        Self::Abandoned
    }
}

impl From<StorageError> for Stopped {
    fn from(error: StorageError) -> Self {
        Self::Failed(error)
    }
}

struct Reader {
    store: Store,
    request: ExportRequest,
    condition: Condition,
    parts: mpsc::Sender<ExportPart>,
    /// The version of the reference data that was sent.
    reference: Option<i64>,
    /// The versions of the suppliers that were sent.
    suppliers: HashMap<SupplierId, i64>,
}

impl Reader {
    async fn run(mut self) -> Result<(), StorageError> {
        match self.send_erasures().await {
            Ok(()) => {}
            Err(Stopped::Abandoned) => return Ok(()),
            Err(Stopped::Failed(error)) => return Err(error),
        }
        let from = self.request.from;
        // Ids are whole numbers.
        let mut after = from.map(|first| ProductId::from_i64(first.to_i64() - 1));
        loop {
            match self.window(after).await {
                Ok(Some(last)) => after = Some(last),
                Ok(None) | Err(Stopped::Abandoned) => return Ok(()),
                Err(Stopped::Failed(error)) => return Err(error),
            }
        }
    }

    async fn send_erasures(&self) -> Result<(), Stopped> {
        if self.request.reviews != ExportedReviews::WithHistory {
            return Ok(());
        }
        let mut after = None;
        loop {
            let some = self.store.page_erasures(after.as_ref(), ERASURES).await?;
            let Some((last, _)) = some.last() else {
                return Ok(());
            };
            after = Some(last.clone());
            self.send(ExportPart::Erasures(some)).await?;
        }
    }

    /// Sends the products after one with their reviews. Returns the last product that was looked
    /// at; `None` at the end.
    async fn window(&mut self, after: Option<ProductId>) -> Result<Option<ProductId>, Stopped> {
        let mut snapshot = self.store.catalogue_snapshot().await?;
        self.send_reference(&mut snapshot).await?;
        let last = snapshot.window_end(after, WINDOW).await?;
        let views = snapshot.products(after, last, &self.condition).await?;
        let products = views.iter().map(ProductView::product);
        let products: Vec<Product> = products.collect::<Result<_, StorageError>>()?;
        let products = self.with_complete_bundles(products, &mut snapshot).await?;
        let products = with_contributions(products, &mut snapshot).await?;
        self.send_changed_suppliers(&products, &mut snapshot)
            .await?;
        self.send_products(products, &mut snapshot).await?;
        Ok(last)
    }

    async fn send_reference(&mut self, snapshot: &mut CatalogueSnapshot) -> Result<(), Stopped> {
        let version = snapshot.reference_version().await?;
        if self.reference == Some(version) {
            return Ok(());
        }
        let mut reference = snapshot.reference().await?;
        let tree = CategoryTree::new(reference.categories.clone());
        // A category that was merged comes after the one that it is part of now.
        for category in &mut reference.categories {
            category.merged_into = category.merged_into.map(|into| tree.current(into));
        }
        reference.categories.sort_by_key(|category| {
            let is_merged = category.merged_into.is_some();
            (tree.depth(category.id), is_merged, category.id)
        });
        self.send(ExportPart::Reference(Box::new(reference)))
            .await?;
        if self.reference.is_none() {
            let all = snapshot.suppliers(None).await?;
            self.send_suppliers(all).await?;
        }
        self.reference = Some(version);
        Ok(())
    }

    async fn send_suppliers(&mut self, all: Vec<Supplier>) -> Result<(), Abandoned> {
        let versions = all.iter().map(|supplier| (supplier.id, supplier.version));
        self.suppliers.extend(versions);
        self.send(ExportPart::Suppliers(all)).await
    }

    /// Sends the suppliers of products that were added or changed since suppliers were sent.
    async fn send_changed_suppliers(
        &mut self,
        products: &[ExportedProduct],
        snapshot: &mut CatalogueSnapshot,
    ) -> Result<(), Stopped> {
        let copies = products
            .iter()
            .filter_map(|one| one.product.supplier.as_ref());
        let newer = copies.filter(|copy| {
            let sent = self.suppliers.get(&copy.id);
            sent.is_none_or(|version| *version < copy.version)
        });
        let mut newer: HashSet<SupplierId> = newer.map(|copy| copy.id).collect();
        let said = products.iter().flat_map(|one| &one.said);
        let said = said.filter_map(|one| one.content.supplier);
        newer.extend(said.filter(|id| !self.suppliers.contains_key(id)));
        if newer.is_empty() {
            return Ok(());
        }
        let newer: Vec<SupplierId> = newer.into_iter().collect();
        let changed = snapshot.suppliers(Some(&newer)).await?;
        Ok(self.send_suppliers(changed).await?)
    }

    /// Leaves out bundles of which some item is not exported.
    async fn with_complete_bundles(
        &self,
        mut products: Vec<Product>,
        snapshot: &mut CatalogueSnapshot,
    ) -> Result<Vec<Product>, Stopped> {
        let items: Vec<ProductId> = products.iter().flat_map(items).collect();
        if items.is_empty() || !self.request.complete_bundles {
            return Ok(products);
        }
        let exported = snapshot.matching(&items, &self.condition).await?;
        let is_complete =
            |product: &Product| items_of(product).all(|item| exported.contains(&item));
        let incomplete = products.iter().filter(|product| !is_complete(product));
        for left_out in incomplete {
            self.send(ExportPart::IncompleteBundle(left_out.id)).await?;
        }
        products.retain(is_complete);
        Ok(products)
    }

    async fn send_products(
        &self,
        products: Vec<ExportedProduct>,
        snapshot: &mut CatalogueSnapshot,
    ) -> Result<(), Stopped> {
        let (status, with_history) = match self.request.reviews {
            ExportedReviews::None => {
                for product in products {
                    self.send(ExportPart::Product(Box::new(product))).await?;
                }
                return Ok(());
            }
            ExportedReviews::Published => (Some(ReviewStatus::Published), false),
            ExportedReviews::WithHistory => (None, true),
        };
        let ids: Vec<ProductId> = products.iter().map(|one| one.product.id).collect();
        snapshot.open_reviews(&ids, status).await?;
        let mut products = products.into_iter().peekable();
        loop {
            let reviews = snapshot.next_reviews(REVIEWS, with_history).await?;
            if reviews.is_empty() {
                break;
            }
            let of_one =
                |a: &StoredReview, b: &StoredReview| a.review.product_id == b.review.product_id;
            for some in reviews.chunk_by(of_one) {
                // Products come before their reviews, and both are in the order of products.
                let product = some[0].review.product_id;
                while let Some(next) = products.next_if(|next| next.product.id <= product) {
                    self.send(ExportPart::Product(Box::new(next))).await?;
                }
                self.send(ExportPart::Reviews(some.to_vec())).await?;
            }
        }
        for product in products {
            self.send(ExportPart::Product(Box::new(product))).await?;
        }
        Ok(())
    }

    async fn send(&self, part: ExportPart) -> Result<(), Abandoned> {
        self.parts.send(part).await.map_err(|_| Abandoned)
    }
}

/// Adds what the sources of products say.
async fn with_contributions(
    products: Vec<Product>,
    snapshot: &mut CatalogueSnapshot,
) -> Result<Vec<ExportedProduct>, StorageError> {
    let ids = products.iter().filter(|one| !one.sources.is_empty());
    let ids: Vec<ProductId> = ids.map(|product| product.id).collect();
    let found = snapshot.contributions(&ids).await?.into_iter();
    let mut said: HashMap<ProductId, Vec<Contribution>> =
        found.map(|one| (one.product, one.all)).collect();
    let products = products.into_iter().map(|product| ExportedProduct {
        said: said.remove(&product.id).unwrap_or_default(),
        product,
    });
    Ok(products.collect())
}

fn items_of(product: &Product) -> impl Iterator<Item = ProductId> + '_ {
    let items = match &product.details {
        Details::Bundle(bundle) => bundle.items.as_slice(),
        _ => &[],
    };
    items.iter().map(|item| item.product_id)
}

fn items(product: &Product) -> Vec<ProductId> {
    items_of(product).collect()
}
