//! Files that were uploaded for an import, in parts of 1 MB. Both collections go after a day (TTL). An upload whose
//! process died has parts only, which nobody can find.

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf};
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Document, doc};
use vitrine_model::clock::Timestamp;
use vitrine_model::id::UploadId;
use vitrine_model::upload::Upload;

use crate::documents::REFERENCE_VERSION;
use crate::raw::{Fields, Read, date, stored_id};
use crate::{StorageError, Store};

const UPLOADS: &str = "uploads";
const PARTS: &str = "upload_parts";

impl Store {
    /// Stores the part of an upload with this number, to be deleted at an instant. One command.
    pub async fn insert_upload_part(
        &self,
        (upload, number): (UploadId, u32),
        bytes: Vec<u8>,
        expires_at: Timestamp,
    ) -> Result<(), StorageError> {
        let part = doc! {
            "_id": part_id(upload, number),
            "schema_version": REFERENCE_VERSION,
            "bytes": Binary { subtype: BinarySubtype::Generic, bytes },
            "expires_at": date(expires_at),
        };
        self.documents(PARTS).insert_one(part).await?;
        Ok(())
    }

    /// Deletes the first parts of an upload that was not completed. One command.
    pub async fn delete_upload_parts(
        &self,
        upload: UploadId,
        count: u32,
    ) -> Result<(), StorageError> {
        let ids: Vec<Document> = (0..count).map(|number| part_id(upload, number)).collect();
        let parts = self.documents(PARTS);
        parts.delete_many(doc! { "_id": { "$in": ids } }).await?;
        Ok(())
    }

    /// Stores that an upload is complete. One command.
    pub async fn insert_upload(&self, upload: &Upload) -> Result<(), StorageError> {
        let upload = doc! {
            "_id": stored_id(upload.id.to_i64()),
            "schema_version": REFERENCE_VERSION,
            "name": &upload.name,
            "bytes": i64::try_from(upload.bytes).unwrap_or(i64::MAX),
            "parts": i64::from(upload.parts),
            "by": &upload.by,
            "created_at": date(upload.created_at),
            "expires_at": date(upload.expires_at),
        };
        self.documents(UPLOADS).insert_one(upload).await?;
        Ok(())
    }

    /// Returns those of these uploads that exist, in their order. One command.
    pub async fn get_uploads(&self, ids: &[UploadId]) -> Result<Vec<Upload>, StorageError> {
        let wanted: Vec<_> = ids.iter().map(|id| stored_id(id.to_i64())).collect();
        let uploads = self.raw(UPLOADS);
        let find = uploads.find(doc! { "_id": { "$in": wanted } });
        let found: Vec<RawDocumentBuf> = find.max_time(self.max_time).await?.try_collect().await?;
        let found: Vec<Upload> = found
            .iter()
            .map(|one| read_upload(one))
            .collect::<Read<_>>()?;
        let known = ids
            .iter()
            .filter_map(|id| found.iter().find(|one| one.id == *id));
        Ok(known.cloned().collect())
    }

    /// Returns the part of an upload with this number; `None` if there is none. One command.
    pub async fn get_upload_part(
        &self,
        upload: UploadId,
        number: u32,
    ) -> Result<Option<Vec<u8>>, StorageError> {
        let filter = doc! { "_id": part_id(upload, number) };
        let parts = self.raw(PARTS);
        let find = parts.find_one(filter).max_time(self.max_time);
        let Some(part): Option<RawDocumentBuf> = find.await? else {
            return Ok(None);
        };
        let fields = Fields::of(PARTS, &part);
        match fields.get("bytes")? {
            Some(RawBsonRef::Binary(bytes)) => Ok(Some(bytes.bytes.to_vec())),
            _ => Err(fields.corrupt("bytes")),
        }
    }
}

fn part_id(upload: UploadId, number: u32) -> Document {
    doc! { "u": stored_id(upload.to_i64()), "n": i64::from(number) }
}

fn read_upload(upload: &RawDocument) -> Read<Upload> {
    let fields = Fields::of(UPLOADS, upload);
    Ok(Upload {
        id: UploadId::from_i64(fields.id("_id")?),
        name: fields.string("name")?,
        bytes: u64::try_from(fields.i64("bytes")?).unwrap_or(0),
        parts: u32::try_from(fields.i64("parts")?).unwrap_or(0),
        by: fields.string("by")?,
        created_at: fields.date("created_at")?,
        expires_at: fields.date("expires_at")?,
    })
}
