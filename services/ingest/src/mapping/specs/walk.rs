//! Walking through a row and collecting its specs.

use std::sync::Arc;

use serde_json::Value;
use vitrine_formats::push_key;
use vitrine_model::spec::{MAX_SPECS, Spec, SpecValue};

use super::super::number::shortened;

use super::super::path::Row;
use super::super::problems::{Problems, Traced};
use super::plan::PathPlan;
use super::rule::List;
use super::spec_reading::{Mapped, SpecReading};
use super::{Collected, PlanCache, PlansOfKind, RowKind, Specs};

/// Collects the specs of a row of this kind.
pub(super) fn specs(
    specs: &Specs,
    plans: &mut PlanCache,
    kind: &RowKind<'_>,
    row: Row<'_>,
    problems: &mut Problems,
) -> Collected {
    let root = specs.from.first(row);
    let mut walk = Walk {
        specs,
        kind,
        row: root.map_or(row, |root| row.at(root)),
        plans: plans.of(&kind.key()),
        path: String::new(),
        problems,
        collected: Collected::default(),
        too_many: false,
    };
    if let Some(Value::Object(object)) = root {
        walk.entries(object);
    }
    if walk.too_many {
        let reason = format!("there are more than {MAX_SPECS}");
        walk.problems
            .fatal
            .push(vitrine_model::import::Rejection::new(specs.noun(), reason));
    }
    walk.collected
}

struct Walk<'a> {
    specs: &'a Specs,
    kind: &'a RowKind<'a>,
    row: Row<'a>,
    plans: PlansOfKind<'a>,
    path: String,
    problems: &'a mut Problems,
    collected: Collected,
    too_many: bool,
}

impl Walk<'_> {
    fn entries(&mut self, object: &serde_json::Map<String, Value>) {
        for (key, value) in object {
            let length = self.path.len();
            push_key(&mut self.path, key);
            self.visit(value);
            self.path.truncate(length);
        }
    }

    fn visit(&mut self, value: &Value) {
        if value.is_null() || self.too_many {
            return;
        }
        let plan = self.plan();
        if plan.skip {
            return;
        }
        match value {
            Value::Array(items) => self.list(value, items, &plan),
            // An element of XML that stands alone is a list of itself.
            one if plan.counts() => self.list(value, std::slice::from_ref(one), &plan),
            Value::Object(object) if !plan.takes_objects() => self.entries(object),
            value => self.read(value, &plan),
        }
    }

    fn list(&mut self, value: &Value, items: &[Value], plan: &PathPlan) {
        if let Some(key) = &plan.count_key {
            self.count(key, items.len());
        }
        for reading in &plan.readings {
            match reading.list_of(items) {
                List::Count => self.reading(reading, value, |row| reading.count(items, row)),
                List::Join if !items.is_empty() => {
                    self.reading(reading, value, |row| reading.joined(items, row));
                }
                _ => {}
            }
        }
        let opens = plan.opens(items);
        for (at, item) in items.iter().enumerate() {
            let nested = match item {
                Value::Object(_) => !plan.takes_objects(),
                other => other.is_array(),
            };
            if nested && opens && (at == 0 || !plan.takes_first(items)) {
                self.inside(item);
            }
            if !nested {
                self.item(item, at, items, plan);
            }
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "lists have fewer than 2^53 items"
    )]
    fn count(&mut self, key: &str, items: usize) {
        let spec = Spec {
            key: key.to_owned(),
            value: SpecValue::Number(items as f64),
            qualifier: None,
        };
        self.push(spec);
    }

    /// Reads a list or an object in a list by the plan of the path with `[]`.
    fn inside(&mut self, item: &Value) {
        let length = self.path.len();
        self.path.push_str("[]");
        let plan = self.plan();
        match item {
            _ if plan.skip || self.too_many => {}
            Value::Object(object) if !plan.takes_objects() => self.entries(object),
            Value::Array(items) => self.list(item, items, &plan),
            item => self.read(item, &plan),
        }
        self.path.truncate(length);
    }

    /// Reads an item of a list by the readings that take items one by one.
    fn item(&mut self, item: &Value, at: usize, items: &[Value], plan: &PathPlan) {
        for reading in &plan.readings {
            let list = reading.list_of(items);
            if list == List::Each || (list == List::First && at == 0) {
                self.reading(reading, item, |row| reading.specs(item, row));
            }
        }
    }

    fn read(&mut self, value: &Value, plan: &PathPlan) {
        for reading in &plan.readings {
            self.reading(reading, value, |row| reading.specs(value, row));
        }
    }

    fn reading(
        &mut self,
        reading: &SpecReading,
        value: &Value,
        read: impl FnOnce(Row<'_>) -> Mapped,
    ) {
        let mapped = read(self.row);
        let field = || self.field();
        let traced = self.row.traced.then(field);
        if !mapped.is_left_out {
            self.problems.trace(|| Traced {
                setting: reading.by.clone(),
                path: traced.unwrap_or_default(),
                raw: shortened(&value.to_string()),
                value: mapped.shown(),
            });
        }
        for spec in mapped.specs {
            if self.push(spec) && reading.on_bad().drops() {
                let last = self.collected.specs.len() - 1;
                self.collected.droppable.push(last);
            }
        }
        for reason in mapped.bad {
            self.bad(reading, reason);
        }
    }

    fn bad(&mut self, reading: &SpecReading, reason: String) {
        let field = self.field();
        self.problems.bad(reading.on_bad(), &field, reason);
    }

    /// The path from the row.
    fn field(&self) -> String {
        let root = self.specs.from.path().to_string();
        if root == "." {
            self.path.clone()
        } else {
            format!("{root}.{}", self.path)
        }
    }

    /// Adds a spec, unless the same was added already. Returns whether it was added.
    fn push(&mut self, spec: Spec) -> bool {
        let specs = &mut self.collected.specs;
        if specs.contains(&spec) {
            return false;
        }
        self.too_many = specs.len() >= MAX_SPECS;
        if !self.too_many {
            specs.push(spec);
        }
        !self.too_many
    }

    fn plan(&mut self) -> Arc<PathPlan> {
        let (specs, kind, path) = (self.specs, self.kind, &self.path);
        self.plans.get(path, |names| specs.plan(kind, path, names))
    }
}
