//! Where the keys of an identity provider come from: a file or an address. They are in memory; a
//! task reads them again.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use arc_swap::{ArcSwap, Guard};
use tokio::io::AsyncReadExt as _;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::address::DocumentAddress;
use super::key_set::{KeySet, MAX_BYTES};

/// How often a file is looked at.
const FILE_PERIOD: Duration = Duration::from_secs(2);
/// How often tokens with unknown keys may cause a fetch.
const MISS_PERIOD: Duration = Duration::from_secs(10);
/// The pauses after failures: doubled each time, from the first to the last.
const MIN_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_mins(1);
/// How many lines about ignored keys are remembered, so that none is repeated.
const MAX_REMEMBERED: usize = 1000;

/// A file or an address with keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyPlace {
    File(PathBuf),
    Address(DocumentAddress),
}

impl KeyPlace {
    /// Reads the setting.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("it is empty; name a file or an https:// address".to_owned());
        }
        if !text.contains("://") {
            return Ok(Self::File(PathBuf::from(text)));
        }
        let address = DocumentAddress::parse(text).map_err(str::to_owned)?;
        Ok(Self::Address(address))
    }
}

impl std::fmt::Display for KeyPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Address(address) => write!(f, "{address}"),
        }
    }
}

/// The keys that are known now.
#[derive(Clone)]
pub(crate) struct KeySource(Arc<Cached>);

struct Cached {
    keys: ArcSwap<KeySet>,
    /// A token named an unknown key.
    missed: Notify,
    /// Whether the keys have been read, or could not be.
    tried: watch::Sender<bool>,
}

impl KeySource {
    /// Returns the keys. Never waits.
    pub(super) fn keys(&self) -> Guard<Arc<KeySet>> {
        self.0.keys.load()
    }

    /// Reports that a token names a key that is not known: it may be new.
    pub(super) fn miss(&self) {
        self.0.missed.notify_one();
    }

    /// Returns a source whose keys never change.
    #[cfg(test)]
    pub(super) fn fixed(keys: KeySet) -> Self {
        Self(Arc::new(Cached {
            keys: ArcSwap::from_pointee(keys),
            missed: Notify::new(),
            tried: watch::Sender::new(true),
        }))
    }

    /// Returns true if a token named an unknown key since the last call.
    #[cfg(test)]
    pub(super) fn was_missed(&self) -> bool {
        use futures_util::FutureExt as _;
        self.0.missed.notified().now_or_never().is_some()
    }

    /// Waits until the keys have been read, or could not be.
    pub(crate) async fn tried(&self) {
        // An error would mean that the sender is gone; `self` has it.
        let _ = self.0.tried.subscribe().wait_for(|tried| *tried).await;
    }
}

/// Reads the keys again, in the background.
pub(crate) struct KeyKeeper {
    source: KeySource,
    place: KeyPlace,
    is_failing: bool,
    logged: BTreeSet<String>,
}

impl KeyKeeper {
    /// Returns a keeper. A file is read at once, an address when the keeper runs.
    ///
    /// # Errors
    /// If the file cannot be read or is no key set.
    pub(crate) async fn open(place: KeyPlace) -> anyhow::Result<Self> {
        let cached = Cached {
            keys: ArcSwap::default(),
            missed: Notify::new(),
            tried: watch::Sender::new(false),
        };
        let mut keeper = Self {
            source: KeySource(Arc::new(cached)),
            place,
            is_failing: false,
            logged: BTreeSet::new(),
        };
        if let KeyPlace::File(path) = &keeper.place {
            let advice = || {
                let path = path.display();
                format!("cannot read the keys of tokens in {path} (VITRINE_TOKEN_KEYS)")
            };
            let text = read_file(path).await.with_context(advice)?;
            let (keys, ignored) = KeySet::parse(&text).with_context(advice)?;
            keeper.store(keys, ignored);
        }
        Ok(keeper)
    }

    /// Returns the keys that this keeper reads.
    pub(crate) fn source(&self) -> KeySource {
        self.source.clone()
    }

    /// Reads the keys again until it is stopped. Reports after each attempt whether it failed.
    pub(crate) async fn run(mut self, stop: CancellationToken, report: impl Fn(bool)) {
        let place = self.place.clone();
        let running = async {
            match &place {
                KeyPlace::File(path) => self.follow_file(path, report).await,
                KeyPlace::Address(address) => self.follow_address(address, report).await,
            }
        };
        stop.run_until_cancelled(running).await;
    }

    async fn follow_file(&mut self, path: &Path, report: impl Fn(bool)) {
        let mut last = None;
        loop {
            tokio::time::sleep(FILE_PERIOD).await;
            let stamp = stamp(path).await;
            if stamp.is_some() && stamp == last {
                continue;
            }
            let read = read_file(path).await;
            let taken = self.take(read.as_deref().map_err(|error| format!("{error:#}")));
            last = stamp.filter(|_| taken);
            report(!taken);
        }
    }

    async fn follow_address(&mut self, address: &DocumentAddress, report: impl Fn(bool)) {
        let mut schedule = Schedule::new(Instant::now());
        loop {
            self.wait(&mut schedule).await;
            let fetched = address.fetch().await;
            let text = fetched.as_ref().map(|fetched| &*fetched.body);
            let taken = self.take(text.map_err(|error| format!("{error:#}")));
            let lifetime = fetched.ok().filter(|_| taken).map(|one| one.lifetime);
            schedule.tried(Instant::now(), lifetime);
            report(!taken);
        }
    }

    /// Waits until the next fetch is due, or sooner if a token names an unknown key. While fetches
    /// fail, strangers cannot cause one.
    async fn wait(&self, schedule: &mut Schedule) {
        if schedule.failures > 0 {
            return tokio::time::sleep_until(schedule.due).await;
        }
        tokio::select! {
            () = tokio::time::sleep_until(schedule.due) => {}
            () = self.source.0.missed.notified() => {
                let due = schedule.missed(Instant::now());
                tokio::time::sleep_until(due).await;
            }
        }
    }

    /// Takes what was read, and logs the first of consecutive failures. Returns false for a
    /// failure: the keys stay as they are.
    fn take(&mut self, read: Result<&[u8], String>) -> bool {
        let parsed = read.and_then(|text| KeySet::parse(text).map_err(|error| error.to_string()));
        let taken = parsed.is_ok();
        match parsed {
            Ok((keys, ignored)) => self.store(keys, ignored),
            Err(reason) if !self.is_failing => {
                let known = self.source.keys().ids().len();
                tracing::warn!(
                    "the keys of tokens cannot be read from {}: {reason}; {known} known keys stay valid",
                    self.place
                );
            }
            Err(reason) => tracing::debug!("the keys of tokens still cannot be read: {reason}"),
        }
        self.is_failing = !taken;
        self.source.0.tried.send_replace(true);
        taken
    }

    fn store(&mut self, keys: KeySet, ignored: Vec<String>) {
        for line in ignored {
            if self.logged.len() < MAX_REMEMBERED && !self.logged.contains(&line) {
                tracing::warn!("a key for verifying tokens is ignored: {line}");
                self.logged.insert(line);
            }
        }
        let is_same = self.source.keys().ids() == keys.ids();
        if !is_same || self.is_failing {
            let count = keys.ids().len();
            tracing::info!(
                "the keys of tokens were read from {}: {count} keys",
                self.place
            );
        }
        self.source.0.keys.store(Arc::new(keys));
        self.source.0.tried.send_replace(true);
    }
}

/// When an address is fetched.
pub(super) struct Schedule {
    pub(super) due: Instant,
    failures: u32,
    /// When the last token with an unknown key caused a fetch.
    last_miss: Option<Instant>,
}

impl Schedule {
    /// The first fetch is due at once.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            due: now,
            failures: 0,
            last_miss: None,
        }
    }

    /// Records a fetch: how long what it read is fresh, or that it failed.
    pub(super) fn tried(&mut self, now: Instant, lifetime: Option<Duration>) {
        if let Some(lifetime) = lifetime {
            self.failures = 0;
            self.due = now + lifetime;
        } else {
            self.due = now + MAX_PAUSE.min(MIN_PAUSE * (1 << self.failures.min(6)));
            self.failures += 1;
        }
    }

    /// Records that a token names an unknown key. Returns when to fetch.
    fn missed(&mut self, now: Instant) -> Instant {
        let allowed = self
            .last_miss
            .map_or(now, |last| now.max(last + MISS_PERIOD));
        let at = allowed.min(self.due);
        self.last_miss = Some(at);
        at
    }
}

/// What changes when a file is written or replaced.
async fn stamp(path: &Path) -> Option<(i64, i64, u64, u64)> {
    let file = tokio::fs::metadata(path).await.ok()?;
    Some((file.mtime(), file.mtime_nsec(), file.len(), file.ino()))
}

/// Reads a file, but not much more than a key set may have.
async fn read_file(path: &Path) -> anyhow::Result<Vec<u8>> {
    let file = tokio::fs::File::open(path).await?;
    let mut text = Vec::new();
    file.take(MAX_BYTES as u64 + 1)
        .read_to_end(&mut text)
        .await?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    fn set(ids: &[&str]) -> String {
        let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        let keys = ids
            .iter()
            .map(|id| json!({ "kty": "OKP", "crv": "Ed25519", "kid": id, "x": x }));
        json!({ "keys": keys.collect::<Vec<_>>() }).to_string()
    }

    fn keeper() -> KeyKeeper {
        KeyKeeper {
            source: KeySource::fixed(KeySet::default()),
            place: KeyPlace::File(PathBuf::from("keys.json")),
            is_failing: false,
            logged: BTreeSet::new(),
        }
    }

    #[test]
    fn addresses_are_fetched_again_when_their_keys_are_stale() {
        let now = Instant::now();
        let mut schedule = Schedule::new(now);
        assert_eq!(schedule.due, now);
        schedule.tried(now, Some(seconds(90)));
        assert_eq!(schedule.due, now + seconds(90));
    }

    #[test]
    fn failures_are_repeated_with_growing_pauses() {
        let mut now = Instant::now();
        let mut schedule = Schedule::new(now);
        let mut pauses = Vec::new();
        for _ in 0..9 {
            schedule.tried(now, None);
            pauses.push((schedule.due - now).as_secs());
            now = schedule.due;
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        schedule.failures = u32::MAX - 1;
        schedule.tried(now, None);
        assert_eq!(schedule.due, now + MAX_PAUSE);
        schedule.tried(now, Some(seconds(300)));
        schedule.tried(now, None);
        assert_eq!(schedule.due, now + MIN_PAUSE, "a success ends the outage");
    }

    #[test]
    fn unknown_keys_cause_one_fetch_in_ten_seconds() {
        let now = Instant::now();
        let mut schedule = Schedule::new(now);
        schedule.tried(now, Some(seconds(300)));
        assert_eq!(schedule.missed(now + seconds(1)), now + seconds(1));
        assert_eq!(schedule.missed(now + seconds(2)), now + seconds(11));
        assert_eq!(schedule.missed(now + seconds(12)), now + seconds(21));
        assert_eq!(schedule.missed(now + seconds(40)), now + seconds(40));
        assert_eq!(schedule.missed(now + seconds(298)), now + seconds(298));
        assert_eq!(schedule.missed(now + seconds(299)), now + seconds(300));
    }

    #[test]
    fn keys_stay_valid_while_they_cannot_be_read() {
        let mut keeper = keeper();
        assert!(keeper.take(Ok(set(&["a", "b"]).as_bytes())));
        for bad in [
            Ok("{}".as_bytes()),
            Ok(b"".as_slice()),
            Err("no answer".to_owned()),
        ] {
            assert!(!keeper.take(bad));
            assert!(keeper.is_failing);
            assert_eq!(keeper.source.keys().ids(), ["a", "b"]);
        }
        assert!(keeper.take(Ok(set(&["b", "c"]).as_bytes())));
        assert!(!keeper.is_failing);
        assert_eq!(keeper.source.keys().ids(), ["b", "c"]);
    }

    #[test]
    fn ignored_keys_are_logged_once() {
        let mut keeper = keeper();
        let text = set(&["a", "a"]);
        keeper.take(Ok(text.as_bytes()));
        assert_eq!(keeper.logged.len(), 1);
        keeper.take(Ok(text.as_bytes()));
        assert_eq!(keeper.logged.len(), 1);
    }

    #[tokio::test]
    async fn a_file_is_read_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys.json");
        let place = KeyPlace::File(path.clone());
        for (text, reason) in [
            (None, "No such file"),
            (Some(String::new()), "no JSON Web Key Set"),
            (Some(set(&[])), "no key"),
            (Some(" ".repeat(MAX_BYTES + 1)), "longer than"),
        ] {
            if let Some(text) = text {
                std::fs::write(&path, text).unwrap();
            }
            let error = format!("{:#}", KeyKeeper::open(place.clone()).await.err().unwrap());
            assert!(error.contains(reason), "{error}");
            assert!(error.contains("keys.json (VITRINE_TOKEN_KEYS)"), "{error}");
        }
        std::fs::write(&path, set(&["a"])).unwrap();
        let keeper = KeyKeeper::open(place).await.unwrap();
        keeper.source().tried().await;
        assert_eq!(keeper.source().keys().ids(), ["a"]);
    }

    #[tokio::test]
    async fn files_that_are_replaced_have_another_stamp() {
        let dir = tempfile::tempdir().unwrap();
        let (path, next) = (dir.path().join("keys.json"), dir.path().join("next.json"));
        assert_eq!(stamp(&path).await, None);
        std::fs::write(&path, set(&["a"])).unwrap();
        let first = stamp(&path).await;
        assert_eq!(stamp(&path).await, first);
        std::fs::write(&next, set(&["b"])).unwrap();
        std::fs::rename(&next, &path).unwrap();
        assert_ne!(stamp(&path).await, first);
    }
}
