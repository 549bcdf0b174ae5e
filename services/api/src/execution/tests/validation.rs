//! Section 5, Validation: every rule, with documents that it refuses and documents that it accepts.

use super::vehicle_schema;
use crate::execution::GraphqlRequest;

/// A rule, the documents it accepts and those it refuses.
type Rule = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const RULES: &[Rule] = &[
    (
        "5.1.1 executable definitions only",
        &["{ car { name } }"],
        &[
            "{ car { name } } type Bike { gears: Int }",
            "extend type Car { bell: Int } { car { name } }",
        ],
    ),
    (
        "5.2.1 operation names are unique",
        &[
            "query one { car { name } } query two { car { name } }",
            "query one { car { name } } mutation two { inc }",
        ],
        &[
            "query one { car { name } } query one { car { doors } }",
            "query one { car { name } } mutation one { inc }",
        ],
    ),
    (
        "5.2.2 an anonymous operation is the only one",
        &["{ car { name } }"],
        &[
            "{ car { name } } query more { car { doors } }",
            "{ car { name } } { car { name } }",
        ],
    ),
    (
        "5.2.3 a subscription has one root field",
        &[
            "subscription { ticks }",
            "subscription s { ...one } fragment one on Updates { ticks }",
        ],
        &[
            "subscription { ticks cars { name } }",
            "subscription { ...two } fragment two on Updates { ticks cars { name } }",
            "subscription { __typename }",
            "subscription ($b: Boolean!) { ticks @skip(if: $b) }",
        ],
    ),
    (
        "5.3.1 fields exist on the type",
        &[
            "{ vehicle { name } }",
            "{ vehicle { __typename ... on Car { doors } } }",
            "{ carOrBoat { __typename ... on Vehicle { name } ... on Car { doors } } }",
        ],
        &[
            "{ car { wheelCount } }",
            "{ car { ...f } } fragment f on Car { kind }",
            "{ vehicle { doors } }",
            "{ carOrBoat { name } }",
            "{ nowhere }",
        ],
    ),
    (
        "5.3.2 fields with one key can be merged",
        &[
            "{ car { name name } }",
            "{ car { other: name other: name } }",
            "{ car { canTow(load: LIGHT) canTow(load: LIGHT) } }",
            "query ($l: Load!) { car { canTow(load: $l) canTow(load: $l) } }",
            "{ vehicle { ... on Car { size: doors } ... on Boat { size: length } } }",
            "{ carOrPerson { ... on Car { some: doors } ... on Person { some: age } } }",
            "{ arguments { filter(filter: {name: \"a\", owner: \"b\"}) filter(filter: {owner: \"b\", name: \"a\"}) } }",
        ],
        &[
            "{ car { name: nickname name } }",
            "{ car { canTow(load: LIGHT) canTow(load: HEAVY) } }",
            "query ($l: Load!) { car { canTow(load: LIGHT) canTow(load: $l) } }",
            "query ($a: Load!, $b: Load!) { car { canTow(load: $a) canTow(load: $b) } }",
            "{ car { isElectric isElectric(inYear: 1) } }",
            "{ vehicle { ... on Car { some: doors } ... on Boat { some: nickname } } }",
            "{ vehicle { ... on Car { volume } ... on Boat { volume } } }",
            "{ vehicle { ... on Car { x: owner { name } } ... on Boat { x: name } } }",
            "{ car { owner { x: name } owner { x: age } } }",
            "{ a: car { name } a: boat { name } }",
        ],
    ),
    (
        "5.3.3 leaves have no selection, everything else has one",
        &["{ car { doors } }", "{ arguments { day } }"],
        &[
            "{ car { doors { since } } }",
            "{ car }",
            "{ vehicle }",
            "{ carOrBoat }",
            "{ car { } }",
        ],
    ),
    (
        "5.4.1 arguments exist",
        &[
            "{ car { canTow(load: LIGHT) isElectric(inYear: 1) } }",
            "{ car { name @include(if: true) } }",
        ],
        &[
            "{ car { canTow(weight: 1) } }",
            "{ car { name @include(unless: true, if: true) } }",
            "{ car { name(x: 1) } }",
        ],
    ),
    (
        "5.4.2 arguments are unique",
        &[
            "{ arguments { multiple(x: 1, y: 2) } }",
            "{ arguments { multiple(y: 1, x: 2) } }",
        ],
        &[
            "{ arguments { multiple(x: 1, x: 1, y: 2) } }",
            "{ car { name @skip(if: false, if: false) } }",
        ],
    ),
    (
        "5.4.3 required arguments are provided",
        &[
            "{ arguments { boolean(flag: true) required(flag: true) } }",
            "{ arguments { boolean } }",
            "{ arguments { defaulted } }",
        ],
        &[
            "{ arguments { required } }",
            "{ arguments { required(flag: null) } }",
            "{ arguments { multiple(x: 1) } }",
            "{ car { name @skip } }",
        ],
    ),
    (
        "5.5.1.1 fragment names are unique",
        &["{ car { ...a ...b } } fragment a on Car { name } fragment b on Car { doors }"],
        &["{ car { ...a } } fragment a on Car { name } fragment a on Car { doors }"],
    ),
    (
        "5.5.1.2 fragments are on known types",
        &[
            "{ vehicle { ... on Car { name } } }",
            "{ car { ... @include(if: true) { name } } }",
        ],
        &[
            "{ car { ...f } } fragment f on Bicycle { name }",
            "{ car { ... on Bicycle { name } } }",
        ],
    ),
    (
        "5.5.1.3 fragments are on composite types",
        &[
            "{ carOrBoat { ...f } } fragment f on CarOrBoat { ... on Car { name } }",
            "{ vehicle { ...f } } fragment f on Vehicle { name }",
        ],
        &[
            "{ car { ...f } } fragment f on Int { x }",
            "{ car { ... on Boolean { x } } }",
            "{ car { ... on Load { x } } }",
            "{ car { ... on Filter { name } } }",
        ],
    ),
    (
        "5.5.1.4 fragments are used",
        &["{ car { ...f } } fragment f on Car { name }"],
        &["{ car { name } } fragment f on Car { name }"],
    ),
    (
        "5.5.2.1 spread fragments exist",
        &["{ car { ...f } } fragment f on Car { ...g } fragment g on Car { name }"],
        &["{ car { ...nowhere } }"],
    ),
    (
        "5.5.2.2 fragments have no cycles",
        &["{ car { ...f } } fragment f on Car { owner { vehicles { name } } }"],
        &[
            "{ car { ...f } } fragment f on Car { ...f }",
            "{ car { ...f } } fragment f on Car { name ...g } fragment g on Car { doors ...f }",
            "{ car { ...f } } fragment f on Car { owner { ...p } } fragment p on Person { vehicles { ...f } }",
            "{ car { ... on Car { ...f } } } fragment f on Car { ... { ...f } }",
        ],
    ),
    (
        "5.5.2.3.1 an object in an object is the same object",
        &["{ car { ... on Car { doors } } }"],
        &[
            "{ car { ... on Boat { length } } }",
            "{ car { ...b } } fragment b on Boat { name }",
        ],
    ),
    (
        "5.5.2.3.2 an abstract type in an object has it as a member",
        &["{ car { ... on Vehicle { name } ... on CarOrBoat { ... on Car { doors } } } }"],
        &[
            "{ person { ... on Vehicle { name } } }",
            "{ person { ... on CarOrBoat { __typename } } }",
        ],
    ),
    (
        "5.5.2.3.3 an object in an abstract type is a member",
        &["{ vehicle { ... on Car { doors } } carOrBoat { ... on Boat { length } } }"],
        &[
            "{ vehicle { ... on Person { age } } }",
            "{ carOrBoat { ... on Person { age } } }",
        ],
    ),
    (
        "5.5.2.3.4 abstract types overlap",
        &[
            "{ vehicle { ... on Named { name } } }",
            "{ carOrPerson { ... on Vehicle { name } ... on PersonOrRobot { ... on Person { age } } } }",
            "{ named { ... on CarOrBoat { __typename } } }",
        ],
        &[
            "{ vehicle { ... on PersonOrRobot { __typename } } }",
            "{ personOrRobot { ... on Vehicle { name } } }",
            "{ carOrBoat { ... on PersonOrRobot { __typename } } }",
        ],
    ),
    (
        "5.6.1 values have the expected type",
        &[
            "{ arguments { boolean(flag: true) int(number: 1) text(text: \"1\") id(id: 1) id2: id(id: \"a\") } }",
            "{ arguments { float(number: 1) f2: float(number: 1.5e3) float3: float(number: 1e308) } }",
            "{ arguments { booleans(flags: true) b: booleans(flags: [true, null]) nested(rows: [[1], null]) } }",
            "{ arguments { load(load: HEAVY) day(day: \"2024-01-31\") size(size: {height: 1}) } }",
            "{ arguments { anything(value: {a: [1, \"b\", X]}) pick(pick: {text: \"a\"}) } }",
            "query ($f: Filter = {name: \"a\"}, $i: [Int!] = 1) { find(pick: $f) { name } arguments { ints(numbers: $i) } }",
        ],
        &[
            "{ arguments { int(number: \"1\") } }",
            "{ arguments { int(number: 1.0) } }",
            "{ arguments { int(number: true) } }",
            "{ arguments { int(number: 2147483648) } }",
            "{ arguments { float(number: \"1\") } }",
            "{ arguments { float(number: 1e400) } }",
            "{ arguments { text(text: 1) } }",
            "{ arguments { text(text: SOME) } }",
            "{ arguments { boolean(flag: 1) } }",
            "{ arguments { boolean(flag: \"true\") } }",
            "{ arguments { id(id: 1.5) } }",
            "{ arguments { id(id: true) } }",
            "{ arguments { ints(numbers: [1, null]) } }",
            "{ arguments { ints(numbers: [1, \"2\"]) } }",
            "{ arguments { ints(numbers: [[1]]) } }",
            "{ arguments { int(number: [1]) } }",
            "{ arguments { load(load: \"HEAVY\") } }",
            "{ arguments { load(load: MIDDLING) } }",
            "{ arguments { load(load: 1) } }",
            "{ arguments { size(size: 1) } }",
            "{ arguments { size(size: {height: \"1\"}) } }",
            "query ($i: Int = \"1\") { arguments { int(number: $i) } }",
            "query ($f: Filter = {nme: \"a\"}) { find(pick: $f) { name } }",
            "query ($i: Int! = null) { arguments { int(number: $i) } }",
        ],
    ),
    (
        "5.6.1 values of custom scalars are valid",
        &["query ($d: Day = \"2024-01-31\") { arguments { day(day: $d) } }"],
        &[
            "{ arguments { day(day: \"yesterday\") } }",
            "{ arguments { day(day: 20240131) } }",
            "{ arguments { day(day: TODAY) } }",
            "{ arguments { day(day: [\"2024-01-31\"]) } }",
            "query ($d: Day = \"soon\") { arguments { day(day: $d) } }",
        ],
    ),
    (
        "5.6.2 fields of input objects exist",
        &["{ find(pick: {name: \"Beetle\"}) { name } }"],
        &[
            "{ find(pick: {colour: \"red\"}) { name } }",
            "{ find(pick: {inner: {colour: 1}}) { name } }",
        ],
    ),
    (
        "5.6.3 fields of input objects are unique",
        &["{ find(pick: {name: \"a\", inner: {name: \"b\"}}) { name } }"],
        &[
            "{ find(pick: {name: \"a\", name: \"a\"}) { name } }",
            "{ find(pick: {inner: {owner: \"a\", owner: \"b\"}}) { name } }",
            "query ($f: Filter = {name: \"a\", name: \"b\"}) { find(pick: $f) { name } }",
        ],
    ),
    (
        "5.6.4 required fields of input objects are provided",
        &["{ arguments { size(size: {height: 1, unit: null}) } }"],
        &[
            "{ arguments { size(size: {width: 1}) } }",
            "{ arguments { size(size: {height: null}) } }",
            "{ arguments { size(size: {height: 1, width: null}) } }",
        ],
    ),
    (
        "5.6.5 one-of inputs have exactly one field",
        &[
            "{ arguments { pick(pick: {number: 1}) } }",
            "query ($n: Int!) { arguments { pick(pick: {number: $n}) } }",
            "query ($p: Pick!) { arguments { pick(pick: $p) } }",
            "{ arguments { size(size: {height: 1, picks: [{text: \"a\"}, {size: {height: 2}}]}) } }",
        ],
        &[
            "{ arguments { pick(pick: {}) } }",
            "{ arguments { pick(pick: {number: 1, text: \"a\"}) } }",
            "{ arguments { pick(pick: {number: null}) } }",
            "query ($n: Int) { arguments { pick(pick: {number: $n}) } }",
            "query ($n: Int!, $t: String!) { arguments { pick(pick: {number: $n, text: $t}) } }",
            "{ arguments { size(size: {height: 1, picks: [{text: \"a\", number: 1}]}) } }",
        ],
    ),
    (
        "5.7.1 directives exist",
        &["{ car { name @skip(if: false) @include(if: true) } }"],
        &[
            "{ car { name @sparkle } }",
            "query @sparkle { car { name } }",
        ],
    ),
    (
        "5.7.2 directives are in valid locations",
        &[
            "{ car { ... @include(if: true) { name } ...f @skip(if: false) } } fragment f on Car { doors }",
        ],
        &[
            "query @skip(if: true) { car { name } }",
            "query ($x: Int @skip(if: true)) { arguments { int(number: $x) } }",
            "{ car { ...f } } fragment f on Car @include(if: true) { name }",
            "{ car { name @deprecated } }",
        ],
    ),
    (
        "5.7.3 directives are unique per location",
        &["query ($a: Boolean = true) { car { name @skip(if: $a) } boat { name @skip(if: $a) } }"],
        &[
            "query ($a: Boolean = true, $b: Boolean = false) { car { name @skip(if: $a) @skip(if: $b) } }",
        ],
    ),
    (
        "5.8.1 variables are unique",
        &[
            "query a($x: Boolean) { arguments { boolean(flag: $x) } } query b($x: Boolean) { arguments { boolean(flag: $x) } }",
        ],
        &["query ($x: Boolean, $x: Boolean) { arguments { boolean(flag: $x) } }"],
    ),
    (
        "5.8.2 variables are of input types",
        &[
            "query ($a: Boolean, $b: Filter, $c: [Load!], $d: Day) { arguments { boolean(flag: $a) filter(filter: $b) day(day: $d) } byLoad(loads: $c) { name } }",
        ],
        &[
            "query ($x: Car) { arguments { boolean(flag: $x) } }",
            "query ($x: Vehicle) { arguments { boolean(flag: $x) } }",
            "query ($x: [CarOrBoat!]) { arguments { boolean(flag: $x) } }",
            "query ($x: Nowhere) { arguments { boolean(flag: $x) } }",
        ],
    ),
    (
        "5.8.3 used variables are defined",
        &[
            "query ($x: Boolean) { arguments { ...f } } fragment f on Arguments { boolean(flag: $x) }",
            "query a($x: Boolean) { arguments { ...f } } query b($x: Boolean) { arguments { ...f } } fragment f on Arguments { boolean(flag: $x) }",
        ],
        &[
            "{ arguments { boolean(flag: $x) } }",
            "query ($y: Boolean) { arguments { boolean(flag: $x) b: boolean(flag: $y) } }",
            "{ arguments { ...f } } fragment f on Arguments { boolean(flag: $x) }",
            "{ arguments { ...f } } fragment f on Arguments { ...g } fragment g on Arguments { boolean(flag: $x) }",
            "query a($x: Boolean) { arguments { ...f } } query b { arguments { ...f } } fragment f on Arguments { boolean(flag: $x) }",
            "{ arguments { ints(numbers: [1, $x]) } }",
            "{ find(pick: {name: $x}) { name } }",
            "{ arguments { anything(value: {a: [$x]}) } }",
            "{ car { name @include(if: $x) } }",
        ],
    ),
    (
        "5.8.4 defined variables are used",
        &["query ($x: Boolean!) { car { ...f @include(if: $x) } } fragment f on Car { name }"],
        &[
            "query ($x: Boolean) { car { name } }",
            "query ($x: Boolean) { arguments { ...f } } fragment f on Arguments { boolean }",
            "query a($x: Boolean, $y: Boolean) { arguments { boolean(flag: $x) } }",
        ],
    ),
    (
        "5.8.5 variables are allowed where they are used",
        &[
            "query ($x: Boolean!) { arguments { boolean(flag: $x) required(flag: $x) } }",
            "query ($x: Int) { arguments { float(number: 1) int(number: $x) } }",
            "query ($x: [Boolean]!) { arguments { booleans(flags: $x) } }",
            "query ($x: [Int!]) { arguments { ints(numbers: $x) } }",
            "query ($x: Boolean!) { arguments { booleans(flags: [$x, true]) } }",
            "query ($x: Boolean) { arguments { defaulted(flag: $x) } }",
            "query ($x: Boolean = true) { arguments { required(flag: $x) } }",
            "query ($x: Int!) { arguments { ints(numbers: [$x]) } }",
            "query ($x: Int = 1) { arguments { ints(numbers: [$x]) } }",
            "query ($x: Int) { arguments { size(size: {height: 1, width: $x}) } }",
            "query ($x: Boolean!) { car { name @include(if: $x) } }",
            "query ($x: String) { find(pick: {inner: {name: $x}}) { name } }",
            "query ($x: Boolean) { arguments { booleans(flags: [$x]) } }",
        ],
        &[
            "query ($x: Int) { arguments { boolean(flag: $x) } }",
            "query ($x: Int) { arguments { float(number: $x) } }",
            "query ($x: String!) { arguments { int(number: $x) } }",
            "query ($x: [Boolean]) { arguments { boolean(flag: $x) } }",
            "query ($x: Boolean) { arguments { required(flag: $x) } }",
            "query ($x: Boolean = null) { arguments { required(flag: $x) } }",
            "query ($x: [Int]) { arguments { ints(numbers: $x) } }",
            "query ($x: Int) { arguments { ints(numbers: [$x]) } }",
            "query ($x: Int = null) { arguments { ints(numbers: [$x]) } }",
            "query ($x: Int) { arguments { ints(numbers: $x) } }",
            "query ($x: [Int!]) { arguments { ints(numbers: [$x]) } }",
            "query ($x: Int) { arguments { size(size: {height: $x}) } }",
            "query ($x: [String!]) { find(pick: {name: $x}) { name } }",
            "query ($x: Boolean) { car { name @include(if: $x) } }",
            "query ($x: Int) { arguments { nested(rows: [[$x], $x]) } }",
            "query ($x: ID) { arguments { text(text: $x) } }",
        ],
    ),
];

/// The number of rules, so that none is lost by accident.
const SECTIONS: usize = 34;

#[test]
fn every_rule_refuses_invalid_documents() {
    let engine = vehicle_schema::engine();
    for (rule, _, refused) in RULES {
        for document in *refused {
            let validated = engine.validator().validate(document);
            assert!(
                !validated.errors().is_empty(),
                "{rule}: accepted {document}"
            );
            let code = validated.errors()[0].extensions.code.as_str();
            assert!(
                code.starts_with("GRAPHQL_"),
                "{rule}: {code} for {document}"
            );
        }
    }
}

#[test]
fn every_rule_accepts_valid_documents() {
    let engine = vehicle_schema::engine();
    for (rule, accepted, _) in RULES {
        for document in *accepted {
            let validated = engine.validator().validate(document);
            assert_eq!(validated.errors(), [], "{rule}: refused {document}");
        }
    }
}

#[test]
fn no_rule_is_missing() {
    assert_eq!(RULES.len(), SECTIONS);
    assert!(
        RULES
            .iter()
            .all(|(_, accepted, refused)| !accepted.is_empty() && !refused.is_empty())
    );
}

/// The message of the first error, as a caller sees it.
async fn message(query: &str, hide_schema: bool) -> String {
    let mut request = GraphqlRequest::new(query);
    request.hide_schema = hide_schema;
    let engine = vehicle_schema::engine();
    let response = engine.execute(request, |request| request).await;
    response.errors[0].message.clone()
}

#[tokio::test]
async fn similar_names_are_suggested() {
    for (query, suggestion) in [
        ("{ car { nmae } }", "; did you mean `name`?"),
        ("{ vehicle { doors } }", "; did you mean `... on Car`?"),
        (
            "{ find(pik: {name: \"a\"}) { name } }",
            "; did you mean `pick`?",
        ),
        (
            "{ find(pick: {nme: \"a\"}) { name } }",
            "; did you mean `name`?",
        ),
        (
            "{ car { name } } fragment f on Cars { name }",
            "; did you mean `Car`",
        ),
    ] {
        let found = message(query, false).await;
        assert!(found.contains(suggestion), "{query}: {found}");
    }
}

#[tokio::test]
async fn names_without_resemblance_have_no_suggestion() {
    let found = message("{ car { somethingElse } }", false).await;
    assert!(!found.contains("did you mean"), "{found}");
}

/// Suggestions would tell what introspection does not.
#[tokio::test]
async fn a_hidden_schema_is_not_suggested() {
    let found = message("{ car { nmae } }", true).await;
    assert!(
        found.contains("`nmae`") && !found.contains("did you mean"),
        "{found}"
    );
}

#[test]
fn errors_have_locations() {
    let engine = vehicle_schema::engine();
    let validated = engine
        .validator()
        .validate("{\n  car {\n    wheelCount\n  }\n}");
    let mut locations = validated.errors().iter().flat_map(|error| &error.locations);
    assert!(locations.any(|location| (location.line, location.column) == (3, 5)));
    let validated = engine
        .validator()
        .validate("{ find(pick: {name: 1, name: \"a\"}) { name } }");
    assert!(
        validated
            .errors()
            .iter()
            .all(|error| !error.locations.is_empty())
    );
}
