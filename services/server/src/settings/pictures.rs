//! Settings of uploaded pictures: where their files are kept, and where they are shown.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use vitrine_domain::pictures::{PictureOptions, PictureStore, S3Options};
use vitrine_web::Site;

use super::Secret;

/// Where pictures are shown, behind the origin of the storefront.
const PATH: &str = "/pictures";

/// Where the files of uploaded pictures are kept, and where they are shown.
#[derive(Clone, Debug, Args)]
pub struct PictureSettings {
    /// Where uploaded pictures are kept: a directory, or `s3://BUCKET/PREFIX`. Without it none are taken; dev
    /// has a directory beside its data. For dev, serve and work.
    #[arg(long, global = true, env = "VITRINE_PICTURES")]
    pub pictures: Option<PicturePlace>,
    /// The address that those of pictures begin with, for caches and buckets that are public. [default: /pictures behind
    /// the origin of the storefront]. For dev and serve.
    #[arg(long, global = true, env = "VITRINE_PICTURES_ADDRESS", value_parser = address)]
    pub pictures_address: Option<String>,
    /// The address of an S3-compatible store. Without it, that of AWS. For dev, serve and work.
    #[arg(long, global = true, env = "VITRINE_S3_ENDPOINT", value_parser = address)]
    pub s3_endpoint: Option<String>,
    /// The region of the S3-compatible store. For dev, serve and work.
    #[arg(
        long,
        global = true,
        env = "VITRINE_S3_REGION",
        default_value = "us-east-1",
        value_parser = NonEmptyStringValueParser::new()
    )]
    pub s3_region: String,
    /// The id of the access key of the S3-compatible store. For dev, serve and work.
    #[arg(long, global = true, env = "VITRINE_S3_ACCESS_KEY_ID", value_parser = NonEmptyStringValueParser::new())]
    pub s3_access_key_id: Option<String>,
    /// The secret of the access key of the S3-compatible store. For dev, serve and work.
    #[arg(
        long,
        global = true,
        env = "VITRINE_S3_SECRET_ACCESS_KEY",
        hide_env_values = true
    )]
    pub s3_secret_access_key: Option<Secret>,
}

/// Where files are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PicturePlace {
    /// A directory of this machine.
    Directory(PathBuf),
    /// A bucket, and what names in it begin with.
    Bucket(String, String),
}

impl FromStr for PicturePlace {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let Some(place) = text.strip_prefix("s3://") else {
            return Ok(Self::Directory(text.into()));
        };
        let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
        let prefix = prefix.trim_end_matches('/');
        let slash = if prefix.is_empty() { "" } else { "/" };
        Ok(Self::Bucket(bucket.to_owned(), format!("{prefix}{slash}")))
    }
}

impl PictureSettings {
    /// The pictures of `dev`, which takes them always.
    pub(crate) fn for_dev(
        &self,
        directory: PathBuf,
        site: &mut Site,
    ) -> anyhow::Result<Option<Arc<PictureOptions>>> {
        let default = PicturePlace::Directory(directory);
        self.serve(self.pictures.as_ref().unwrap_or(&default), site)
    }

    /// The pictures of `serve`; `None` if it takes none.
    pub(crate) fn for_serve(&self, site: &mut Site) -> anyhow::Result<Option<Arc<PictureOptions>>> {
        match &self.pictures {
            Some(place) => self.serve(place, site),
            None => Ok(None),
        }
    }

    /// The pictures that `work` deletes; `None` if it deletes none.
    pub(crate) fn for_work(&self) -> anyhow::Result<Option<Arc<PictureOptions>>> {
        let Some(place) = &self.pictures else {
            return Ok(None);
        };
        Ok(Some(Arc::new(PictureOptions {
            store: self.store(place)?,
            // It shows none.
            address: String::new(),
        })))
    }

    fn serve(
        &self,
        place: &PicturePlace,
        site: &mut Site,
    ) -> anyhow::Result<Option<Arc<PictureOptions>>> {
        let of_site = || Some(format!("{}{PATH}", site.origin.as_ref()?));
        let address = self.pictures_address.clone().or_else(of_site).context(
            "VITRINE_PICTURES needs VITRINE_PICTURES_ADDRESS, the public address of pictures, or \
             VITRINE_STOREFRONT_ORIGIN",
        )?;
        site.pictures = Some(address.clone());
        Ok(Some(Arc::new(PictureOptions {
            store: self.store(place)?,
            address,
        })))
    }

    fn store(&self, place: &PicturePlace) -> anyhow::Result<PictureStore> {
        let (bucket, prefix) = match place {
            PicturePlace::Directory(path) => {
                let store = PictureStore::directory(path.clone());
                return store.context("VITRINE_PICTURES cannot be used");
            }
            PicturePlace::Bucket(bucket, prefix) => (bucket.clone(), prefix.clone()),
        };
        ensure!(
            !bucket.is_empty(),
            "VITRINE_PICTURES names no bucket: s3://BUCKET/PREFIX"
        );
        let key = self.s3_access_key_id.clone();
        let (Some(access_key_id), Some(secret)) = (key, &self.s3_secret_access_key) else {
            anyhow::bail!(
                "VITRINE_PICTURES with s3:// needs VITRINE_S3_ACCESS_KEY_ID and \
                 VITRINE_S3_SECRET_ACCESS_KEY"
            );
        };
        let options = S3Options {
            bucket,
            prefix,
            endpoint: self.s3_endpoint.clone(),
            region: self.s3_region.clone(),
            access_key_id,
            secret_access_key: secret.reveal().to_owned(),
        };
        PictureStore::s3(&options)
            .map_err(anyhow::Error::msg)
            .context("VITRINE_PICTURES cannot be used")
    }
}

/// Reads an address without query and fragment, and removes slashes at its end. It becomes a part of a policy: nothing in
/// it may end that part.
fn address(text: &str) -> Result<String, &'static str> {
    let host = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/[]%!$&()+=".contains(&byte);
    let has_host = host.is_some_and(|host| host.bytes().next().is_some_and(|byte| byte != b'/'));
    if !has_host || !text.bytes().all(plain) || text.len() > 1_000 {
        return Err(
            "must be https:// or http://, a host and a path if there is one, without a query: \
             https://cdn.example/pictures",
        );
    }
    Ok(text.trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Cli;

    fn settings(line: &str) -> Result<PictureSettings, String> {
        let cli = Cli::read(["vitrine", "serve"].into_iter().chain(line.split(' ')));
        cli.map(|cli| cli.pictures)
            .map_err(|error| error.to_string())
    }

    fn address_of(line: &str, origin: Option<&str>) -> Result<Option<String>, String> {
        let mut site = Site {
            origin: origin.map(str::to_owned),
            ..Site::default()
        };
        let options = settings(line)?.for_serve(&mut site);
        let options = options.map_err(|error| format!("{error:#}"))?;
        let address = options.map(|options| options.address.clone());
        assert_eq!(site.pictures, address);
        Ok(address)
    }

    #[test]
    fn a_place_is_a_directory_or_a_bucket() {
        let bucket =
            |bucket: &str, prefix: &str| PicturePlace::Bucket(bucket.to_owned(), prefix.to_owned());
        for (text, place) in [
            ("s3://shop", bucket("shop", "")),
            ("s3://shop/", bucket("shop", "")),
            ("s3://shop/a/b", bucket("shop", "a/b/")),
            ("s3://shop/a/b/", bucket("shop", "a/b/")),
            ("/srv/s3", PicturePlace::Directory("/srv/s3".into())),
        ] {
            assert_eq!(text.parse(), Ok(place), "{text}");
        }
    }

    #[test]
    fn pictures_are_shown_behind_the_storefront_or_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let here = format!("--pictures {}", folder.path().display());
        let shop = Some("https://shop.example");
        let at = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(address_of("--s3-region x", shop), Ok(None));
        assert_eq!(address_of(&here, shop), at("https://shop.example/pictures"));
        let cdn = format!("{here} --pictures-address https://cdn.example/p/");
        assert_eq!(address_of(&cdn, shop), at("https://cdn.example/p"));
        let error = address_of(&here, None).unwrap_err();
        assert!(error.contains("VITRINE_PICTURES_ADDRESS"), "{error}");
        for wrong in [
            "shop.example",
            "ftp://a",
            "https://",
            "https:///x",
            "https://a;b",
            "https://a?b",
        ] {
            let line = format!("{here} --pictures-address {wrong}");
            assert!(settings(&line).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_bucket_needs_a_key() {
        let keys = "--s3-access-key-id a --s3-secret-access-key b";
        let shop = Some("https://shop.example");
        for (line, reason) in [
            ("--pictures s3://shop", "needs VITRINE_S3_ACCESS_KEY_ID"),
            (&format!("--pictures s3:// {keys}"), "names no bucket"),
        ] {
            let error = address_of(line, shop).unwrap_err();
            assert!(error.contains(reason), "{line}: {error}");
        }
        let line = format!("--pictures s3://shop {keys} --s3-endpoint http://127.0.0.1:9000");
        assert!(address_of(&line, shop).unwrap().is_some());
        assert!(!format!("{:?}", settings(&line)).contains("\"b\""));
    }
}
