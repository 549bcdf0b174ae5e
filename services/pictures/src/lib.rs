//! Pictures that people upload.
//!
//! | module | what it does |
//! |---|---|
//! | [`clean`] | checks a picture, and removes what is not part of the image |
//! | [`store`] | stores files in a directory or an S3-compatible store |
//!
//! Pixels are neither decoded nor changed: a picture looks as it was sent.

pub mod clean;
mod s3;
pub mod store;

pub use s3::S3Options;
pub use store::{PictureFile, PictureStore, StoreError};
