//! Settings that are stored with the shop's data.

use mongodb::bson::{Document, doc};
use mongodb::options::ReturnDocument;
use vitrine_model::money::Currency;

use crate::documents::REFERENCE_VERSION;
use crate::{StorageError, Store};

const COLLECTION: &str = "settings";
const SHOP: &str = "shop";
const REFERENCE: &str = "reference";
const MOVES: &str = "moves";

impl Store {
    /// Returns the shop's currency. The first process that asks stores `proposed`, because prices
    /// are stored in the shop's currency; all later calls return the stored one.
    pub async fn shop_currency(&self, proposed: Currency) -> Result<Currency, StorageError> {
        let first = doc! { "schema_version": REFERENCE_VERSION, "currency": proposed.code() };
        let shop = self.settings(SHOP, doc! { "$setOnInsert": first }).await?;
        let code = shop.get_str("currency").unwrap_or_default();
        Currency::parse(code).map_err(|_| StorageError::Corrupt {
            collection: COLLECTION,
            id: SHOP.to_owned(),
            field: "currency".to_owned(),
        })
    }

    /// Returns the shop's currency if one is stored.
    pub async fn stored_currency(&self) -> Result<Option<Currency>, StorageError> {
        let settings = self.documents(COLLECTION);
        let shop = settings
            .find_one(doc! { "_id": SHOP })
            .max_time(self.max_time)
            .await?;
        let code = shop.and_then(|shop| shop.get_str("currency").ok().map(str::to_owned));
        Ok(code.and_then(|code| Currency::parse(&code).ok()))
    }

    /// Returns a number that increases whenever categories or spec keys change. Processes compare
    /// it to know when to reload their copy.
    pub async fn reference_version(&self) -> Result<i64, StorageError> {
        let collection = self.documents(COLLECTION);
        let find = collection.find_one(doc! { "_id": REFERENCE });
        let found = find.max_time(self.max_time).await?;
        Ok(found.and_then(|doc| doc.get_i64("v").ok()).unwrap_or(0))
    }

    /// Returns how often products were moved in lists by processes that do not count facet panels
    /// themselves.
    pub async fn rank_moves_by_others(&self) -> Result<i64, StorageError> {
        let collection = self.documents(COLLECTION);
        let find = collection.find_one(doc! { "_id": MOVES });
        let found = find.max_time(self.max_time).await?;
        Ok(found.and_then(|doc| doc.get_i64("v").ok()).unwrap_or(0))
    }

    /// Records that this process moved products in lists and does not count facet panels itself.
    pub async fn record_rank_moves(&self) -> Result<(), StorageError> {
        let first = doc! { "schema_version": REFERENCE_VERSION };
        let raise = doc! { "$inc": { "v": 1_i64 }, "$setOnInsert": first };
        self.settings(MOVES, raise).await.map(drop)
    }

    async fn settings(&self, id: &str, update: Document) -> Result<Document, StorageError> {
        let collection = self.documents(COLLECTION);
        let update = collection.find_one_and_update(doc! { "_id": id }, update);
        let update = update.upsert(true).return_document(ReturnDocument::After);
        Ok(update.await?.unwrap_or_default())
    }
}
