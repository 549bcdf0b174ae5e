//! Tests with mappings and rows of an invented shop.

use proptest::prelude::*;
use serde_json::json;
use vitrine_model::clock::Timestamp;
use vitrine_model::product::{Details, MediaKind, ProductStatus};
use vitrine_model::spec::{Spec, SpecValue, check};
use vitrine_model::unit::UnitTable;

use super::*;

mod alone;
mod alternatives;
mod arithmetic;
mod bounds;
mod examples;
mod feed;
mod files;
mod guide;
mod mistakes;
mod owned;
mod schema;
mod several;
mod values;

/// A minimal mapping with further settings.
fn with(more: &str) -> String {
    format!(
        "version = 1\nsystem = \"shop\"\n{more}\n[product]\nexternal_id = \"id\"\nname = \"name\"\n\
         kind = {{ value = \"lamp\" }}\ncategory = {{ value = [\"Lamps\"] }}\n"
    )
}

fn specs_with(more: &str) -> String {
    format!("{}[product.specs]\n{more}", with(""))
}

fn parse(text: &str) -> Result<Mapping, MappingError> {
    Mapping::parse(text, &mut |name| match name {
        "units.csv" => {
            Ok(b"category,path,unit\nlamp,glow,lm\nlamp,reach,ft|m\ntable,glow,W\n".to_vec())
        }
        name => Err(MappingError::setting(name, "is not here")),
    })
}

fn refusal(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

/// Maps a row to a product, with its problems.
fn product(mapping: &str, row: &Value) -> (Option<ProductDraft>, Problems) {
    let mapping = parse(mapping).unwrap();
    let mut mapped = mapping.products(&mut MappingCache::default(), row.into());
    let mapped = mapped.pop().expect("each row is a product");
    (mapped.draft, mapped.problems)
}

/// Maps a row to specs as `key=value`, or to its problems.
fn specs(settings: &str, mut row: Value) -> Result<Vec<String>, Vec<String>> {
    row["id"] = json!("1");
    row["name"] = json!("Lamp");
    let settings = format!("exclude = [\"id\", \"name\"]\n{settings}");
    let (draft, problems) = product(&specs_with(&settings), &row);
    let messages = |rejections: &[vitrine_model::import::Rejection]| {
        rejections
            .iter()
            .map(|r| format!("{}: {}", r.field, r.reason))
            .collect::<Vec<_>>()
    };
    match draft {
        Some(draft) if problems.dropped.is_empty() => Ok(draft.specs.iter().map(shown).collect()),
        Some(_) => Err(messages(&problems.dropped)),
        None => Err(messages(&problems.fatal)),
    }
}

fn shown(spec: &Spec) -> String {
    let qualifier = spec
        .qualifier
        .as_ref()
        .map(|q| format!("@{q}"))
        .unwrap_or_default();
    let quotes = if matches!(spec.value, SpecValue::Text(_)) {
        "'"
    } else {
        ""
    };
    format!(
        "{}{qualifier}={quotes}{}{quotes}",
        spec.key,
        spec.value.display()
    )
}

#[test]
fn shipped_mappings_are_valid() {
    for (name, _) in shipped() {
        let mapping = Mapping::load(name).unwrap();
        assert!(mapping.notice().is_some(), "{name}");
    }
    let error = Mapping::load("opendbb").unwrap_err().to_string();
    assert!(
        error.contains("opendb, clothing-reviews, fine-food-reviews"),
        "{error}"
    );
}

#[test]
fn the_example_in_the_documentation_is_valid() {
    let text = include_str!("../../mappings/README.md");
    let (_, example) = text.split_once("```toml").unwrap();
    // Behind the fence stands the name of the file.
    let (_, example) = example.split_once('\n').unwrap();
    parse(example.split("```").next().unwrap()).unwrap();
}

#[test]
fn invalid_settings_are_refused_with_path_and_known_names() {
    let unknown = refusal(&with("[defaults]\nunknwon = \"\""));
    assert!(unknown.starts_with("defaults.unknwon: there is no such setting; known here: "));
    assert!(unknown.contains("unknown, values"), "{unknown}");
    assert!(refusal("system = \"a\"").starts_with("version: must be 1"));
    assert!(refusal(&with("").replace("\"shop\"", "\"my shop\"")).starts_with("system: "));
    assert!(refusal(&with("format = \"html\"")).contains("not one of auto, jsonl, json, csv"));
    assert!(refusal("version = 1\nsystem = \"a\"").starts_with("product: "));
    assert!(
        refusal(&with("").replace("external_id = \"id\"\n", ""))
            .starts_with("product.external_id: is required")
    );
    assert!(
        refusal(&with("").replace("\"name\"", "{ from = \"a\", value = 1 }"))
            .contains("exactly one of")
    );
    assert!(refusal(&with("").replace("\"name\"", "\"a..b\"")).contains("a step is empty"));
    assert!(
        refusal(&specs_with("rules = [{ key = \"a\" }]"))
            .starts_with("product.specs.rules[0].path")
    );
    assert!(
        refusal(&specs_with(
            "rules = [{ path = \"a\", unit = \"furlong\" }]"
        ))
        .contains("furlong")
    );
    assert!(refusal(&specs_with("rename = { a = \"Not A Key\" }")).contains("is not a spec key"));
    assert!(refusal("version = ").contains("not valid TOML"));
}

#[test]
fn unknown_units_are_refused_unless_a_rule_decides() {
    let table = "unit_file = \"units.csv\"\ncategory = \"kind\"\n";
    let error = refusal(&specs_with(table));
    assert!(error.contains("\"ft|m\" (lamp, reach)"), "{error}");
    let ruled = format!("{table}rules = [{{ path = \"reach\", unit = \"m\" }}]");
    let lamp = specs(&ruled, json!({"kind": "lamp", "glow": 800, "reach": 2.5})).unwrap();
    assert_eq!(lamp, ["kind='lamp'", "glow=800 lm", "reach=2.5 m"]);
    let table = specs(&ruled, json!({"kind": "table", "glow": 5})).unwrap();
    assert_eq!(table, ["kind='table'", "glow=5 W"]);
}

/// A mapping with a rule for every field of a product.
const WHOLE_PRODUCT: &str = r#"
        version = 1
        system = "shop"
        [defaults]
        unknown = ["n/a"]
        [product]
        external_id = "id"
        sku = { template = "L-{id}" }
        name = ["title.long", "title.short"]
        description = { from = "text", html = "once" }
        brand = { from = "maker", spellings = ["LumiCo"] }
        kind = { value = "electronics" }
        status = { from = "state", values = { on = "active", off = "archived" } }
        created_at = { from = "since", date = "%d.%m.%Y" }
        category = { from = "path", separator = ">" }
        supplier = { name = "dealer.name", country = "dealer.land" }
        price = { amount = { from = "price", decimal = ",", thousands = "." }, currency = { value = "EUR" } }
        [[product.media]]
        each = "images"
        url = "src"
        alt = "text"
        [[product.media]]
        url = "manual"
        kind = "document"
        [product.details]
        energy_label = "label"
        warranty_months = { from = "warranty", type = "number" }
        compatibility = { each = "fits" }
        "#;

#[test]
fn a_mapping_fills_every_field_of_a_product() {
    let row = json!({
        "id": 4_294_967_296_u64, "title": {"long": "n/a", "short": " Desk \u{a0} lamp "},
        "text": "Bright.<br/>Very &amp; truly.", "maker": "LUMI CO", "state": "off", "since": "31.05.2024",
        "path": "Light > Desk lamps > ", "dealer": {"name": "Dealer", "land": "de"}, "price": "1.234,50",
        "images": [{"src": "https://x.example/1.jpg", "text": "front"}, {"src": "n/a"}],
        "manual": "https://x.example/m.pdf", "label": "A", "warranty": 24, "fits": ["E27", "E14"],
    });
    let (draft, problems) = product(WHOLE_PRODUCT, &row);
    assert_eq!(problems, Problems::default());
    let draft = draft.unwrap();
    assert_eq!(draft.source.external_id, "4294967296");
    assert_eq!(draft.sku.as_deref(), Some("L-4294967296"));
    assert_eq!(
        (draft.name.as_deref(), draft.brand.as_deref()),
        (Some("Desk lamp"), Some("LumiCo"))
    );
    assert_eq!(draft.description.as_deref(), Some("Bright.\nVery & truly."));
    assert_eq!(draft.status, Some(ProductStatus::Archived));
    assert_eq!(
        draft.created_at.unwrap().to_string(),
        "2024-05-31T00:00:00.000Z"
    );
    assert_eq!(draft.category, ["Light", "Desk lamps"]);
    assert_eq!(draft.supplier.unwrap().country.as_deref(), Some("DE"));
    assert_eq!(draft.price.unwrap().minor, 123_450);
    assert_eq!(draft.media.len(), 2);
    assert_eq!(draft.media[0].alt.as_deref(), Some("front"));
    assert_eq!(draft.media[1].kind, MediaKind::Document);
    let Details::Electronics(details) = draft.details else {
        panic!("{:?}", draft.details)
    };
    assert_eq!(
        (details.warranty_months, details.compatibility.len()),
        (Some(24), 2)
    );
}

#[test]
fn required_fields_are_reported_as_missing() {
    let (draft, problems) = product(&with(""), &json!({"name": "", "id": null}));
    assert_eq!(draft, None);
    let fields: Vec<&str> = problems.fatal.iter().map(|r| r.field.as_str()).collect();
    assert_eq!(fields, ["id", "name"]);
}

#[test]
fn an_invalid_value_rejects_the_line_or_is_dropped() {
    let row = json!({"id": 1, "name": "Lamp", "price": "cheap"});
    let price = "[product.price]\namount = \"price\"\ncurrency = { value = \"EUR\" }";
    let (draft, problems) = product(&format!("{}{price}", with("")), &row);
    assert_eq!(draft, None);
    assert_eq!(problems.fatal[0].field, "price");
    let lenient = with("[defaults]\non_bad = \"drop_value\"");
    let (draft, problems) = product(&format!("{lenient}{price}"), &row);
    assert_eq!(draft.unwrap().price, None);
    assert!(problems.fatal.is_empty());
    assert_eq!(problems.dropped[0].reason, "\"cheap\" is not a number");
}

#[test]
fn details_of_another_kind_are_refused() {
    let mapping = format!("{}[product.details]\nwarranty_months = \"w\"", with(""));
    let (draft, problems) = product(&mapping, &json!({"id": 1, "name": "Lamp", "w": "24"}));
    assert_eq!(draft, None);
    assert!(
        problems.fatal[0]
            .reason
            .contains("kind \"lamp\" has no details")
    );
    let (draft, _) = product(&mapping, &json!({"id": 1, "name": "Lamp"}));
    assert_eq!(draft.unwrap().details, Details::Generic);
}

#[test]
fn every_path_becomes_a_spec() {
    let row = json!({
        "color": ["Red", "Blue", "Red", ""], "size_mm": {"width": 12.5, "depth": null}, "dimmable": true,
        "energyClass": " A\t+ ", "sockets": [{"type": "E27", "n": 2}, {"type": "E14"}], "empty": [],
    });
    let found = specs("unit_suffixes = { _mm = \"mm\" }", row).unwrap();
    assert_eq!(
        found,
        [
            "color='Red'",
            "color='Blue'",
            "size_width=12.5 mm",
            "dimmable=yes",
            "energy_class='A +'",
            "sockets_type='E27'",
            "sockets_n=2",
            "sockets_type='E14'"
        ]
    );
}

#[test]
fn paths_are_included_renamed_and_excluded() {
    let row = || json!({"a": {"x": 1, "y": 2}, "b": 3, "c": {"d": {"e": 4}}});
    let only = |settings: &str| specs(settings, row()).unwrap();
    assert_eq!(only("include = [\"a.x\", \"c\"]"), ["a_x=1", "c_d_e=4"]);
    assert_eq!(
        only("auto = false\nrename = { \"c.d.e\" = \"depth\", b = \"breadth\" }"),
        ["breadth=3", "depth=4"]
    );
    assert_eq!(
        only("keys = \"last\"\nrules = [{ path = \"**.y\", skip = true }]"),
        ["x=1", "b=3", "e=4"]
    );
    assert_eq!(
        only("auto = false\nunits = { \"a.x\" = \"cm\" }"),
        ["a_x=1 cm"]
    );
}

#[test]
fn renames_and_rules_depend_on_the_category() {
    let settings = "category = \"kind\"\nrename_in = { lamp = { size = \"lamp_size\" } }\n\
                    rules = [{ path = \"size\", category = \"shoe\", type = \"text\", key = \"shoe_size\" }]";
    assert_eq!(
        specs(settings, json!({"kind": "lamp", "size": 4})).unwrap()[1],
        "lamp_size=4"
    );
    assert_eq!(
        specs(settings, json!({"kind": "shoe", "size": 4})).unwrap()[1],
        "shoe_size='4'"
    );
    assert_eq!(
        specs(settings, json!({"kind": "desk", "size": 4})).unwrap()[1],
        "size=4"
    );
}

#[test]
fn quantities_are_read_from_text() {
    let rule = |more: &str| format!("rules = [{{ path = \"v\", type = \"quantity\", {more} }}]");
    let one = |more: &str, value: Value| specs(&rule(more), json!({"v": value}));
    assert_eq!(one("", json!("14 nm")).unwrap(), ["v=14 nm"]);
    assert_eq!(one("unit = \"%\"", json!("75")).unwrap(), ["v=75%"]);
    assert_eq!(one("unit = \"g\"", json!("1.5 lb")).unwrap(), ["v=1.5 lb"]);
    assert_eq!(
        one("decimal = \",\", thousands = \".\"", json!("1.234,5 g")).unwrap(),
        ["v=1234.5 g"]
    );
    assert_eq!(
        one("unit = \"in\"", json!("20.5\"")).unwrap(),
        ["v=20.5 in"]
    );
    assert_eq!(
        one("cut_at = \"/\"", json!("5 V / 12 V")).unwrap(),
        ["v=5 V", "v=12 V"]
    );
    for (bad, reason) in [
        ("80KB per core", "is not a quantity"),
        ("150", "no unit"),
        ("1e400 W", "is not a quantity"),
    ] {
        let problems = one("", json!(bad)).unwrap_err();
        assert!(problems[0].contains(reason), "{problems:?}");
    }
    let german = "decimal = \",\", thousands = \".\"";
    let problems = one(german, json!("0.375 l")).unwrap_err();
    let reason = "\"0.375 l\" is not a quantity: \"0.375\" has '.', but not between groups of three digits such as 1.234,5";
    assert!(problems[0].contains(reason), "{problems:?}");
    let problems = one("unit = \"g\"", json!("5 mm")).unwrap_err();
    assert!(
        problems[0].contains("measures length, not mass"),
        "{problems:?}"
    );
}

#[test]
fn composite_text_is_split() {
    let rule = "rules = [{ path = \"size\", split = [\"{depth} x {width} x {height}\", \"⌀ {width}\"], unit = \"mm\", on_bad = \"drop_value\" }]";
    let one = |text: &str| specs(rule, json!({"size": text}));
    assert_eq!(
        one("385 mm x 275 mm x 36.5 cm").unwrap(),
        ["depth=385 mm", "width=275 mm", "height=36.5 cm"]
    );
    assert_eq!(one("⌀20").unwrap(), ["width=20 mm"]);
    assert_eq!(one("").unwrap(), [] as [String; 0]);
    assert!(one("wide").unwrap_err()[0].contains("does not match the pattern"));
    assert!(one("1 x 2 x 3 kg").unwrap_err()[0].contains("height"));
}

#[test]
fn lists_are_counted_joined_or_filled_into_templates() {
    let row = || json!({"slots": [{"gen": "4", "lanes": 16}, {"gen": null, "lanes": 1}, {"gen": "5"}], "tags": ["a", "b"]});
    let only = |rule: &str| specs(&format!("auto = false\nrules = [{{ {rule} }}]"), row()).unwrap();
    assert_eq!(only("path = \"slots\", list = \"count\""), ["slots=3"]);
    assert_eq!(
        only(
            "path = \"slots\", count_key = \"slots\", key = \"slot\", template = \"[Gen {gen} ]x{lanes}\""
        ),
        ["slots=3", "slot='Gen 4 x16'", "slot='x1'"]
    );
    assert_eq!(
        only("path = \"slots[].lanes\", key = \"lanes\""),
        ["lanes=16", "lanes=1"]
    );
    assert_eq!(
        only("path = \"tags\", list = \"join\", separator = \" + \""),
        ["tags='a + b'"]
    );
    assert_eq!(only("path = \"tags\", list = \"first\""), ["tags='a'"]);
}

#[test]
fn objects_may_contain_key_value_unit_and_qualifier() {
    let rule = "auto = false\nrules = [{ path = \"attributes\", key_from = \"name\", value_from = \"value\", unit_from = \"unit\", qualifier_from = \"region\" }]";
    let row = json!({"attributes": [
        {"name": "Net Weight", "value": "1.5", "unit": "kg"}, {"name": "Release", "value": "May", "region": "EU"},
        {"name": "Empty", "value": ""},
    ]});
    assert_eq!(
        specs(rule, row).unwrap(),
        ["net_weight=1.5 kg", "release@EU='May'"]
    );
    let strange = specs(rule, json!({"attributes": [{"name": "🙂", "value": 1}]})).unwrap_err();
    assert!(
        strange[0].contains("no spec key can be derived"),
        "{strange:?}"
    );
}

#[test]
fn a_value_can_be_read_twice() {
    let rules = "rules = [{ path = \"process\", also = true, split = \"{size} nm {_}\", unit = \"nm\", on_bad = \"ignore\" }]";
    assert_eq!(
        specs(rules, json!({"process": "14 nm+"})).unwrap(),
        ["process='14 nm+'", "size=14 nm"]
    );
    assert_eq!(
        specs(rules, json!({"process": "Intel 7"})).unwrap(),
        ["process='Intel 7'"]
    );
}

#[test]
fn invalid_keys_and_huge_numbers_are_refused_with_reasons() {
    let problems = specs(
        "",
        json!({"": 1, "a.b": {"$gt": 2}, "9": 3, "id2": u64::MAX}),
    )
    .unwrap_err();
    let expected = [
        "\"\": no spec key can be derived from \"\"; set one by rename, or in a rule by key or key_values",
        "id2: 18446744073709551615 is too large to be stored exactly; map it as text",
    ];
    assert_eq!(problems, expected);
    let renamed = "rename = { '\"\"' = \"nameless\", 9 = \"nine\" }\nrules = [{ path = \"id2\", type = \"text\" }]";
    let found = specs(
        renamed,
        json!({"": 1, "a.b": {"$gt": 2}, "9": 3, "id2": u64::MAX}),
    )
    .unwrap();
    assert_eq!(
        found,
        [
            "nameless=1",
            "a_b_gt=2",
            "nine=3",
            "id2='18446744073709551615'"
        ]
    );
}

#[test]
fn a_typed_key_accepts_numbers_as_text_and_refuses_other_text() {
    let typed = "rules = [{ path = \"v\", type = \"number\", on_bad = \"drop_value\" }]";
    assert_eq!(specs(typed, json!({"v": 5})).unwrap(), ["v=5"]);
    assert_eq!(specs(typed, json!({"v": " 5.0 "})).unwrap(), ["v=5"]);
    assert_eq!(
        specs(typed, json!({"v": "many"})).unwrap_err(),
        ["v: \"many\" is not a number"]
    );
}

#[test]
fn too_many_specs_reject_the_line() {
    let tags: Vec<String> = (0..201).map(|n| format!("t{n}")).collect();
    assert_eq!(
        specs("", json!({"tags": tags})).unwrap_err(),
        ["specs: there are more than 200"]
    );
}

const REVIEWS: &str = r#"
    version = 1
    system = "shop"
    [review]
    external_id = "id"
    product = "product"
    rating = { from = "stars", decimal = "," }
    title = "title"
    body = { from = "text", html = "once" }
    recommended = "would_buy"
    helpful = "up"
    votes = "votes"
    created_at = { from = "at", date = ["unix", "day"] }
    [review.author]
    id = "user"
    name = { template = "Customer {user:-2}" }
    [review.dimensions]
    fit = "fit"
    "#;

fn review(row: &Value) -> Result<ReviewDraft, Vec<String>> {
    let mapping = parse(REVIEWS).unwrap();
    assert_eq!(mapping.output(), MappingOutput::Reviews);
    let mapped = mapping
        .reviews(&mut MappingCache::default(), row.into())
        .pop()
        .unwrap();
    mapped.draft.ok_or_else(|| {
        mapped
            .problems
            .fatal
            .iter()
            .map(|r| format!("{}: {}", r.field, r.reason))
            .collect()
    })
}

#[test]
fn a_mapping_fills_every_field_of_a_review() {
    let row = json!({"id": "7", "product": "P", "stars": "5,0", "title": "Good  one", "text": "One<br />two  ",
        "would_buy": "1", "up": "3", "votes": 5, "at": "86400", "user": "ABC", "fit": 4});
    let draft = review(&row).unwrap();
    assert_eq!(
        (
            draft.origin.system.as_str(),
            draft.product.external_id.as_str()
        ),
        ("shop", "P")
    );
    assert_eq!(
        (draft.rating.get(), draft.helpful, draft.unhelpful),
        (5, 3, 2)
    );
    assert_eq!(
        (draft.title.as_str(), draft.body.as_str()),
        ("Good one", "One\ntwo")
    );
    assert_eq!(draft.recommended, Some(true));
    let author = draft.author.unwrap();
    assert_eq!(
        (author.id.0.as_str(), author.name.as_str()),
        ("shop:ABC", "Customer BC")
    );
    assert_eq!(draft.dimensions["fit"].get(), 4);
    assert_eq!(
        draft.created_at.unwrap().to_string(),
        "1970-01-02T00:00:00.000Z"
    );
}

#[test]
fn most_fields_of_a_review_are_optional() {
    let draft = review(&json!({"id": 1, "product": "P", "stars": 1})).unwrap();
    assert_eq!(
        (draft.author, draft.created_at, draft.body.as_str()),
        (None, None, "")
    );
}

#[test]
fn invalid_reviews_are_refused_with_reasons() {
    let problems = |row: Value| review(&row).unwrap_err().join("; ");
    assert_eq!(problems(json!({})), "id: is missing; product: is missing");
    assert_eq!(
        problems(json!({"id": 1, "product": "P"})),
        "stars: is missing"
    );
    assert!(problems(json!({"id": 1, "product": "P", "stars": 6})).contains("from 1 to 5, not 6"));
    assert!(
        problems(json!({"id": 1, "product": "P", "stars": 4.5}))
            .contains("4.5 is not a whole number")
    );
    let votes = json!({"id": 1, "product": "P", "stars": 4, "up": 3, "votes": 2});
    assert!(problems(votes).contains("fewer than 3 helpful"));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ a-cA-C0-9.x°\"µ\u{a0}<&;-]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::hash_map(".{0,6}|[a-c]", inner, 0..5)
                .prop_map(|object| Value::Object(object.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_row_has_valid_specs_or_is_refused(value in any_json()) {
        let settings = "[defaults]\non_bad = \"drop_value\"";
        let rules = "[product.specs]\nunit_suffixes = { x = \"mm\" }\n[[product.specs.rules]]\npath = \"v.a\"\n\
                     split = \"{one} x {two}\"\n[[product.specs.rules]]\npath = \"v.b\"\ntype = \"quantity\"\n\
                     [[product.specs.rules]]\npath = \"v.c\"\ntemplate = \"{a}[, {b}]\"\nlist = \"join\"\n";
        let row = json!({"id": 1, "name": "x", "v": value});
        let (draft, problems) = product(&format!("{}{rules}", with(settings)), &row);
        let units = UnitTable::built_in();
        match draft {
            Some(draft) => for spec in &draft.specs { prop_assert_eq!(check(spec, &units), Ok(())); },
            None => prop_assert!(!problems.fatal.is_empty()),
        }
    }

    #[test]
    fn mapping_a_row_again_returns_the_same_product(value in any_json()) {
        let mapping = parse(&with("[defaults]\non_bad = \"drop_value\"")).unwrap();
        let row = json!({"id": 1, "name": "x", "v": value});
        let mut cache = MappingCache::default();
        let mut again = || mapping.products(&mut cache, (&row).into()).pop().unwrap().draft;
        prop_assert_eq!(again(), again());
    }
}
