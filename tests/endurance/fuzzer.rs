//! Random requests: documents drawn from the schema, with values that fit and values that do not,
//! and some that are damaged.

use std::fmt::Write as _;

use apollo_compiler::Schema;
use apollo_compiler::ast::Type;
use apollo_compiler::schema::{Component, ExtendedType, FieldDefinition};
use fastrand::Rng;
use serde_json::{Map, Value, json};

/// The most levels of objects.
const MAX_DEPTH: usize = 6;
/// The most fields of a document.
const MAX_FIELDS: usize = 60;
/// Texts that were trouble for others.
const TEXTS: [&str; 16] = [
    "",
    " ",
    "thing",
    "colour",
    "thing-1",
    "\u{0}",
    "\u{202e}gnp.exe",
    "\u{feff}x",
    "e\u{301}\u{301}\u{301}",
    "$where",
    "a.b.$c",
    "{\"$gt\": \"\"}",
    "../../etc/passwd",
    "-1e400",
    "2026-02-30T25:61:61Z",
    "👩‍👩‍👧‍👦",
];
/// Characters that mean something in a document.
const SIGNS: [&str; 16] = [
    "{", "}", "(", ")", "[", "]", "$", "@", "!", ":", "=", "\"", "\"\"\"", "...", "#", "\\u",
];

/// A source of random requests.
pub(crate) struct Fuzzer {
    schema: Schema,
    random: Rng,
    ids: Vec<String>,
    fields: usize,
    variables: Map<String, Value>,
    declarations: String,
}

impl Fuzzer {
    /// Equal seeds make equal requests.
    pub(crate) fn new(seed: u64, ids: &[String]) -> Self {
        let engine = vitrine_api::graphql::engine().expect("the schema is valid");
        let schema = Schema::parse(engine.sdl(), "schema").expect("the schema is valid");
        Self {
            schema,
            random: Rng::with_seed(seed),
            ids: ids.to_vec(),
            fields: 0,
            variables: Map::new(),
            declarations: String::new(),
        }
    }

    /// Returns the body of a request.
    pub(crate) fn request(&mut self) -> Vec<u8> {
        let (kind, root) = match self.random.u8(..100) {
            0..75 => ("query", "Query"),
            75..99 => ("mutation", "Mutation"),
            _ => ("subscription", "Subscription"),
        };
        self.fields = 0;
        self.variables.clear();
        self.declarations.clear();
        let mut selection = String::new();
        self.selection(root, MAX_DEPTH, &mut selection);
        let declarations = match self.declarations.as_str() {
            "" => String::new(),
            some => format!("({some})"),
        };
        let mut document = format!("{kind} Random{declarations} {selection}");
        if self.random.u8(..8) == 0 {
            document = self.damaged(&document);
        }
        let mut request = json!({ "query": document, "variables": self.variables });
        match self.random.u8(..40) {
            0 => request["operationName"] = self.any(),
            1 => request["extensions"] = self.any(),
            2 => request["variables"] = self.any(),
            3 => request["query"] = self.any(),
            _ => {}
        }
        let mut body = request.to_string().into_bytes();
        if self.random.u8(..40) == 0 {
            let at = self.random.usize(..body.len());
            body[at] = self.random.u8(..);
            body.truncate(self.random.usize(at..body.len()));
        }
        body
    }

    /// Inserts, removes or repeats something.
    fn damaged(&mut self, document: &str) -> String {
        let characters: Vec<char> = document.chars().collect();
        let from = self.random.usize(..characters.len());
        let to = (from + self.random.usize(..20)).min(characters.len());
        let text = |part: &[char]| part.iter().collect::<String>();
        let (before, cut, after) = (
            text(&characters[..from]),
            text(&characters[from..to]),
            text(&characters[to..]),
        );
        match self.random.u8(..4) {
            0 => before + &after,
            1 => before + &cut.repeat(self.random.usize(2..40)) + &after,
            2 => before + self.pick(&TEXTS) + &cut + &after,
            _ => before + self.pick(&SIGNS) + &cut + &after,
        }
    }

    fn pick<'t>(&mut self, all: &[&'t str]) -> &'t str {
        self.random.choice(all).expect("not empty")
    }

    fn selection(&mut self, ty: &str, depth: usize, out: &mut String) {
        let fields: Vec<Component<FieldDefinition>> = match &self.schema.types[ty] {
            ExtendedType::Object(object) => object.fields.values().cloned().collect(),
            ExtendedType::Interface(interface) => interface.fields.values().cloned().collect(),
            _ => Vec::new(),
        };
        out.push_str("{ __typename ");
        for _ in 0..self.random.usize(1..6) {
            let Some(field) = self.random.choice(&fields).cloned() else {
                break;
            };
            let inner = field.ty.inner_named_type().as_str().to_owned();
            let inner_type = &self.schema.types[inner.as_str()];
            let is_leaf = inner_type.is_scalar() || inner_type.is_enum();
            if self.fields >= MAX_FIELDS || (depth == 0 && !is_leaf) {
                continue;
            }
            self.fields += 1;
            if self.random.u8(..4) > 0 {
                let _ = write!(out, "f{}: ", self.fields);
            }
            out.push_str(&field.name);
            self.arguments(&field, out);
            if self.random.u8(..20) == 0 {
                let _ = write!(out, " @skip(if: {})", self.random.bool());
            }
            out.push(' ');
            if !is_leaf {
                self.selection(&inner, depth - 1, out);
            }
        }
        let members = self.schema.implementers_map().remove(ty);
        let members: Vec<_> = members
            .into_iter()
            .flat_map(|found| found.objects)
            .collect();
        if depth > 0
            && let Some(member) = self.random.choice(&members).cloned()
        {
            let _ = write!(out, "... on {member} ");
            self.selection(&member, depth - 1, out);
        }
        out.push_str("} ");
    }

    fn arguments(&mut self, field: &FieldDefinition, out: &mut String) {
        let mut given = Vec::new();
        for argument in &field.arguments {
            if !argument.is_required() && self.random.bool() {
                continue;
            }
            let value = self.value(&argument.ty, 4);
            if self.random.bool() {
                let name = format!("v{}", self.variables.len());
                let _ = write!(self.declarations, "${name}: {} ", argument.ty);
                self.variables.insert(name.clone(), value);
                given.push(format!("{}: ${name}", argument.name));
            } else {
                given.push(format!("{}: {}", argument.name, literal(&value)));
            }
        }
        if !given.is_empty() {
            let _ = write!(out, "({})", given.join(", "));
        }
    }

    /// Returns a value of this type, seldom of another.
    fn value(&mut self, ty: &Type, depth: usize) -> Value {
        if self.random.u8(..25) == 0 {
            return self.any();
        }
        if ty.is_list() {
            let count = match self.random.u8(..20) {
                0 => 120,
                1 => 0,
                _ => self.random.usize(1..4),
            };
            let item = ty.item_type();
            return (0..count).map(|_| self.value(item, depth)).collect();
        }
        let name = ty.inner_named_type().as_str();
        match self.schema.types[name].clone() {
            ExtendedType::Enum(values) => {
                let names: Vec<_> = values.values.keys().map(ToString::to_string).collect();
                json!(self.random.choice(&names))
            }
            ExtendedType::InputObject(input) if depth > 0 => {
                let mut fields = Map::new();
                let one_of = input.directives.has("oneOf");
                let only = self.random.usize(..input.fields.len());
                for (at, (name, field)) in input.fields.iter().enumerate() {
                    let given = if one_of {
                        at == only
                    } else {
                        field.is_required() || self.random.u8(..3) == 0
                    };
                    if given {
                        fields.insert(name.to_string(), self.value(&field.ty, depth - 1));
                    }
                }
                Value::Object(fields)
            }
            _ => self.scalar(name),
        }
    }

    fn scalar(&mut self, name: &str) -> Value {
        const NUMBERS: [i32; 8] = [0, 1, 2, 10, -1, 100, i32::MAX, i32::MIN];
        let number = *self.random.choice(NUMBERS.iter()).expect("not empty");
        match name {
            "Int" => json!(number),
            "Float" => json!(f64::from(number).abs() * self.random.f64()),
            "Boolean" => json!(self.random.bool()),
            "ID" if self.random.u8(..4) > 0 => json!(self.random.choice(&self.ids)),
            "Decimal" => json!(format!("{number}.25")),
            "DateTime" => json!("2026-11-22T10:00:00Z"),
            "Date" => json!("2026-11-22"),
            "URL" => json!("https://example.com/a.png"),
            _ if self.random.u8(..30) == 0 => json!("long ".repeat(self.random.usize(..5_000))),
            _ => json!(self.pick(&TEXTS)),
        }
    }

    /// Returns a value of any type.
    fn any(&mut self) -> Value {
        match self.random.u8(..9) {
            0 => Value::Null,
            1 => json!(self.random.i64(..)),
            2 => json!(1e308 * self.random.f64()),
            3 => json!(self.random.bool()),
            4 => json!([[[[self.random.u8(..)]]]]),
            5 => json!({ "a": { "b": self.pick(&TEXTS) } }),
            6 => json!(vec![self.pick(&TEXTS); 200]),
            _ => json!(self.pick(&TEXTS)),
        }
    }
}

/// Writes a value as a literal; names of enums as texts.
fn literal(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(name, value)| format!("{name}: {}", literal(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            let items = items.iter().map(literal).collect::<Vec<_>>();
            format!("[{}]", items.join(", "))
        }
        Value::String(text) if is_enum_name(text) => text.clone(),
        other => other.to_string(),
    }
}

fn is_enum_name(text: &str) -> bool {
    text.len() > 2
        && text
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}
