//! Scripts and style sheets. Their address has a hash of all of them, so that browsers may keep
//! them for ever, and a page never mixes those of two releases.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::sync::{LazyLock, OnceLock};

use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};

use crate::operations;

/// A file that pages load. One of the two forms is there from the start; the other is made when it is first asked for.
struct Asset {
    content: OnceLock<Bytes>,
    /// With gzip.
    compressed: OnceLock<Bytes>,
}

impl Asset {
    fn new(stored: Bytes) -> Self {
        let asset = Self {
            content: OnceLock::new(),
            compressed: OnceLock::new(),
        };
        let form = if stored.starts_with(GZIP_MAGIC) {
            &asset.compressed
        } else {
            &asset.content
        };
        form.get_or_init(|| stored);
        asset
    }

    fn content(&self) -> &Bytes {
        let compressed = || self.compressed.get().map(|packed| unpacked(packed));
        self.content
            .get_or_init(|| compressed().unwrap_or_default())
    }

    /// `None` if that is not worth it.
    fn compressed(&self) -> Option<&Bytes> {
        self.compressed.get().or_else(|| {
            let content = self.content();
            (content.len() >= MIN_COMPRESSED).then(|| {
                self.compressed
                    .get_or_init(|| gzip(content, Compression::best()))
            })
        })
    }
}

/// All files that pages load, with their hash.
struct Assets {
    version: String,
    by_path: BTreeMap<&'static str, Asset>,
}

macro_rules! files {
    ($($path:literal => $file:literal),* $(,)?) => {
        &[$(($path, include_bytes!($file).as_slice())),*]
    };
}

/// Every file of `ui` and `vendor` that is served; a test compares. Large ones are stored compressed, because every
/// binary contains them.
const FILES: &[(&str, &[u8])] = files![
    "console/activity.js" => "../ui/console/activity.js",
    "console/authors.js" => "../ui/console/authors.js",
    "console/bulk.js" => "../ui/console/bulk.js",
    "console/categories.js" => "../ui/console/categories.js",
    "console/data.js" => "../ui/console/data.js",
    "console/edit.js" => "../ui/console/edit.js",
    "console/fairness.js" => "../ui/console/fairness.js",
    "console/form.js" => "../ui/console/form.js",
    "console/history.js" => "../ui/console/history.js",
    "console/imports.js" => "../ui/console/imports.js",
    "console/lists.js" => "../ui/console/lists.js",
    "console/main.js" => "../ui/console/main.js",
    "console/moderation.js" => "../ui/console/moderation.js",
    "console/new-import.js" => "../ui/console/new-import.js",
    "console/parts.js" => "../ui/console/parts.js",
    "console/pickers.js" => "../ui/console/pickers.js",
    "console/product-specs.js" => "../ui/console/product-specs.js",
    "console/product.js" => "../ui/console/product.js",
    "console/product-filters.js" => "../ui/console/product-filters.js",
    "console/products.js" => "../ui/console/products.js",
    "console/review.js" => "../ui/console/review.js",
    "console/schema.js" => "../ui/console/schema.js",
    "console/shell.js" => "../ui/console/shell.js",
    "console/similar.js" => "../ui/console/similar.js",
    "console/spec.js" => "../ui/console/spec.js",
    "console/specs.js" => "../ui/console/specs.js",
    "console/suppliers.js" => "../ui/console/suppliers.js",
    "console/system.js" => "../ui/console/system.js",
    "console/units.js" => "../ui/console/units.js",
    "console/values.js" => "../ui/console/values.js",
    "console/viewer.js" => "../ui/console/viewer.js",
    "console/views.js" => "../ui/console/views.js",
    "graphiql/main.js" => "../ui/graphiql/main.js",
    "shared/account.js" => "../ui/shared/account.js",
    "shared/asked.js" => "../ui/shared/asked.js",
    "shared/dialog.js" => "../ui/shared/dialog.js",
    "shared/first.js" => "../ui/shared/first.js",
    "shared/format.js" => "../ui/shared/format.js",
    "shared/graphql.js" => "../ui/shared/graphql.js",
    "shared/live.js" => "../ui/shared/live.js",
    "shared/login.js" => "../ui/shared/login.js",
    "shared/navigation.js" => "../ui/shared/navigation.js",
    "shared/pictures.js" => "../ui/shared/pictures.js",
    "shared/send.js" => "../ui/shared/send.js",
    "shared/session.js" => "../ui/shared/session.js",
    "shared/signed-in.js" => "../ui/shared/signed-in.js",
    "store/address.js" => "../ui/store/address.js",
    "store/chart.js" => "../ui/store/chart.js",
    "store/compare.js" => "../ui/store/compare.js",
    "store/gallery.js" => "../ui/store/gallery.js",
    "store/header.js" => "../ui/store/header.js",
    "store/home.js" => "../ui/store/home.js",
    "store/list.js" => "../ui/store/list.js",
    "store/main.js" => "../ui/store/main.js",
    "store/panel.js" => "../ui/store/panel.js",
    "store/product.js" => "../ui/store/product.js",
    "store/review-form.js" => "../ui/store/review-form.js",
    "store/reviews.js" => "../ui/store/reviews.js",
    "store/search.js" => "../ui/store/search.js",
    "store/specs.js" => "../ui/store/specs.js",
    "store/tile.js" => "../ui/store/tile.js",
    "style/console.css" => "../ui/style/console.css",
    "style/graphiql.css" => "../ui/style/graphiql.css",
    "style/store.css" => "../ui/style/store.css",
    "vendor/graphiql/graphiql.min.css" => "../vendor/graphiql/graphiql.min.css",
    "vendor/graphiql/graphiql.min.js" => "../vendor/graphiql/graphiql.min.js.gz",
    "vendor/graphiql/react-dom.production.min.js" => "../vendor/graphiql/react-dom.production.min.js.gz",
    "vendor/graphiql/react.production.min.js" => "../vendor/graphiql/react.production.min.js",
    "vendor/preact/hooks.js" => "../vendor/preact/hooks.js",
    "vendor/preact/preact.js" => "../vendor/preact/preact.js",
    "vendor/preact/signals-core.js" => "../vendor/preact/signals-core.js",
    "vendor/preact/signals.js" => "../vendor/preact/signals.js",
];

/// The scripts of the storefront, which a page asks for together.
pub(crate) const STORE_MODULES: &[&str] = &[
    "operations.js",
    "vendor/preact/hooks.js",
    "vendor/preact/preact.js",
    "vendor/preact/signals-core.js",
    "vendor/preact/signals.js",
    "shared/account.js",
    "shared/asked.js",
    "shared/dialog.js",
    "shared/first.js",
    "shared/format.js",
    "shared/graphql.js",
    "shared/live.js",
    "shared/navigation.js",
    "shared/pictures.js",
    "shared/send.js",
    "shared/session.js",
    "store/address.js",
    "store/chart.js",
    "store/compare.js",
    "store/gallery.js",
    "store/header.js",
    "store/home.js",
    "store/list.js",
    "store/panel.js",
    "store/product.js",
    "store/review-form.js",
    "store/reviews.js",
    "store/search.js",
    "store/specs.js",
    "store/tile.js",
];

/// The scripts of the console, which its page asks for together.
pub(crate) const CONSOLE_MODULES: &[&str] = &[
    "console/operations.js",
    "operations.js",
    "vendor/preact/hooks.js",
    "vendor/preact/preact.js",
    "vendor/preact/signals-core.js",
    "vendor/preact/signals.js",
    "console/activity.js",
    "console/authors.js",
    "console/bulk.js",
    "console/categories.js",
    "console/data.js",
    "console/edit.js",
    "console/fairness.js",
    "console/form.js",
    "console/history.js",
    "console/imports.js",
    "console/lists.js",
    "console/moderation.js",
    "console/new-import.js",
    "console/parts.js",
    "console/pickers.js",
    "console/product-specs.js",
    "console/product.js",
    "console/product-filters.js",
    "console/products.js",
    "console/review.js",
    "console/schema.js",
    "console/shell.js",
    "console/similar.js",
    "console/spec.js",
    "console/specs.js",
    "console/suppliers.js",
    "console/system.js",
    "console/units.js",
    "console/values.js",
    "console/viewer.js",
    "console/views.js",
    "shared/account.js",
    "shared/asked.js",
    "shared/dialog.js",
    "shared/first.js",
    "shared/format.js",
    "shared/graphql.js",
    "shared/navigation.js",
    "shared/pictures.js",
    "shared/send.js",
    "shared/session.js",
    "store/address.js",
    "store/panel.js",
];

/// The scripts of the page to which an identity provider sends visitors back.
pub(crate) const SIGNED_IN_MODULES: &[&str] = &[
    "vendor/preact/hooks.js",
    "vendor/preact/preact.js",
    "vendor/preact/signals-core.js",
    "vendor/preact/signals.js",
    "shared/first.js",
    "shared/login.js",
    "shared/session.js",
];

/// What each file that is compressed with gzip begins with.
const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
/// Smaller answers are not compressed, in bytes.
const MIN_COMPRESSED: usize = 1_024;

static ASSETS: LazyLock<Assets> = LazyLock::new(|| {
    let files = FILES.iter().map(|(path, content)| {
        let is_own_script = is_own_script(path);
        let script = std::str::from_utf8(content).ok().filter(|_| is_own_script);
        let script = script.map(|script| Bytes::from(without_comments(script)));
        (*path, script.unwrap_or(Bytes::from_static(content)))
    });
    let made = [
        ("operations.js", operations::operations()),
        ("console/operations.js", operations::console_operations()),
    ];
    let made = made.map(|(path, all)| (path, Bytes::from(operations::module(all))));
    let mut hash = Sha256::new();
    let mut by_path = BTreeMap::new();
    for (path, content) in files.chain(made) {
        hash.update(path);
        hash.update(content.len().to_le_bytes());
        hash.update(&content);
        by_path.insert(path, Asset::new(content));
    }
    let hash = hash.finalize();
    let version = hash.iter().take(6).map(|byte| format!("{byte:02x}"));
    Assets {
        version: version.collect(),
        by_path,
    }
});

/// Returns the address of a file.
pub(crate) fn address(path: &str) -> String {
    format!("/assets/{}/{path}", ASSETS.version)
}

/// Whether a file is a script of ours.
fn is_own_script(path: &str) -> bool {
    path.strip_suffix(".js").is_some() && !path.starts_with("vendor/")
}

/// Returns a script without the lines that are comments only, an eighth of what browsers would load. Empty lines take
/// their place, so that errors name the lines of the source.
fn without_comments(script: &str) -> String {
    let mut code = String::with_capacity(script.len());
    let mut inside = false;
    for line in script.lines() {
        let text = line.trim();
        let begins = !inside && text.starts_with("/*");
        // Code may follow a comment of one line, such as a type.
        let ends = text.find("*/").map(|at| at + 2 == text.len());
        let is_comment = inside || text.starts_with("//") || (begins && ends != Some(false));
        if inside || begins {
            inside = ends.is_none();
        }
        if !is_comment {
            code.push_str(line);
        }
        code.push('\n');
    }
    code
}

/// `GET /assets/{version}/{path}`. A page of another release gets the present file, and may not keep
/// it.
pub(crate) async fn serve(
    Path((version, path)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response<Body> {
    let Some((path, asset)) = ASSETS.by_path.get_key_value(path.as_str()) else {
        let mut response = Response::new(Body::from("There is no such file."));
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    };
    let accepts = weight(&headers, "gzip") > 0.0;
    let packed = accepts.then(|| asset.compressed()).flatten();
    let mut response = match packed {
        Some(packed) => packed_with("gzip", packed.clone()),
        None => Response::new(Body::from(asset.content().clone())),
    };
    let kind = match path.rsplit_once('.') {
        Some((_, "js")) => "text/javascript; charset=utf-8",
        _ => "text/css; charset=utf-8",
    };
    let caching = if version == ASSETS.version {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    response
}

/// Returns a response with this body, compressed if the client accepts it and it is worth it.
/// As quickly as possible: better compression takes longer than it saves (`tests/benches/README.md`).
pub(crate) fn compressed(body: Vec<u8>, headers: &HeaderMap) -> Response<Body> {
    let mut response = if body.len() < MIN_COMPRESSED {
        Response::new(Body::from(body))
    } else if let Some(packed) = as_zstd(&body, headers) {
        packed_with("zstd", packed)
    } else if weight(headers, "gzip") > 0.0 {
        packed_with("gzip", gzip(&body, Compression::fast()))
    } else {
        Response::new(Body::from(body))
    };
    let vary = HeaderValue::from_static("accept-encoding, authorization");
    response.headers_mut().insert(header::VARY, vary);
    response
}

fn packed_with(coding: &'static str, packed: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::from(packed));
    let coding = HeaderValue::from_static(coding);
    response
        .headers_mut()
        .insert(header::CONTENT_ENCODING, coding);
    response
}

/// Compresses with zstd, unless the client does not accept it or prefers gzip.
fn as_zstd(content: &[u8], headers: &HeaderMap) -> Option<Bytes> {
    let wanted = weight(headers, "zstd");
    let packs = wanted > 0.0 && wanted >= weight(headers, "gzip");
    let packed = packs.then(|| zstd::bulk::compress(content, 1));
    Some(packed?.ok()?.into())
}

fn gzip(content: &[u8], level: Compression) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::with_capacity(content.len() / 3), level);
    // Writing to memory does not fail.
    let written = encoder.write_all(content).and_then(|()| encoder.finish());
    written.unwrap_or_default().into()
}

/// Reverses [`gzip`]. Files that are stored compressed are whole; a test unpacks each.
fn unpacked(packed: &[u8]) -> Bytes {
    let mut content = Vec::with_capacity(packed.len() * 4);
    let read = GzDecoder::new(packed).read_to_end(&mut content);
    read.map(|_| content).unwrap_or_default().into()
}

/// The weight of a coding in `Accept-Encoding`; zero if it is not named.
fn weight(headers: &HeaderMap, coding: &str) -> f32 {
    let lists = headers.get_all(header::ACCEPT_ENCODING).iter();
    let mut named = lists
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(','))
        .map(|one| one.split_once(';').unwrap_or((one, "")));
    let found = named.find(|(name, _)| name.trim().eq_ignore_ascii_case(coding));
    let Some((_, weight)) = found else {
        return 0.0;
    };
    let weight = weight.trim().strip_prefix("q=");
    weight.and_then(|q| q.parse().ok()).unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path as FilePath, PathBuf};

    use futures_util::FutureExt as _;

    use super::*;

    fn files_below(folder: &FilePath, found: &mut BTreeSet<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files_below(&path, found);
            } else {
                found.insert(path);
            }
        }
    }

    #[test]
    fn every_script_and_style_sheet_is_served() {
        let root = FilePath::new(env!("CARGO_MANIFEST_DIR"));
        let mut found = BTreeSet::new();
        for folder in ["ui", "vendor"] {
            files_below(&root.join(folder), &mut found);
        }
        let is_served = |path: &PathBuf| {
            let extension = path.extension().and_then(|extension| extension.to_str());
            matches!(extension, Some("js" | "css"))
        };
        let unpacked = found.into_iter().map(|path| match path.extension() {
            Some(extension) if extension == "gz" => path.with_extension(""),
            _ => path,
        });
        let found: BTreeSet<PathBuf> = unpacked.filter(is_served).collect();
        let served = FILES.iter().map(|(path, _)| {
            let folder = if path.starts_with("vendor/") {
                ""
            } else {
                "ui"
            };
            root.join(folder).join(path)
        });
        assert_eq!(found, served.collect());
    }

    #[test]
    fn files_that_are_stored_compressed_are_served_in_both_forms() {
        let stored = FILES
            .iter()
            .filter(|(_, file)| file.starts_with(GZIP_MAGIC));
        let paths: Vec<&str> = stored.map(|(path, _)| *path).collect();
        assert_eq!(paths.len(), 2, "{paths:?}");
        for path in paths {
            let asset = &ASSETS.by_path[path];
            let content = asset.content();
            assert!(content.len() > 100_000, "{path} is {} bytes", content.len());
            let answer = |headers| {
                let path = Path((ASSETS.version.clone(), path.to_owned()));
                let response = serve(path, headers).now_or_never().unwrap();
                let body = axum::body::to_bytes(response.into_body(), usize::MAX);
                body.now_or_never().unwrap().unwrap()
            };
            let coding = (header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
            let packed = answer(HeaderMap::from_iter([coding]));
            assert!(packed.len() < content.len() / 2, "{path}");
            assert_eq!(unpacked(&packed), content, "{path}");
            assert_eq!(answer(HeaderMap::new()), content, "{path}");
        }
    }

    #[test]
    fn scripts_are_served_without_comments() {
        let script = "// a\n/** b */\n/** c\n * d\n */\nlet e; // f\n  /** @type {g} */ (h)\n/* i */ j()\nk()";
        let code = "\n\n\n\n\nlet e; // f\n  /** @type {g} */ (h)\n/* i */ j()\nk()\n";
        assert_eq!(without_comments(script), code);
        for (path, asset) in &ASSETS.by_path {
            let has_comments = asset.content().starts_with(b"// @ts-check");
            assert!(!is_own_script(path) || !has_comments, "{path}");
        }
    }

    #[test]
    fn pages_preload_exactly_what_they_import() {
        for (main, preloaded) in [
            ("store/main.js", STORE_MODULES),
            ("console/main.js", CONSOLE_MODULES),
            ("shared/signed-in.js", SIGNED_IN_MODULES),
        ] {
            let mut modules: BTreeSet<String> =
                preloaded.iter().map(|path| (*path).to_owned()).collect();
            modules.insert(main.to_owned());
            assert_eq!(modules, reached(main), "{main}");
        }
    }

    /// The module, and all that it imports directly or through others.
    fn reached(main: &str) -> BTreeSet<String> {
        let (mut found, mut next) = (BTreeSet::new(), vec![main.to_owned()]);
        while let Some(path) = next.pop() {
            let content = ASSETS.by_path[path.as_str()].content();
            let text = std::str::from_utf8(content).unwrap();
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let imports = ["from \"", "from\"", "import \"", "import\""]
                .iter()
                .flat_map(|opening| text.split(opening).skip(1))
                .filter_map(|rest| rest.split('"').next());
            for import in imports {
                let target = match import.strip_prefix("../") {
                    Some(rest) if !path.starts_with("vendor/") => rest.to_owned(),
                    _ => match import.strip_prefix("./") {
                        Some(name) => format!("{folder}/{name}"),
                        None => continue,
                    },
                };
                if !found.contains(&target) {
                    next.push(target);
                }
            }
            found.insert(path);
        }
        found
    }

    #[test]
    fn pages_are_compressed_as_their_client_prefers() {
        let coding = |accepted: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            if let Some(accepted) = accepted {
                headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(accepted));
            }
            let response = compressed(vec![b'a'; MIN_COMPRESSED], &headers);
            let coding = response.headers().get(header::CONTENT_ENCODING);
            coding.map(|coding| coding.to_str().unwrap().to_owned())
        };
        let cases = [
            (Some("gzip, deflate, br, zstd"), Some("zstd")),
            (Some("br, gzip;q=0.5"), Some("gzip")),
            (Some("GZIP"), Some("gzip")),
            (Some("gzip, zstd;q=0.5"), Some("gzip")),
            (Some("gzip;q=0, zstd;q=0"), None),
            (Some("br"), None),
            (None, None),
        ];
        for (accepted, expected) in cases {
            assert_eq!(coding(accepted).as_deref(), expected, "{accepted:?}");
        }
    }

    #[test]
    fn what_is_compressed_is_unpacked_to_the_same() {
        let page = "<p>Ä page</p>".repeat(500);
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("zstd"));
        let packed = as_zstd(page.as_bytes(), &headers).unwrap();
        let unpacked = zstd::bulk::decompress(&packed, page.len()).unwrap();
        assert_eq!(unpacked, page.as_bytes());
    }
}
