//! Products: single reads, batches, pages, counts, and the writes of imports.

use std::collections::{HashMap, HashSet};

use futures_util::TryStreamExt as _;
use mongodb::action::Find;
use mongodb::bson::raw::{RawDocument, RawDocumentBuf};
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use vitrine_model::filter::{AccessPath, Condition, ProductSort, Words};
use vitrine_model::history::ChangedBy;
use vitrine_model::id::ProductId;
use vitrine_model::overrides::OwnedField;
use vitrine_model::product::{Product, ProductStatus, Source};
use vitrine_model::spec::{SpecValue, ValueType};

use crate::contributions::Contributions;
use crate::documents::{PRODUCT_VERSION, product as document};
use crate::keyset::{Boundary, ExaminationLimit, ListQuery, Page, PageRequest};
use crate::names::{self, NameKind, batch_of, stored_ids};
use crate::products_query::{self, Served};
use crate::raw::{Fields, stored_id};
use crate::transaction::retry_contended;
use crate::views::ProductView;
use crate::write::MAX_INSERT_BATCH;
use crate::{StorageError, Store};

pub use crate::documents::product::Encoding;

pub(crate) const COLLECTION: &str = "products";

/// The key of a single product.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ProductKey {
    /// By id.
    Id(ProductId),
    /// By slug.
    Slug(String),
    /// By stock-keeping unit.
    Sku(String),
}

/// Which fields of products are read. Fields that are not read are empty in the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProductFields {
    /// All fields that a page shows.
    Page,
    /// All fields except the top reviews, which are most of the bytes.
    WithoutTopReviews,
    /// The id only. An index has everything then, if the condition names nothing beyond it: the
    /// server reads no product.
    Id,
}

/// A list of products.
#[derive(Clone, Debug, PartialEq)]
pub struct ProductList {
    /// Which products.
    pub condition: Condition,
    /// The sort of the list.
    pub sort: ProductSort,
    /// Which fields.
    pub fields: ProductFields,
    /// The spec key to sort by, in the direction of `sort`.
    pub by_spec: Option<SpecSort>,
    /// How a search ranks products that are sorted by relevance.
    pub ranking: Option<Ranking>,
    /// Whether matching products are missing, because only the most popular products with a word
    /// are searched.
    pub partial: bool,
    /// Whether to scan the index of the sort and filter, instead of reading the whole range of the
    /// condition's index and sorting it. Right when much of the scanned index matches.
    pub scan_sort_index: bool,
    /// The maximum number of products that a page examines, where the index does not bound that
    /// ([`Store::limit_list`]).
    pub looks_through: Option<u32>,
}

/// A sort by the values of one spec key. Of several values of a product, the lowest counts when
/// ascending and the highest when descending. Products without a value come last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecSort {
    /// The key and its aliases that products may still have.
    pub names: Vec<String>,
    /// Whether the values are texts or booleans, which are compared by their tokens, instead of
    /// numbers.
    pub by_token: bool,
}

/// How a search ranks products: first those whose name equals the text, then those that have all
/// words in name or brand, then the rest; each group by popularity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranking {
    /// The sort key of a name that equals the text.
    pub name: String,
    /// For each word, the keywords that mark it as part of the name or brand.
    pub words: Vec<Vec<String>>,
}

/// A stored product that an import refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownProduct {
    /// The id of the product.
    pub id: ProductId,
    /// The stock-keeping unit.
    pub sku: String,
    /// The digest of the last record of each source, by `(system, external id)`.
    pub digests: HashMap<(String, String), String>,
    /// Whether it waits: what sources say of it is stored, but it does not exist yet.
    pub waiting: bool,
}

impl ProductKey {
    /// Returns whether a product has this key.
    pub fn is_of(&self, product: &ProductView) -> Result<bool, StorageError> {
        Ok(match self {
            Self::Id(id) => product.id() == *id,
            Self::Slug(slug) => product.slug()? == slug,
            Self::Sku(sku) => product.sku()? == sku,
        })
    }
}

impl Store {
    /// Runs a query that returns ids only.
    pub(crate) async fn product_ids<C: FromIterator<ProductId>>(
        &self,
        find: Find<'_, RawDocumentBuf>,
    ) -> Result<C, StorageError> {
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let id = |doc: &RawDocumentBuf| Fields::of(COLLECTION, doc).id("_id");
        found
            .iter()
            .map(|doc| id(doc).map(ProductId::from_i64))
            .collect()
    }

    /// Returns the product with this key if it has one of these statuses. One command for an id.
    pub async fn get_product(
        &self,
        key: &ProductKey,
        states: &[ProductStatus],
    ) -> Result<Option<ProductView>, StorageError> {
        let id = match key {
            ProductKey::Id(id) => *id,
            ProductKey::Slug(slug) => {
                return self.get_product_by_name(NameKind::Slug, slug, states).await;
            }
            ProductKey::Sku(sku) => {
                return self.get_product_by_name(NameKind::Sku, sku, states).await;
            }
        };
        let mut filter = doc! { "_id": stored_id(id.to_i64()) };
        filter.extend(products_query::predicate(&Condition::Status(
            states.to_vec(),
        )));
        let collection = self.raw(COLLECTION);
        let find = collection
            .find_one(filter)
            .hint(Hint::Name("_id_".to_owned()));
        let found = find
            .projection(projection(ProductFields::Page))
            .max_time(self.max_time)
            .await?;
        found.map(ProductView::new).transpose()
    }

    /// Returns the product with this key as [`Store::get_product`] does, with one command: a cached
    /// name is not believed.
    pub async fn look_up_product(
        &self,
        key: &ProductKey,
        states: &[ProductStatus],
    ) -> Result<Option<ProductView>, StorageError> {
        match key {
            ProductKey::Id(_) => self.get_product(key, states).await,
            ProductKey::Slug(slug) => self.look_up_name(NameKind::Slug, slug, states).await,
            ProductKey::Sku(sku) => self.look_up_name(NameKind::Sku, sku, states).await,
        }
    }

    /// Returns the product that had this key when the key was last resolved in this process; `None`
    /// if it was not. No command.
    #[must_use]
    pub fn cached_product_id(&self, key: &ProductKey) -> Option<ProductId> {
        let name = match key {
            ProductKey::Id(id) => return Some(*id),
            ProductKey::Slug(slug) => names::slug(slug),
            ProductKey::Sku(sku) => names::sku(sku),
        };
        self.name_cache.get(&name)
    }

    /// Returns the products with these ids that have one of these statuses, in no particular order.
    /// One command.
    pub async fn get_many_products(
        &self,
        ids: &[ProductId],
        states: &[ProductStatus],
    ) -> Result<Vec<ProductView>, StorageError> {
        let ids: Vec<Bson> = ids.iter().map(|id| stored_id(id.to_i64())).collect();
        let mut filter = doc! { "_id": { "$in": ids } };
        filter.extend(products_query::predicate(&Condition::Status(
            states.to_vec(),
        )));
        let collection = self.raw(COLLECTION);
        let find = collection.find(filter).hint(Hint::Name("_id_".to_owned()));
        let found = find
            .projection(projection(ProductFields::Page))
            .max_time(self.max_time);
        let found: Vec<RawDocumentBuf> = found.await?.try_collect().await?;
        found.into_iter().map(ProductView::new).collect()
    }

    /// Returns a page of a list of products. One command, two where the priced products end and the
    /// unpriced ones begin.
    pub async fn page_products(
        &self,
        list: &ProductList,
        request: &PageRequest,
    ) -> Result<Page<ProductView>, StorageError> {
        match (&list.by_spec, tiers(list)) {
            (Some(order), _) => self.read_by_spec(list, order, request).await,
            (None, Some(tiers)) => self.read_tiers(&tiers, request, view).await,
            (None, None) => self.read_page(&query(list), request, view).await,
        }
    }

    /// Returns whether a list has a product before this position (or after it).
    pub async fn list_continues(
        &self,
        list: &ProductList,
        from: Boundary,
    ) -> Result<bool, StorageError> {
        match (&list.by_spec, tiers(list)) {
            (Some(order), _) => {
                let request = PageRequest { size: 1, from };
                let page = self.read_by_spec(list, order, &request).await?;
                Ok(!page.rows.is_empty())
            }
            (None, Some(tiers)) => self.has_row_in_tiers(&tiers, &from).await,
            (None, None) => self.has_row(&query(list), &from).await,
        }
    }

    /// Returns whether a list whose filter only admins may use would read and sort more than this many products: then
    /// it is cheaper to scan the index of its sort. At most one command, from an index.
    pub async fn sorts_more_than(
        &self,
        condition: &Condition,
        sort: ProductSort,
        max: u32,
    ) -> Result<bool, StorageError> {
        let Some(part) = products_query::sorted_part(condition, sort) else {
            return Ok(false);
        };
        let max = u64::from(max);
        Ok(self.count_products(&part, max + 1).await? > max)
    }

    /// Counts the products that match a condition, up to `max`.
    pub async fn count_products(
        &self,
        condition: &Condition,
        max: u64,
    ) -> Result<u64, StorageError> {
        if max == 0 {
            return Ok(0);
        }
        let filter = products_query::predicate(condition);
        let hint = Hint::Name(products_query::count_index(condition).to_owned());
        let collection = self.documents(COLLECTION);
        let Some(mut pipeline) = products_query::window(condition) else {
            let count = collection.count_documents(filter).hint(hint).limit(max);
            return Ok(count.max_time(self.max_time).await?);
        };
        pipeline.extend([
            doc! { "$match": filter },
            doc! { "$limit": i64::try_from(max).unwrap_or(i64::MAX) },
            doc! { "$group": { "_id": Bson::Null, "n": { "$sum": 1_i64 } } },
        ]);
        let aggregate = collection.aggregate(pipeline).hint(hint);
        let cursor = aggregate.max_time(self.max_time).await?;
        let groups: Vec<RawDocumentBuf> =
            cursor.with_type::<RawDocumentBuf>().try_collect().await?;
        let Some(group) = groups.first() else {
            return Ok(0);
        };
        let fields = Fields::of(COLLECTION, group);
        u64::try_from(fields.i64("n")?).map_err(|_| fields.corrupt("n"))
    }

    /// Returns the products with these external ids of a system. Two commands, three if some wait.
    pub async fn known_products(
        &self,
        system: &str,
        external_ids: &[String],
    ) -> Result<Vec<KnownProduct>, StorageError> {
        let ids = external_ids.iter();
        let sources: Vec<String> = ids.map(|id| names::source(system, id)).collect();
        self.find_known(&sources).await
    }

    /// Returns the products with these stock-keeping units. Two commands, three if some wait.
    pub async fn known_skus(&self, skus: &[String]) -> Result<Vec<KnownProduct>, StorageError> {
        let names: Vec<String> = skus.iter().map(|sku| names::sku(sku)).collect();
        let mut found = self.find_known(&names).await?;
        found.retain(|product| skus.contains(&product.sku));
        Ok(found)
    }

    /// Returns those of these slugs that are taken.
    pub async fn taken_slugs(&self, slugs: &[String]) -> Result<HashSet<String>, StorageError> {
        let names: Vec<String> = slugs.iter().map(|slug| names::slug(slug)).collect();
        let taken = self.name_owners(&names).await?;
        let named = slugs.iter().zip(&names);
        let taken = named.filter(|(_, name)| taken.contains_key(*name));
        Ok(taken.map(|(slug, _)| slug.clone()).collect())
    }

    /// Inserts new products in batches, and one by one where a batch is refused. Returns for each
    /// product `None` if it was inserted, otherwise the field whose value is taken: `sku`, `slug`
    /// or `source`.
    ///
    /// # Errors
    /// [`StorageError`] when the database fails; some products may have been inserted then.
    pub async fn insert_products(
        &self,
        products: &[Product],
        encoding: Encoding<'_>,
    ) -> Result<Vec<Option<String>>, StorageError> {
        let mut refused = Vec::with_capacity(products.len());
        for batch in products.chunks(MAX_INSERT_BATCH) {
            match self.insert_products_together(batch, encoding).await {
                Ok(None) => refused.resize(refused.len() + batch.len(), None),
                Ok(Some(_)) | Err(StorageError::Contended(_)) => {
                    for product in batch {
                        let product = std::slice::from_ref(product);
                        refused.push(self.insert_products_together(product, encoding).await?);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(refused)
    }

    /// Replaces the content of a product, that is the fields that admins and imports write, if its
    /// revision is still `expected`. Data computed from reviews is kept. Returns whether it was
    /// replaced.
    ///
    /// # Errors
    /// [`StorageError::Conflict`] when another product has the slug or sku.
    pub async fn apply_product_content(
        &self,
        product: &Product,
        (expected, by): (i64, &ChangedBy),
        encoding: Encoding<'_>,
    ) -> Result<bool, StorageError> {
        retry_contended(async || {
            let mut unit = self.begin_write().await?;
            let replaced = unit.replace_product(product, (expected, Some(by)), encoding);
            match replaced.await {
                Ok(true) => unit.commit().await.map(|()| true),
                other => {
                    unit.abort().await;
                    other
                }
            }
        })
        .await
    }

    /// Returns at most `max` products with a spec key, in any status.
    pub async fn products_with_key(
        &self,
        key: &str,
        max: u32,
    ) -> Result<Vec<ProductId>, StorageError> {
        let collection = self.raw(COLLECTION);
        let find = collection
            .find(with_key(key))
            .projection(doc! { "_id": 1 })
            .hint(Hint::Name("spec_number".to_owned()));
        let found = find.limit(i64::from(max)).max_time(self.max_time);
        let found: Vec<RawDocumentBuf> = found.await?.try_collect().await?;
        let id = |doc: &RawDocumentBuf| Fields::of(COLLECTION, doc).id("_id");
        found
            .iter()
            .map(|doc| id(doc).map(ProductId::from_i64))
            .collect()
    }

    /// Returns at most `max` products, in any status, that have values of a spec key of another type.
    /// Reads the products that have the key, found by the index `spec_number`.
    pub async fn products_with_other_type(
        &self,
        key: &str,
        value_type: ValueType,
        max: u32,
    ) -> Result<Vec<ProductId>, StorageError> {
        let other = doc! { "k": key, "t": { "$ne": value_type.name() } };
        let mut filter = with_key(key);
        filter.insert("specs", doc! { "$elemMatch": other });
        let collection = self.raw(COLLECTION);
        let find = collection
            .find(filter)
            .projection(doc! { "_id": 1 })
            .hint(Hint::Name("spec_number".to_owned()))
            .limit(i64::from(max))
            .max_time(self.max_time);
        self.product_ids(find).await
    }

    /// Returns the values of a spec key that people have given products, in any status, and that do not pass
    /// a test; at most `max` different ones. Reads the products that have the key, found by the index
    /// `spec_number`.
    pub async fn spec_values_failing(
        &self,
        key: &str,
        passes: impl Fn(&SpecValue) -> bool,
        max: usize,
    ) -> Result<Vec<SpecValue>, StorageError> {
        let collection = self.raw(COLLECTION);
        let find = collection
            .find(with_key(key))
            .projection(doc! { "_id": 1, "specs": 1, "overrides": 1, "sources._id": 1 })
            .hint(Hint::Name("spec_number".to_owned()))
            .max_time(self.max_time);
        let mut found = find.await?;
        let mut failing = Vec::new();
        let own = OwnedField::Spec(key.to_owned());
        while let Some(doc) = found.try_next().await? {
            let fields = Fields::of(COLLECTION, &doc);
            let has_feeds = fields.get("sources")?.is_some();
            if has_feeds && !document::read_overrides(&fields)?.has(&own) {
                continue;
            }
            let specs = Fields::of(COLLECTION, &doc).docs("specs", document::read_spec)?;
            for spec in specs.into_iter().filter(|spec| spec.key == key) {
                if !passes(&spec.value) && !failing.contains(&spec.value) {
                    failing.push(spec.value);
                }
                if failing.len() == max {
                    return Ok(failing);
                }
            }
        }
        Ok(failing)
    }

    /// Counts the products with a spec key, in any status. Covered by the index `spec_number`.
    pub async fn count_with_key(&self, key: &str) -> Result<u64, StorageError> {
        let collection = self.documents(COLLECTION);
        let count = collection
            .count_documents(with_key(key))
            .hint(Hint::Name("spec_number".to_owned()));
        Ok(count.max_time(self.max_time).await?)
    }

    async fn find_known(&self, names: &[String]) -> Result<Vec<KnownProduct>, StorageError> {
        let named = self.name_owners(names).await?;
        if named.is_empty() {
            return Ok(Vec::new());
        }
        let ids = stored_ids(named.values().map(|named| named.product));
        let collection = self.raw(COLLECTION);
        let batch = batch_of(ids.len());
        let find = collection
            .find(doc! { "_id": { "$in": ids } })
            .projection(doc! { "sku": 1, "sources": 1 })
            .batch_size(batch)
            .hint(Hint::Name("_id_".to_owned()));
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let mut known: Vec<KnownProduct> =
            found.iter().map(read_known).collect::<Result<_, _>>()?;
        let mut missing: HashSet<ProductId> = named.values().map(|named| named.product).collect();
        for product in &known {
            missing.remove(&product.id);
        }
        if !missing.is_empty() {
            let missing: Vec<ProductId> = missing.into_iter().collect();
            let waiting = self.get_many_contributions(&missing).await?;
            known.extend(waiting.into_iter().filter_map(waiting_product));
        }
        Ok(known)
    }

    /// Inserts each document. Returns `None` for an inserted one, otherwise the fields of the
    /// unique index that refused it. If ordered, it stops at the first refused document.
    pub(crate) async fn insert_each(
        &self,
        collection: &str,
        docs: Vec<Document>,
        ordered: bool,
    ) -> Result<Vec<Option<String>>, StorageError> {
        let mut refused = vec![None; docs.len()];
        if docs.is_empty() {
            return Ok(refused);
        }
        // Written as a command because the driver's own method drops the key pattern of a duplicate
        // key error.
        let command = doc! {
            "insert": collection,
            "documents": docs,
            "ordered": ordered,
        };
        let reply = self.write(command).await?;
        for error in reply
            .get_array("writeErrors")
            .map_or(&[][..], Vec::as_slice)
        {
            let (index, key) = write_error(error)?;
            refused[index] = Some(key);
        }
        Ok(refused)
    }
}

/// One predicate on one path: it cannot mix up two specs.
fn with_key(key: &str) -> Document {
    let states: Vec<&str> = ProductStatus::ALL.iter().map(|s| s.name()).collect();
    doc! { "status": { "$in": states }, "specs.k": key }
}

/// Returns the index of the refused document and the fields of the unique index; fails for any
/// other write error.
pub(crate) fn write_error(error: &Bson) -> Result<(usize, String), StorageError> {
    let error = error.as_document().cloned().unwrap_or_default();
    let index = error
        .get_i32("index")
        .ok()
        .and_then(|index| usize::try_from(index).ok());
    let pattern = error.get_document("keyPattern").ok();
    let fields = pattern.map(|pattern| pattern.keys().cloned().collect::<Vec<_>>().join(","));
    match (error.get_i32("code"), index, fields) {
        (Ok(crate::error::DUPLICATE_KEY), Some(index), Some(fields)) => Ok((index, fields)),
        (code, ..) => {
            let code = code.unwrap_or_default();
            let error = mongodb::error::Error::custom(error);
            Err(StorageError::of_write(code, error))
        }
    }
}

fn view(doc: &RawDocument) -> Result<ProductView, StorageError> {
    ProductView::new(doc.to_owned())
}

fn query(list: &ProductList) -> ListQuery {
    let projection = match list.fields {
        ProductFields::Id => products_query::position(list.sort),
        fields => projection(fields),
    };
    let mut query =
        products_query::list(&list.condition, list.sort, list.scan_sort_index, projection);
    query.limit = list.looks_through.map(|max| {
        let served = Served::by_list(&list.condition, list.sort, list.scan_sort_index);
        let scope = products_query::predicate(&served.condition);
        ExaminationLimit { max, scope }
    });
    query
}

/// Returns the groups of a list sorted by relevance, in order.
fn tiers(list: &ProductList) -> Option<Vec<ListQuery>> {
    let ranking = list.ranking.as_ref()?;
    let name = Condition::Name(ranking.name.clone());
    let found = products_query::words(&list.condition);
    let words = |each| {
        let access_path = found.map_or(AccessPath::FirstWord, |found| found.access_path);
        Condition::Words(Words { each, access_path })
    };
    let named = words(ranking.words.clone());
    let not = |condition: &Condition| Condition::Not(Box::new(condition.clone()));
    let mut elsewhere = vec![not(&named), not(&name)];
    if let (Some(found), [in_name]) = (found, &ranking.words[..]) {
        // For a single word, the keywords that mark it as part of another field are known.
        let others = found.each.iter().flatten().cloned();
        let others = others.filter(|keyword| !in_name.contains(keyword));
        elsewhere.push(words(vec![others.collect()]));
    }
    let groups = [vec![name.clone()], vec![named, not(&name)], elsewhere];
    let tier = |group: Vec<Condition>| {
        let all = std::iter::once(list.condition.clone()).chain(group);
        let list = ProductList {
            condition: Condition::All(all.collect()),
            ranking: None,
            ..list.clone()
        };
        query(&list)
    };
    Some(groups.into_iter().map(tier).collect())
}

pub(crate) fn projection(fields: ProductFields) -> Document {
    let mut hidden = doc! { "tokens": 0, "keywords": 0, "slot": 0 };
    if fields == ProductFields::WithoutTopReviews {
        hidden.insert("top_reviews", 0);
    }
    hidden
}

/// Returns whether a product has an older schema version.
pub(crate) fn is_older(doc: &Document) -> bool {
    let version = doc.get_i32("schema_version").map(i64::from);
    let version = version.or_else(|_| doc.get_i64("schema_version"));
    version.is_ok_and(|version| version < i64::from(PRODUCT_VERSION))
}

/// Fails if a newer release wrote the product.
pub(crate) fn not_newer(doc: &RawDocument) -> Result<(), StorageError> {
    let fields = Fields::of(COLLECTION, doc);
    let version = fields.i64("schema_version")?;
    if version <= i64::from(PRODUCT_VERSION) {
        return Ok(());
    }
    Err(StorageError::Newer {
        collection: COLLECTION,
        id: ProductId::from_i64(fields.id("_id")?).to_string(),
    })
}

fn read_known(doc: &RawDocumentBuf) -> Result<KnownProduct, StorageError> {
    let fields = Fields::of(COLLECTION, doc);
    let sources = fields.docs("sources", document::read_source)?;
    Ok(KnownProduct {
        id: ProductId::from_i64(fields.id("_id")?),
        sku: fields.string("sku")?,
        digests: digests(sources.into_iter()),
        waiting: false,
    })
}

/// A product that waits; `None` if it has arrived since.
fn waiting_product(found: Contributions) -> Option<KnownProduct> {
    Some(KnownProduct {
        id: found.product,
        sku: found.waiting_sku?,
        digests: digests(found.all.into_iter().map(|one| one.source)),
        waiting: true,
    })
}

fn digests(sources: impl Iterator<Item = Source>) -> HashMap<(String, String), String> {
    let digests = sources.map(|source| ((source.system, source.external_id), source.digest));
    digests.collect()
}
