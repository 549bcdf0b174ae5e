//! Random documents: the engine's responses equal those of a reference executor, byte for byte.

use std::fmt::Write;

use apollo_compiler::{ExecutableDocument, Schema};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{
    cases::{ask_with, paths},
    random_schema,
    reference::Reference,
};
use crate::execution::GraphqlRequest;

/// The types, their fields, and the types of the fields.
const FIELDS: &[(&str, &[(&str, &str)])] = &[
    (
        "Query",
        &[
            ("one", "Thing"),
            ("must", "Thing"),
            ("all", "Thing"),
            ("any", "AnyOf"),
            ("__typename", ""),
        ],
    ),
    ("Thing", THING),
    (
        "Marked",
        &[
            ("id", ""),
            ("next", "Thing"),
            ("brittle", ""),
            ("__typename", ""),
        ],
    ),
    ("AnyOf", &[("__typename", "")]),
    ("Pair", &[("__typename", "")]),
    (
        "A",
        &[
            ("id", ""),
            ("a", ""),
            ("next", "Thing"),
            ("frail", ""),
            ("brittle", ""),
            ("twin", "A"),
            ("any", "AnyOf"),
            ("many", "Thing"),
        ],
    ),
    (
        "B",
        &[
            ("id", ""),
            ("b", ""),
            ("next", "Thing"),
            ("frail", ""),
            ("marked", "Marked"),
            ("some", "Thing"),
        ],
    ),
    (
        "C",
        &[
            ("id", ""),
            ("c", ""),
            ("next", "Thing"),
            ("brittle", ""),
            ("pair", "Pair"),
            ("__typename", ""),
        ],
    ),
];

const THING: &[(&str, &str)] = &[
    ("id", ""),
    ("frail", ""),
    ("brittle", ""),
    ("next", "Thing"),
    ("many", "Thing"),
    ("some", "Thing"),
    ("any", "AnyOf"),
    ("marked", "Marked"),
    ("__typename", ""),
];

/// The concrete types of each type, which decide where fragments may be spread.
const MEMBERS: &[(&str, &str)] = &[
    ("Thing", "ABC"),
    ("Marked", "AB"),
    ("AnyOf", "ABC"),
    ("Pair", "AC"),
    ("A", "A"),
    ("B", "B"),
    ("C", "C"),
];

/// The types of the named fragments. Each fragment may spread only later ones.
const FRAGMENTS: &[&str] = &["Thing", "A", "Pair", "Marked", "C"];

fn members(ty: &str) -> &'static str {
    MEMBERS
        .iter()
        .find(|(name, _)| *name == ty)
        .map_or("", |(_, members)| members)
}

fn overlap(one: &str, other: &str) -> bool {
    members(one)
        .chars()
        .any(|member| members(other).contains(member))
}

/// Generates a document from a list of numbers.
struct Author<'a> {
    dice: std::slice::Iter<'a, u8>,
    aliases: usize,
    used_fragments: Vec<usize>,
    used_variables: Vec<&'static str>,
}

impl Author<'_> {
    fn roll(&mut self, sides: usize) -> usize {
        self.dice
            .next()
            .map_or(0, |number| usize::from(*number) % sides)
    }

    fn document(&mut self) -> String {
        let operation = self.set("Query", 4, 0);
        let mut fragments = String::new();
        let mut written = 0;
        // A fragment may use further ones, which always come later in the list.
        while written < FRAGMENTS.len() {
            if self.used_fragments.contains(&written) {
                let body = self.set(FRAGMENTS[written], 2, written + 1);
                write!(
                    fragments,
                    " fragment F{written} on {} {body}",
                    FRAGMENTS[written]
                )
                .unwrap();
            }
            written += 1;
        }
        let variables: Vec<_> = self
            .used_variables
            .iter()
            .map(|name| format!("${name}: Boolean!"))
            .collect();
        let header = if variables.is_empty() {
            String::new()
        } else {
            format!("({})", variables.join(", "))
        };
        format!("query Q{header} {operation}{fragments}")
    }

    fn set(&mut self, ty: &str, depth: usize, first_fragment: usize) -> String {
        let count = 1 + self.roll(4);
        let mut text = String::from("{ ");
        for _ in 0..count {
            match self.roll(8) {
                0 | 1 if ty != "Query" && depth > 0 => {
                    text.push_str(&self.inline(ty, depth, first_fragment));
                }
                2 if ty != "Query" => text.push_str(&self.spread(ty, first_fragment)),
                _ => text.push_str(&self.field(ty, depth, first_fragment)),
            }
            text.push(' ');
        }
        text.push('}');
        text
    }

    fn field(&mut self, ty: &str, depth: usize, first_fragment: usize) -> String {
        let (_, fields) = FIELDS
            .iter()
            .find(|(name, _)| *name == ty)
            .expect("a known type");
        let (name, target) = fields[self.roll(fields.len())];
        if !target.is_empty() && depth == 0 {
            return "__typename".to_owned();
        }
        let alias = self.alias(name);
        let condition = self.condition();
        if target.is_empty() {
            return format!("{alias}{name}{condition}");
        }
        let body = self.set(target, depth - 1, first_fragment);
        format!("{alias}{name}{condition} {body}")
    }

    /// Derives the alias from the name, so that one key never means two fields.
    fn alias(&mut self, name: &str) -> String {
        if self.aliases == 25 || self.roll(6) != 0 {
            return String::new();
        }
        self.aliases += 1;
        format!("x{name}: ")
    }

    fn condition(&mut self) -> String {
        let directive = ["skip", "include"][self.roll(2)];
        match self.roll(12) {
            0 => format!(" @{directive}(if: true)"),
            1 => format!(" @{directive}(if: false)"),
            2 => format!(" @{directive}(if: ${})", self.variable("yes")),
            3 => format!(" @{directive}(if: ${})", self.variable("no")),
            _ => String::new(),
        }
    }

    fn variable(&mut self, name: &'static str) -> &'static str {
        if !self.used_variables.contains(&name) {
            self.used_variables.push(name);
        }
        name
    }

    fn inline(&mut self, ty: &str, depth: usize, first_fragment: usize) -> String {
        let fitting: Vec<_> = MEMBERS
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| overlap(ty, name))
            .collect();
        let condition = self.condition();
        if self.roll(5) == 0 {
            return format!("...{condition} {}", self.set(ty, depth - 1, first_fragment));
        }
        let target = fitting[self.roll(fitting.len())];
        let body = self.set(target, depth - 1, first_fragment);
        format!("... on {target}{condition} {body}")
    }

    fn spread(&mut self, ty: &str, first_fragment: usize) -> String {
        let fitting: Vec<_> = (first_fragment..FRAGMENTS.len())
            .filter(|number| overlap(ty, FRAGMENTS[*number]))
            .collect();
        if fitting.is_empty() {
            return "__typename".to_owned();
        }
        let number = fitting[self.roll(fitting.len())];
        self.used_fragments.push(number);
        format!("...F{number}{}", self.condition())
    }
}

/// Returns the depth of the first null on the path, or the length of the path if there is none.
fn nulled_at(data: &Value, path: &[Value]) -> usize {
    let mut at = data;
    for (depth, segment) in path.iter().enumerate() {
        if at.is_null() {
            return depth;
        }
        at = match segment {
            Value::String(key) => &at[key],
            index => &at[usize::try_from(index.as_u64().unwrap()).unwrap()],
        };
    }
    path.len()
}

fn check(rolls: &[u8]) -> Result<(), TestCaseError> {
    let mut author = Author {
        dice: rolls.iter(),
        aliases: 0,
        used_fragments: Vec::new(),
        used_variables: Vec::new(),
    };
    compare(&author.document())
}

/// Executes the document with the engine and the reference executor and compares the results.
fn compare(text: &str) -> Result<(), TestCaseError> {
    let engine = random_schema::engine();
    let schema = Schema::parse_and_validate(engine.sdl(), "world").expect("valid");
    let document = ExecutableDocument::parse_and_validate(&schema, text, "random")
        .map_err(|errors| TestCaseError::fail(format!("{text}\n{}", errors.errors)))?;
    let variables: Map<String, Value> = [("yes", true), ("no", false)]
        .map(|(name, flag)| (name.to_owned(), json!(flag)))
        .into_iter()
        .collect();
    let mut reference = Reference {
        schema: &schema,
        document: &document,
        variables: &variables,
        errors: Vec::new(),
    };
    let expected = reference.run();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let answer = runtime.block_on(ask_with(&engine, text, Value::Object(variables.clone())));
    prop_assert_eq!(
        answer["data"].to_string(),
        expected.to_string(),
        "{}\n{}",
        text,
        answer
    );
    let known: Vec<_> = reference
        .errors
        .iter()
        .map(|path| json!(path).to_string())
        .collect();
    let actual = paths(&answer);
    prop_assert!(
        actual.iter().all(|path| known.contains(path)),
        "{text}\n{answer}"
    );
    let mut unique = actual.clone();
    unique.dedup();
    prop_assert_eq!(&unique, &actual, "an error was reported twice: {}", text);
    for path in &reference.errors {
        // Below one null, a single error is enough, but there must be one.
        let visible = nulled_at(&expected, path);
        let prefix = json!(path[..visible]).to_string();
        let prefix = prefix.trim_end_matches(']');
        prop_assert!(
            actual.iter().any(|path| path.starts_with(prefix)),
            "{text}\n{answer}\n{prefix}"
        );
    }
    Ok(())
}

/// The same key means different fields for different types.
#[test]
fn one_key_may_mean_several_fields() {
    for query in [
        "{ all { many { id id ... on A { x: id } ... on B { x: brittle } ... on C { x: id } } } }",
        "{ all { id id ... on A { x: frail } ... on B { x: frail } ... on C { x: frail } } }",
        "{ all { id id ... on A { x: next { id } } ... on B { x: next { frail } } ... on C { x: any { __typename } } } }",
    ] {
        compare(query).unwrap();
    }
}

/// The comparisons are about direct writing: it takes place where nothing waits, and only there.
#[tokio::test]
async fn what_does_not_wait_is_written_directly() {
    let engine = random_schema::engine();
    let all = async |query: &str| {
        let request = GraphqlRequest::new(query);
        let response = engine.execute(request, |request| request).await;
        let Some(async_graphql::Value::Object(mut data)) = response.data else {
            panic!("{query} has data");
        };
        data.swap_remove("all")
    };
    let direct = all("{ all { id some { __typename id } ... on A { twin { brittle } } } }").await;
    assert!(matches!(direct, Some(async_graphql::Value::Binary(_))));
    let waits = all("{ all { id next { id } } }").await;
    assert!(matches!(waits, Some(async_graphql::Value::List(_))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_engine_follows_the_specification(rolls in prop::collection::vec(any::<u8>(), 20..400)) {
        check(&rolls)?;
    }
}

/// The generator must produce errors, nulls at the root, and several types.
#[test]
fn random_documents_cover_all_cases() {
    let engine = random_schema::engine();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let mut seen = [0; 4];
    for seed in 0_u32..400 {
        let rolls: Vec<u8> = (0_u32..75)
            .flat_map(|at| (seed * 75 + at).wrapping_mul(2_654_435_761).to_be_bytes())
            .collect();
        let mut author = Author {
            dice: rolls.iter(),
            aliases: 0,
            used_fragments: Vec::new(),
            used_variables: Vec::new(),
        };
        let text = author.document();
        let variables = json!({ "yes": true, "no": false });
        let answer = runtime.block_on(ask_with(&engine, &text, variables));
        seen[0] += usize::from(answer["data"].is_object());
        seen[1] += usize::from(answer["data"].is_null());
        seen[2] += usize::from(answer.get("errors").is_some());
        seen[3] += usize::from(text.contains("fragment F") && text.contains("... on"));
    }
    assert!(seen.iter().all(|count| *count >= 10), "{seen:?}");
}
