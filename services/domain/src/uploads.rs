//! Receiving files for imports, in parts, so that any process can read them later.

use std::fmt;

use vitrine_model::clock::Timestamp;
use vitrine_model::id::UploadId;
use vitrine_model::upload::{
    MAX_UPLOAD_BYTES, MAX_UPLOAD_NAME, UPLOAD_KEPT_MILLIS, UPLOAD_PART_BYTES, Upload, upload_name,
};

use crate::{Catalog, DomainError};

/// A file that is being received. If it is dropped, what was stored of it is deleted after a day, and at once if it is
/// [discarded](UploadWriter::discard).
pub struct UploadWriter {
    catalog: Catalog,
    id: UploadId,
    name: String,
    by: String,
    bytes: u64,
    parts: u32,
    /// What is not stored yet, less than a part.
    buffer: Vec<u8>,
    expires_at: Timestamp,
}

impl fmt::Debug for UploadWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UploadWriter")
            .field("id", &self.id)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl Catalog {
    /// Begins to receive a file.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] if the name is no file name.
    pub fn receive_upload(&self, name: &str, by: &str) -> Result<UploadWriter, DomainError> {
        let Some(name) = upload_name(name) else {
            let reason = format!(
                "must be a file name of 1 to {MAX_UPLOAD_NAME} characters, none of them a control character"
            );
            return Err(DomainError::invalid("name", reason));
        };
        Ok(UploadWriter {
            catalog: self.clone(),
            id: UploadId::random(),
            name,
            by: by.to_owned(),
            bytes: 0,
            parts: 0,
            buffer: Vec::new(),
            expires_at: self.now().plus_millis(UPLOAD_KEPT_MILLIS),
        })
    }
}

impl UploadWriter {
    /// Adds bytes; each full part is stored with one command.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] if the file is too large.
    pub async fn write(&mut self, mut bytes: &[u8]) -> Result<(), DomainError> {
        self.bytes += bytes.len() as u64;
        if self.bytes > MAX_UPLOAD_BYTES {
            let reason = format!(
                "must be at most {} MiB; compress it with gzip or zstd, or send it in several files",
                MAX_UPLOAD_BYTES / 1_024 / 1_024
            );
            return Err(DomainError::invalid("body", reason));
        }
        while !bytes.is_empty() {
            let room = UPLOAD_PART_BYTES - self.buffer.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.buffer.extend_from_slice(now);
            bytes = later;
            if self.buffer.len() == UPLOAD_PART_BYTES {
                self.store_part().await?;
            }
        }
        Ok(())
    }

    /// Completes the file.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] if it is empty.
    pub async fn finish(mut self) -> Result<Upload, DomainError> {
        if self.bytes == 0 {
            return Err(DomainError::invalid("body", "is empty; send the file"));
        }
        if !self.buffer.is_empty() {
            self.store_part().await?;
        }
        let upload = Upload {
            id: self.id,
            name: self.name,
            bytes: self.bytes,
            parts: self.parts,
            by: self.by,
            created_at: self.catalog.now(),
            expires_at: self.expires_at,
        };
        let stored = upload.clone();
        self.catalog
            .maintain(|store| async move { store.insert_upload(&stored).await })
            .await?;
        Ok(upload)
    }

    /// Deletes what was stored of the file.
    pub async fn discard(self) {
        let (id, parts) = (self.id, self.parts);
        let deleted = self
            .catalog
            .maintain(|store| async move { store.delete_upload_parts(id, parts).await });
        if let Err(error) = deleted.await {
            tracing::warn!(%error, "parts of an upload could not be deleted; they go after a day");
        }
    }

    async fn store_part(&mut self) -> Result<(), DomainError> {
        let bytes = std::mem::take(&mut self.buffer);
        let (part, expires_at) = ((self.id, self.parts), self.expires_at);
        self.catalog
            .maintain(
                |store| async move { store.insert_upload_part(part, bytes, expires_at).await },
            )
            .await?;
        self.parts += 1;
        Ok(())
    }
}
