//! An export needs as much memory for many products as for few.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use vitrine_harness::process::binary;
use vitrine_harness::{App, product, test};

/// How many products the small catalogue has: enough for the allocator to have reached its plateau.
const FEW: u32 = 1_500;
/// How many products the large catalogue has.
const MANY: u32 = 5_000;
/// How much more memory the large catalogue may take; its descriptions have 70 MB more.
const MAX_GROWTH: u64 = 30_000_000;
/// The length of a description in bytes.
const DESCRIPTION_BYTES: usize = 20_000;

async fn has_lamps(app: &App, numbers: std::ops::Range<u32>) {
    let text = "light ".repeat(DESCRIPTION_BYTES / 6);
    let lamp = |n: u32| product(&format!("Lamp {n}")).description(&text);
    app.has(numbers.map(lamp)).await;
}

/// Returns the most memory that an export to standard output has used when it has written four fifths of the products.
/// The last fifth is more than a pipe holds, so it is still running then.
fn peak_memory(app: &App, products: u32) -> u64 {
    let database = app.store.database_name();
    let mut child = Command::new(binary())
        .args([
            "export",
            "--out",
            "-",
            "--mongodb-uri",
            app.uri(),
            "--database",
            database,
        ])
        // What the allocator keeps for later is not what the export needs, and differs by tens of megabytes.
        .env("MIMALLOC_PURGE_DELAY", "0")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let (mut seen, mut line) = (0, String::new());
    while seen < products * 4 / 5 {
        line.clear();
        assert!(output.read_line(&mut line).unwrap() > 0, "it ended early");
        seen += u32::from(line.len() > DESCRIPTION_BYTES / 2);
    }
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak
        .and_then(|peak| peak.trim().strip_suffix(" kB"))
        .unwrap();
    output.read_to_end(&mut Vec::new()).unwrap();
    assert!(child.wait().unwrap().success());
    1_024 * kib.parse::<u64>().unwrap()
}

#[test]
fn memory_does_not_grow_with_the_catalogue() {
    test(async |app| {
        has_lamps(app, 0..FEW).await;
        let few = peak_memory(app, FEW);
        has_lamps(app, FEW..MANY).await;
        let many = peak_memory(app, MANY);
        assert!(many < few + MAX_GROWTH, "{few} and {many} bytes");
    });
}
