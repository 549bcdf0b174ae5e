//! Documents read lazily: a view holds the bytes the server sent and reads a field when it is
//! asked for, so that a page pays for what it shows.

use mongodb::bson::{Document, RawDocumentBuf};
use vitrine_model::activity::ActivitySummary;
use vitrine_model::clock::Timestamp;
use vitrine_model::fold::Computed;
use vitrine_model::id::{CategoryId, ProductId};
use vitrine_model::money::Money;
use vitrine_model::product::{Details, Kind, Media, Outlier, Product, ProductStatus, Sold, Source};
use vitrine_model::rating::RatingStats;
use vitrine_model::review::TopReview;
use vitrine_model::spec::Spec;
use vitrine_model::supplier::SupplierExtract;

use crate::StorageError;
use crate::documents::{product, stats};
use crate::raw::Fields;

/// A stored product, read field by field. Every method fails with [`StorageError::Corrupt`] when
/// the field cannot be read.
#[derive(Clone, Debug)]
pub struct ProductView {
    doc: RawDocumentBuf,
    id: ProductId,
}

type Read<T> = Result<T, StorageError>;

impl ProductView {
    pub(crate) fn new(doc: RawDocumentBuf) -> Read<Self> {
        let id = Fields::of("products", &doc).id("_id")?;
        Ok(Self {
            doc,
            id: ProductId::from_i64(id),
        })
    }

    fn fields(&self) -> Fields<'_> {
        Fields::of("products", &self.doc)
    }

    /// What is shown of the product, without what only indexes need.
    pub(crate) fn to_document(&self) -> Read<Document> {
        let read = Document::try_from(self.doc.as_ref());
        let mut doc = read.map_err(|_| self.fields().corrupt("document"))?;
        for field in ["tokens", "keywords", "slot"] {
            doc.remove(field);
        }
        Ok(doc)
    }

    /// Identifies the product.
    #[must_use]
    pub const fn id(&self) -> ProductId {
        self.id
    }

    /// The kind.
    pub fn kind(&self) -> Read<&str> {
        self.fields().str("kind")
    }

    /// The stock-keeping unit.
    pub fn sku(&self) -> Read<&str> {
        self.fields().str("sku")
    }

    /// The part of an address.
    pub fn slug(&self) -> Read<&str> {
        self.fields().str("slug")
    }

    /// The name.
    pub fn name(&self) -> Read<&str> {
        self.fields().str("name")
    }

    /// The description.
    pub fn description(&self) -> Read<Option<&str>> {
        self.fields().opt_str("description")
    }

    /// The brand.
    pub fn brand(&self) -> Read<Option<&str>> {
        self.fields().opt_str("brand")
    }

    /// The state.
    pub fn status(&self) -> Read<ProductStatus> {
        product::read_status(&self.fields())
    }

    /// The category.
    pub fn category(&self) -> Read<CategoryId> {
        product::read_category(&self.fields())
    }

    /// The price.
    pub fn price(&self) -> Read<Option<Money>> {
        self.fields()
            .opt_doc("price")?
            .map(product::read_money)
            .transpose()
    }

    /// Pictures, films, documents.
    pub fn media(&self) -> Read<Vec<Media>> {
        self.fields().docs("media", product::read_media)
    }

    /// All specs.
    pub fn specs(&self) -> Read<Vec<Spec>> {
        self.fields().docs("specs", product::read_spec)
    }

    /// What only the kind has.
    pub fn details(&self) -> Read<Details> {
        let fields = self.fields();
        product::read_details(Kind::of(fields.str("kind")?), &fields)
    }

    /// What is carried of the supplier.
    pub fn supplier(&self) -> Read<Option<SupplierExtract>> {
        self.fields()
            .opt_doc("supplier")?
            .map(product::read_supplier)
            .transpose()
    }

    /// The rating numbers.
    pub fn stats(&self) -> Read<RatingStats> {
        stats::read_stats(&self.fields().doc("stats")?)
    }

    /// The most helpful reviews; empty when they were not asked for.
    pub fn top_reviews(&self) -> Read<Vec<TopReview>> {
        self.fields().docs("top_reviews", stats::read_top_review)
    }

    /// Which special paths apply.
    pub fn outlier(&self) -> Read<Outlier> {
        stats::read_outlier(&self.fields().doc("outlier")?)
    }

    /// How it stands after the activity of the last 30 days.
    pub fn standing(&self) -> Read<ActivitySummary> {
        stats::read_standing(&self.fields())
    }

    /// How often it was sold.
    pub fn sold(&self) -> Read<Sold> {
        stats::read_sold(&self.fields())
    }

    /// Where it was imported from.
    pub fn sources(&self) -> Read<Vec<Source>> {
        self.fields().docs("sources", product::read_source)
    }

    /// Since when it is listed; drafts are not.
    pub fn listed_at(&self) -> Read<Option<Timestamp>> {
        self.fields().opt_date("listed_at")
    }

    /// The revision.
    pub fn revision(&self) -> Read<i64> {
        self.fields().i64("revision")
    }

    /// When it was first stored.
    pub fn created_at(&self) -> Read<Timestamp> {
        self.fields().date("created_at")
    }

    /// When an admin or an import last changed it.
    pub fn updated_at(&self) -> Read<Timestamp> {
        self.fields().date("updated_at")
    }

    /// The whole product.
    pub fn product(&self) -> Read<Product> {
        Ok(Product {
            id: self.id,
            kind: self.kind()?.to_owned(),
            sku: self.sku()?.to_owned(),
            slug: self.slug()?.to_owned(),
            name: self.name()?.to_owned(),
            description: self.description()?.map(str::to_owned),
            brand: self.brand()?.map(str::to_owned),
            status: self.status()?,
            category: self.category()?,
            price: self.price()?,
            media: self.media()?,
            specs: self.specs()?,
            details: self.details()?,
            supplier: self.supplier()?,
            computed: Computed {
                stats: self.stats()?,
                top_reviews: self.top_reviews()?,
            },
            outlier: self.outlier()?,
            standing: self.standing()?,
            sold: self.sold()?,
            sources: self.sources()?,
            revision: self.revision()?,
            created_at: self.created_at()?,
            listed_at: self.listed_at()?,
            updated_at: self.updated_at()?,
        })
    }
}
