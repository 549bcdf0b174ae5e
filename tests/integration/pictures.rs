//! Uploaded pictures: who may send and show them, what is kept, and what is deleted.

use std::path::{Path, PathBuf};

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};
use vitrine_domain::DomainError;
use vitrine_domain::import::ImportMode;
use vitrine_domain::workers::{MaintenanceState, Worker};
use vitrine_harness::mutations::Reply;
use vitrine_harness::{App, http, product, test};
use vitrine_model::import::LineOutcome;
use vitrine_model::picture::{MAX_PICTURE_BYTES, MAX_PICTURES_A_DAY, PictureName};

use crate::operators::{self, with_service};

pub(crate) const PHOTO: &[u8] =
    include_bytes!("../../services/pictures/src/clean/fixtures/photo.jpg");
const DRAWING: &[u8] = include_bytes!("../../services/pictures/src/clean/fixtures/drawing.png");
const DAY: i64 = 86_400_000;

/// Runs a test of a service that keeps pictures in a directory.
fn with_pictures(body: impl AsyncFnOnce(&App, &Path)) {
    test(async |app| {
        let folder = tempfile::tempdir().unwrap();
        let app = app.with_pictures(folder.path()).await;
        body(&app, folder.path()).await;
        app.audit().await;
    });
}

/// Sends a picture; returns its address.
async fn sent(app: &App, by: &str) -> String {
    let received = app.catalog.add_picture(by, PHOTO.into()).await.unwrap();
    received.url
}

fn shown(urls: &[&str]) -> Value {
    let media = urls
        .iter()
        .map(|url| json!({ "url": url, "kind": "IMAGE" }));
    media.collect()
}

async fn review(app: &App, author: &str, urls: &[&str]) -> Reply {
    let product = app.query("{ product(slug: \"lamp\") { id } }").await;
    let input = json!({
        "productId": product.text("/product/id"), "rating": 4, "body": "Bright.",
        "media": shown(urls),
    });
    app.mutate_by(author, "submitReview", input).await
}

fn not_found(path: &str) -> String {
    format!("NOT_FOUND at {path}")
}

/// The file of the picture at an address.
fn file(folder: &Path, url: &str) -> PathBuf {
    let name = url.rsplit('/').next().unwrap();
    folder.join(&name[..3]).join(name)
}

async fn records(app: &App) -> Vec<Document> {
    app.documents("pictures", doc! {}).await
}

/// Lets a day pass, and the worker do its work.
async fn a_day_later(app: &App) {
    app.clock.advance(DAY);
    app.catalog.work_off(Worker::Pictures).await.unwrap();
}

async fn erase(app: &App, policy: &str) -> Reply {
    let input = json!({ "authorId": "ada", "policy": policy });
    app.mutate("eraseAuthor", input).await
}

#[test]
fn a_picture_that_nothing_shows_is_deleted_after_a_day() {
    with_pictures(async |app, folder| {
        app.has([product("Lamp")]).await;
        let (of_review, forgotten) = (sent(app, "ada").await, sent(app, "ada").await);
        review(app, "ada", &[&of_review]).await.done();
        app.clock.advance(DAY - 1);
        app.catalog.work_off(Worker::Pictures).await.unwrap();
        assert!(file(folder, &forgotten).exists(), "a day has not passed");
        app.clock.advance(1);
        app.catalog.work_off(Worker::Pictures).await.unwrap();
        assert!(file(folder, &of_review).exists());
        assert!(!file(folder, &forgotten).exists());
        assert_eq!(records(app).await.len(), 1);
        a_day_later(app).await;
        assert!(file(folder, &of_review).exists(), "it is shown");
    });
}

#[test]
fn pictures_of_a_review_go_when_it_no_longer_shows_them() {
    with_pictures(async |app, folder| {
        app.has([product("Lamp")]).await;
        let (one, two) = (sent(app, "ada").await, sent(app, "ada").await);
        let written = review(app, "ada", &[&one]).await;
        let id = written.text("/review/id");
        let edit = json!({ "id": id, "expectedRevision": 1, "media": shown(&[&two]) });
        app.mutate_by("ada", "editReview", edit).await.done();
        a_day_later(app).await;
        assert!(!file(folder, &one).exists());
        assert!(file(folder, &two).exists());
        let delete = json!({ "id": id });
        app.mutate_by("ada", "deleteReview", delete).await.done();
        a_day_later(app).await;
        assert!(!file(folder, &two).exists());
        assert_eq!(records(app).await, []);
    });
}

#[test]
fn a_review_shows_pictures_of_its_author_only() {
    with_pictures(async |app, _| {
        app.has([product("Lamp")]).await;
        let (own, of_ben) = (sent(app, "ada").await, sent(app, "ben").await);
        let missing = "https://cdn.test/p/00000000000001.jpg";
        let nonsense = "https://cdn.test/p/passwd";
        let other_host = "https://cdn.example/p/00000000000001.jpg";
        let refused = review(app, "ada", &[&own, &of_ben, missing, nonsense, other_host]).await;
        assert_eq!(
            refused.user_error_paths(),
            ["media.1.url", "media.2.url", "media.3.url"].map(not_found)
        );
        let written = review(app, "ada", &[&own, other_host]).await;
        let id = written.text("/review/id");
        let edit = json!({ "id": id, "expectedRevision": 1, "media": shown(&[&own, &of_ben]) });
        let refused = app.mutate_by("ada", "editReview", edit).await;
        assert_eq!(refused.user_error_paths(), [not_found("media.1.url")]);
    });
}

#[test]
fn pictures_of_a_product_stay_for_its_history() {
    with_pictures(async |app, folder| {
        let (one, two) = (sent(app, "admin").await, sent(app, "ada").await);
        let input = json!({
            "kind": "thing", "name": "Lamp", "category": "things", "media": shown(&[&one]),
        });
        app.has([product("Other").category(["Things"])]).await;
        let created = app.mutate("createProduct", input).await;
        let id = created.text("/product/id");
        let change = |media: Value| json!({ "id": id, "media": media });
        let missing = "https://cdn.test/p/00000000000001.jpg";
        let refused = app
            .mutate("updateProduct", change(shown(&[&one, missing])))
            .await;
        assert_eq!(refused.user_error_paths(), [not_found("media.1.url")]);
        let both = change(shown(&[&two, &one]));
        app.mutate("updateProduct", both).await.done();
        app.mutate("updateProduct", change(shown(&[&two])))
            .await
            .done();
        a_day_later(app).await;
        assert!(file(folder, &one).exists() && file(folder, &two).exists());
        let back = json!({ "id": id, "revision": 1 });
        app.mutate("revertProduct", back).await.done();
    });
}

#[test]
fn a_shopper_may_send_thirty_pictures_a_day() {
    with_pictures(async |app, _| {
        app.has([product("Lamp")]).await;
        let mut urls = Vec::new();
        for _ in 0..MAX_PICTURES_A_DAY {
            assert!(app.catalog.may_send_picture("ada", false).await.unwrap());
            urls.push(sent(app, "ada").await);
        }
        review(app, "ada", &[&urls[0]]).await.done();
        assert!(!app.catalog.may_send_picture("ada", false).await.unwrap());
        assert!(app.catalog.may_send_picture("ben", false).await.unwrap());
        assert!(app.catalog.may_send_picture("ada", true).await.unwrap());
        app.clock.advance(DAY);
        assert!(app.catalog.may_send_picture("ada", false).await.unwrap());
    });
}

#[test]
fn products_and_reviews_of_feeds_keep_their_pictures() {
    with_pictures(async |app, folder| {
        let (of_product, of_review) = (sent(app, "admin").await, sent(app, "admin").await);
        let of_update = sent(app, "admin").await;
        app.has([product("Lamp").image(&of_product, "A lamp")])
            .await;
        app.has_reviews([vitrine_harness::review("Lamp", 1, 5).image(&of_review)])
            .await;
        let changed = product("Lamp").image(&of_update, "Another").into();
        let (outcomes, _) = app.import(ImportMode::Write, vec![changed], vec![]).await;
        assert_eq!(outcomes, [LineOutcome::Updated]);
        a_day_later(app).await;
        for kept in [&of_product, &of_review, &of_update] {
            assert!(file(folder, kept).exists(), "{kept}");
        }
    });
}

#[test]
fn a_refused_review_keeps_no_pictures() {
    with_pictures(async |app, folder| {
        app.has([product("Lamp")]).await;
        let url = sent(app, "ada").await;
        let missing = "https://cdn.test/p/00000000000001.jpg";
        let other_format = url.replace(".jpg", ".png");
        for wrong in [missing, &other_format] {
            let refused = review(app, "ada", &[&url, wrong]).await;
            assert_eq!(refused.user_error_paths(), [not_found("media.1.url")]);
        }
        a_day_later(app).await;
        assert!(!file(folder, &url).exists());
    });
}

#[test]
fn pictures_of_a_rejected_review_go() {
    with_pictures(async |app, folder| {
        app.has([product("Lamp")]).await;
        let url = sent(app, "ada").await;
        let written = review(app, "ada", &[&url]).await;
        let reject = json!({
            "id": written.text("/review/id"), "decision": "REJECT", "reason": "OFFENSIVE",
        });
        app.mutate("moderateReview", reject).await.done();
        a_day_later(app).await;
        assert!(!file(folder, &url).exists());
    });
}

#[test]
fn nothing_is_left_of_a_picture_that_cannot_be_stored() {
    with_pictures(async |app, folder| {
        std::fs::remove_dir(folder).unwrap();
        std::fs::write(folder, "no directory").unwrap();
        let failed = app.catalog.add_picture("ada", PHOTO.into()).await;
        assert!(matches!(failed, Err(DomainError::Unavailable(_))));
        let mut state = MaintenanceState::default();
        let worked = app.catalog.work(Worker::Pictures, &mut state).await;
        assert!(worked.is_err(), "the file cannot be deleted either");
        std::fs::remove_file(folder).unwrap();
        std::fs::create_dir(folder).unwrap();
        app.clock.advance(60_000);
        app.catalog.work_off(Worker::Pictures).await.unwrap();
        assert_eq!(records(app).await, []);
    });
}

#[test]
fn an_erased_author_has_no_pictures() {
    with_pictures(async |app, folder| {
        app.has([product("Lamp")]).await;
        let (shown, loose) = (sent(app, "ada").await, sent(app, "ada").await);
        let (of_ben, of_shop) = (sent(app, "ben").await, sent(app, "ada").await);
        review(app, "ada", &[&shown]).await.done();
        for url in [&of_shop, &shown] {
            let lamp = app
                .query("{ product(slug: \"lamp\") { id media { url } } }")
                .await;
            let input = json!({ "id": lamp.text("/product/id"), "media": self::shown(&[url]) });
            app.mutate("updateProduct", input).await.done();
        }
        let erased = erase(app, "REMOVE").await;
        assert_eq!(erased.number("/receipt/pictures"), 3);
        assert_eq!(erased.number("/residue/pictures"), 0);
        assert!(!erased.payload()["receipt"]["finishedAt"].is_null());
        assert!(!file(folder, &shown).exists() && !file(folder, &loose).exists());
        assert!(file(folder, &of_ben).exists());
        assert!(file(folder, &of_shop).exists(), "only a product shows it");
        assert_eq!(records(app).await.len(), 2);
    });
}

#[test]
fn pictures_of_an_anonymized_author_stay_without_a_name() {
    with_pictures(async |app, folder| {
        app.has([product("Lamp")]).await;
        let (shown, loose) = (sent(app, "ada").await, sent(app, "ada").await);
        review(app, "ada", &[&shown]).await.done();
        let erased = erase(app, "ANONYMIZE").await;
        assert_eq!(erased.number("/receipt/pictures"), 2);
        assert_eq!(erased.number("/residue/pictures"), 0);
        let by = app.documents("pictures", doc! { "by": "ada" }).await;
        assert_eq!(by, []);
        a_day_later(app).await;
        assert!(file(folder, &shown).exists(), "the review shows it");
        assert!(!file(folder, &loose).exists());
    });
}

#[test]
fn an_erasure_ends_when_the_files_are_deleted() {
    with_pictures(async |app, folder| {
        let url = sent(app, "ada").await;
        let file = file(folder, &url);
        // What is no file cannot be deleted.
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        let erased = erase(app, "REMOVE").await;
        assert!(erased.payload()["receipt"]["finishedAt"].is_null());
        assert_eq!(erased.number("/residue/pictures"), 1);
        std::fs::remove_dir(&file).unwrap();
        let again = erase(app, "REMOVE").await;
        assert!(!again.payload()["receipt"]["finishedAt"].is_null());
        assert_eq!(again.number("/receipt/pictures"), 1);
        assert_eq!(records(app).await, []);
    });
}

#[test]
fn an_export_of_an_author_names_their_pictures() {
    with_pictures(async |app, _| {
        let url = sent(app, "ada").await;
        let query = r#"{ exportAuthor(authorId: "ada") { lines } }"#;
        let exported = app.query(query).as_admin().await;
        let line = exported.text("/exportAuthor/lines/0");
        let line: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(line["type"], "picture");
        assert_eq!(line["url"], url);
        assert_eq!((&line["width"], &line["height"]), (&json!(48), &json!(64)));
    });
}

#[test]
fn a_process_without_a_store_leaves_pictures_to_others() {
    with_pictures(async |app, folder| {
        let url = sent(app, "ada").await;
        app.clock.advance(DAY);
        let other = app.other_process().await;
        let run = other.delete_unused_pictures().await.unwrap();
        assert_eq!((run.done, run.backlog), (0, 1));
        assert!(file(folder, &url).exists());
        // A file that is gone already is no obstacle.
        std::fs::remove_file(file(folder, &url)).unwrap();
        app.catalog.work_off(Worker::Pictures).await.unwrap();
        assert_eq!(records(app).await, []);
    });
}

/// Runs `serve` with pictures in a directory.
fn with_picture_service(body: impl AsyncFnOnce(&App, &str, &Path)) {
    test(async |app| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display().to_string();
        let options = [
            "--pictures",
            &path,
            "--pictures-address",
            "https://cdn.test/p/",
        ];
        with_service(app, &options, async |address, _| {
            body(app, address, folder.path()).await;
        })
        .await;
    });
}

async fn post(address: &str, headers: &[(&str, &str)], body: &[u8]) -> http::Reply {
    http::send(address, "/pictures", headers, body)
        .await
        .unwrap()
}

#[test]
fn a_picture_is_sent_and_shown_over_http() {
    with_picture_service(async |_, address, folder| {
        let shopper = operators::token("shopper");
        let sent = post(address, &[("authorization", &shopper)], DRAWING).await;
        assert_eq!(sent.status, 201, "{}", sent.body);
        let sent = sent.json();
        let url = sent["url"].as_str().unwrap();
        let name = url.strip_prefix("https://cdn.test/p/").unwrap();
        assert!(PictureName::parse(name).is_some(), "{name}");
        assert_eq!((&sent["width"], &sent["height"]), (&json!(48), &json!(64)));
        assert_eq!(sent["mediaType"], "image/png");
        let stored = std::fs::read(file(folder, url)).unwrap();
        assert_eq!(sent["bytes"], stored.len());
        assert!(!stored.windows(6).any(|window| window == b"Secret"));
        let path = format!("/pictures/{name}");
        let shown = http::get(address, &path).await.unwrap();
        assert_eq!(shown.status, 200);
        for (header, value) in [
            ("content-type", "image/png"),
            ("content-length", &stored.len().to_string()),
            ("cache-control", "public, max-age=86400"),
            ("x-content-type-options", "nosniff"),
            ("cross-origin-resource-policy", "cross-origin"),
            ("content-security-policy", "default-src 'none'; sandbox"),
        ] {
            assert_eq!(shown.header(header), Some(value), "{header}");
        }
        let tag = shown.header("etag").unwrap();
        let again = http::request(address, "GET", &path, &[("if-none-match", tag)]).await;
        assert_eq!(again.unwrap().status, 304);
        let head = http::request(address, "HEAD", &path, &[]).await.unwrap();
        assert_eq!((head.status, &*head.body), (200, ""));
        let put = http::request(address, "PUT", &path, &[]).await.unwrap();
        assert_eq!((put.status, put.header("allow")), (405, Some("get, head")));
        for none in ["/pictures/00000000000001.jpg", "/pictures/..%2f..%2fpasswd"] {
            assert_eq!(
                http::get(address, none).await.unwrap().status,
                404,
                "{none}"
            );
        }
    });
}

#[test]
fn what_is_no_picture_is_refused_over_http() {
    with_picture_service(async |app, address, folder| {
        let shopper = operators::token("shopper");
        let auth = ("authorization", &*shopper);
        for (headers, body, status, reason) in [
            (
                vec![],
                PHOTO,
                401,
                "need a token with the role shopper or admin",
            ),
            (
                vec![auth],
                b"GIF89a",
                400,
                "body: is a GIF; send JPEG, PNG or WebP",
            ),
            (vec![auth], b"", 400, "body: is empty"),
            (
                vec![auth],
                &PHOTO[..900],
                400,
                "body: is damaged or incomplete JPEG",
            ),
            (
                vec![auth, ("content-encoding", "gzip")],
                PHOTO,
                415,
                "Content-Encoding",
            ),
        ] {
            let refused = post(address, &headers, body).await;
            assert_eq!(refused.status, status, "{}", refused.body);
            assert!(refused.body.contains(reason), "{}", refused.body);
        }
        let moderator = operators::token("moderator");
        let refused = post(address, &[("authorization", &moderator)], PHOTO).await;
        assert_eq!(refused.status, 403, "{}", refused.body);
        let large = (MAX_PICTURE_BYTES + 1).to_string();
        let headers = [auth, ("content-length", &*large)];
        let large = http::request(address, "POST", "/pictures", &headers).await;
        assert_eq!(large.unwrap().status, 413);
        let get = http::get(address, "/pictures").await.unwrap();
        assert_eq!((get.status, get.header("allow")), (405, Some("post")));
        assert_eq!(records(app).await, []);
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
    });
}

#[test]
fn a_service_without_a_store_takes_no_pictures() {
    test(async |app| {
        with_service(app, &[], async |address, _| {
            let shopper = operators::token("shopper");
            let refused = post(address, &[("authorization", &shopper)], PHOTO).await;
            assert_eq!(refused.status, 403);
            assert!(refused.body.contains("takes no pictures"));
            let get = http::get(address, "/pictures/00000000000001.jpg").await;
            assert_eq!(get.unwrap().status, 404);
        })
        .await;
    });
}
