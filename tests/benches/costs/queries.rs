//! Queries drawn from the schema, with arguments that the catalogue has.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use apollo_compiler::Schema;
use apollo_compiler::ast::{FieldDefinition, InputValueDefinition};
use apollo_compiler::schema::ExtendedType;
use serde_json::{Map, Value, json};
use vitrine_model::review::MAX_TOP_REVIEWS;

use crate::probe::Scope;
use crate::random::{Purpose, Random};
use crate::testbed::Testbed;

/// The most fields of a query, before fragments are applied.
const MAX_FIELDS: usize = 400;
/// The most levels of objects.
const MAX_DEPTH: usize = 7;
/// The most aliases that a document may have.
const MAX_ALIASES: usize = 30;
/// How many numbers decide about a query.
const GENES: usize = 600;

/// Fields of `Query` that callers without a token may use, as often as they are listed.
const ROOTS: [&str; 20] = [
    "products",
    "products",
    "products",
    "products",
    "products",
    "product",
    "product",
    "product",
    "nodes",
    "node",
    "trending",
    "categories",
    "category",
    "suppliers",
    "supplier",
    "units",
    "specKeys",
    "specKey",
    "searchSuggestions",
    "suggestedSpecKeys",
];

/// The numbers that a query is made of.
#[derive(Clone, Debug)]
pub(crate) struct Genes(Vec<u32>);

/// A document with its variables.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) document: String,
    pub(crate) variables: Value,
}

/// What can be asked for.
pub(crate) struct Catalogue {
    schema: Schema,
    scopes: Vec<Scope>,
    keys: Vec<String>,
    suppliers: Vec<String>,
    words: Vec<String>,
}

impl Genes {
    /// Random numbers.
    pub(crate) fn random(seed: u64, number: usize) -> Self {
        let mut random = Random::of(seed, Purpose::Product, number);
        Self((0..GENES).map(|_| draw(&mut random)).collect())
    }

    /// The same numbers but for a few.
    pub(crate) fn changed(&self, seed: u64, number: usize) -> Self {
        let mut random = Random::of(seed, Purpose::Review, number);
        let mut genes = self.0.clone();
        for _ in 0..=random.below(8) {
            // What comes first decides about more.
            let end = 1 + random.below(GENES);
            genes[random.below(end)] = draw(&mut random);
        }
        Self(genes)
    }
}

fn draw(random: &mut Random) -> u32 {
    u32::try_from(random.below(1 << 31)).expect("31 bits")
}

impl Query {
    /// The document and the variables on one line, shortened.
    pub(crate) fn short(&self) -> String {
        let text = self.document.split_whitespace().collect::<Vec<_>>();
        let text = format!("{} {}", text.join(" "), self.variables);
        text.chars().take(900).collect()
    }
}

/// Whether a field is for staff only. The period that it needs has no values here.
fn is_for_staff(field: &FieldDefinition) -> bool {
    &*field.name == "activity"
}

impl Catalogue {
    pub(crate) async fn of(testbed: &Testbed) -> Self {
        let sdl = vitrine_api::graphql::engine().unwrap().sdl().to_owned();
        let scopes = crate::probe::scopes(testbed).await;
        let texts = |query: &'static str, pointer: &'static str| async move {
            let data = testbed.data(query, &Value::Null).await;
            let rows = data.pointer(pointer).and_then(Value::as_array).cloned();
            let rows = rows.unwrap_or_default().into_iter();
            let texts = rows.filter_map(|row| {
                let value = row.as_object()?.values().next()?.as_str()?;
                Some(value.to_owned())
            });
            texts.collect::<Vec<_>>()
        };
        let keys = texts(
            "{ specKeys(first: 100) { nodes { key } } }",
            "/specKeys/nodes",
        )
        .await;
        let suppliers = texts(
            "{ suppliers(first: 50) { nodes { id } } }",
            "/suppliers/nodes",
        );
        let names = scopes[0].sample.iter().take(200);
        let words: BTreeSet<String> = names
            .filter_map(|product| product["name"].as_str())
            .flat_map(str::split_whitespace)
            .map(str::to_owned)
            .collect();
        Self {
            schema: Schema::parse(sdl, "schema").unwrap(),
            suppliers: suppliers.await,
            scopes,
            keys,
            words: words.into_iter().collect(),
        }
    }

    /// The query that these genes make.
    pub(crate) fn query(&self, genes: &Genes) -> Query {
        let mut author = Author {
            catalogue: self,
            genes: genes.0.iter(),
            fields: 0,
            aliases: 0,
            declarations: String::new(),
            variables: Map::new(),
        };
        let mut document = String::new();
        for root in 0..=author.roll(4) {
            let name = ROOTS[author.roll(ROOTS.len())];
            let field = self.schema.type_field("Query", name).unwrap();
            let field = field.node.clone();
            if author.aliases < MAX_ALIASES {
                author.aliases += 1;
                let _ = write!(document, "r{root}: ");
                author.field("Query", &field, MAX_DEPTH, &mut document);
            }
        }
        let declarations = match author.declarations.as_str() {
            "" => String::new(),
            some => format!("({some})"),
        };
        Query {
            document: format!("query{declarations} {{ {document}}}"),
            variables: Value::Object(author.variables),
        }
    }
}

/// Writes one query.
struct Author<'a> {
    catalogue: &'a Catalogue,
    genes: std::slice::Iter<'a, u32>,
    fields: usize,
    aliases: usize,
    declarations: String,
    variables: Map<String, Value>,
}

impl Author<'_> {
    /// A number below `end`.
    fn roll(&mut self, end: usize) -> usize {
        self.genes
            .next()
            .map_or(0, |gene| *gene as usize % end.max(1))
    }

    fn pick<'t, T>(&mut self, all: &'t [T]) -> Option<&'t T> {
        all.get(self.roll(all.len()))
    }

    fn field(&mut self, parent: &str, field: &FieldDefinition, depth: usize, out: &mut String) {
        self.fields += 1;
        out.push_str(&field.name);
        let mut arguments = Vec::new();
        // Takes exactly one argument.
        let is_product = &*field.name == "product" && parent == "Query";
        let given = field.arguments.iter().filter(|_| !is_product);
        for argument in given {
            let wanted = argument.is_required() || self.roll(3) > 0;
            let value = wanted.then(|| self.value(&field.name, argument)).flatten();
            if let Some(value) = value {
                let name = format!("v{}", self.variables.len());
                let _ = write!(self.declarations, "${name}: {} ", argument.ty);
                arguments.push(format!("{}: ${name}", argument.name));
                self.variables.insert(name, value);
            }
        }
        if is_product {
            arguments = vec![format!("id: {}", json!(self.product()))];
        }
        if !arguments.is_empty() {
            let _ = write!(out, "({})", arguments.join(", "));
        }
        let ty = field.ty.inner_named_type();
        if self.is_composite(ty) {
            out.push_str(" { __typename ");
            self.selection(ty, depth - 1, out);
            out.push('}');
        }
        out.push(' ');
    }

    fn selection(&mut self, ty: &str, depth: usize, out: &mut String) {
        let schema = &self.catalogue.schema;
        let fields: Vec<_> = match &schema.types[ty] {
            ExtendedType::Object(object) => object.fields.values().collect(),
            ExtendedType::Interface(interface) => interface.fields.values().collect(),
            _ => Vec::new(),
        };
        let mut used = BTreeSet::new();
        let wanted = 1 + self.roll(10);
        for _ in 0..wanted {
            let Some(field) = self.pick(&fields).copied() else {
                break;
            };
            let composite = self.is_composite(field.ty.inner_named_type());
            if is_for_staff(field) {
                continue;
            }
            if self.fields >= MAX_FIELDS || (composite && depth == 0) {
                continue;
            }
            if !used.insert(field.name.clone()) {
                if self.aliases >= MAX_ALIASES {
                    continue;
                }
                self.aliases += 1;
                let _ = write!(out, "a{}: ", self.aliases);
            }
            self.field(ty, field, depth, out);
        }
        let members: Vec<_> = match &schema.types[ty] {
            ExtendedType::Object(_) => Vec::new(),
            _ => schema
                .implementers_map()
                .get(ty)
                .map_or_else(Vec::new, |found| found.objects.iter().cloned().collect()),
        };
        if self.roll(3) == 0
            && let Some(member) = self.pick(&members).cloned()
        {
            let _ = write!(out, "... on {member} {{ __typename ");
            // Fields that the interface has, too, could be given other arguments.
            let object = schema.get_object(&member).unwrap();
            let own = object.fields.values();
            let own: Vec<_> = own
                .filter(|field| !fields.iter().any(|other| other.name == field.name))
                .filter(|field| !is_for_staff(field))
                .collect();
            if let Some(field) = self.pick(&own).copied()
                && (depth > 0 || !self.is_composite(field.ty.inner_named_type()))
            {
                let _ = write!(out, "m{}: ", self.fields);
                self.aliases += 1;
                self.field(&member, field, depth, out);
            }
            out.push_str("} ");
        }
    }

    fn is_composite(&self, ty: &str) -> bool {
        let ty = &self.catalogue.schema.types[ty];
        ty.is_object() || ty.is_interface() || ty.is_union()
    }

    fn scope(&mut self) -> &Scope {
        let at = self.roll(self.catalogue.scopes.len());
        &self.catalogue.scopes[at]
    }

    fn product(&mut self) -> Value {
        let at = self.roll(1 << 20);
        let sample = &self.scope().sample;
        sample[at % sample.len()]["id"].clone()
    }

    /// The slug of a category.
    fn slug(&mut self) -> Value {
        let scope = 1 + self.roll(self.catalogue.scopes.len() - 1);
        json!(self.catalogue.scopes[scope].slug)
    }

    fn words(&mut self, most: usize) -> Value {
        let words: Vec<_> = (0..=self.roll(most))
            .filter_map(|_| self.pick(&self.catalogue.words).map(String::as_str))
            .collect();
        json!(words.join(" "))
    }

    fn keys(&mut self, most: usize) -> Value {
        let keys: BTreeSet<_> = (0..=self.roll(most))
            .filter_map(|_| self.pick(&self.catalogue.keys))
            .collect();
        json!(keys)
    }

    /// A number, large ones more often.
    fn up_to(&mut self, most: usize) -> Value {
        let one = 1 + self.roll(most);
        let other = 1 + self.roll(most);
        json!(one.max(other))
    }

    fn filter(&mut self) -> Value {
        let mut filter = Map::new();
        if self.roll(2) > 0 {
            filter.insert("category".to_owned(), json!([self.slug()]));
        }
        if self.roll(2) > 0 {
            filter.insert("rating".to_owned(), json!({ "gte": 1 + self.roll(4) }));
        }
        if self.roll(2) > 0 {
            filter.insert(
                "price".to_owned(),
                json!({ "gte": self.roll(200).to_string() }),
            );
        }
        let (specs, at) = (self.roll(4), self.roll(6));
        let scope = self.scope();
        let specs: Vec<Value> = match specs {
            0 => {
                let common = scope.common.get(at).or(scope.range.as_ref());
                common.into_iter().cloned().collect()
            }
            1 => scope.rare.iter().chain(&scope.range).cloned().collect(),
            _ => Vec::new(),
        };
        if !specs.is_empty() {
            filter.insert("specs".to_owned(), json!(specs));
        }
        Value::Object(filter)
    }

    fn sort(&mut self) -> Value {
        let keys = [
            "PRICE",
            "RATING",
            "POPULARITY",
            "NEWEST",
            "UPDATED",
            "NAME",
            "BEST_SELLING",
            "TRENDING",
        ];
        match self.roll(keys.len() + 1) {
            at if at < keys.len() => json!([{ "key": keys[at] }]),
            _ => json!([{ "spec": self.pick(&self.catalogue.keys) }]),
        }
    }

    /// A value of an argument; `None` to leave it out.
    fn value(&mut self, field: &str, argument: &InputValueDefinition) -> Option<Value> {
        let value = match (field, &*argument.name) {
            ("topReviews", "first") => self.up_to(MAX_TOP_REVIEWS),
            ("searchSuggestions", "first") => self.up_to(50),
            (_, "first") => self.up_to(100),
            (_, "months") => self.up_to(120),
            (_, "days") => self.up_to(365),
            (_, "upTo") => self.up_to(200_000),
            (_, "limit") => self.up_to(200),
            (_, "ids") => {
                let most = self.roll(100);
                json!((0..=most).map(|_| self.product()).collect::<Vec<_>>())
            }
            ("supplier", "id") => json!(self.pick(&self.catalogue.suppliers)),
            (_, "id") => self.product(),
            (_, "slug" | "category") => self.slug(),
            (_, "search") => self.words(3),
            (_, "prefix") => self.words(2),
            (_, "keys") => self.keys(20),
            (_, "key") => json!(self.pick(&self.catalogue.keys)),
            ("products", "filter") => self.filter(),
            ("reviews", "filter") => json!({ "ratings": [1 + self.roll(5)] }),
            ("products", "sort") => self.sort(),
            _ => {
                let ty = self
                    .catalogue
                    .schema
                    .types
                    .get(argument.ty.inner_named_type());
                let values = ty.and_then(ExtendedType::as_enum)?.values.keys();
                let values: Vec<_> = values.map(ToString::to_string).collect();
                json!(self.pick(&values)?)
            }
        };
        Some(value)
    }
}
