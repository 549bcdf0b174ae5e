//! A walk through a row, collecting specs.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use vitrine_model::spec::{MAX_SPECS, Spec, SpecValue};

use super::super::path::push_key;
use super::super::problems::Problems;
use super::plan::Plan;
use super::rule::List;
use super::spec_reading::SpecReading;
use super::{MAX_PLANS, Plans, Specs};

/// The specs of a row of a category.
pub(super) fn specs(
    specs: &Specs,
    plans: &mut Plans,
    category: &str,
    row: &Value,
    problems: &mut Problems,
) -> Vec<Spec> {
    let mut walk = Walk {
        specs,
        category,
        plans: plans.of(category),
        path: String::new(),
        problems,
        found: Vec::new(),
        over: false,
    };
    if let Some(Value::Object(object)) = specs.from.first(row) {
        walk.entries(object);
    }
    if walk.over {
        let reason = format!("there are more than {MAX_SPECS}");
        walk.problems
            .fatal
            .push(vitrine_model::import::Rejection::new("specs", reason));
    }
    walk.found
}

struct Walk<'a> {
    specs: &'a Specs,
    category: &'a str,
    plans: &'a mut HashMap<String, Arc<Plan>>,
    path: String,
    problems: &'a mut Problems,
    found: Vec<Spec>,
    over: bool,
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
        if value.is_null() || self.over {
            return;
        }
        let plan = self.plan();
        if plan.skip {
            return;
        }
        match value {
            Value::Array(items) => self.list(items, &plan),
            Value::Object(object) if !plan.takes_objects() => self.entries(object),
            value => self.read(value, &plan),
        }
    }

    fn list(&mut self, items: &[Value], plan: &Plan) {
        if let Some(key) = &plan.count_key {
            self.count(key, items.len());
        }
        match plan.list {
            List::Count => self.every_reading(plan, |reading| reading.count(items)),
            List::Join if items.is_empty() => {}
            List::Join => self.every_reading(plan, |reading| reading.joined(items)),
            List::First => items.iter().take(1).for_each(|item| self.item(item, plan)),
            List::Each => items.iter().for_each(|item| self.item(item, plan)),
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "lists have fewer than 2^53 items"
    )]
    fn count(&mut self, key: &str, items: usize) {
        self.push(Spec {
            key: key.to_owned(),
            value: SpecValue::Number(items as f64),
            qualifier: None,
        });
    }

    /// An item of a list: values are read by the list's own plan, anything nested by the plan of
    /// the path with `[]`, unless the list's plan takes objects.
    fn item(&mut self, item: &Value, plan: &Plan) {
        let nested = match item {
            Value::Object(_) => !plan.takes_objects(),
            other => other.is_array(),
        };
        if !nested {
            self.read(item, plan);
            return;
        }
        let length = self.path.len();
        self.path.push_str("[]");
        self.visit(item);
        self.path.truncate(length);
    }

    fn read(&mut self, value: &Value, plan: &Plan) {
        self.every_reading(plan, |reading| reading.specs(value));
    }

    fn every_reading(
        &mut self,
        plan: &Plan,
        read: impl Fn(&SpecReading) -> Result<Vec<Spec>, String>,
    ) {
        for reading in &plan.readings {
            match read(reading) {
                Ok(specs) => specs.into_iter().for_each(|spec| self.push(spec)),
                Err(reason) => self.bad(reading, reason),
            }
        }
    }

    fn bad(&mut self, reading: &SpecReading, reason: String) {
        let root = self.specs.from.to_string();
        let field = if root == "." {
            self.path.clone()
        } else {
            format!("{root}.{}", self.path)
        };
        self.problems.bad(reading.on_bad(), &field, reason);
    }

    /// Keeps a spec, unless the very same is there.
    fn push(&mut self, spec: Spec) {
        if self.found.contains(&spec) {
            return;
        }
        self.over = self.found.len() >= MAX_SPECS;
        if !self.over {
            self.found.push(spec);
        }
    }

    fn plan(&mut self) -> Arc<Plan> {
        if let Some(plan) = self.plans.get(&self.path) {
            return Arc::clone(plan);
        }
        let plan = self.specs.plan(self.category, &self.path);
        if self.plans.len() < MAX_PLANS {
            self.plans.insert(self.path.clone(), Arc::clone(&plan));
        }
        plan
    }
}
