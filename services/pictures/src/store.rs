//! Where the files of pictures are kept.

use std::io;
use std::path::PathBuf;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, TryStreamExt as _};
use tokio::io::AsyncWriteExt as _;
use tokio_util::io::ReaderStream;
use vitrine_model::picture::PictureName;

use crate::s3::{S3, S3Options};

/// The content of a file, in pieces.
pub type Pieces = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// Why a file could not be stored, read or deleted. It can be tried again.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The directory.
    #[error("{doing} {path}")]
    File {
        /// What was attempted.
        doing: &'static str,
        /// The path.
        path: String,
        /// The reason.
        source: io::Error,
    },
    /// The S3-compatible store could not be reached.
    #[error("reaching the S3-compatible store")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The S3-compatible store answered with an error.
    #[error("the S3-compatible store answered with status {status}: {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The beginning of its answer.
        message: String,
    },
    /// The S3-compatible store did not answer in time.
    #[error("the S3-compatible store did not answer within {0} seconds")]
    Timeout(u64),
}

/// A file that is being read.
pub struct PictureFile {
    /// Its size in bytes.
    pub bytes: u64,
    /// Its content.
    pub content: Pieces,
}

impl std::fmt::Debug for PictureFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PictureFile")
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

/// The files of pictures, by name. A file is there completely or not at all.
#[derive(Debug)]
pub struct PictureStore(Kind);

#[derive(Debug)]
enum Kind {
    Directory(PathBuf),
    S3(Box<S3>),
}

impl PictureStore {
    /// Stores files in a directory, which is created if necessary.
    ///
    /// # Errors
    /// If files cannot be created there.
    pub fn directory(path: PathBuf) -> Result<Self, StoreError> {
        std::fs::create_dir_all(&path)
            .and_then(|()| tempfile::tempfile_in(&path).map(drop))
            .map_err(failed("writing to", &path))?;
        Ok(Self(Kind::Directory(path)))
    }

    /// Stores files in a bucket of an S3-compatible store.
    ///
    /// # Errors
    /// A text that says which option is wrong.
    pub fn s3(options: &S3Options) -> Result<Self, String> {
        S3::new(options).map(|s3| Self(Kind::S3(Box::new(s3))))
    }

    /// Stores a file.
    ///
    /// # Errors
    /// If it could not be stored. Then it is not there, or completely.
    pub async fn put(&self, name: PictureName, bytes: Bytes) -> Result<(), StoreError> {
        match &self.0 {
            Kind::Directory(directory) => put_file(directory, name, bytes).await,
            Kind::S3(s3) => s3.put(name, bytes).await,
        }
    }

    /// Opens a file; `None` if there is none.
    pub async fn get(&self, name: PictureName) -> Result<Option<PictureFile>, StoreError> {
        let path = match &self.0 {
            Kind::Directory(directory) => path_of(directory, name),
            Kind::S3(s3) => return s3.get(name).await,
        };
        let file = match tokio::fs::File::open(&path).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(failed("opening", &path))?,
        };
        let metadata = file.metadata().await;
        Ok(Some(PictureFile {
            bytes: metadata.map_err(failed("opening", &path))?.len(),
            content: Box::pin(ReaderStream::new(file).map_err(io::Error::from)),
        }))
    }

    /// Deletes a file, if there is one.
    pub async fn delete(&self, name: PictureName) -> Result<(), StoreError> {
        let path = match &self.0 {
            Kind::Directory(directory) => path_of(directory, name),
            Kind::S3(s3) => return s3.delete(name).await,
        };
        // What a process has left that died while it wrote.
        remove(&part_of(&path)).await?;
        remove(&path).await
    }
}

/// Two levels: directories with very many files are slow to list and to copy.
fn path_of(directory: &std::path::Path, name: PictureName) -> PathBuf {
    let name = name.to_string();
    directory.join(&name[..3]).join(name)
}

/// The name of a file until it is complete.
fn part_of(path: &std::path::Path) -> PathBuf {
    path.with_extension("part")
}

async fn remove(path: &std::path::Path) -> Result<(), StoreError> {
    match tokio::fs::remove_file(path).await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(failed("deleting", path)),
    }
}

async fn put_file(
    directory: &std::path::Path,
    name: PictureName,
    bytes: Bytes,
) -> Result<(), StoreError> {
    let path = path_of(directory, name);
    let folder = path.parent().unwrap_or(directory).to_owned();
    let write = async {
        tokio::fs::create_dir_all(&folder).await?;
        let part = part_of(&path);
        let mut file = tokio::fs::File::create(&part).await?;
        file.write_all(&bytes).await?;
        file.sync_all().await?;
        tokio::fs::rename(&part, &path).await?;
        tokio::fs::File::open(&folder).await?.sync_all().await
    };
    write.await.map_err(failed("writing", &path))
}

fn failed(doing: &'static str, path: &std::path::Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.display().to_string();
    move |source| StoreError::File {
        doing,
        path,
        source,
    }
}

#[cfg(test)]
mod tests {
    use vitrine_model::id::PictureId;
    use vitrine_model::picture::PictureFormat;

    use super::*;

    const NAME: PictureName = PictureName {
        id: PictureId::from_i64(0x1234),
        format: PictureFormat::Png,
    };

    async fn content(store: &PictureStore) -> Option<Vec<u8>> {
        let file = store.get(NAME).await.unwrap()?;
        let pieces: Vec<Bytes> = file.content.try_collect().await.unwrap();
        let content = pieces.concat();
        assert_eq!(content.len() as u64, file.bytes);
        Some(content)
    }

    #[tokio::test]
    async fn a_file_is_read_until_it_is_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let store = PictureStore::directory(folder.path().join("new/pictures")).unwrap();
        assert_eq!(content(&store).await, None);
        store.delete(NAME).await.unwrap();
        let large = vec![7; 300_000];
        store.put(NAME, large.clone().into()).await.unwrap();
        assert_eq!(content(&store).await, Some(large));
        let file = folder.path().join("new/pictures/000/00000000001234.png");
        assert!(file.exists());
        let part = file.with_extension("part");
        std::fs::write(&part, "cut off").unwrap();
        store.delete(NAME).await.unwrap();
        assert_eq!(content(&store).await, None);
        assert!(!part.exists());
    }

    #[test]
    fn a_directory_that_cannot_be_written_is_refused_at_the_start() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = PictureStore::directory(file.path().join("pictures")).unwrap_err();
        assert!(error.to_string().starts_with("writing to /"), "{error}");
    }
}
