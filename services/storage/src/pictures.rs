//! Records of uploaded pictures. Their files are elsewhere.
//!
//! `uses` names what may show a picture: `{p}` a product, `{p, r}` a review. It is added before the product or review is
//! written, so there may be uses that show nothing; none is missing. `due` is when the worker `pictures` looks next
//! whether something shows the picture. `removed` is set before the file is deleted, and never unset.

use futures_util::TryStreamExt as _;
use mongodb::ClientSession;
use mongodb::bson::raw::{RawDocument, RawDocumentBuf};
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{AuthorId, PictureId, ProductId, ReviewId};
use vitrine_model::picture::{Picture, PictureName, PictureUse};
use vitrine_model::review::{DecisionReason, ReviewStatus};

use crate::documents::REFERENCE_VERSION;
use crate::raw::{Fields, Read, date, stored_id};
use crate::reviews::COLLECTION as REVIEWS;
use crate::write::WriteUnit;
use crate::{StorageError, Store};

pub(crate) const PICTURES: &str = "pictures";
const PRODUCTS: &str = "products";

/// Pictures that a product or review is about to show.
#[derive(Clone, Debug)]
pub struct PictureClaim {
    /// The pictures, each once.
    pub names: Vec<PictureName>,
    /// What shows them.
    pub by: PictureUse,
    /// The person who must have sent them; `None` if it may be anybody.
    pub sent_by: Option<AuthorId>,
    /// Until when they are kept even if nothing shows them.
    pub until: Timestamp,
}

/// A picture of which it is to be found out whether something shows it.
#[derive(Clone, Debug)]
pub struct DuePicture {
    /// The name of its file.
    pub name: PictureName,
    uses: Vec<PictureUse>,
}

impl Store {
    /// Stores the record of a picture that is kept until an instant if nothing shows it. One command.
    pub async fn insert_picture(
        &self,
        picture: &Picture,
        until: Timestamp,
    ) -> Result<(), StorageError> {
        let mut document = doc! {
            "_id": stored_id(picture.name.id.to_i64()),
            "schema_version": REFERENCE_VERSION,
            "format": picture.name.format.extension(),
            "width": i64::from(picture.width),
            "height": i64::from(picture.height),
            "bytes": i64::try_from(picture.bytes).unwrap_or(i64::MAX),
            "created_at": date(picture.created_at),
            "due": date(until),
        };
        if let Some(by) = &picture.by {
            document.insert("by", by);
        }
        self.documents(PICTURES).insert_one(document).await?;
        Ok(())
    }

    /// Counts the pictures that a person has sent since an instant, up to a maximum. One command, index `sent`.
    pub async fn count_pictures_since(
        &self,
        by: &str,
        since: Timestamp,
        max: u64,
    ) -> Result<u64, StorageError> {
        let pictures = self.documents(PICTURES);
        let counted = pictures
            .count_documents(doc! { "by": by, "created_at": { "$gt": date(since) } })
            .hint(Hint::Name("sent".to_owned()))
            .limit(max)
            .max_time(self.max_time);
        Ok(counted.await?)
    }

    /// Returns whether the record of a picture is there and not marked as removed. One command.
    pub async fn has_picture(&self, id: PictureId) -> Result<bool, StorageError> {
        let pictures = self.documents(PICTURES);
        let counted = pictures
            .count_documents(not_removed(&[id]))
            .max_time(self.max_time);
        Ok(counted.await? > 0)
    }

    /// Claims pictures if all of them exist and have the required sender. Returns those that do not; then nothing is
    /// claimed. At most two commands.
    pub async fn claim_pictures(
        &self,
        claim: &PictureClaim,
    ) -> Result<Vec<PictureName>, StorageError> {
        let pictures = self.raw(PICTURES);
        let find = pictures.find(claim.filter()).projection(claimed());
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let missing = claim.missing_from(&found)?;
        if !missing.is_empty() {
            return Ok(missing);
        }
        let pictures = self.documents(PICTURES);
        let updated = pictures.update_many(claim.filter(), claim.update());
        Ok(claim.unless_whole(updated.await?.matched_count))
    }

    /// Returns pictures that are to be looked at by now, those that are longest due first. One command, index `due`.
    pub async fn due_pictures(
        &self,
        now: Timestamp,
        max: u32,
    ) -> Result<Vec<DuePicture>, StorageError> {
        let filter = doc! { "due": { "$lte": date(now) }, "removed": { "$ne": true } };
        let found = self.find_due(filter, max).await?;
        found.iter().map(|doc| read_due(doc)).collect()
    }

    /// Counts the pictures that are due, up to a maximum. One command.
    pub async fn count_due_pictures(&self, now: Timestamp, max: u64) -> Result<u64, StorageError> {
        let pictures = self.documents(PICTURES);
        let counted = pictures
            .count_documents(doc! { "due": { "$lte": date(now) } })
            .hint(Hint::Name("due".to_owned()))
            .limit(max)
            .max_time(self.max_time);
        Ok(counted.await?)
    }

    /// Returns those of these pictures that are shown: by a product that exists, whose history may name them, or by a
    /// review that is neither deleted nor rejected. One that was rejected after this instant may be published again, unless
    /// it offends or shows personal data. At most two commands.
    pub async fn shown_pictures(
        &self,
        pictures: &[DuePicture],
        rejected_after: Timestamp,
    ) -> Result<Vec<PictureId>, StorageError> {
        let uses = || pictures.iter().flat_map(|picture| &picture.uses);
        let product = |of: &PictureUse| match of {
            PictureUse::Product(product) => Some(stored_id(product.to_i64())),
            PictureUse::Review(..) => None,
        };
        let review = |of: &PictureUse| match of {
            PictureUse::Product(_) => None,
            PictureUse::Review(product, review) => {
                Some((stored_id(product.to_i64()), stored_id(review.to_i64())))
            }
        };
        let products: Vec<Bson> = uses().filter_map(product).collect();
        let (of, reviews): (Vec<Bson>, Vec<Bson>) = uses().filter_map(review).unzip();
        let mut showing = Showing::default();
        if !products.is_empty() {
            let filter = doc! { "_id": { "$in": products } };
            let projection = doc! { "_id": 1 };
            for found in self.find_uses(PRODUCTS, filter, projection).await? {
                let id = Fields::of(PRODUCTS, &found).id("_id")?;
                showing.products.push(ProductId::from_i64(id));
            }
        }
        if !reviews.is_empty() {
            let harmful = [DecisionReason::Offensive, DecisionReason::PersonalData];
            let harmful = harmful.map(DecisionReason::name);
            let (deleted, rejected) = (ReviewStatus::Deleted.name(), ReviewStatus::Rejected.name());
            let filter = doc! {
                "_id": { "$in": reviews },
                "product_id": { "$in": of },
                "$or": [
                    { "status": { "$nin": [deleted, rejected] } },
                    {
                        "status": rejected,
                        "moderation.at": { "$gt": date(rejected_after) },
                        "moderation.reason": { "$nin": harmful },
                    },
                ],
            };
            let projection = doc! { "_id": 1, "media.url": 1 };
            for found in self.find_uses(REVIEWS, filter, projection).await? {
                let fields = Fields::of(REVIEWS, &found);
                let review = ReviewId::from_i64(fields.id("_id")?);
                let urls = fields.docs("media", |media| media.string("url"))?;
                let of_review = urls.into_iter().map(|url| (review, url));
                showing.reviews.extend(of_review);
            }
        }
        let shown = pictures.iter().filter(|picture| showing.shows(picture));
        Ok(shown.map(|picture| picture.name.id).collect())
    }

    /// Lets pictures be looked at again at an instant. One command.
    pub async fn keep_pictures(
        &self,
        ids: &[PictureId],
        until: Timestamp,
    ) -> Result<(), StorageError> {
        let update = doc! { "$set": { "due": date(until) } };
        self.update_pictures(with_ids(ids), update).await
    }

    /// Marks those of these pictures as removed that are still due. From then on nothing can show them. One command.
    pub async fn mark_pictures_removed(
        &self,
        ids: &[PictureId],
        now: Timestamp,
    ) -> Result<(), StorageError> {
        let mut filter = with_ids(ids);
        filter.insert("due", doc! { "$lte": date(now) });
        let update = doc! { "$set": { "removed": true } };
        self.update_pictures(filter, update).await
    }

    /// Returns pictures that are marked as removed and due. One command, index `due`.
    pub async fn removed_pictures(
        &self,
        now: Timestamp,
        max: u32,
    ) -> Result<Vec<PictureName>, StorageError> {
        let filter = doc! { "due": { "$lte": date(now) }, "removed": true };
        names(&self.find_due(filter, max).await?)
    }

    /// Returns pictures of a person that are marked as removed. One command, index `by`.
    pub async fn removed_pictures_of(
        &self,
        by: &AuthorId,
        max: u32,
    ) -> Result<Vec<PictureName>, StorageError> {
        let pictures = self.raw(PICTURES);
        let find = pictures
            .find(doc! { "by": &by.0, "removed": true })
            .hint(Hint::Name("by".to_owned()))
            .limit(i64::from(max));
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        names(&found)
    }

    /// Deletes the records of pictures whose files are deleted. One command.
    pub async fn delete_pictures(&self, ids: &[PictureId]) -> Result<(), StorageError> {
        let pictures = self.documents(PICTURES);
        pictures.delete_many(with_ids(ids)).await?;
        Ok(())
    }

    /// Returns at most `max` pictures that a person sent after this one, in the order of ids. One command, index `by`.
    pub async fn page_pictures_of(
        &self,
        by: &AuthorId,
        after: Option<PictureId>,
        max: u32,
    ) -> Result<Vec<Picture>, StorageError> {
        let mut filter = doc! { "by": &by.0 };
        if let Some(after) = after {
            filter.insert("_id", doc! { "$gt": stored_id(after.to_i64()) });
        }
        let pictures = self.raw(PICTURES);
        let find = pictures
            .find(filter)
            .sort(doc! { "by": 1, "_id": 1 })
            .hint(Hint::Name("by".to_owned()))
            .limit(i64::from(max));
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        found.iter().map(|doc| read_picture(doc)).collect()
    }

    async fn find_due(
        &self,
        filter: Document,
        max: u32,
    ) -> Result<Vec<RawDocumentBuf>, StorageError> {
        let pictures = self.raw(PICTURES);
        let find = pictures
            .find(filter)
            .sort(doc! { "due": 1 })
            .hint(Hint::Name("due".to_owned()))
            .limit(i64::from(max));
        Ok(find.max_time(self.max_time).await?.try_collect().await?)
    }

    async fn find_uses(
        &self,
        collection: &str,
        filter: Document,
        projection: Document,
    ) -> Result<Vec<RawDocumentBuf>, StorageError> {
        let collection = self.raw(collection);
        let find = collection
            .find(filter)
            .projection(projection)
            .hint(Hint::Name("_id_".to_owned()));
        Ok(find.max_time(self.max_time).await?.try_collect().await?)
    }

    async fn update_pictures(
        &self,
        filter: Document,
        update: Document,
    ) -> Result<(), StorageError> {
        let pictures = self.documents(PICTURES);
        pictures.update_many(filter, update).await?;
        Ok(())
    }
}

impl WriteUnit {
    /// As [`Store::claim_pictures`], in this transaction.
    pub async fn claim_pictures(
        &mut self,
        claim: &PictureClaim,
    ) -> Result<Vec<PictureName>, StorageError> {
        let (store, session) = self.parts();
        let missing = claim.missing_from(&find_in(store, session, claim.filter()).await?)?;
        if !missing.is_empty() {
            return Ok(missing);
        }
        let pictures = store.documents(PICTURES);
        let updated = pictures
            .update_many(claim.filter(), claim.update())
            .session(session);
        Ok(claim.unless_whole(updated.await?.matched_count))
    }
}

async fn find_in(
    store: &Store,
    session: &mut ClientSession,
    filter: Document,
) -> Result<Vec<RawDocumentBuf>, StorageError> {
    let pictures = store.raw(PICTURES);
    let find = pictures.find(filter).projection(claimed());
    let mut cursor = find.session(&mut *session).await?;
    Ok(cursor.stream(session).try_collect().await?)
}

/// What is read of pictures that are claimed.
fn claimed() -> Document {
    doc! { "_id": 1, "format": 1 }
}

impl PictureClaim {
    fn filter(&self) -> Document {
        let ids: Vec<PictureId> = self.names.iter().map(|name| name.id).collect();
        let mut filter = not_removed(&ids);
        if let Some(by) = &self.sent_by {
            filter.insert("by", &by.0);
        }
        filter
    }

    fn update(&self) -> Document {
        let shown_by = match self.by {
            PictureUse::Product(product) => doc! { "p": stored_id(product.to_i64()) },
            PictureUse::Review(product, review) => {
                doc! { "p": stored_id(product.to_i64()), "r": stored_id(review.to_i64()) }
            }
        };
        doc! {
            "$addToSet": { "uses": shown_by },
            "$max": { "due": date(self.until) },
        }
    }

    /// All, if another process has removed one of them since they were read.
    fn unless_whole(&self, matched: u64) -> Vec<PictureName> {
        if matched == self.names.len() as u64 {
            Vec::new()
        } else {
            self.names.clone()
        }
    }

    fn missing_from(&self, found: &[RawDocumentBuf]) -> Result<Vec<PictureName>, StorageError> {
        let found = names(found)?;
        let missing = self.names.iter().filter(|name| !found.contains(name));
        Ok(missing.copied().collect())
    }
}

/// What shows pictures.
#[derive(Default)]
struct Showing {
    products: Vec<ProductId>,
    /// Reviews, each with the address of one of its media.
    reviews: Vec<(ReviewId, String)>,
}

impl Showing {
    fn shows(&self, picture: &DuePicture) -> bool {
        let end = format!("/{}", picture.name);
        picture.uses.iter().any(|shown_by| match shown_by {
            PictureUse::Product(product) => self.products.contains(product),
            PictureUse::Review(_, review) => {
                let mut media = self.reviews.iter();
                media.any(|(of, url)| of == review && url.ends_with(&end))
            }
        })
    }
}

fn with_ids(ids: &[PictureId]) -> Document {
    let ids: Vec<Bson> = ids.iter().map(|id| stored_id(id.to_i64())).collect();
    doc! { "_id": { "$in": ids } }
}

fn not_removed(ids: &[PictureId]) -> Document {
    let mut filter = with_ids(ids);
    filter.insert("removed", doc! { "$ne": true });
    filter
}

fn names(found: &[RawDocumentBuf]) -> Result<Vec<PictureName>, StorageError> {
    let name = |doc: &RawDocumentBuf| read_name(&Fields::of(PICTURES, doc));
    found.iter().map(name).collect()
}

fn read_name(fields: &Fields<'_>) -> Read<PictureName> {
    let (id, format) = (fields.id("_id")?, fields.str("format")?);
    let name = PictureName::parse(&format!("{id:014x}.{format}"));
    name.ok_or_else(|| fields.corrupt("format"))
}

fn read_due(doc: &RawDocument) -> Read<DuePicture> {
    let fields = Fields::of(PICTURES, doc);
    let uses = fields.docs("uses", |shown_by| {
        let product = ProductId::from_i64(shown_by.id("p")?);
        let review = shown_by.opt_id("r")?.map(ReviewId::from_i64);
        Ok(review.map_or(PictureUse::Product(product), |review| {
            PictureUse::Review(product, review)
        }))
    })?;
    Ok(DuePicture {
        name: read_name(&fields)?,
        uses,
    })
}

fn read_picture(doc: &RawDocument) -> Read<Picture> {
    let fields = Fields::of(PICTURES, doc);
    let number = |field| {
        fields
            .i64(field)
            .map(|value| u32::try_from(value).unwrap_or(0))
    };
    Ok(Picture {
        name: read_name(&fields)?,
        width: number("width")?,
        height: number("height")?,
        bytes: u64::try_from(fields.i64("bytes")?).unwrap_or(0),
        by: fields.opt_string("by")?,
        created_at: fields.date("created_at")?,
    })
}
