//! Unique names: stock-keeping units, slugs, and the external ids of products and reviews in feeds.
//!
//! A sharded collection can enforce uniqueness only of its shard key. Every name is therefore the
//! `_id` of a document in `names`, which refers to its owner and is written in the transaction that
//! writes the product. Imported reviews are inserted in bulk without a transaction: their names are
//! inserted first and contain the id that the review is to have. An import that finds a name
//! without its review inserts the review under that id.

use std::collections::{BTreeMap, HashMap, HashSet};

use futures_util::TryStreamExt as _;
use mongodb::ClientSession;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use vitrine_model::filter::Condition;
use vitrine_model::id::{ProductId, ReviewId};
use vitrine_model::product::{Product, ProductStatus};
use vitrine_model::review::{Origin, Review};

use crate::products::{COLLECTION as PRODUCTS, ProductFields, projection};
use crate::raw::{Fields, Read, stored_id};
use crate::transaction::TransactionError;
use crate::views::ProductView;
use crate::{StorageError, Store, products_query};

pub(crate) const NAMES: &str = "names";

/// How many names a process caches.
pub(crate) const MAX_CACHED: u64 = 100_000;

/// The kind of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameKind {
    Sku,
    Slug,
    /// The external id of a product in a feed.
    Source,
    /// The external id of a review in a feed.
    Review,
}

impl NameKind {
    const ALL: [Self; 4] = [Self::Sku, Self::Slug, Self::Source, Self::Review];

    /// The field that has the name, as reported after a duplicate key.
    const fn field(self) -> &'static str {
        match self {
            Self::Sku => "sku",
            Self::Slug => "slug",
            Self::Source => "source",
            Self::Review => "origin",
        }
    }

    fn with(self, name: &str) -> String {
        format!("{}:{name}", self.field())
    }

    /// Neither the name of a system nor an external id contains a line break.
    fn of_feed(self, system: &str, external_id: &str) -> String {
        self.with(&format!("{system}\n{external_id}"))
    }
}

/// Returns the name of a slug.
pub(crate) fn slug(slug: &str) -> String {
    NameKind::Slug.with(slug)
}

/// Returns the name of a stock-keeping unit.
pub(crate) fn sku(sku: &str) -> String {
    NameKind::Sku.with(sku)
}

/// Returns the name of the external id of a product in a feed.
pub(crate) fn source(system: &str, external_id: &str) -> String {
    NameKind::Source.of_feed(system, external_id)
}

/// Returns the name of the external id of a review in a feed.
pub(crate) fn origin(system: &str, external_id: &str) -> String {
    NameKind::Review.of_feed(system, external_id)
}

/// Returns all names of a product.
pub(crate) fn of_product(product: &Product) -> Vec<String> {
    let sources = product.sources.iter();
    let sources = sources.map(|from| source(&from.system, &from.external_id));
    [sku(&product.sku), slug(&product.slug)]
        .into_iter()
        .chain(sources)
        .collect()
}

/// Returns the name of an imported review.
pub(crate) fn of_review(review: &Review) -> Option<String> {
    let Origin {
        system,
        external_id,
    } = review.origin.as_ref()?;
    Some(origin(system, external_id))
}

/// The document of a product's name.
pub(crate) fn product_document(name: &str, product: ProductId) -> Document {
    doc! { "_id": name, "product": stored_id(product.to_i64()) }
}

/// The document of a review's name.
pub(crate) fn review_document(name: &str, review: &Review) -> Document {
    let mut doc = product_document(name, review.product_id);
    doc.insert("review", stored_id(review.id.to_i64()));
    doc
}

/// Returns the field whose value is taken, from a duplicate key error of an insert into `names`.
pub(crate) fn taken_field(error: &Document) -> Option<&'static str> {
    let name = error.get_document("keyValue").ok()?.get_str("_id").ok()?;
    let (field, _) = name.split_once(':')?;
    let mut kinds = NameKind::ALL.into_iter();
    kinds
        .find(|kind| kind.field() == field)
        .map(NameKind::field)
}

/// The owner of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NameOwner {
    pub(crate) product: ProductId,
    pub(crate) review: Option<ReviewId>,
}

impl NameOwner {
    /// Returns the owner of an imported review's name.
    pub(crate) const fn of(review: &Review) -> Self {
        Self {
            product: review.product_id,
            review: Some(review.id),
        }
    }
}

impl Store {
    /// Returns the owners of those of these names that are taken. One command.
    pub(crate) async fn name_owners(
        &self,
        names: &[String],
    ) -> Result<HashMap<String, NameOwner>, StorageError> {
        if names.is_empty() {
            return Ok(HashMap::new());
        }
        let collection = self.raw(NAMES);
        let find = collection
            .find(doc! { "_id": { "$in": names } })
            .batch_size(batch_of(names.len()))
            .hint(Hint::Name("_id_".to_owned()))
            .max_time(self.max_time);
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        found.iter().map(read).collect()
    }

    /// Returns the product with this name if it has one of these statuses. One command: by id if
    /// the name is cached, otherwise a `$lookup` from the name. Two if the cached owner has changed
    /// its name or status since.
    pub(crate) async fn get_product_by_name(
        &self,
        kind: NameKind,
        value: &str,
        states: &[ProductStatus],
    ) -> Result<Option<ProductView>, StorageError> {
        if let Some(cached) = self.name_cache.get(&kind.with(value)) {
            let mut filter = doc! { "_id": stored_id(cached.to_i64()), kind.field(): value };
            let visible = Condition::Status(states.to_vec());
            filter.extend(products_query::predicate(&visible));
            let collection = self.raw(PRODUCTS);
            let find = collection
                .find_one(filter)
                .hint(Hint::Name("_id_".to_owned()))
                .projection(projection(ProductFields::Page))
                .max_time(self.max_time);
            if let Some(found) = find.await? {
                return ProductView::new(found).map(Some);
            }
        }
        self.look_up_name(kind, value, states).await
    }

    /// Returns the product with this name, as the database has it, and caches the name. One command.
    pub(crate) async fn look_up_name(
        &self,
        kind: NameKind,
        value: &str,
        states: &[ProductStatus],
    ) -> Result<Option<ProductView>, StorageError> {
        let name = kind.with(value);
        self.name_cache.invalidate(&name);
        let visible = products_query::predicate(&Condition::Status(states.to_vec()));
        let pipeline = lookup(doc! { "_id": &name }, visible);
        let collection = self.raw(NAMES);
        let found = collection
            .aggregate(pipeline)
            .hint(Hint::Name("_id_".to_owned()))
            .max_time(self.max_time)
            .with_type::<RawDocumentBuf>();
        let Some(found) = found.await?.try_next().await? else {
            return Ok(None);
        };
        let view = ProductView::new(found)?;
        self.name_cache.insert(name, view.id());
        Ok(Some(view))
    }

    /// Returns the products with these stock-keeping units that have one of these statuses, in no
    /// particular order. One command: by ids if all names are cached, otherwise a `$lookup` from
    /// each name. Two if a cached owner has changed its SKU or status since.
    pub async fn get_many_products_by_sku(
        &self,
        skus: &[String],
        states: &[ProductStatus],
    ) -> Result<Vec<ProductView>, StorageError> {
        let visible = products_query::predicate(&Condition::Status(states.to_vec()));
        let mut found = self.cached_products(skus, &visible).await?;
        let known = found.iter().map(ProductView::sku);
        let known: HashSet<&str> = known.collect::<Result<_, _>>()?;
        let missing = skus.iter().filter(|value| !known.contains(value.as_str()));
        let missing: Vec<String> = missing.map(|value| sku(value)).collect();
        if missing.is_empty() {
            return Ok(found);
        }
        for name in &missing {
            self.name_cache.invalidate(name);
        }
        let collection = self.raw(NAMES);
        let rest = collection
            .aggregate(lookup(doc! { "_id": { "$in": missing } }, visible))
            .hint(Hint::Name("_id_".to_owned()))
            .max_time(self.max_time)
            .with_type::<RawDocumentBuf>();
        let rest: Vec<RawDocumentBuf> = rest.await?.try_collect().await?;
        for document in rest {
            let view = ProductView::new(document)?;
            self.name_cache.insert(sku(view.sku()?), view.id());
            found.push(view);
        }
        Ok(found)
    }

    /// Returns the visible ones of the products with these stock-keeping units; none, without a
    /// command, unless all of their names are cached.
    async fn cached_products(
        &self,
        skus: &[String],
        visible: &Document,
    ) -> Result<Vec<ProductView>, StorageError> {
        let cached = skus.iter().map(|value| self.name_cache.get(&sku(value)));
        let Some(ids) = cached.collect::<Option<Vec<ProductId>>>() else {
            return Ok(Vec::new());
        };
        let mut filter = doc! { "_id": { "$in": stored_ids(ids) }, "sku": { "$in": skus } };
        filter.extend(visible.clone());
        let collection = self.raw(PRODUCTS);
        let find = collection
            .find(filter)
            .hint(Hint::Name("_id_".to_owned()))
            .projection(projection(ProductFields::Page))
            .max_time(self.max_time);
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        found.into_iter().map(ProductView::new).collect()
    }

    /// Inserts names in a transaction. Fails with [`StorageError::Conflict`] and the field when one
    /// is taken; the server has aborted the transaction then.
    pub(crate) async fn insert_names(
        &self,
        session: &mut ClientSession,
        names: Vec<Document>,
    ) -> Result<(), TransactionError> {
        /// How many names are inserted with one command.
        const BATCH: usize = 5_000;
        for some in names.chunks(BATCH) {
            let command = doc! { "insert": NAMES, "documents": some, "ordered": true };
            let reply = self.db.run_command(command).session(&mut *session).await?;
            let errors = reply.get_array("writeErrors").ok();
            let Some(error) = errors.and_then(|errors| errors.first()) else {
                continue;
            };
            let error = error.as_document().cloned().unwrap_or_default();
            return Err(match taken_field(&error) {
                Some(field) => StorageError::Conflict {
                    key: field.to_owned(),
                }
                .into(),
                None => mongodb::error::Error::custom(error).into(),
            });
        }
        Ok(())
    }

    /// Replaces the names of a product in a transaction.
    pub(crate) async fn replace_names(
        &self,
        session: &mut ClientSession,
        product: ProductId,
        (before, after): (&[String], &[String]),
    ) -> Result<(), TransactionError> {
        let gone: Vec<&String> = before.iter().filter(|name| !after.contains(name)).collect();
        if !gone.is_empty() {
            let own = doc! { "_id": { "$in": gone }, "product": stored_id(product.to_i64()) };
            let names = self.documents(NAMES);
            names.delete_many(own).session(&mut *session).await?;
        }
        let new = after.iter().filter(|name| !before.contains(name));
        let new = new.map(|name| product_document(name, product));
        self.insert_names(session, new.collect()).await
    }

    /// Inserts the names of imported reviews. Returns for each whether it owns its name and may be
    /// inserted.
    pub(crate) async fn claim_origins(
        &self,
        reviews: &[&Review],
    ) -> Result<Vec<bool>, StorageError> {
        let mut claims: BTreeMap<String, &Review> = BTreeMap::new();
        for review in reviews {
            claims.extend(of_review(review).map(|name| (name, *review)));
        }
        let names: Vec<String> = claims.keys().cloned().collect();
        let docs = claims.iter();
        let docs = docs.map(|(name, review)| review_document(name, review));
        let refused = self.insert_each(NAMES, docs.collect(), false).await?;
        let taken = names.into_iter().zip(refused);
        let taken = taken.filter_map(|(name, refused)| refused.map(|_| name));
        let taken: Vec<String> = taken.collect();
        let owners = self.name_owners(&taken).await?;
        let is_own = |review: &&Review| {
            let name = of_review(review);
            // An earlier import may have inserted the name but not the review.
            name.and_then(|name| owners.get(&name))
                .is_none_or(|owner| *owner == NameOwner::of(review))
        };
        Ok(reviews.iter().map(is_own).collect())
    }

    /// Deletes the names of imported reviews that were not inserted.
    pub(crate) async fn delete_origins(&self, reviews: &[&Review]) -> Result<(), StorageError> {
        let own = reviews
            .iter()
            .filter_map(|review| Some(review_document(&of_review(review)?, review)));
        self.delete_names(own.collect()).await
    }

    /// Deletes the name that an import claimed for a review that it did not insert.
    pub async fn delete_claim(
        &self,
        of: &Origin,
        (product, review): (ProductId, ReviewId),
    ) -> Result<(), StorageError> {
        let mut name = product_document(&origin(&of.system, &of.external_id), product);
        name.insert("review", stored_id(review.to_i64()));
        self.delete_names(vec![name]).await
    }

    /// Deletes names that still have this owner.
    async fn delete_names(&self, names: Vec<Document>) -> Result<(), StorageError> {
        if names.is_empty() {
            return Ok(());
        }
        let deletes = names.into_iter().map(|name| doc! { "q": name, "limit": 1 });
        let command = doc! {
            "delete": NAMES,
            "deletes": deletes.collect::<Vec<_>>(),
            "ordered": false,
        };
        self.write(command).await?;
        Ok(())
    }

    /// Returns the number of names of products, for the audit.
    pub(crate) async fn count_product_names(&self) -> Result<u64, StorageError> {
        let mut all = 0;
        for kind in [NameKind::Sku, NameKind::Slug, NameKind::Source] {
            let start = kind.with("");
            // The upper bound of all texts with the prefix.
            let end = kind.with("\u{10ffff}");
            let of_kind = doc! { "_id": { "$gte": start, "$lt": end } };
            let collection = self.documents(NAMES);
            let count = collection.count_documents(of_kind);
            all += count.hint(Hint::Name("_id_".to_owned())).await?;
        }
        Ok(all)
    }
}

/// The stages that find the visible products of some names.
fn lookup(names: Document, visible: Document) -> [Document; 4] {
    [
        doc! { "$match": names },
        doc! { "$lookup": {
            "from": PRODUCTS,
            "localField": "product",
            "foreignField": "_id",
            "pipeline": [
                { "$match": visible },
                { "$project": projection(ProductFields::Page) },
            ],
            "as": "product",
        } },
        doc! { "$match": { "product": { "$ne": [] } } },
        doc! { "$replaceWith": { "$first": "$product" } },
    ]
}

fn read(doc: &RawDocumentBuf) -> Read<(String, NameOwner)> {
    let fields = Fields::of(NAMES, doc);
    let named = NameOwner {
        product: ProductId::from_i64(fields.id("product")?),
        review: fields.opt_id("review")?.map(ReviewId::from_i64),
    };
    Ok((fields.string("_id")?, named))
}

/// The size of the first batch of a cursor over at most so many documents: all of them. The server's own, of 101,
/// would need another command. One more than there are, so that the server closes the cursor.
pub(crate) fn batch_of(documents: usize) -> u32 {
    u32::try_from(documents).map_or(u32::MAX, |documents| documents.saturating_add(1))
}

/// Encodes ids of products.
pub(crate) fn stored_ids(ids: impl IntoIterator<Item = ProductId>) -> Vec<Bson> {
    let ids = ids.into_iter();
    ids.map(|id| stored_id(id.to_i64())).collect()
}
