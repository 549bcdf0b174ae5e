//! Names that only one product or review may have: stock-keeping units, slugs, and what feeds call
//! products and reviews.
//!
//! A collection that is spread over several servers can keep nothing unique but its own key. So
//! every name is the `_id` of a document in `names`, which says whose it is and is written in the
//! transaction that writes the product. Reviews that a feed brings in great numbers are stored
//! without a transaction: their names come first, and say which id the review is to have, so that
//! whoever finds a name without its review stores that review, and nobody another one.

use std::collections::{BTreeMap, HashMap};

use futures_util::TryStreamExt as _;
use mongodb::ClientSession;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use vitrine_model::id::{ProductId, ReviewId};
use vitrine_model::product::{Product, ProductStatus};
use vitrine_model::review::{Origin, Review};

use crate::products::{COLLECTION as PRODUCTS, ProductFields, projection};
use crate::raw::{Fields, Read, stored_id};
use crate::transaction::TransactionError;
use crate::views::ProductView;
use crate::{StorageError, Store, products_query};

pub(crate) const NAMES: &str = "names";

/// How many names of products a process remembers.
pub(crate) const MOST_REMEMBERED: u64 = 100_000;

/// What a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameKind {
    Sku,
    Slug,
    /// What a feed calls a product.
    Source,
    /// What a feed calls a review.
    Review,
}

impl NameKind {
    const ALL: [Self; 4] = [Self::Sku, Self::Slug, Self::Source, Self::Review];

    /// The field that has the name, as refusals say it.
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

    /// Neither a system nor an id has a line break.
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

/// Returns the name that a feed has for a product.
pub(crate) fn source(system: &str, external_id: &str) -> String {
    NameKind::Source.of_feed(system, external_id)
}

/// Returns the name that a feed has for a review.
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

/// The field that was refused because another has this name, from a write error of the server.
pub(crate) fn refused_field(error: &Document) -> Option<&'static str> {
    let name = error.get_document("keyValue").ok()?.get_str("_id").ok()?;
    let (field, _) = name.split_once(':')?;
    let mut kinds = NameKind::ALL.into_iter();
    kinds
        .find(|kind| kind.field() == field)
        .map(NameKind::field)
}

/// Whose a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) product: ProductId,
    pub(crate) review: Option<ReviewId>,
}

impl Store {
    /// Returns whose these names are; nothing of those that nobody has. One command.
    pub(crate) async fn named(
        &self,
        names: &[String],
    ) -> Result<HashMap<String, Named>, StorageError> {
        if names.is_empty() {
            return Ok(HashMap::new());
        }
        let collection = self.raw(NAMES);
        let find = collection
            .find(doc! { "_id": { "$in": names } })
            .hint(Hint::Name("_id_".to_owned()))
            .max_time(self.max_time);
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        found.iter().map(read).collect()
    }

    /// Returns the product with a name that is in one of these states. One command: by its id where
    /// this process knows whose the name is, else by the name.
    pub(crate) async fn product_named(
        &self,
        name: &str,
        field: &str,
        value: &str,
        states: &[ProductStatus],
    ) -> Result<Option<ProductView>, StorageError> {
        let seen =
            products_query::predicate(&vitrine_model::filter::Condition::Status(states.to_vec()));
        if let Some(known) = self.known_names.get(name) {
            let mut filter = doc! { "_id": stored_id(known.to_i64()), field: value };
            filter.extend(seen.clone());
            let collection = self.raw(PRODUCTS);
            let find = collection
                .find_one(filter)
                .hint(Hint::Name("_id_".to_owned()))
                .projection(projection(ProductFields::Page))
                .max_time(self.max_time);
            if let Some(found) = find.await? {
                return ProductView::new(found).map(Some);
            }
            // It has another name now, or is not seen. A second look tells.
            self.known_names.invalidate(name);
        }
        let pipeline = [
            doc! { "$match": { "_id": name } },
            doc! { "$lookup": {
                "from": PRODUCTS,
                "localField": "product",
                "foreignField": "_id",
                "pipeline": [
                    { "$match": seen },
                    { "$project": projection(ProductFields::Page) },
                ],
                "as": "product",
            } },
            doc! { "$match": { "product": { "$ne": [] } } },
            doc! { "$replaceWith": { "$first": "$product" } },
        ];
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
        self.known_names.insert(name.to_owned(), view.id());
        Ok(Some(view))
    }

    /// Takes names in a transaction. Fails with [`StorageError::Conflict`] and the field when another
    /// has one of them; the transaction is over then.
    pub(crate) async fn take_names(
        &self,
        session: &mut ClientSession,
        names: Vec<Document>,
    ) -> Result<(), TransactionError> {
        /// How many are taken with one command.
        const TOGETHER: usize = 5_000;
        for some in names.chunks(TOGETHER) {
            let command = doc! { "insert": NAMES, "documents": some, "ordered": true };
            let reply = self.db.run_command(command).session(&mut *session).await?;
            let errors = reply.get_array("writeErrors").ok();
            let Some(error) = errors.and_then(|errors| errors.first()) else {
                continue;
            };
            let error = error.as_document().cloned().unwrap_or_default();
            return Err(match refused_field(&error) {
                Some(field) => StorageError::Conflict {
                    key: field.to_owned(),
                }
                .into(),
                None => mongodb::error::Error::custom(error).into(),
            });
        }
        Ok(())
    }

    /// Gives a product other names in a transaction: those that it had and has no more are free.
    pub(crate) async fn rename(
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
        self.take_names(session, new.collect()).await
    }

    /// Takes the names of imported reviews before these are stored. Returns for each whether it may
    /// be stored: nobody else has its name.
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
        let owners = self.named(&taken).await?;
        let is_free = |review: &&Review| {
            let name = of_review(review);
            // It was claimed for this review before.
            name.and_then(|name| owners.get(&name))
                .is_none_or(|owner| owner.review == Some(review.id))
        };
        Ok(reviews.iter().map(is_free).collect())
    }

    /// Frees the names of imported reviews that were not stored after all.
    pub(crate) async fn free_origins(&self, reviews: &[&Review]) -> Result<(), StorageError> {
        let deletes = reviews.iter().filter_map(|review| {
            let own = review_document(&of_review(review)?, review);
            Some(doc! { "q": own, "limit": 1 })
        });
        let deletes: Vec<Document> = deletes.collect();
        if deletes.is_empty() {
            return Ok(());
        }
        let command = doc! { "delete": NAMES, "deletes": deletes, "ordered": false };
        self.db.run_command(command).await?;
        Ok(())
    }

    /// Returns how many names of products there are, for the audit.
    pub(crate) async fn count_product_names(&self) -> Result<u64, StorageError> {
        let mut all = 0;
        for kind in [NameKind::Sku, NameKind::Slug, NameKind::Source] {
            let begins = kind.with("");
            // Behind every text that begins so.
            let ends = kind.with("\u{10ffff}");
            let of_kind = doc! { "_id": { "$gte": begins, "$lt": ends } };
            let collection = self.documents(NAMES);
            let count = collection.count_documents(of_kind);
            all += count.hint(Hint::Name("_id_".to_owned())).await?;
        }
        Ok(all)
    }
}

fn read(doc: &RawDocumentBuf) -> Read<(String, Named)> {
    let fields = Fields::of(NAMES, doc);
    let named = Named {
        product: ProductId::from_i64(fields.id("product")?),
        review: fields.opt_id("review")?.map(ReviewId::from_i64),
    };
    Ok((fields.string("_id")?, named))
}

/// Ids of products as they are stored.
pub(crate) fn stored_ids(ids: impl IntoIterator<Item = ProductId>) -> Vec<Bson> {
    let ids = ids.into_iter();
    ids.map(|id| stored_id(id.to_i64())).collect()
}
