//! What is remembered when writes and reads overlap. Products are texts here.

use futures_util::FutureExt as _;

use super::loads::{Join, Load};
use super::*;

type Memory = Arc<ProductMemory<&'static str>>;

/// A memory of three products of 1,000 bytes, in use.
fn memory() -> Memory {
    let options = ProductMemoryOptions {
        max_bytes: 3 * 1_800,
        max_age: Duration::from_mins(1),
        ..ProductMemoryOptions::default()
    };
    let memory = ProductMemory::new(options, |_| 1_000);
    memory.open(Instant::now());
    Arc::new(memory)
}

fn product(id: i64) -> ProductId {
    ProductId::from_i64(id)
}

fn load(memory: &Memory, key: &ProductKey) -> Load<&'static str> {
    match memory.join(key) {
        Join::Load(load) => load,
        Join::Found(_) => panic!("it is in memory"),
        Join::Wait(_) => panic!("another caller reads it"),
    }
}

fn load_id(memory: &Memory, id: i64) -> Load<&'static str> {
    load(memory, &ProductKey::Id(product(id)))
}

#[test]
fn what_was_read_is_remembered_until_it_is_forgotten() {
    let memory = memory();
    assert_eq!(memory.get(product(1)), None);
    load_id(&memory, 1).finish(Some((product(1), &"new")));
    assert_eq!(memory.get(product(1)), Some("new"));
    memory.forget(&[product(2)]);
    assert_eq!(memory.get(product(1)), Some("new"));
    memory.forget(&[product(1)]);
    assert_eq!(memory.get(product(1)), None);
    let usage = memory.usage();
    assert_eq!((usage.hits, usage.misses, usage.products), (2, 2, 0));
}

#[test]
fn a_read_that_began_before_a_write_is_not_remembered() {
    let memory = memory();
    let slug = ProductKey::Slug("lamp".to_owned());
    let (by_id, by_name) = (load_id(&memory, 1), load(&memory, &slug));
    let other = load_id(&memory, 2);
    memory.written(WrittenProducts::These(&[product(1)]));
    by_id.finish(Some((product(1), &"old")));
    by_name.finish(Some((product(1), &"old")));
    other.finish(Some((product(2), &"other")));
    assert_eq!(memory.get(product(1)), None);
    assert_eq!(memory.get(product(2)), Some("other"));
    let before = load_id(&memory, 1);
    memory.written(WrittenProducts::Any);
    before.finish(Some((product(1), &"old")));
    assert_eq!(memory.get(product(1)), None);
    assert_eq!(memory.get(product(2)), None);
}

#[test]
fn a_read_during_too_many_writes_is_not_remembered() {
    let memory = memory();
    let reading = load_id(&memory, 1);
    let most = i64::try_from(MAX_FORGOTTEN).unwrap();
    let all: Vec<ProductId> = (2..most + 2).map(product).collect();
    memory.forget(&all);
    reading.finish(Some((product(1), &"new")));
    assert_eq!(memory.get(product(1)), Some("new"), "all are known");
    let reading = load_id(&memory, 2);
    memory.forget(&[product(2)]);
    memory.forget(&all[1..]);
    memory.forget(&[product(-1)]);
    reading.finish(Some((product(2), &"old")));
    assert_eq!(memory.get(product(2)), None, "the first is not known");
}

#[test]
fn callers_wait_only_for_a_read_that_began_after_the_last_write() {
    let memory = memory();
    let key = ProductKey::Id(product(1));
    let first = load(&memory, &key);
    let Join::Wait(early) = memory.join(&key) else {
        panic!("a second read of the same product");
    };
    memory.forget(&[product(1)]);
    let second = load(&memory, &key);
    let Join::Wait(late) = memory.join(&key) else {
        panic!("a third read of the same product");
    };
    first.finish(Some((product(1), &"old")));
    assert_eq!(early.now_or_never().unwrap().unwrap(), Some("old"));
    assert!(late.clone().now_or_never().is_none());
    second.finish(Some((product(1), &"new")));
    assert_eq!(late.now_or_never().unwrap().unwrap(), Some("new"));
    assert!(matches!(memory.join(&key), Join::Found("new")));
}

#[test]
fn nobody_waits_for_a_name_after_any_write() {
    let memory = memory();
    let slug = ProductKey::Slug("lamp".to_owned());
    let first = load(&memory, &slug);
    assert!(matches!(memory.join(&slug), Join::Wait(_)));
    memory.forget(&[product(9)]);
    drop(load(&memory, &slug));
    first.finish(Some((product(1), &"lamp")));
    assert_eq!(memory.get(product(1)), Some("lamp"), "another was written");
}

#[test]
fn a_failed_read_is_reported_to_those_who_wait_and_repeated() {
    let memory = memory();
    let key = ProductKey::Id(product(1));
    let failing = load(&memory, &key);
    let Join::Wait(waiting) = memory.join(&key) else {
        panic!("a second read of the same product");
    };
    drop(failing);
    assert!(waiting.now_or_never().unwrap().is_err());
    load(&memory, &key).finish(None);
    assert_eq!(
        memory.get(product(1)),
        None,
        "missing ones are not remembered"
    );
}

#[test]
fn a_memory_is_used_while_it_is_confirmed() {
    let options = ProductMemoryOptions {
        max_bytes: 10_000,
        max_age: Duration::from_millis(100),
        ..ProductMemoryOptions::default()
    };
    let memory: Memory = Arc::new(ProductMemory::new(options, |_| 1));
    assert!(!memory.is_current() && memory.usage().age.is_none());
    memory.open(Instant::now() + Duration::from_mins(1));
    assert!(memory.is_current());
    load_id(&memory, 1).finish(Some((product(1), &"one")));
    memory.confirm(memory.began);
    while memory.is_current() {
        std::thread::yield_now();
    }
    memory.confirm(Instant::now() + Duration::from_mins(1));
    assert!(memory.is_current());
    assert_eq!(memory.get(product(1)), Some("one"), "no change was missed");
    memory.close();
    assert!(!memory.is_current());
    memory.open(Instant::now());
    assert_eq!(memory.get(product(1)), None);
}

#[test]
fn a_full_memory_evicts_products() {
    let memory = memory();
    for id in 1..=50 {
        load_id(&memory, id).finish(Some((product(id), &"one")));
        let usage = memory.usage();
        assert!(usage.bytes <= 3 * 1_800, "{usage:?}");
    }
    let usage = memory.usage();
    assert_eq!((usage.products, usage.evicted), (3, 47));
}
