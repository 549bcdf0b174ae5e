//! A naive recursive executor that follows the text of the specification.

use apollo_compiler::{
    ExecutableDocument, Name, Node, Schema,
    ast::{Type, Value as Literal},
    executable::{Field, Selection, SelectionSet},
};
use serde_json::{Map, Value, json};

use super::random_schema;

/// What a field resolves to.
enum Resolved {
    Null,
    Leaf(Value),
    Thing(i32),
    List(Vec<Resolved>),
    Failure,
}

/// A null that propagates upwards.
struct Nulled;

/// Executes the only operation of a document.
pub(super) struct Reference<'a> {
    pub(super) schema: &'a Schema,
    pub(super) document: &'a ExecutableDocument,
    pub(super) variables: &'a Map<String, Value>,
    /// The paths of all errors.
    pub(super) errors: Vec<Vec<Value>>,
}

type Groups<'a> = Vec<(&'a Name, Vec<&'a Node<Field>>)>;

impl<'a> Reference<'a> {
    /// Returns the data; null if an error propagated to the root.
    pub(super) fn run(&mut self) -> Value {
        let document = self.document;
        let operation = document.operations.iter().next().expect("one operation");
        let sets = [&operation.selection_set];
        self.object("Query", None, &sets, &[])
            .unwrap_or(Value::Null)
    }

    fn object(
        &mut self,
        ty: &str,
        id: Option<i32>,
        sets: &[&'a SelectionSet],
        path: &[Value],
    ) -> Result<Value, Nulled> {
        let mut groups = Groups::new();
        let mut visited = Vec::new();
        for set in sets {
            self.collect(ty, set, &mut visited, &mut groups);
        }
        let mut object = Map::new();
        let mut nulled = false;
        for (key, fields) in groups {
            let path = [path, &[json!(key.as_str())]].concat();
            let name = fields[0].name.as_str();
            let definition = self
                .schema
                .type_field(ty, name)
                .expect("the document is valid");
            let sets: Vec<_> = fields.iter().map(|field| &field.selection_set).collect();
            match self.complete(&definition.ty, resolve(ty, id, name), &sets, &path) {
                Ok(value) => drop(object.insert(key.to_string(), value)),
                // Later fields still run, because their errors may be reported.
                Err(Nulled) => nulled = true,
            }
        }
        if nulled {
            Err(Nulled)
        } else {
            Ok(Value::Object(object))
        }
    }

    fn complete(
        &mut self,
        ty: &Type,
        resolved: Resolved,
        sets: &[&'a SelectionSet],
        path: &[Value],
    ) -> Result<Value, Nulled> {
        let completed = match (ty, resolved) {
            (_, Resolved::Failure) => {
                self.errors.push(path.to_vec());
                Err(Nulled)
            }
            (_, Resolved::Null) => return Ok(Value::Null),
            (Type::List(item) | Type::NonNullList(item), Resolved::List(items)) => {
                self.list(item, items, sets, path)
            }
            (_, Resolved::Leaf(value)) => Ok(value),
            (_, Resolved::Thing(id)) => {
                self.object(random_schema::type_of(id), Some(id), sets, path)
            }
            _ => unreachable!("resolvers return what the schema says"),
        };
        match completed {
            Err(Nulled) if !ty.is_non_null() => Ok(Value::Null),
            other => other,
        }
    }

    fn list(
        &mut self,
        item: &Type,
        items: Vec<Resolved>,
        sets: &[&'a SelectionSet],
        path: &[Value],
    ) -> Result<Value, Nulled> {
        let mut completed = Vec::new();
        let mut nulled = false;
        for (index, resolved) in items.into_iter().enumerate() {
            let path = [path, &[json!(index)]].concat();
            match self.complete(item, resolved, sets, &path) {
                Ok(value) => completed.push(value),
                Err(Nulled) => nulled = true,
            }
        }
        if nulled {
            Err(Nulled)
        } else {
            Ok(Value::Array(completed))
        }
    }

    fn collect(
        &self,
        ty: &str,
        set: &'a SelectionSet,
        visited: &mut Vec<&'a Name>,
        groups: &mut Groups<'a>,
    ) {
        for selection in &set.selections {
            if self.condition(selection, "skip") == Some(true)
                || self.condition(selection, "include") == Some(false)
            {
                continue;
            }
            match selection {
                Selection::Field(field) => {
                    let key = field.response_key();
                    match groups.iter_mut().find(|(known, _)| *known == key) {
                        Some((_, fields)) => fields.push(field),
                        None => groups.push((key, vec![field])),
                    }
                }
                Selection::InlineFragment(inline) => {
                    let condition = inline.type_condition.as_ref();
                    if condition.is_none_or(|condition| self.applies(ty, condition)) {
                        self.collect(ty, &inline.selection_set, visited, groups);
                    }
                }
                Selection::FragmentSpread(spread) => {
                    if visited.contains(&&spread.fragment_name) {
                        continue;
                    }
                    visited.push(&spread.fragment_name);
                    let fragment = &self.document.fragments[&spread.fragment_name];
                    if self.applies(ty, &fragment.selection_set.ty) {
                        self.collect(ty, &fragment.selection_set, visited, groups);
                    }
                }
            }
        }
    }

    fn applies(&self, ty: &str, condition: &Name) -> bool {
        condition == ty || self.schema.is_subtype(condition, ty)
    }

    fn condition(&self, selection: &Selection, name: &str) -> Option<bool> {
        let directive = selection.directives().get(name)?;
        match &**directive.specified_argument_by_name("if")? {
            Literal::Boolean(flag) => Some(*flag),
            Literal::Variable(variable) => self.variables[variable.as_str()].as_bool(),
            _ => None,
        }
    }
}

fn resolve(ty: &str, id: Option<i32>, field: &str) -> Resolved {
    if field == "__typename" {
        return Resolved::Leaf(json!(ty));
    }
    match id {
        None => root(field),
        Some(id) => of_thing(id, field),
    }
}

fn root(field: &str) -> Resolved {
    match field {
        "one" => Resolved::Thing(8),
        "must" => Resolved::Thing(5),
        "all" => things(&[0, 4, 11]),
        _ => Resolved::Thing(2),
    }
}

fn of_thing(id: i32, field: &str) -> Resolved {
    let [first, second] = random_schema::many(id);
    let next = random_schema::next(id);
    let optional = |id: Option<i32>| id.map_or(Resolved::Null, Resolved::Thing);
    match field {
        "next" | "any" => optional(next),
        "frail" if random_schema::frail(id) => Resolved::Failure,
        "brittle" if random_schema::brittle(id) => Resolved::Failure,
        "many" => things(&[first, second]),
        "some" => Resolved::List(vec![
            Resolved::Thing(first),
            Resolved::Null,
            Resolved::Thing(second),
        ]),
        "marked" => optional(next.filter(|id| random_schema::type_of(*id) != "C")),
        "twin" => Resolved::Thing(random_schema::twin(id)),
        "pair" => optional(Some(first).filter(|id| random_schema::type_of(*id) != "B")),
        _ => Resolved::Leaf(json!(id)),
    }
}

fn things(ids: &[i32]) -> Resolved {
    Resolved::List(ids.iter().copied().map(Resolved::Thing).collect())
}
