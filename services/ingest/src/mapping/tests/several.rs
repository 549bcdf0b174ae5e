//! Rows that are several products and reviews, and rows that are none.

use serde_json::json;

use super::*;

const SHOP: &str = r#"
    version = 1
    system = "shop"
    [product]
    where = { type = { not = "review" } }
    external_id = "id"
    name = "name"
    kind = { value = "lamp" }
    category = { value = "Lamps" }
    [[review]]
    where = { type = "review" }
    external_id = "id"
    product = "of"
    rating = "stars"
    [[review]]
    each = "reviews"
    external_id = { template = "{^.id}-{^item}" }
    product = "^.id"
    rating = "stars"
    [[review]]
    each = "reviews[].replies"
    external_id = { template = "{^line}-{^item}" }
    product = "^.id"
    rating = "stars"
    "#;

fn ids(mapping: &Mapping, row: &Value) -> (Vec<String>, Vec<String>) {
    let line = json!(9);
    let row = Row::new(row, &line);
    let products = mapping
        .products(&mut MappingCache::default(), row)
        .into_iter();
    let products = products.map(|mapped| mapped.draft.unwrap().source.external_id);
    let reviews = mapping
        .reviews(&mut MappingCache::default(), row)
        .into_iter()
        .map(|mapped| {
            if let Some(draft) = mapped.draft {
                let (id, product) = (draft.origin.external_id, draft.product.external_id);
                return format!("{id} of {product}");
            }
            let reason = &mapped.problems.fatal[0];
            format!("{}: {}", reason.field, reason.reason)
        });
    (products.collect(), reviews.collect())
}

#[test]
fn conditions_and_lists_make_products_and_reviews_of_rows() {
    let mapping = parse(SHOP).unwrap();
    assert_eq!(mapping.output(), MappingOutput::Several);
    let row = json!({"id": 7, "name": "Lamp", "reviews": [
        {"stars": 5, "replies": [{"stars": 1}]}, {"stars": 9},
    ]});
    let (products, reviews) = ids(&mapping, &row);
    assert_eq!(products, ["7"]);
    assert_eq!(
        reviews,
        [
            "7-1 of 7",
            "reviews[1].stars: a rating is a whole number of stars from 1 to 5, not 9",
            "9-1 of 7"
        ]
    );
    let (products, reviews) = ids(
        &mapping,
        &json!({"type": "review", "id": 8, "of": 7, "stars": 4}),
    );
    assert_eq!((products.len(), reviews), (0, vec!["8 of 7".to_owned()]));
}

/// A mapping of nested objects that names values of all objects around a value.
const NESTED: &str = r#"
    version = 1
    system = "shop"
    [product]
    each = "producers[].wines"
    where_item = { "^producers.closed" = { known = false } }
    external_id = "id"
    name = { template = "{^producers.name} {name}" }
    kind = { value = "wine" }
    category = ["^wines.color"]
    media = { each = "photos", url = "src", alt = "^wines.name" }
    [[product.specs.rules]]
    path = "year"
    where = { "^producers.name" = "Abel" }
    also = true
    key = "region"
    template = "{^producers.region}"
    [review]
    each = "producers[].wines[].ratings[]"
    external_id = { template = "{^wines.id}-{^item}" }
    product = "^wines.id"
    rating = "stars"
    author = { name = "^producers.name" }
"#;

#[test]
fn values_of_all_items_around_can_be_named() {
    let mapping = parse(NESTED).unwrap();
    let row = json!({"producers": [
        {"name": "Abel", "region": "Baden", "wines": [
            {"id": "w1", "name": "Gutedel", "color": "White", "year": 2024,
             "photos": [{"src": "https://e.org/1.jpg"}], "ratings": [{"stars": 4}, {"stars": 9}]},
        ]},
        {"name": "Bo", "wines": [{"id": "w2", "name": "Rot", "color": "Red", "year": 2020,
                                  "ratings": {"stars": 5}}]},
        {"closed": true, "wines": [{"id": "w3"}]},
    ]});
    let products = mapping.products(&mut MappingCache::default(), (&row).into());
    let drafts: Vec<ProductDraft> = products.into_iter().map(|one| one.draft.unwrap()).collect();
    assert_eq!(drafts.len(), 2, "{drafts:?}");
    let [first, second] = &drafts[..] else {
        unreachable!()
    };
    assert_eq!(first.name.as_deref(), Some("Abel Gutedel"));
    assert_eq!(
        (first.category.as_slice(), second.category.as_slice()),
        (&["White".to_owned()][..], &["Red".to_owned()][..])
    );
    assert_eq!(first.media[0].alt.as_deref(), Some("Gutedel"));
    let region = |draft: &ProductDraft| {
        draft
            .specs
            .iter()
            .map(shown)
            .any(|spec| spec == "region='Baden'")
    };
    assert!(region(first) && !region(second));
    let (_, reviews) = ids(&mapping, &row);
    assert_eq!(
        reviews,
        [
            "w1-1 of w1",
            "producers[0].wines[0].ratings[1].stars: a rating is a whole number of stars from 1 to 5, not 9",
            "w2-3 of w2",
        ]
    );
}

#[test]
fn a_list_that_is_not_around_is_refused_with_those_that_are() {
    let review = |each: &str, product: &str| {
        format!(
            "version = 1\nsystem = \"shop\"\n[review]\n{each}external_id = \"id\"\nrating = \"r\"\nproduct = {product}\n"
        )
    };
    let nested = "each = \"wines[].ratings\"\n";
    let error = refusal(&review(nested, "\"^wine.id\""));
    assert!(
        error.starts_with("review.product: \"^wine.id\": "),
        "{error}"
    );
    assert!(error.ends_with("; lists around: wines, ratings"), "{error}");
    let error = refusal(&review("", "\"^wines.id\""));
    assert!(error.ends_with("^item that of the item"), "{error}");
    assert!(parse(&review(nested, "{ template = \"{^wines.id}\" }")).is_ok());
    let condition = refusal(&review(
        &format!("where = {{ \"^wines.id\" = 1 }}\n{nested}"),
        "\"id\"",
    ));
    assert!(condition.starts_with("review.where."), "{condition}");
}

#[test]
fn products_are_derived_from_reviews_unless_a_condition_selects_rows() {
    let both = |product: &str, review: &str| {
        let text = SHOP.split("[[review]]").next().unwrap();
        let text = text.replace("where = { type = { not = \"review\" } }", product);
        parse(&format!(
            "{text}[review]\n{review}\nexternal_id = \"row\"\nproduct = \"id\"\nrating = \"stars\"\n"
        ))
    };
    let output = |product: &str, review: &str| both(product, review).unwrap().output();
    assert_eq!(output("", ""), MappingOutput::ReviewsAndProducts);
    assert_eq!(
        output("", "where = { text = { known = true } }"),
        MappingOutput::Several
    );
    assert_eq!(
        output("derived = true", "where = { text = { known = true } }"),
        MappingOutput::ReviewsAndProducts
    );
    assert_eq!(output("derived = false", ""), MappingOutput::Several);
    let error = both("derived = true", "each = \"reviews\"")
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("product.derived: excludes each"),
        "{error}"
    );
}

fn joined(settings: &str, file: &str) -> Result<Mapping, MappingError> {
    let text = format!(
        "{}\nbrand = \"maker.name\"\n[[product.media]]\neach = \"images\"\nurl = \"url\"\n",
        with(settings)
    );
    Mapping::parse(&text, &mut |name| match name {
        "makers.csv" => Ok(b"code,name\nT,Tarn\nL,Lumi\n".to_vec()),
        "images.jsonl" => Ok(file.as_bytes().to_vec()),
        name => Err(MappingError::setting(name, "is not here")),
    })
}

const JOINS: &str = r#"
[join.maker]
file = "makers.csv"
key = "code"
from = { from = "maker_code", values = { "Tarn GmbH" = "T" } }
[join.images]
file = "images.jsonl"
key = "sku"
from = "id"
many = true
"#;

const IMAGES: &str = "{\"sku\":1,\"url\":\"https://e.org/1\"}\n\n{\"sku\":\"1\",\"url\":\"https://e.org/2\"}\n\
                      {\"sku\":2,\"url\":\"https://e.org/3\"}\n";

#[test]
fn rows_of_other_files_are_added_by_a_key() {
    let mapping = joined(JOINS, IMAGES).unwrap();
    let draft = |mut row: Value| {
        mapping.join(&mut row, &json!(1)).unwrap();
        mapping
            .products(&mut MappingCache::default(), (&row).into())
            .pop()
            .unwrap()
            .draft
            .unwrap()
    };
    let lamp = draft(json!({"id": 1, "name": "Lamp", "maker_code": "Tarn GmbH"}));
    assert_eq!((lamp.brand.as_deref(), lamp.media.len()), (Some("Tarn"), 2));
    let desk = draft(json!({"id": 3, "name": "Desk", "maker_code": "?"}));
    assert_eq!((desk.brand, desk.media.len()), (None, 0));
    assert_eq!(
        mapping.unpaired(),
        [("images".to_owned(), 1), ("maker".to_owned(), 1)]
    );
    let mut row = json!({"id": 1, "name": "Lamp", "images": []});
    assert!(
        mapping
            .join(&mut row, &json!(1))
            .unwrap_err()
            .reason
            .contains("another name")
    );
}

/// A mapping with joins of these files.
fn joins(settings: &str) -> Result<Mapping, MappingError> {
    Mapping::parse(&with(settings), &mut |name| {
        Ok(match name {
            "facts.csv" => b"product,code,value\n1,C1,red\n1,C2,40\n".to_vec(),
            "terms.csv" => b"code,term,owner\nC1,Colour,T\nC2,Height,\n".to_vec(),
            _ => b"code,name\nT,Tarn\n".to_vec(),
        })
    })
}

#[test]
fn joins_are_made_in_the_order_in_which_they_need_each_other() {
    let settings = "[join.after]\nfile = \"makers.csv\"\nkey = \"code\"\nfrom = \"first.owner\"\n\
                    [join.first]\nfile = \"terms.csv\"\nkey = \"code\"\nfrom = \"code\"\n";
    let mut row = json!({"id": 1, "name": "Lamp", "code": "C1"});
    joins(settings).unwrap().join(&mut row, &json!(1)).unwrap();
    assert_eq!(row["after"]["name"], "Tarn");
    let circle = settings.replace("from = \"code\"", "from = { template = \"{after.name}\" }");
    let refused = joins(&circle).unwrap_err().to_string();
    assert!(
        refused.contains("can never be made: join.after needs join.first needs join.after"),
        "{refused}"
    );
    let itself = settings.replace("\"first.owner\"", "\"after.owner\"");
    let refused = joins(&itself).unwrap_err().to_string();
    assert!(refused.contains("join.after needs join.after"), "{refused}");
}

#[test]
fn items_of_a_list_that_was_joined_get_rows_of_a_third_file() {
    let settings = "[join.facts]\nfile = \"facts.csv\"\nkey = \"product\"\nfrom = \"id\"\nmany = true\n\
                    [join.about]\neach = \"facts\"\nfile = \"terms.csv\"\nkey = \"code\"\nfrom = \"code\"\n";
    let text = settings.to_owned();
    let mapping = joins(&text).unwrap();
    let mut row = json!({"id": 1, "name": "Lamp"});
    mapping.join(&mut row, &json!(1)).unwrap();
    let terms = row["facts"].as_array().unwrap().iter();
    let terms: Vec<&str> = terms
        .map(|fact| fact["about"]["term"].as_str().unwrap())
        .collect();
    assert_eq!(terms, ["Colour", "Height"]);
    let mut none = json!({"id": 2, "name": "Lamp"});
    mapping.join(&mut none, &json!(2)).unwrap();
    assert_eq!(none, json!({"id": 2, "name": "Lamp"}));
    assert_eq!(mapping.unpaired(), [("facts".to_owned(), 1)]);
    for (each, row) in [
        ("a.b", json!({"a": {"b": {"code": "C1"}}})),
        ("a[].b[]", json!({"a": [{"b": [{"code": "C1"}]}]})),
    ] {
        let mut row = row;
        let one = settings.replace("each = \"facts\"", &format!("each = \"{each}\""));
        joins(&one).unwrap().join(&mut row, &json!(1)).unwrap();
        assert!(row.to_string().contains("Colour"), "{row}");
    }
    let mut texts = json!({"id": 1, "tags": ["C1"]});
    let one = settings
        .replace("each = \"facts\"", "each = \"tags\"")
        .replace("from = \"code\"", "from = \".\"");
    let rejected = joins(&one)
        .unwrap()
        .join(&mut texts, &json!(1))
        .unwrap_err();
    assert!(rejected.reason.contains("are no objects"), "{rejected:?}");
    assert!(joins(&settings.replace("\"facts\"\nfile", "\"facts[0]\"\nfile")).is_err());
}

#[test]
fn rows_that_the_mapping_leaves_out_lack_nothing() {
    let settings = "[join.about]\nfile = \"terms.csv\"\nkey = \"code\"\nfrom = \"code\"\n";
    let text = with(settings) + "where = { type = \"lamp\" }\n";
    let mapping = Mapping::parse(&text, &mut |_| Ok(b"code,term\nC1,Colour\n".to_vec())).unwrap();
    for (kind, number) in [("lamp", 1), ("desk", 2)] {
        let mut row = json!({"id": number, "name": "x", "type": kind, "code": "C9"});
        mapping.join(&mut row, &json!(number)).unwrap();
    }
    assert_eq!(mapping.unpaired(), [("about".to_owned(), 1)]);
}

#[test]
fn files_that_cannot_be_joined_are_refused_with_their_lines() {
    let one = JOINS.replace("many = true", "");
    let error = joined(&one, IMAGES).unwrap_err().to_string();
    assert!(
        error.contains("\"1\" is on line 1 and on line 3; many = true"),
        "{error}"
    );
    let error = joined(JOINS, "{}\nx").unwrap_err().to_string();
    assert!(
        error.contains("images.jsonl: line 2: is not JSON"),
        "{error}"
    );
    let error = joined(&JOINS.replace("makers.csv", "gone.csv"), "")
        .unwrap_err()
        .to_string();
    assert!(error.contains("is not here"), "{error}");
}

#[test]
fn the_rows_of_one_key_are_limited() {
    let row = |key: u32| format!("{{\"sku\":{key},\"url\":\"{}\"}}\n", "x".repeat(1 << 20));
    let few: String = [1, 1, 1, 2, 2].map(row).concat();
    assert!(joined(JOINS, &few).is_ok());
    let many: String = [1, 2, 2, 2, 2].map(row).concat();
    let error = joined(JOINS, &many).unwrap_err().to_string();
    assert!(
        error.contains("the rows with the key \"2\" take more than 4 MiB"),
        "{error}"
    );
}
