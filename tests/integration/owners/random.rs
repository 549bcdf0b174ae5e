//! Feeds, edits, bulk changes, reverts, releases and a merge of spec keys in a random order, against a model of the rules.

mod model;

use std::collections::BTreeSet;

use vitrine_domain::workers::Worker;
use vitrine_model::import::ProductDraft;
use vitrine_model::product::{Book, Details};

use self::model::{FIELDS, Model, Said};
use super::*;

const SEEDS: u64 = 12;
const STEPS: usize = 30;

/// Random numbers of a linear congruential generator; the upper bits are random enough here.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % n
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    /// A value of a field.
    fn value(&mut self, field: &str) -> Option<String> {
        let n = self.below(3);
        let said = match field {
            "name" => format!("Lamp {n}"),
            "kind" => self.one_of(&["thing", "book"]).to_owned(),
            "category" => self.one_of(&["Desk", "Floor"]).to_owned(),
            "status" => self.one_of(&["ACTIVE", "ARCHIVED"]).to_owned(),
            "sku" => format!("S-{n}"),
            _ if n == 0 => return None,
            "price" => format!("{n}.00"),
            "details" => n.to_string(),
            "supplier" => ["North", "South"][n - 1].to_owned(),
            "media" => format!("https://media.example.com/{n}.jpg"),
            field => format!("{field} {n}"),
        };
        Some(said)
    }

    /// What the catalogue says: details fit the kind.
    fn catalogue(&mut self) -> Said {
        let fields = FIELDS.into_iter();
        let mut said: Said = fields.map(|field| (field, self.value(field))).collect();
        if said["kind"].as_deref() != Some("book") {
            said.insert("details", None);
        }
        said
    }

    /// What the price list says: always a price.
    fn prices(&mut self) -> Said {
        let price = format!("{}.00", 5 + self.below(3));
        Said::from([("price", Some(price)), ("supplier", self.value("supplier"))])
    }
}

/// A product, what its feeds and people do with it, and what the model says of it.
struct Run<'a> {
    app: &'a App,
    id: String,
    suppliers: Value,
    dice: Dice,
    model: Model,
    /// What has happened, for the message of a failure.
    log: Vec<String>,
}

impl<'a> Run<'a> {
    /// A product that one feed or two describe.
    async fn begin(app: &'a App, seed: u64) -> Self {
        let shelves = [("Desk", "North"), ("Floor", "South")];
        let others = shelves.map(|(shelf, supplier)| {
            product(shelf)
                .category([shelf])
                .supplier(supplier, "NO")
                .text("color", "x")
                .text("shade", "x")
        });
        app.has(others).await;
        let found = app.query("{ suppliers { nodes { id name } } }").await;
        let suppliers = found.at("/suppliers/nodes").clone();
        let mut run = Self {
            app,
            id: String::new(),
            suppliers,
            dice: Dice(seed),
            model: Model::default(),
            log: vec![format!("seed {seed}")],
        };
        let mut first = run.dice.catalogue();
        first.insert("sku", Some("S-0".to_owned()));
        import(app, catalogue(&first)).await;
        run.log.push(format!("catalogue {}", shown(&first)));
        run.model.import(Some(first), None);
        let query = r#"{ product(sku: "S-0") { id } }"#;
        run.id = app.query(query).as_admin().await.text("/product/id");
        if seed.is_multiple_of(2) {
            run.import_prices().await;
        }
        run
    }

    async fn import_catalogue(&mut self) {
        let mut said = self.dice.catalogue();
        if self.model.has_prices() {
            said.insert("sku", Some("S-0".to_owned()));
        }
        self.log.push(format!("catalogue {}", shown(&said)));
        import(self.app, catalogue(&said)).await;
        self.model.import(Some(said), None);
    }

    async fn import_prices(&mut self) {
        let said = self.dice.prices();
        self.log.push(format!("prices {}", shown(&said)));
        import(self.app, prices(&said)).await;
        self.model.import(None, Some(said));
    }

    /// Ann edits a field.
    async fn edit(&mut self) {
        let field = FIELDS[self.dice.below(FIELDS.len())];
        let value = self.dice.value(field);
        if field == "kind" || (field == "details" && !self.model.is_book()) {
            return;
        }
        self.log.push(format!("edit of {field}: {value:?}"));
        let (name, input) = match (field.strip_prefix("specs."), &value) {
            (Some(key), Some(text)) => (
                "setSpecs",
                json!({ "specs": [{ "key": key, "text": text }] }),
            ),
            (Some(key), None) => ("removeSpecs", json!({ "specs": [{ "key": key }] })),
            (None, value) => ("updateProduct", self.input(field, value.as_deref())),
        };
        let mut input = input;
        let of = if name == "updateProduct" {
            "id"
        } else {
            "productId"
        };
        input[of] = json!(self.id);
        self.app.mutate(name, input).by("ann").await.done();
        self.model.edit([(field, value)]);
    }

    fn input(&self, field: &str, value: Option<&str>) -> Value {
        match field {
            "price" => json!({ "price": value.map(|amount| json!({ "amount": amount })) }),
            "details" => {
                let pages = value.map(|pages| pages.parse::<i32>().unwrap());
                json!({ "details": { "book": { "pages": pages } } })
            }
            "category" => json!({ "category": value.unwrap().to_lowercase() }),
            "supplier" => json!({ "supplierId": value.map(|name| self.supplier(name)) }),
            "media" => {
                let media =
                    value.map(|url| json!({ "url": url, "alt": "a picture", "kind": "IMAGE" }));
                json!({ "media": media.into_iter().collect::<Vec<_>>() })
            }
            field => json!({ field: value }),
        }
    }

    fn supplier(&self, name: &str) -> Value {
        let mut all = self.suppliers.as_array().unwrap().iter();
        all.find(|one| one["name"] == name).unwrap()["id"].clone()
    }

    /// A bulk change of several fields.
    async fn change_in_bulk(&mut self) {
        let (mut change, mut edits) = (json!({}), Vec::new());
        for field in ["brand", "price", "status", "category", "supplier"] {
            if self.dice.below(2) == 0 {
                continue;
            }
            let value = self.dice.value(field);
            let input = self.input(field, value.as_deref());
            change
                .as_object_mut()
                .unwrap()
                .extend(input.as_object().unwrap().clone());
            edits.push((field, value));
        }
        let color = self.dice.value("specs.color");
        match &color {
            Some(text) => change["setSpecs"] = json!([{ "key": "color", "text": text }]),
            None => change["removeSpecs"] = json!([{ "key": "color" }]),
        }
        edits.push(("specs.color", color));
        self.log.push(format!("bulk change of {edits:?}"));
        let input = json!({ "ids": [self.id], "change": change });
        self.app
            .mutate("startBulkChange", input)
            .by("ann")
            .await
            .done();
        self.app
            .catalog
            .work_off(Worker::BulkChanges)
            .await
            .unwrap();
        self.model.edit(edits);
    }

    /// Restores any revision that the product has had.
    async fn revert(&mut self) {
        let at = self.dice.below(self.model.revisions.len());
        let (revision, content) = self.model.revision(at);
        self.log.push(format!("revert to revision {revision}"));
        let input = json!({ "id": self.id, "revision": revision });
        self.app
            .mutate("revertProduct", input)
            .by("ann")
            .await
            .done();
        self.model.edit(content);
    }

    /// Gives back a field; kind and details together.
    async fn release(&mut self) {
        let field = FIELDS[self.dice.below(FIELDS.len())];
        let fields = if field == "kind" {
            vec!["kind", "details"]
        } else {
            vec![field]
        };
        let input = json!({ "productId": self.id, "fields": fields });
        self.log.push(format!("release of {fields:?}"));
        let reply = self.app.mutate("releaseFields", input).by("ann").await;
        if self.model.may_release(field) {
            reply.done();
            self.model.release(&fields);
        } else {
            let _ = reply.user_errors();
        }
    }

    /// Merges the key `shade` into `color`, once.
    async fn merge_keys(&mut self) {
        self.log.push("merge of shade into color".to_owned());
        let merge = json!({ "from": "shade", "into": "color" });
        self.app.mutate("mergeSpecKeys", merge).await.done();
        self.app.catalog.continue_merges().await.unwrap();
        self.model.merge_keys();
    }

    async fn step(&mut self) {
        match self.dice.below(12) {
            0..=2 => self.import_catalogue().await,
            3 if self.model.has_prices() => self.import_prices().await,
            3..=6 => self.edit().await,
            7 => self.change_in_bulk().await,
            8 => self.revert().await,
            _ => self.release().await,
        }
    }

    /// Compares the product with the model, and remembers its revision.
    async fn check(&mut self) {
        let log = self.log.join("\n");
        let query = "query ($id: ID!) { node(id: $id) { ... on Product {
            revision name kind sku status description brand price { amount } category { name } supplier { name }
            media { url } specs { key text } overrides { field } ... on Book { pages } } } }";
        let answer = self
            .app
            .query(query)
            .with("id", self.id.clone())
            .as_admin()
            .await;
        let page = answer.at("/node");
        assert_eq!(stored(page), self.model.product(), "{log}");
        let edited = page["overrides"].as_array().unwrap().iter();
        let edited: BTreeSet<&str> = edited.map(|own| own["field"].as_str().unwrap()).collect();
        assert_eq!(edited, self.model.edited, "{log}");
        let revision = page["revision"].as_i64().unwrap();
        self.model.remember(revision);
    }
}

/// What a feed says, for people.
fn shown(said: &Said) -> String {
    let said = said
        .iter()
        .filter_map(|(field, value)| Some(format!("{field}={}", value.as_ref()?)));
    said.collect::<Vec<_>>().join(", ")
}

async fn import(app: &App, draft: ProductDraft) {
    let (outcomes, _) = app.import(ImportMode::Write, vec![draft], Vec::new()).await;
    let word = word(&outcomes[0]);
    assert!(
        ["created", "updated", "unchanged"].contains(&word.as_str()),
        "{word}"
    );
}

fn catalogue(said: &Said) -> ProductDraft {
    let text = |field: &str| said[field].as_deref();
    let mut draft = product(text("name").unwrap())
        .source("catalogue", "c1")
        .sku(text("sku").unwrap())
        .kind(text("kind").unwrap())
        .category([text("category").unwrap()]);
    if let Some(pages) = text("details") {
        let pages = Some(pages.parse().unwrap());
        draft = draft.details(Details::Book(Book {
            pages,
            ..Book::default()
        }));
    }
    if text("status") == Some("ARCHIVED") {
        draft = draft.status(ProductStatus::Archived);
    }
    for (field, value) in said {
        let Some(value) = value else {
            continue;
        };
        draft = match *field {
            "description" => draft.description(value),
            "brand" => draft.brand(value),
            "price" => draft.price(value),
            "supplier" => draft.supplier(value, "NO"),
            "media" => draft.image(value, "a picture"),
            "specs.color" => draft.text("color", value),
            "specs.shade" => draft.text("shade", value),
            _ => draft,
        };
    }
    draft.into()
}

fn prices(said: &Said) -> ProductDraft {
    let list = some_of("prices", "S-0").price(said["price"].as_deref().unwrap());
    match said["supplier"].as_deref() {
        Some(supplier) => list.supplier(supplier, "NO").into(),
        None => list.into(),
    }
}

/// The fields of a product as the model has them.
fn stored(page: &Value) -> Said {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let spec = |key: &str| {
        let specs = page["specs"].as_array().unwrap().iter();
        let values = specs
            .filter(|spec| spec["key"] == key)
            .map(|spec| text(&spec["text"]).unwrap());
        let values: BTreeSet<String> = values.collect();
        model::joined(values)
    };
    let field = |field: &'static str| match field {
        "price" => text(&page["price"]["amount"]),
        "category" | "supplier" => text(&page[field]["name"]),
        "media" => text(&page["media"][0]["url"]),
        "details" => page["pages"].as_i64().map(|pages| pages.to_string()),
        "specs.color" => spec("color"),
        "specs.shade" => spec("shade"),
        _ => text(&page[field]),
    };
    FIELDS.into_iter().map(|name| (name, field(name))).collect()
}

#[test]
fn feeds_and_people_interleaved_at_random_follow_the_rules() {
    for seed in 1..=SEEDS {
        test(async |app| {
            let mut run = Run::begin(app, seed).await;
            for at in 0..STEPS {
                run.check().await;
                if at == STEPS * 2 / 3 {
                    run.merge_keys().await;
                } else {
                    run.step().await;
                }
            }
            run.check().await;
        });
    }
}
