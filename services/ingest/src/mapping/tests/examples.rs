//! What a mapping can say, by example: each example is mapped here, and is a row of the table in
//! the guide.

use std::fmt::Write as _;

use serde_json::{Map, json};

use super::*;

const START: &str =
    "<!-- examples: generated from services/ingest/src/mapping/tests/examples.rs -->\n";
const END: &str = "<!-- end of examples -->";

/// Where the settings of an example stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// In `[product]`.
    Product,
    /// In `[product.specs]`.
    Specs,
    /// In `[review]`.
    Review,
}

/// What, where, settings, row, and what becomes of it.
type Example = (
    &'static str,
    At,
    &'static [&'static str],
    &'static str,
    &'static str,
);

const EXAMPLES: &[Example] = &[
    (
        "an amount out of a text with several, by its currency",
        At::Product,
        &[
            "[[product.price]]",
            r#"amount = { from = "price", cut_at = ",", split = "{.} USD" }"#,
            r#"currency = { value = "USD" }"#,
            "[[product.price]]",
            r#"amount = { from = "price", cut_at = ",", split = "{.} EUR" }"#,
            r#"currency = { value = "EUR" }"#,
        ],
        r#"{"price": "282.18 EUR,491.01 USD"}"#,
        "price: 491.01 USD",
    ),
    (
        "a part of a text",
        At::Product,
        &[r#"brand = { from = "name", split = ["{.} {_}", "{.}"] }"#],
        r#"{"name": "Tarn Reading Lamp"}"#,
        "brand: Tarn",
    ),
    (
        "one field, otherwise another with settings of its own",
        At::Product,
        &[r#"brand = ["maker", { from = "by", replace = { "by " = "" } }]"#],
        r#"{"maker": null, "by": "by Tarn"}"#,
        "brand: Tarn",
    ),
    (
        "the next field where a value is bad; the bad value is reported",
        At::Product,
        &[
            r#"price = { amount = { from = ["offer", "price"], on_bad = "next_field" }, currency = { value = "EUR" } }"#,
        ],
        r#"{"offer": "soon", "price": "12.00"}"#,
        "price: 12.00 EUR",
    ),
    (
        "all items of a list as one text",
        At::Product,
        &[r#"description = { from = "bullets[].text", list = "join", separator = "\n" }"#],
        r#"{"bullets": [{"text": "Bright."}, {"text": "Small."}]}"#,
        "description: Bright.\\nSmall.",
    ),
    (
        "a line break that the feed writes as two signs",
        At::Product,
        &[r#"description = { from = "text", replace = { '\n' = "\n" } }"#],
        r#"{"text": "Bright.\\nSmall."}"#,
        "description: Bright.\\nSmall.",
    ),
    (
        "what a program puts before a sign that spreadsheets compute",
        At::Product,
        &[
            r#"description = { from = "text", replace_start = { "'-" = "-", "'=" = "=", "'+" = "+" } }"#,
        ],
        r#"{"text": "'-18 °C, snow '-n-' ice"}"#,
        "description: -18 °C, snow '-n-' ice",
    ),
    (
        "a value where one of two conditions holds",
        At::Product,
        &[
            r#"sku = { from = "ean", where = [{ type = "lamp" }, { ean = { known = true }, checked = true }] }"#,
        ],
        r#"{"type": "clip", "ean": "4006", "checked": true}"#,
        "sku: 4006",
    ),
    (
        "the text of a page",
        At::Product,
        &[r#"description = { from = "html", html = "page" }"#],
        r#"{"html": "<section><h4>Size</h4><!-- x --><td>M</td><td>38</td></section>"}"#,
        "description: Size\\nM 38",
    ),
    (
        "an id of several fields",
        At::Product,
        &[r#"external_id = { template = "{model}-{color}" }"#],
        r#"{"model": 7, "color": "red"}"#,
        "id: 7-red",
    ),
    (
        "an id for rows without one: a digest of fields, the same as long as these are",
        At::Product,
        &[r#"external_id = { digest = ["name", "maker"] }"#],
        r#"{"name": "Lamp", "maker": "Tarn"}"#,
        "id: 99c20e27ec0756e070214548b0ab4a1d",
    ),
    (
        "the number of the line; a line more before it makes it another id",
        At::Product,
        &[r#"external_id = "^line""#],
        r#"{"name": "Lamp"}"#,
        "id: 12",
    ),
    (
        "a category from a list of its levels, at most two of them",
        At::Product,
        &[r#"category = { levels = ["path[]"], max_levels = 2 }"#],
        r#"{"path": ["Light", "Lamps", "Desk lamps"]}"#,
        "category: Light > Lamps",
    ),
    (
        "the deepest of several categories; `first` takes the first",
        At::Product,
        &[r#"category = { from = "paths[]", separator = ">", pick = "deepest" }"#],
        r#"{"paths": ["Sale", "Light > Lamps"]}"#,
        "category: Light > Lamps",
    ),
    (
        "a price in cents",
        At::Product,
        &[r#"price = { amount = { from = "cents", divide = 100 }, currency = { value = "EUR" } }"#],
        r#"{"cents": 1999}"#,
        "price: 19.99 EUR",
    ),
    (
        "a price for 100 pieces, rounded to whole cents for one",
        At::Product,
        &[
            r#"price = { amount = { from = "per_100", divide = 100, round = "nearest" }, currency = { value = "EUR" } }"#,
        ],
        r#"{"per_100": "12.99"}"#,
        "price: 0.13 EUR",
    ),
    (
        "several pictures in one text",
        At::Product,
        &[r#"media = { url = "images", cut_at = "|" }"#],
        r#"{"images": "https://e.org/1.jpg|https://e.org/2.jpg"}"#,
        "media: https://e.org/1.jpg https://e.org/2.jpg",
    ),
    (
        "the first two pictures",
        At::Product,
        &[r#"media = { each = "images", url = ".", first = 2 }"#],
        r#"{"images": ["https://e.org/1.jpg", "https://e.org/2.jpg", "https://e.org/3.jpg"]}"#,
        "media: https://e.org/1.jpg https://e.org/2.jpg",
    ),
    (
        "a value in some rows only",
        At::Product,
        &[r#"sku = { from = "ean", where = { type = { not = "bundle" } } }"#],
        r#"{"type": "bundle", "ean": "4006"}"#,
        "sku: -",
    ),
    (
        "several values in one text, at line breaks",
        At::Specs,
        &[r#"rules = [{ path = "material", cut_at = "\n" }]"#],
        r#"{"material": "Stainless Steel\nNylon"}"#,
        "material='Stainless Steel', material='Nylon'",
    ),
    (
        "keys out of the text, and several values of each",
        At::Specs,
        &[
            "[[product.specs.rules]]",
            r#"path = "attributes""#,
            r#"cut_at = ",""#,
            r#"split = "{.key}={.}""#,
            r#"then_cut_at = "|""#,
        ],
        r#"{"attributes": "material=Wool|Fleece,fit=slim"}"#,
        "material='Wool', material='Fleece', fit='slim'",
    ),
    (
        "key, value and unit out of the text; what matches the first pattern is left out",
        At::Specs,
        &[
            "[[product.specs.rules]]",
            r#"path = "attributes""#,
            r#"cut_at = ";""#,
            r#"split = ["internal: {_}", "{.key}: {.} [{.unit}]"]"#,
            r#"type = "quantity""#,
        ],
        r#"{"attributes": "Net weight: 1.5 [kg]; internal: 7"}"#,
        "net_weight=1.5 kg",
    ),
    (
        "measures whose unit stands in the text once",
        At::Specs,
        &[
            r#"rules = [{ path = "size", split = ["{width:cm} x {height:cm} cm", "{width} x {height}"], unit = "mm" }]"#,
        ],
        r#"{"size": "10 x 20 cm"}"#,
        "width=10 cm, height=20 cm",
    ),
    (
        "pairs in a list of texts",
        At::Specs,
        &[
            r#"rules = [{ path = "fps", list = "join", split = "{min_rate}, {max_rate}", unit = "fps" }]"#,
        ],
        r#"{"fps": [30, 60]}"#,
        "min_rate=30 fps, max_rate=60 fps",
    ),
    (
        "shares as percentages, and tenths of millimetres",
        At::Specs,
        &[
            "[[product.specs.rules]]",
            r#"path = "recycled""#,
            "multiply = 100",
            r#"unit = "%""#,
            "[[product.specs.rules]]",
            r#"path = "height""#,
            "divide = 10",
            r#"unit = "mm""#,
        ],
        r#"{"recycled": "0.07", "height": 4205}"#,
        "recycled=7%, height=420.5 mm",
    ),
    (
        "a rule for some rows",
        At::Specs,
        &[
            r#"rules = [{ path = "size", where = { type = "shoe" }, key = "shoe_size", type = "text" }]"#,
            r#"exclude = ["id", "name", "type"]"#,
        ],
        r#"{"type": "shoe", "size": 44}"#,
        "shoe_size='44'",
    ),
    (
        "one of two numbers in a text",
        At::Review,
        &[
            r#"helpful = { from = "helpful", split = "[{.}, {_}]" }"#,
            r#"votes = { from = "helpful", split = "[{_}, {.}]" }"#,
        ],
        r#"{"helpful": "[13, 14]"}"#,
        "helpful: 13, unhelpful: 1",
    ),
    (
        "stars of another scale, from the worst to the best",
        At::Review,
        &[r#"rating = { from = "score", scale = [0, 100] }"#],
        r#"{"score": 87}"#,
        "rating: 4",
    ),
    (
        "parts of stars, out of a text",
        At::Review,
        &[r#"rating = { from = "score", split = "{.} out of {_}", round = "nearest" }"#],
        r#"{"score": "4.8 out of 5 stars"}"#,
        "rating: 5",
    ),
    (
        "yes and no as stars",
        At::Review,
        &[r#"rating = { from = "voted_up", values = { true = "5", false = "1" } }"#],
        r#"{"voted_up": false}"#,
        "rating: 1",
    ),
    (
        "authors without ids: equal names are different people",
        At::Review,
        &[r#"author = { name = "user" }"#],
        r#"{"user": "Ada"}"#,
        "author: Ada",
    ),
    (
        "an item of a list by one of its values",
        At::Product,
        &[r#"price = { amount = "prices[type=net].value", currency = { value = "EUR" } }"#],
        r#"{"prices": [{"type": "gross", "value": "11.90"}, {"type": "net", "value": "10.00"}]}"#,
        "price: 10.00 EUR",
    ),
    (
        "a unit from another column",
        At::Specs,
        &[
            r#"rules = [{ path = "weight", unit_from = "weight_unit", unit_values = { KGM = "kg" } }]"#,
            r#"exclude = ["id", "name", "weight_unit"]"#,
        ],
        r#"{"weight": "1.5", "weight_unit": "KGM"}"#,
        "weight=1.5 kg",
    ),
    (
        "some of the objects that hold a spec in pieces",
        At::Specs,
        &[
            "[[product.specs.rules]]",
            r#"path = "facts""#,
            r#"key_from = "name""#,
            r#"value_from = "value""#,
            r#"where_item = { name = { not = "price" } }"#,
        ],
        r#"{"facts": [{"name": "price", "value": "5"}, {"name": "Colour", "value": "red"}]}"#,
        "colour='red'",
    ),
    (
        "several category paths in one text; a separator behind a backslash is a sign of the name",
        At::Product,
        &[r#"category = { from = "paths", cut_at = ",", separator = ">", pick = "deepest" }"#],
        r#"{"paths": "Sale, Books > Ages \\> 12\\, boxed"}"#,
        "category: Books > Ages > 12, boxed",
    ),
    (
        "a date of which only a part is known: its first day",
        At::Product,
        &[r#"created_at = { from = "released", date = "partial" }"#],
        r#"{"released": "1999-03-00"}"#,
        "created_at: 1999-03-01",
    ),
    (
        "allergens that are contained, and no others",
        At::Product,
        &[
            r#"kind = { value = "grocery" }"#,
            r#"details.allergens = { each = "allergens", where_item = { level = "CONTAINS" }, from = "name" }"#,
        ],
        r#"{"allergens": [{"name": "milk", "level": "CONTAINS"}, {"name": "nuts", "level": "FREE_FROM"}]}"#,
        "allergens: milk",
    ),
    (
        "a list in details out of one text",
        At::Product,
        &[
            r#"kind = { value = "book" }"#,
            r#"details.contributors = { each = "authors", cut_at = ",", fields = { name = ".", role = { value = "author" } } }"#,
        ],
        r#"{"authors": "Ada, Bo"}"#,
        "contributors: Ada (author), Bo (author)",
    ),
    (
        "a list in details out of single values",
        At::Product,
        &[
            r#"kind = { value = "grocery" }"#,
            r#"details.nutrition.items = [{ name = { value = "fat" }, value = { from = "fat_100g", type = "number" }, unit = "fat_unit" }, { name = { value = "salt" }, value = { from = "salt_100g", type = "number" }, unit = "salt_unit" }]"#,
        ],
        r#"{"fat_100g": 3.5, "fat_unit": "g"}"#,
        "nutrition: fat 3.5 g",
    ),
    (
        "numbered columns",
        At::Specs,
        &[
            "[[numbered]]",
            r#"as = "facts""#,
            r#"columns = { name = "name*", value = "value*", unit = "unit*" }"#,
            "[[product.specs.rules]]",
            r#"path = "facts""#,
            r#"key_from = "name""#,
            r#"value_from = "value""#,
            r#"unit_from = "unit""#,
        ],
        r#"{"name1": "Height", "value1": "40", "unit1": "cm", "name2": "Colour", "value2": "red", "unit2": ""}"#,
        "height=40 cm, colour='red'",
    ),
    (
        "ranges and several values beside their unit; what fits nothing becomes text",
        At::Specs,
        &[
            "[[product.specs.rules]]",
            r#"path = "facts""#,
            r#"key_from = "name""#,
            r#"value_from = "value""#,
            r#"unit_from = "unit""#,
            r#"cut_at = ",""#,
            r#"split = ["{._min} - {._max}", "{.}"]"#,
            r#"text_suffix = "_text""#,
        ],
        r#"{"facts": [{"name": "Humidity", "value": "5 - 95", "unit": "%"}, {"name": "Band", "value": "850,1800", "unit": "MHz"}, {"name": "Depth", "value": "flat", "unit": "mm"}]}"#,
        "humidity_min=5%, humidity_max=95%, band=850 MHz, band=1800 MHz, depth_text='flat mm'",
    ),
    (
        "keys for names of the feed, and a beginning for others",
        At::Specs,
        &[
            "[[product.specs.rules]]",
            r#"path = "facts""#,
            r#"key_from = "name""#,
            r#"value_from = "value""#,
            r#"key_values = { tiefe = "depth" }"#,
            r#"key_prefix = "net_""#,
        ],
        r#"{"facts": [{"name": "tiefe", "value": 4}, {"name": "4G", "value": true}]}"#,
        "depth=4, net_4g=yes",
    ),
    (
        "a scale that stands in the row",
        At::Review,
        &[r#"rating = { from = "score.#text", scale = ["score.@min", "score.@max"] }"#],
        r##"{"score": {"@min": "0", "@max": "10", "#text": "8"}}"##,
        "rating: 4",
    ),
    (
        "a purchase that the source vouches for",
        At::Review,
        &[r#"verified = { from = "purchase", yes = ["verified"], no = ["unverified"] }"#],
        r#"{"purchase": "Verified"}"#,
        "verified: true",
    ),
    (
        "pictures",
        At::Review,
        &[r#"media = { each = "photos", url = "src" }"#],
        r#"{"photos": [{"src": "https://e.org/1.jpg"}, {"src": "https://e.org/2.jpg"}]}"#,
        "media: https://e.org/1.jpg https://e.org/2.jpg",
    ),
    (
        "items of lists in lists, with a value of an item around them",
        At::Review,
        &[
            r#"each = "producers[].wines[].ratings""#,
            r#"external_id = { template = "{^wines.id}-{^item}" }"#,
            r#"product = "^wines.id""#,
            r#"author = { name = "by" }"#,
        ],
        r#"{"producers": [{"wines": [{"id": "w1", "ratings": [{"by": "Ada"}]}]}]}"#,
        "id: w1-1, product: w1, author: Ada",
    ),
    (
        "facts about the reviewer",
        At::Review,
        &[
            "[review.attributes]",
            r#"include = ["hours", "by.age"]"#,
            r#"rename = { hours = "hours_played", "by.age" = "age_group" }"#,
            r#"units = { hours = "h" }"#,
        ],
        r#"{"hours": 312.5, "by": {"age": "25 to 34", "name": "Ada"}}"#,
        "attributes: hours_played=312.5 h, age_group='25 to 34'",
    ),
];

/// The mapping of an example: a minimal one, with its settings instead of the usual ones.
fn mapping_of(example: &Example) -> Mapping {
    let (_, at, settings, ..) = example;
    let usual: &[&str] = match at {
        At::Product | At::Specs => &[
            "external_id = \"id\"",
            "name = \"name\"",
            "kind = { value = \"lamp\" }",
            "category = { value = \"Lamps\" }",
        ],
        At::Review => &[
            "external_id = \"id\"",
            "product = \"id\"",
            "rating = { value = 5 }",
        ],
    };
    let key = |line: &str| line.split(" = ").next().unwrap_or(line).to_owned();
    let kept = usual
        .iter()
        .filter(|line| settings.iter().all(|set| key(set) != key(line)));
    let mut text = "version = 1\nsystem = \"shop\"\n".to_owned();
    text += if *at == At::Review {
        "[review]\n"
    } else {
        "[product]\n"
    };
    kept.for_each(|line| {
        let _ = writeln!(text, "{line}");
    });
    if *at == At::Specs {
        text += "[product.specs]\n";
        if !settings.iter().any(|line| line.starts_with("exclude")) {
            text += "exclude = [\"id\", \"name\"]\n";
        }
    }
    text += &settings.join("\n");
    parse(&text).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// What becomes of the row of an example.
fn result_of(example: &Example) -> String {
    let (_, at, settings, row, _) = example;
    let mapping = mapping_of(example);
    let mut row: Map<String, Value> = serde_json::from_str(row).unwrap();
    for (key, usual) in [("id", json!("7")), ("name", json!("Lamp"))] {
        row.entry(key).or_insert(usual);
    }
    let (mut row, line) = (Value::Object(row), json!(12));
    mapping.join(&mut row, &line).unwrap();
    let row = Row::new(&row, &line);
    let settings = settings.join("\n");
    let fields = if *at == At::Review {
        let mapped = mapping
            .reviews(&mut MappingCache::default(), row)
            .pop()
            .unwrap();
        assert_eq!(mapped.problems, Problems::default());
        of_review(&mapped.draft.unwrap())
    } else {
        let mapped = mapping
            .products(&mut MappingCache::default(), row)
            .pop()
            .unwrap();
        let reported = mapped.problems.dropped.iter().map(|bad| &bad.field);
        let next_field = settings.contains("next_field").then(|| "offer".to_owned());
        assert!(reported.eq(next_field.iter()), "{:?}", mapped.problems);
        assert_eq!(mapped.problems.fatal, []);
        let draft = mapped.draft.unwrap();
        if *at == At::Specs {
            let specs: Vec<String> = draft.specs.iter().map(shown).collect();
            return specs.join(", ");
        }
        of_product(&draft)
    };
    let named = |setting: &str| {
        settings.lines().any(|line| line.starts_with(setting))
            || settings.contains(&format!("product.{setting}]"))
            || settings.contains(&format!("review.{setting}]"))
    };
    let fields = fields.into_iter().filter(|(setting, ..)| named(setting));
    let shown: Vec<String> = fields
        .map(|(_, name, value)| format!("{name}: {value}"))
        .collect();
    shown.join(", ")
}

/// The fields of a draft: setting, name and value.
type Fields = Vec<(&'static str, &'static str, String)>;

fn or_none(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned()).replace('\n', "\\n")
}

fn of_product(draft: &ProductDraft) -> Fields {
    let price = draft
        .price
        .map(|price| format!("{} {}", price.amount(), price.currency.code()));
    let media: Vec<&str> = draft.media.iter().map(|one| one.url.as_str()).collect();
    vec![
        ("external_id", "id", draft.source.external_id.clone()),
        ("sku", "sku", or_none(draft.sku.clone())),
        ("brand", "brand", or_none(draft.brand.clone())),
        (
            "description",
            "description",
            or_none(draft.description.clone()),
        ),
        ("category", "category", draft.category.join(" > ")),
        ("price", "price", or_none(price)),
        ("media", "media", media.join(" ")),
        ("created_at", "created_at", day(draft.created_at)),
        ("details.allergens", "allergens", details(&draft.details)),
        (
            "details.contributors",
            "contributors",
            details(&draft.details),
        ),
        ("details.nutrition", "nutrition", details(&draft.details)),
    ]
}

fn day(date: Option<Timestamp>) -> String {
    let text = date.map_or_else(|| "-".to_owned(), |date| date.to_string());
    text.trim_end_matches("T00:00:00.000Z").to_owned()
}

/// The lists of details.
fn details(details: &Details) -> String {
    let all: Vec<String> = match details {
        Details::Grocery(grocery) => {
            let nutrition = grocery.nutrition.iter();
            let nutrition = nutrition.map(|one| format!("{} {} {}", one.name, one.value, one.unit));
            grocery.allergens.iter().cloned().chain(nutrition).collect()
        }
        Details::Book(book) => {
            let contributors = book.contributors.iter();
            contributors
                .map(|one| format!("{} ({})", one.name, one.role))
                .collect()
        }
        _ => Vec::new(),
    };
    all.join(", ")
}

fn of_review(draft: &ReviewDraft) -> Fields {
    let author = draft.author.as_ref().map(|author| author.name.clone());
    let urls: Vec<&str> = draft.media.iter().map(|one| one.url.as_str()).collect();
    let attributes: Vec<String> = draft.attributes.iter().map(shown).collect();
    vec![
        ("external_id", "id", draft.origin.external_id.clone()),
        ("product ", "product", draft.product.external_id.clone()),
        ("rating", "rating", draft.rating.get().to_string()),
        ("author", "author", or_none(author)),
        ("helpful", "helpful", draft.helpful.to_string()),
        ("votes", "unhelpful", draft.unhelpful.to_string()),
        ("verified", "verified", draft.verified.to_string()),
        ("media", "media", urls.join(" ")),
        ("attributes", "attributes", attributes.join(", ")),
    ]
}

/// The examples as the guide shows them.
fn table() -> String {
    let mut table = "| what | settings | a row | becomes |\n|---|---|---|---|\n".to_owned();
    let code = |text: &str| format!("`{}`", text.replace('|', "\\|"));
    for (what, at, settings, row, result) in EXAMPLES {
        let place = match at {
            At::Product => "",
            At::Specs => "specs: ",
            At::Review => "review: ",
        };
        let settings: Vec<String> = settings.iter().map(|line| code(line)).collect();
        let settings = settings.join("<br>");
        let (row, result) = (code(row), code(result));
        let _ = writeln!(table, "| {place}{what} | {settings} | {row} | {result} |");
    }
    table
}

#[test]
fn examples_become_what_they_say() {
    for example in EXAMPLES {
        assert_eq!(result_of(example), example.4, "{}", example.0);
    }
}

#[test]
fn the_guide_shows_every_example() {
    guide::compare(START, END, &table());
}
