//! Documents decoded lazily: a view holds the bytes that the server sent and decodes a field when
//! it is asked for, so that a page pays only for what it shows. The rating numbers, which take longest,
//! are decoded once.

use std::sync::{Arc, OnceLock};

use mongodb::bson::{Document, RawDocumentBuf};
use vitrine_model::activity::ActivitySummary;
use vitrine_model::clock::Timestamp;
use vitrine_model::fold::Computed;
use vitrine_model::id::{CategoryId, ProductId};
use vitrine_model::money::Money;
use vitrine_model::overrides::Overrides;
use vitrine_model::product::{Details, Kind, Media, Outlier, Product, ProductStatus, Sold, Source};
use vitrine_model::rating::RatingStats;
use vitrine_model::review::TopReview;
use vitrine_model::spec::Spec;
use vitrine_model::supplier::SupplierExtract;

use crate::StorageError;
use crate::documents::{product, stats};
use crate::raw::Fields;

/// A stored product, decoded field by field. Cheap to clone. Every method fails with [`StorageError::Corrupt`] when
/// the field cannot be decoded.
#[derive(Clone, Debug)]
pub struct ProductView {
    doc: Arc<Stored>,
    id: ProductId,
}

#[derive(Debug)]
struct Stored {
    bytes: RawDocumentBuf,
    stats: OnceLock<Arc<RatingStats>>,
}

type Read<T> = Result<T, StorageError>;

impl ProductView {
    pub(crate) fn new(doc: RawDocumentBuf) -> Read<Self> {
        let id = Fields::of("products", &doc).id("_id")?;
        Ok(Self {
            doc: Arc::new(Stored {
                bytes: doc,
                stats: OnceLock::new(),
            }),
            id: ProductId::from_i64(id),
        })
    }

    fn fields(&self) -> Fields<'_> {
        Fields::of("products", &self.doc.bytes)
    }

    /// Returns the document without the fields that only indexes need.
    pub(crate) fn to_document(&self) -> Read<Document> {
        let read = Document::try_from(self.doc.bytes.as_ref());
        let mut doc = read.map_err(|_| self.fields().corrupt("document"))?;
        for field in ["tokens", "keywords", "slot"] {
            doc.remove(field);
        }
        Ok(doc)
    }

    /// Returns the id of the product.
    #[must_use]
    pub const fn id(&self) -> ProductId {
        self.id
    }

    /// Returns the size of the document in bytes.
    #[must_use]
    pub fn stored_bytes(&self) -> usize {
        self.doc.bytes.as_bytes().len()
    }

    /// Returns the name of the kind.
    pub fn kind(&self) -> Read<&str> {
        self.fields().str("kind")
    }

    /// Returns the stock-keeping unit.
    pub fn sku(&self) -> Read<&str> {
        self.fields().str("sku")
    }

    /// Returns the slug, the unique part of the product's URL.
    pub fn slug(&self) -> Read<&str> {
        self.fields().str("slug")
    }

    /// Returns the name.
    pub fn name(&self) -> Read<&str> {
        self.fields().str("name")
    }

    /// Returns the description.
    pub fn description(&self) -> Read<Option<&str>> {
        self.fields().opt_str("description")
    }

    /// Returns the brand.
    pub fn brand(&self) -> Read<Option<&str>> {
        self.fields().opt_str("brand")
    }

    /// Returns the status.
    pub fn status(&self) -> Read<ProductStatus> {
        product::read_status(&self.fields())
    }

    /// Returns the id of the category.
    pub fn category(&self) -> Read<CategoryId> {
        product::read_category(&self.fields())
    }

    /// Returns the price in minor units of its currency.
    pub fn price(&self) -> Read<Option<Money>> {
        self.fields()
            .opt_doc("price")?
            .map(product::read_money)
            .transpose()
    }

    /// Returns images, videos and documents.
    pub fn media(&self) -> Read<Vec<Media>> {
        self.fields().docs("media", product::read_media)
    }

    /// Returns all specs.
    pub fn specs(&self) -> Read<Vec<Spec>> {
        self.fields().docs("specs", product::read_spec)
    }

    /// Returns all specs, with the texts of the document.
    pub fn specs_in_place(&self) -> Read<Vec<Spec<&str>>> {
        self.fields().docs("specs", product::read_spec_in_place)
    }

    /// Returns the fields that only this kind of product has.
    pub fn details(&self) -> Read<Details> {
        let fields = self.fields();
        product::read_details(Kind::of(fields.str("kind")?), &fields)
    }

    /// Returns the extended reference of the supplier: name and country as of a version.
    pub fn supplier(&self) -> Read<Option<SupplierExtract>> {
        self.fields()
            .opt_doc("supplier")?
            .map(product::read_supplier)
            .transpose()
    }

    /// Returns the rating numbers.
    pub fn stats(&self) -> Read<Arc<RatingStats>> {
        if let Some(known) = self.doc.stats.get() {
            return Ok(Arc::clone(known));
        }
        let read = Arc::new(stats::read_stats(&self.fields().doc("stats")?)?);
        Ok(Arc::clone(self.doc.stats.get_or_init(|| read)))
    }

    /// Returns the most helpful reviews; empty when they were not read.
    pub fn top_reviews(&self) -> Read<Vec<TopReview>> {
        self.fields().docs("top_reviews", stats::read_top_review)
    }

    /// Returns the outlier flags: many or large numbers of reviews, or hot.
    pub fn outlier(&self) -> Read<Outlier> {
        stats::read_outlier(&self.fields().doc("outlier")?)
    }

    /// Returns the summary of the activity of the last 30 days.
    pub fn activity(&self) -> Read<ActivitySummary> {
        stats::read_activity(&self.fields())
    }

    /// Returns the number of units ever sold.
    pub fn sold(&self) -> Read<Sold> {
        stats::read_sold(&self.fields())
    }

    /// Returns the fields that people have edited.
    pub fn overrides(&self) -> Read<Overrides> {
        product::read_overrides(&self.fields())
    }

    /// Returns the sources that the product was imported from.
    pub fn sources(&self) -> Read<Vec<Source>> {
        self.fields().docs("sources", product::read_source)
    }

    /// Returns since when the product is listed; `None` for drafts.
    pub fn listed_at(&self) -> Read<Option<Timestamp>> {
        self.fields().opt_date("listed_at")
    }

    /// Returns the revision, which every change by an admin or import increases.
    pub fn revision(&self) -> Read<i64> {
        self.fields().i64("revision")
    }

    /// Returns when the product was first stored.
    pub fn created_at(&self) -> Read<Timestamp> {
        self.fields().date("created_at")
    }

    /// Returns when an admin or an import last changed the product.
    pub fn updated_at(&self) -> Read<Timestamp> {
        self.fields().date("updated_at")
    }

    /// Decodes the whole product.
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
                stats: self.stats()?.as_ref().clone(),
                top_reviews: self.top_reviews()?,
            },
            outlier: self.outlier()?,
            activity: self.activity()?,
            sold: self.sold()?,
            sources: self.sources()?,
            overrides: self.overrides()?,
            revision: self.revision()?,
            created_at: self.created_at()?,
            listed_at: self.listed_at()?,
            updated_at: self.updated_at()?,
        })
    }
}
