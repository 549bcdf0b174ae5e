//! Pictures that people upload for products and reviews.
//!
//! The record of a picture is written before its file, and deleted after it, so that no file is left behind. A product or
//! review claims its pictures before it is written. The worker looks at each picture daily, and deletes those that nothing
//! shows.

use bytes::Bytes;
use futures_util::future::join_all;
use vitrine_model::activity::DAY_MILLIS;
use vitrine_model::clock::Timestamp;
use vitrine_model::id::{AuthorId, PictureId};
use vitrine_model::picture::{
    MAX_PICTURES_A_DAY, MAX_PICTURES_OF_ADMINS_A_DAY, Picture, PictureName, PictureUse,
    UNUSED_PICTURE_MILLIS,
};
use vitrine_model::product::Media;
use vitrine_model::review::Review;
use vitrine_model::worker::WorkerRun;
use vitrine_pictures::clean::clean;
pub use vitrine_pictures::{PictureFile, PictureStore, S3Options, StoreError};
use vitrine_storage::pictures::{DuePicture, PictureClaim};
use vitrine_storage::write::WriteUnit;
use vitrine_storage::{StorageError, Store};

use crate::outcome::ValidationErrors;
use crate::{Catalog, DomainError, LineLimiter};

/// The number of pictures that the worker looks at per batch.
const BATCH: u32 = 200;
/// The number of files that are deleted at a time.
const DELETED_AT_ONCE: usize = 8;
/// When files are deleted again that could not be, in milliseconds.
const RETRY_MILLIS: i64 = 60_000;
/// How long pictures of a rejected review are kept, in milliseconds: a moderator may correct a mistake.
const REJECTED_PICTURE_MILLIS: i64 = 30 * DAY_MILLIS;
/// How many waiting pictures are counted.
const MAX_COUNTED: u64 = 100_000;

/// Where uploaded pictures are kept, and where they are shown.
#[derive(Debug)]
pub struct PictureOptions {
    /// Their files.
    pub store: PictureStore,
    /// The address that their addresses begin with, without a slash at the end.
    pub address: String,
}

impl PictureOptions {
    /// Returns the public address of a picture.
    #[must_use]
    pub fn url(&self, name: PictureName) -> String {
        format!("{}/{name}", self.address)
    }

    /// Returns the picture that an address shows; `None` if it is not an address of this service.
    fn shown_at(&self, url: &str) -> Option<OwnAddress> {
        let name = url.strip_prefix(&*self.address)?.strip_prefix('/')?;
        Some(OwnAddress {
            url: url.to_owned(),
            name: PictureName::parse(name),
        })
    }
}

/// An address of this service.
#[derive(PartialEq, Eq)]
struct OwnAddress {
    url: String,
    /// The picture; `None` if there can be none at this address.
    name: Option<PictureName>,
}

/// A picture that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedPicture {
    /// The picture.
    pub picture: Picture,
    /// Its public address.
    pub url: String,
    /// When it is deleted if nothing shows it.
    pub expires_at: Timestamp,
}

impl Catalog {
    /// Returns whether a person may send another picture: too many a day would fill the store.
    ///
    /// # Errors
    /// [`DomainError::Forbidden`] if the service takes no pictures.
    pub async fn may_send_picture(&self, by: &str, is_admin: bool) -> Result<bool, DomainError> {
        self.taken_pictures()?;
        let max = if is_admin {
            MAX_PICTURES_OF_ADMINS_A_DAY
        } else {
            MAX_PICTURES_A_DAY
        };
        let (by, since) = (by.to_owned(), self.now().plus_millis(-DAY_MILLIS));
        let sent = self
            .read(|store| async move { store.count_pictures_since(&by, since, max).await })
            .await?;
        Ok(sent < max)
    }

    /// Stores a picture without its metadata.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] if it is no picture that can be shown.
    pub async fn add_picture(
        &self,
        by: &str,
        bytes: Bytes,
    ) -> Result<ReceivedPicture, DomainError> {
        let options = self.taken_pictures()?;
        let cleaned = tokio::task::spawn_blocking(move || clean(bytes)).await;
        let cleaned = cleaned.map_err(|lost| DomainError::Internal(Box::new(lost)))?;
        let cleaned =
            cleaned.map_err(|refusal| DomainError::invalid("body", refusal.to_string()))?;
        let name = PictureName {
            id: PictureId::random(),
            format: cleaned.format,
        };
        let picture = Picture {
            name,
            width: cleaned.width,
            height: cleaned.height,
            bytes: cleaned.bytes.len() as u64,
            by: Some(by.to_owned()),
            created_at: self.now(),
        };
        let expires_at = picture.created_at.plus_millis(UNUSED_PICTURE_MILLIS);
        let record = picture.clone();
        self.write(|store| async move { store.insert_picture(&record, expires_at).await })
            .await?;
        self.put_picture(options, name, cleaned.bytes).await?;
        Ok(ReceivedPicture {
            url: options.url(name),
            picture,
            expires_at,
        })
    }

    /// Stores the file of a picture. If that fails, or its sender was erased meanwhile, nothing is left of it.
    async fn put_picture(
        &self,
        options: &PictureOptions,
        name: PictureName,
        bytes: Bytes,
    ) -> Result<(), DomainError> {
        let (id, now) = (name.id, self.now());
        let stored = options.store.put(name, bytes).await;
        let is_kept = match &stored {
            Ok(()) => {
                let kept = self.read(|store| async move { store.has_picture(id).await });
                kept.await?
            }
            Err(_) => false,
        };
        if is_kept {
            return Ok(());
        }
        // The record, if it is still there, has the worker delete what there is of the file.
        self.write(|store| async move { store.keep_pictures(&[id], now).await })
            .await?;
        stored.map_err(|error| unavailable(&error))?;
        options
            .store
            .delete(name)
            .await
            .map_err(|error| unavailable(&error))?;
        Err(DomainError::Unavailable(None))
    }

    /// Returns whether media show pictures of this service.
    pub(crate) fn has_pictures(&self, media: &[Media]) -> bool {
        self.new_addresses(&[], media).is_some()
    }

    /// Opens the file of a picture; `None` if there is none.
    pub async fn open_picture(
        &self,
        name: PictureName,
    ) -> Result<Option<PictureFile>, DomainError> {
        let Some(options) = self.pictures() else {
            return Ok(None);
        };
        let opened = options.store.get(name).await;
        opened.map_err(|error| unavailable(&error))
    }

    fn taken_pictures(&self) -> Result<&PictureOptions, DomainError> {
        self.pictures()
            .ok_or_else(|| DomainError::Forbidden("This service takes no pictures.".to_owned()))
    }

    /// Claims the pictures that are new in a review. They must have been sent by its author. Returns the errors of its
    /// media.
    pub(crate) async fn claim_review_pictures(
        &self,
        before: &[Media],
        review: &Review,
    ) -> Result<ValidationErrors, DomainError> {
        let ours = self.new_addresses(before, &review.media);
        let (Some(ours), Some(author)) = (ours, &review.author) else {
            return Ok(ValidationErrors::default());
        };
        let claim = PictureClaim {
            names: names_of(&ours),
            by: PictureUse::Review(review.product_id, review.id),
            sent_by: Some(author.id.clone()),
            until: self.now().plus_millis(UNUSED_PICTURE_MILLIS),
        };
        let missing = self
            .write(|store| async move { store.claim_pictures(&claim).await })
            .await?;
        Ok(unclaimed(&review.media, &ours, &missing))
    }

    /// Claims all pictures of a review that was rejected and is about to be seen again, and removes from it the addresses
    /// of those that are deleted.
    pub(crate) async fn claim_pictures_again(
        &self,
        review: &mut Review,
    ) -> Result<(), DomainError> {
        while let Some(ours) = self.new_addresses(&[], &review.media) {
            let claim = PictureClaim {
                names: names_of(&ours),
                by: PictureUse::Review(review.product_id, review.id),
                sent_by: None,
                until: self.now().plus_millis(UNUSED_PICTURE_MILLIS),
            };
            let missing = self
                .write(|store| async move { store.claim_pictures(&claim).await })
                .await?;
            let is_gone = |one: &OwnAddress| one.name.is_none_or(|name| missing.contains(&name));
            let gone: Vec<String> = ours
                .into_iter()
                .filter(is_gone)
                .map(|one| one.url)
                .collect();
            if gone.is_empty() {
                return Ok(());
            }
            review.media.retain(|one| !gone.contains(&one.url));
        }
        Ok(())
    }

    /// Claims, in a transaction, the pictures that are new in a product. Anybody may have sent them. Returns the errors of
    /// its media.
    pub(crate) async fn claim_product_pictures(
        &self,
        (before, media): (&[Media], &[Media]),
        by: PictureUse,
        unit: &mut WriteUnit,
    ) -> Result<ValidationErrors, StorageError> {
        let Some(ours) = self.new_addresses(before, media) else {
            return Ok(ValidationErrors::default());
        };
        let claim = PictureClaim {
            names: names_of(&ours),
            by,
            sent_by: None,
            until: self.now().plus_millis(UNUSED_PICTURE_MILLIS),
        };
        let missing = unit.claim_pictures(&claim).await?;
        Ok(unclaimed(media, &ours, &missing))
    }

    /// Claims pictures of products and reviews of a feed; names of pictures that do not exist are ignored. Only the end of
    /// an address is read, because the process of an import may not know the address of pictures.
    pub(crate) async fn claim_imported_pictures<'a>(
        &self,
        shown: impl Iterator<Item = (PictureUse, &'a [Media])>,
    ) -> Result<(), DomainError> {
        let names = |(by, media): (PictureUse, &'a [Media])| {
            let names = media.iter().filter_map(|one| {
                let (_, name) = one.url.rsplit_once('/')?;
                PictureName::parse(name)
            });
            names.map(move |name| (by, name)).collect::<Vec<_>>()
        };
        let shown: Vec<(PictureUse, PictureName)> = shown.flat_map(names).collect();
        let until = self.now().plus_millis(UNUSED_PICTURE_MILLIS);
        for (by, name) in shown {
            let claim = PictureClaim {
                names: vec![name],
                by,
                sent_by: None,
                until,
            };
            self.maintain(|store| async move { store.claim_pictures(&claim).await })
                .await?;
        }
        Ok(())
    }

    /// The addresses of this service among media that were not there before, each once; `None` if there are none.
    fn new_addresses(&self, before: &[Media], media: &[Media]) -> Option<Vec<OwnAddress>> {
        let options = self.pictures()?;
        let is_new = |media: &&Media| !before.iter().any(|one| one.url == media.url);
        let new = media.iter().filter(is_new);
        let ours = new.filter_map(|one| options.shown_at(&one.url));
        let mut ours: Vec<OwnAddress> = ours.collect();
        ours.sort_by(|one, other| one.url.cmp(&other.url));
        ours.dedup();
        (!ours.is_empty()).then_some(ours)
    }

    /// Deletes pictures that nothing shows, one batch of them. A process without a store of pictures leaves them to
    /// others.
    ///
    /// # Errors
    /// [`DomainError::Unavailable`] if the store fails; those pictures are tried again later.
    pub async fn delete_unused_pictures(&self) -> Result<WorkerRun, DomainError> {
        let (catalog, now) = (self.clone(), self.now());
        let worked = self.maintain(|store| async move {
            if store.count_due_pictures(now, 1).await? == 0 {
                return Ok(Some(WorkerRun::default()));
            }
            let due = store.due_pictures(now, BATCH).await?;
            let shown = catalog.look_at_pictures(&store, &due).await?;
            let removed = store.removed_pictures(now, BATCH).await?;
            let Some(deleted) = catalog.delete_removed_pictures(&store, removed).await? else {
                return Ok(None);
            };
            Ok(Some(WorkerRun {
                done: shown + deleted,
                backlog: store.count_due_pictures(now, MAX_COUNTED).await?,
                ..WorkerRun::default()
            }))
        });
        worked.await?.ok_or(DomainError::Unavailable(None))
    }

    /// Keeps those of these pictures for another day that something shows, and marks the others as removed. Returns how
    /// many are shown.
    async fn look_at_pictures(
        &self,
        store: &Store,
        due: &[DuePicture],
    ) -> Result<u64, StorageError> {
        if due.is_empty() {
            return Ok(0);
        }
        let now = self.now();
        let rejected_after = now.plus_millis(-REJECTED_PICTURE_MILLIS);
        let shown = store.shown_pictures(due, rejected_after).await?;
        let later = now.plus_millis(UNUSED_PICTURE_MILLIS);
        store.keep_pictures(&shown, later).await?;
        if self.pictures().is_some() {
            let mut unshown: Vec<PictureId> = due.iter().map(|one| one.name.id).collect();
            unshown.retain(|id| !shown.contains(id));
            store.mark_pictures_removed(&unshown, now).await?;
        }
        Ok(shown.len() as u64)
    }

    /// Deletes the files and records of the removed pictures of a person. Returns whether none is left: this process may
    /// have no store, or its store may fail.
    pub(crate) async fn delete_erased_pictures(
        &self,
        store: &Store,
        by: &AuthorId,
    ) -> Result<bool, StorageError> {
        loop {
            let removed = store.removed_pictures_of(by, BATCH).await?;
            if removed.is_empty() {
                return Ok(true);
            }
            let deleted = self.delete_removed_pictures(store, removed).await?;
            if deleted.is_none_or(|deleted| deleted == 0) {
                return Ok(false);
            }
        }
    }

    /// Deletes the files and records of pictures that are marked as removed, until the store fails. Returns how many,
    /// and `None` if it has failed. Those that are left are tried again later.
    async fn delete_removed_pictures(
        &self,
        store: &Store,
        removed: Vec<PictureName>,
    ) -> Result<Option<u64>, StorageError> {
        let Some(options) = self.pictures() else {
            return Ok(Some(0));
        };
        let mut deleted = 0;
        for names in removed.chunks(DELETED_AT_ONCE) {
            let files = names.iter().copied();
            let files =
                files.map(|name| async move { (name.id, options.store.delete(name).await) });
            let (mut gone, mut left) = (Vec::new(), Vec::new());
            for (id, outcome) in join_all(files).await {
                match outcome {
                    Ok(()) => gone.push(id),
                    Err(error) => {
                        log(&error);
                        left.push(id);
                    }
                }
            }
            store.delete_pictures(&gone).await?;
            deleted += gone.len() as u64;
            if !left.is_empty() {
                let later = self.now().plus_millis(RETRY_MILLIS);
                store.keep_pictures(&left, later).await?;
                return Ok(None);
            }
        }
        Ok(Some(deleted))
    }

    /// The address of a picture, for the person who sent it.
    pub(crate) fn picture_address(&self, name: PictureName) -> String {
        let options = self.pictures();
        options.map_or_else(|| name.to_string(), |options| options.url(name))
    }
}

fn names_of(addresses: &[OwnAddress]) -> Vec<PictureName> {
    addresses.iter().filter_map(|one| one.name).collect()
}

/// Returns an error for each medium whose picture is missing.
fn unclaimed(media: &[Media], ours: &[OwnAddress], missing: &[PictureName]) -> ValidationErrors {
    let is_missing = |url: &str| match ours.iter().find(|one| one.url == url) {
        None => false,
        Some(address) => address.name.is_none_or(|name| missing.contains(&name)),
    };
    let mut errors = ValidationErrors::default();
    for (at, one) in media.iter().enumerate() {
        if is_missing(&one.url) {
            let message = "there is no such picture, or another person sent it; pictures that nothing \
                           shows are deleted within a day: upload it again";
            errors.missing(&[&"media", &at, &"url"], message);
        }
    }
    errors
}

/// The store of pictures cannot be used at the moment.
fn unavailable(error: &StoreError) -> DomainError {
    log(error);
    DomainError::Unavailable(None)
}

/// The reason is for operators.
fn log(error: &StoreError) {
    static LINES: LineLimiter = LineLimiter::new();
    let Some(left_out) = LINES.permit() else {
        return;
    };
    let source = std::error::Error::source(error);
    let source = source.map(ToString::to_string).unwrap_or_default();
    tracing::error!(%error, source, left_out, "pictures cannot be stored, read or deleted");
}
