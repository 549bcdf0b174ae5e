//! Feeds in several formats, from folders, addresses and standard input.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use vitrine_domain::import::ImportMode;
use vitrine_harness::process::binary;
use vitrine_harness::{App, test};
use vitrine_ingest::mapping::Mapping;
use vitrine_ingest::report::Report;
use vitrine_ingest::run::{ImportOptions, import};

const MAPPING: &str = r#"
    version = 1
    system = "shop"
    [product]
    external_id = "id"
    name = "name"
    kind = { value = "lamp" }
    category = { value = "Lamps" }
    "#;

fn mapping(folder: &Path) -> PathBuf {
    let path = folder.join("shop.toml");
    fs::write(&path, MAPPING).unwrap();
    path
}

fn gzipped(text: &str) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    gzip.finish().unwrap()
}

async fn run(app: &App, folder: &Path, feed: PathBuf) -> Report {
    let options = ImportOptions {
        files: vec![feed],
        mapping: Arc::new(Mapping::from_file(&mapping(folder)).unwrap()),
        mode: ImportMode::Write,
        rejects: Some(folder.join("rejects.jsonl")),
        mappers: None,
    };
    import(&app.catalog, &options, |_| ()).await.unwrap()
}

#[test]
fn a_folder_is_imported_and_each_reject_names_its_file() {
    test(async |app| {
        let folder = tempfile::tempdir().unwrap();
        let feeds = folder.path().join("feeds");
        fs::create_dir(&feeds).unwrap();
        let write = |name: &str, bytes: &[u8]| fs::write(feeds.join(name), bytes).unwrap();
        write(
            "a.csv",
            b"id;name\n1;Stra\xdfenlampe f\xfcr M\xfcnchen\n2;\n",
        );
        let items = "<item><id>3</id><name>Tarn</name></item>\n<item><id>4</id></item>";
        let xml = format!("<rss><channel>{items}</channel></rss>");
        write("b.xml.gz", &gzipped(&xml));
        let lines = gzipped(&"{\"id\":5,\"name\":\"Clip\"}\n".repeat(500));
        write("c.jsonl.gz", &lines[..lines.len() - 4]);
        let report = run(app, folder.path(), feeds.clone()).await;
        let counts = report.counts;
        assert_eq!((counts.created, counts.rejected), (3, 3));
        let stored = counts.created + counts.updated + counts.unchanged;
        assert_eq!(counts.lines, stored + counts.rejected);
        let rejects = fs::read_to_string(folder.path().join("rejects.jsonl")).unwrap();
        let prefix = format!("{}/", feeds.display());
        let rejects = rejects.replace(&prefix, "");
        for entry in [
            r#"{"file":"a.csv","line":3,"field":"name","reason":"is missing","outcome":"rejected"}"#,
            r#"{"file":"b.xml.gz","line":2,"field":"name","reason":"is missing","outcome":"rejected"}"#,
        ] {
            assert!(rejects.contains(entry), "{rejects}");
        }
        let text = report.to_string().replace(&prefix, "");
        for line in [
            "  a.csv is CSV with ; in windows-1252 (detected)\n",
            "  b.xml.gz is XML, rows at rss.channel.item, gzip\n",
            "  c.jsonl.gz is JSON Lines, gzip\n",
            "c.jsonl.gz is INCOMPLETE: the rest of the file cannot be read: ",
            "; what is before it was read, up to line 500\n",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        let name = app.query(r#"{ product(sku: "shop:1") { name } }"#).await;
        assert_eq!(
            name.data()["product"]["name"],
            "Stra\u{df}enlampe f\u{fc}r M\u{fc}nchen"
        );
    });
}

/// Serves one file, and loses the first connection in the middle of it.
fn serve_with_a_loss(body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!(
        "http://{}/feed.jsonl?key=secret",
        listener.local_addr().unwrap()
    );
    std::thread::spawn(move || {
        let half = body.len() / 2;
        let length = body.len();
        let rest = length - half;
        let answers = [
            format!(
                "200 OK\r\ncontent-length: {length}\r\netag: \"1\"\r\n\r\n{}",
                &body[..half]
            ),
            format!(
                "206 Partial Content\r\ncontent-range: bytes {half}-{}/{length}\r\n\
                 content-length: {rest}\r\netag: \"1\"\r\n\r\n{}",
                length - 1,
                &body[half..]
            ),
        ];
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            assert!(stream.read(&mut request).unwrap() > 0);
            write!(stream, "HTTP/1.1 {answer}").unwrap();
        }
    });
    address
}

#[test]
fn an_address_is_imported_although_the_connection_is_lost() {
    test(async |app| {
        let folder = tempfile::tempdir().unwrap();
        let body = "{\"id\":1,\"name\":\"Tarn\"}\n{\"id\":2,\"name\":\"Clip\"}\n{\"id\":3}\n";
        let report = run(app, folder.path(), serve_with_a_loss(body).into()).await;
        assert!(report.is_complete(), "{report}");
        assert_eq!((report.counts.created, report.counts.rejected), (2, 1));
        assert!(!report.to_string().contains("secret"), "{report}");
        let rejects = fs::read_to_string(folder.path().join("rejects.jsonl")).unwrap();
        assert!(rejects.contains("/feed.jsonl\",\"line\":3"), "{rejects}");
    });
}

#[test]
fn standard_input_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let mapping = mapping(folder.path());
    let mut command = Command::new(binary());
    command
        .args(["import", "-", "--sample", "1", "--mapping"])
        .arg(mapping);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(&gzipped("id\tname\n7\tTarn\n")).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert!(
        printed.starts_with("standard input is TSV, gzip\nline 2: {\"id\":\"7\""),
        "{printed}"
    );
}

/// Runs `import` of a feed into the database of a test; returns what it says and whether it succeeds.
fn imported(app: &App, folder: &Path, more: &[&str]) -> (String, bool) {
    let feed = folder.join("feed.jsonl");
    fs::write(&feed, "{\"id\":1,\"name\":\"Tarn\"}\n").unwrap();
    let output = Command::new(binary())
        .arg("import")
        .arg(&feed)
        .args(["--mongodb-uri", app.uri(), "--database"])
        .arg(app.store.database_name())
        .arg("--rejects")
        .arg(folder.join("rejects.jsonl"))
        .args(more)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (String::from_utf8(said).unwrap(), output.status.success())
}

#[test]
fn two_shops_with_the_same_export_are_two_systems() {
    test(async |app| {
        let folder = tempfile::tempdir().unwrap();
        let mapping = mapping(folder.path());
        let mapping = mapping.to_str().unwrap();
        for more in [&["--system", "north"][..], &["--system", "south"], &[]] {
            let (said, done) = imported(
                app,
                folder.path(),
                &[&["--mapping", mapping], more].concat(),
            );
            assert!(done && said.contains("created                 1"), "{said}");
        }
        let found = app
            .query("{ products(first: 9, sort: [{ key: NAME }]) { nodes { sku } } }")
            .await;
        let mut skus: Vec<&str> = found
            .at("/products/nodes")
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node["sku"].as_str().unwrap())
            .collect();
        skus.sort_unstable();
        assert_eq!(skus, ["north:1", "shop:1", "south:1"]);
        let (said, done) = imported(
            app,
            folder.path(),
            &["--mapping", mapping, "--system", "no name!"],
        );
        assert!(!done && said.contains("system"), "{said}");
        let (said, done) = imported(app, folder.path(), &["--system", "north"]);
        assert!(!done && said.contains("--mapping"), "{said}");
    });
}
