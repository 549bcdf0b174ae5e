//! The cost of an operation, cached for requests whose variables differ in their texts only.

use std::sync::{Mutex, PoisonError};

use async_graphql::Variables;
use async_graphql_value::ConstValue;

/// The maximum size of a cached key, in bytes.
const MAX_KEY: usize = 512;

/// The last computed cost of an operation.
#[derive(Default)]
pub(super) struct CostCache(Mutex<Option<(Key, u64)>>);

/// What a cost depends on.
#[derive(PartialEq, Eq)]
struct Key {
    /// See [`super::CostModel::facts`].
    facts: [u64; 4],
    /// What [`super::SelectedField`] tells of variables: see [`add_shape`].
    variables: Vec<u8>,
}

impl CostCache {
    /// Returns the cached cost if it was computed for the same facts and for variables of the
    /// same shape; otherwise computes it.
    pub(super) fn get_or(
        &self,
        facts: [u64; 4],
        variables: &Variables,
        compute: impl FnOnce() -> u64,
    ) -> u64 {
        let Some(variables) = shape_of(variables) else {
            return compute();
        };
        let key = Key { facts, variables };
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, cost)) = &*last
            && *known == key
        {
            return *cost;
        }
        drop(last);
        let cost = compute();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((key, cost));
        cost
    }
}

/// Returns the shape of all variables; `None` if it is too large for the cache.
fn shape_of(variables: &Variables) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(64);
    for (name, value) in variables.iter() {
        add_name(&mut out, name);
        add_shape(&mut out, value);
        if out.len() > MAX_KEY {
            return None;
        }
    }
    Some(out)
}

/// Appends integers, the lengths of lists, the names of fields, and what is null. Different shapes
/// have different bytes.
fn add_shape(out: &mut Vec<u8>, value: &ConstValue) {
    match value {
        _ if out.len() > MAX_KEY => {}
        ConstValue::Null => out.push(b'0'),
        ConstValue::Number(number) => match number.as_i64() {
            Some(number) => {
                out.push(b'i');
                out.extend_from_slice(&number.to_le_bytes());
            }
            None => out.push(b's'),
        },
        ConstValue::List(items) => {
            out.push(b'[');
            for item in items {
                add_shape(out, item);
            }
            out.push(b']');
        }
        ConstValue::Object(fields) => {
            out.push(b'{');
            for (name, value) in fields {
                add_name(out, name);
                add_shape(out, value);
            }
            out.push(b'}');
        }
        _ => out.push(b's'),
    }
}

fn add_name(out: &mut Vec<u8>, name: &str) {
    out.push(b'n');
    out.extend_from_slice(&name.len().to_le_bytes());
    out.extend_from_slice(name.as_bytes());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(variables: serde_json::Value) -> Option<Vec<u8>> {
        shape_of(&Variables::from_json(variables))
    }

    #[test]
    fn variables_of_one_shape_have_one_key() {
        let one = json!({ "slug": "lamp", "first": 20, "filter": { "brand": ["a", "b"] } });
        let other = json!({ "slug": "chair", "first": 20, "filter": { "brand": ["c", "d"] } });
        assert_eq!(key(one), key(other));
    }

    #[test]
    fn what_a_cost_depends_on_is_in_the_key() {
        let all = [
            json!({}),
            json!({ "a": null }),
            json!({ "a": "1" }),
            json!({ "a": 1 }),
            json!({ "a": 2 }),
            json!({ "a": 1.5, "b": 1 }),
            json!({ "a": [] }),
            json!({ "a": ["1"] }),
            json!({ "a": ["1", null] }),
            json!({ "a": [["1"], []] }),
            json!({ "a": [["1", []]] }),
            json!({ "a": { "b": "1" } }),
            json!({ "a": { "b": null } }),
            json!({ "a": { "c": "1" } }),
            json!({ "a": { "b": { "c": "1" } } }),
            json!({ "a": { "b": {}, "c": "1" } }),
            json!({ "ab": "1" }),
        ];
        for (at, one) in all.iter().enumerate() {
            for other in &all[..at] {
                assert_ne!(key(one.clone()), key(other.clone()), "{one} {other}");
            }
        }
    }

    #[test]
    fn a_large_key_is_not_cached() {
        assert_eq!(key(json!({ "a": vec!["1"; MAX_KEY + 1] })), None);
        let cache = CostCache::default();
        let many = Variables::from_json(json!({ "a": vec![1; MAX_KEY] }));
        for cost in 1..3 {
            assert_eq!(cache.get_or([0; 4], &many, || cost), cost);
        }
    }

    #[test]
    fn a_cost_is_computed_again_for_other_facts_or_variables() {
        let cache = CostCache::default();
        let ask = |facts, first: i32, cost| {
            let variables = Variables::from_json(json!({ "first": first }));
            cache.get_or(facts, &variables, || cost)
        };
        assert_eq!(ask([1, 2, 3, 4], 10, 7), 7);
        assert_eq!(ask([1, 2, 3, 4], 10, 8), 7, "it is cached");
        assert_eq!(ask([1, 2, 3, 4], 11, 9), 9);
        assert_eq!(ask([1, 2, 3, 5], 11, 10), 10);
    }
}
