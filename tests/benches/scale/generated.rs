//! A made-up catalogue of any size: like a real one in how unevenly everything is spread.
//!
//! 40 leaf categories, each a tenth rarer than the one before; about 200 keys of specs, a dozen of
//! them on a product; texts, brands, suppliers and words of names by Zipf's law; three products
//! with a fifth of all reviews. The same seed gives the same catalogue, and one of another size has
//! the same categories, keys and values.

use std::collections::BTreeMap;

use vitrine_model::clock::Timestamp;
use vitrine_model::id::AuthorId;
use vitrine_model::import::{Droppable, ExternalRef, ProductDraft, ReviewDraft, SupplierDraft};
use vitrine_model::money::{Currency, Money};
use vitrine_model::product::{Details, Media, MediaKind, ProductStatus};
use vitrine_model::rating::Stars;
use vitrine_model::review::Author;

use crate::random::{Purpose, Random, Shares, whole};
use crate::specs::{HEAVY_PRODUCTS, Specs};

/// How many leaf categories there are, and how popular each is beside the one before.
const LEAVES: usize = 40;
const LEAF_RATIO: f64 = 0.908;
const PARENTS: usize = 8;
/// The category of the products with as many specs as a product may have.
const HEAVY_LEAF: [&str; 2] = ["Oddities", "Heavyweights"];
/// Different words in names and descriptions, and sentences that texts are made of.
const WORDS: usize = 4_000;
const SENTENCES: usize = 2_000;
const BRANDS: usize = 600;
const SUPPLIERS: usize = 400;
/// Of all reviews, the shares of the most reviewed products.
const GIANTS: [f64; 3] = [0.075, 0.06, 0.05];
/// Who may have written a review.
const AUTHORS: usize = 500_009;
const SYSTEM: &str = "generated";
const COUNTRIES: [&str; 12] = [
    "DE", "FR", "US", "CN", "IT", "PL", "NL", "JP", "ES", "SE", "AT", "CH",
];
/// The instant up to which things happened, and for how long before.
const END: &str = "2026-05-31T00:00:00Z";
const MINUTES: usize = 5 * 365 * 24 * 60;

/// The catalogue; its products and reviews are made when they are asked for.
#[derive(Debug)]
pub(crate) struct Generated {
    seed: u64,
    end: Timestamp,
    leaves: Shares,
    specs: Specs,
    words: Vec<String>,
    word: Shares,
    sentences: Vec<String>,
    brand: Shares,
    supplier: Shares,
    /// How many reviews each product has.
    reviews: Vec<usize>,
}

impl Generated {
    /// Decides what is common and what is rare.
    pub(crate) fn new(seed: u64, products: usize, reviews: usize) -> Self {
        let words: Vec<String> = (0..WORDS).map(|at| made_up(seed, at)).collect();
        let word = Shares::zipf(WORDS, 0.9);
        let sentences = (0..SENTENCES).map(|at| {
            let mut random = Random::of(seed, Purpose::Sentence, at);
            sentence(&words, &word, &mut random)
        });
        let others = Shares::zipf(SUPPLIERS - 1, 0.7).split(750);
        let suppliers = std::iter::once(250).chain(others);
        Self {
            seed,
            end: Timestamp::parse(END).expect("an instant"),
            leaves: Shares::of((0..LEAVES).map(|at| LEAF_RATIO.powi(i32::try_from(at).unwrap()))),
            specs: Specs::new(seed, LEAVES, &words),
            sentences: sentences.collect(),
            brand: Shares::zipf(BRANDS, 1.0),
            supplier: Shares::of(suppliers.map(|weight| weight as f64)),
            reviews: reviews_of(seed, products, reviews),
            words,
            word,
        }
    }

    /// All products: the ordinary ones, then a page of huge ones.
    pub(crate) fn products(&self) -> impl Iterator<Item = ProductDraft> {
        let ordinary = (0..self.reviews.len()).map(|index| self.product(index));
        ordinary.chain((0..HEAVY_PRODUCTS).map(|index| self.heavy(index)))
    }

    /// The reviews of every `parts`th product from this one on, product by product.
    pub(crate) fn reviews(&self, part: usize, parts: usize) -> impl Iterator<Item = ReviewDraft> {
        let products = self.reviews.iter().enumerate().skip(part).step_by(parts);
        products.flat_map(move |(product, count)| {
            let mut random = Random::of(self.seed, Purpose::Review, product);
            let (liked, first) = (random.share(), random.below(AUTHORS));
            (0..*count).map(move |at| self.review(product, at, first, liked, &mut random))
        })
    }

    fn product(&self, index: usize) -> ProductDraft {
        let mut random = Random::of(self.seed, Purpose::Product, index);
        let leaf = self.leaves.draw(&mut random);
        let specs = self.specs.draw(leaf, &mut random);
        let mut draft = self.draft(index, &mut random);
        draft.category = vec![
            format!("Department {}", leaf % PARENTS + 1),
            format!("Leaf {leaf:02} {}", self.words[leaf * 7]),
        ];
        draft.kind = Some(["thing", "gadget", "tool", "part"][leaf % 4].to_owned());
        draft.specs = specs;
        // The giants have to be on sale.
        if self.reviews[index] < 1_000 && random.chance(0.03) {
            draft.status = Some(random.pick(&[ProductStatus::Draft, ProductStatus::Archived]));
        }
        draft
    }

    fn heavy(&self, index: usize) -> ProductDraft {
        let number = self.reviews.len() + index;
        let mut random = Random::of(self.seed, Purpose::Product, number);
        let mut draft = self.draft(number, &mut random);
        draft.category = HEAVY_LEAF.map(str::to_owned).to_vec();
        draft.specs = self.specs.all(&mut random);
        let sentences = (0..42).map(|_| self.sentences[random.below(SENTENCES)].as_str());
        draft.description = Some(sentences.collect::<Vec<_>>().join(" "));
        draft
    }

    /// A product without category and specs.
    fn draft(&self, index: usize, random: &mut Random) -> ProductDraft {
        let brand = titled(&made_up(self.seed, WORDS + self.brand.draw(random)));
        let sku = format!("VX-{index:07}");
        ProductDraft {
            source: external(format!("p{index}")),
            sku: Some(sku.clone()),
            kind: Some("thing".to_owned()),
            name: Some(self.name(&brand, random)),
            description: Some(self.text(4, random)),
            brand: Some(brand),
            status: Some(ProductStatus::Active),
            category: Vec::new(),
            supplier: Some(self.supplier(random)),
            price: random.chance(0.8).then(|| price(random)),
            media: vec![Media {
                url: format!("https://images.example/{sku}.jpg"),
                alt: None,
                kind: MediaKind::Image,
            }],
            specs: Vec::new(),
            details: Details::Generic,
            bundle: Vec::new(),
            created_at: Some(self.before_end(random)),
            create_only: false,
            owns: Vec::new(),
            droppable: Droppable::default(),
        }
    }

    /// Brand, two to six words, model number.
    fn name(&self, brand: &str, random: &mut Random) -> String {
        let mut name = brand.to_owned();
        for _ in 0..2 + random.below(5) {
            name.push(' ');
            name += &titled(&self.words[self.word.draw(random)]);
        }
        let letter =
            |random: &mut Random| char::from(b'A' + u8::try_from(random.below(26)).unwrap());
        let (first, second) = (letter(random), letter(random));
        format!("{name} {first}{second}-{}", 100 + random.below(9_900))
    }

    fn supplier(&self, random: &mut Random) -> SupplierDraft {
        let index = self.supplier.draw(random);
        SupplierDraft {
            name: format!("Supplier {index:03}"),
            country: Some(COUNTRIES[index % COUNTRIES.len()].to_owned()),
            origin: None,
        }
    }

    fn review(
        &self,
        product: usize,
        at: usize,
        first_author: usize,
        liked: f64,
        random: &mut Random,
    ) -> ReviewDraft {
        let stars = (2.0 + 3.0 * liked + 4.0 * (random.share() - 0.5)).clamp(1.0, 5.0);
        let author = (first_author + at) % AUTHORS;
        ReviewDraft {
            origin: external(format!("p{product}r{at}")),
            product: external(format!("p{product}")),
            author: Some(Author {
                id: AuthorId(format!("a{author}")),
                name: format!("Author {author}"),
            }),
            rating: Stars::new(i64::try_from(whole(stars.round())).unwrap()).expect("one to five"),
            recommended: random.chance(0.3).then_some(stars > 2.5),
            dimensions: BTreeMap::new(),
            title: self.words[self.word.draw(random)].clone(),
            body: self.text(3, random),
            language: Some("en".to_owned()),
            incentivized: false,
            verified: false,
            media: Vec::new(),
            attributes: Vec::new(),
            helpful: i64::from(random.chance(0.2)) * i64::try_from(random.below(20)).unwrap(),
            unhelpful: 0,
            created_at: Some(self.before_end(random)),
            droppable: Droppable::default(),
        }
    }

    fn text(&self, sentences: usize, random: &mut Random) -> String {
        let mut text = String::new();
        for at in 0..sentences {
            if at > 0 {
                text.push(' ');
            }
            text += &self.sentences[random.below(SENTENCES)];
        }
        text
    }

    fn before_end(&self, random: &mut Random) -> Timestamp {
        let minutes = i64::try_from(random.below(MINUTES)).expect("a few years");
        self.end.plus_millis(-minutes * 60_000)
    }
}

/// Three giants, the others by Zipf's law.
fn reviews_of(seed: u64, products: usize, reviews: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..products).collect();
    Random::of(seed, Purpose::Popularity, 0).shuffle(&mut order);
    let of_giants = GIANTS.map(|share| whole(share * reviews as f64));
    let rest = reviews - of_giants.iter().sum::<usize>();
    let others = Shares::zipf(products.saturating_sub(GIANTS.len()), 0.8).split(rest);
    let mut counts = vec![0; products];
    for (product, count) in order.into_iter().zip(of_giants.into_iter().chain(others)) {
        counts[product] = count;
    }
    counts
}

/// A word of two to four syllables; few are one letter away from another.
fn made_up(seed: u64, index: usize) -> String {
    let mut random = Random::of(seed, Purpose::Word, index);
    let syllables = [2, 3, 3, 3, 4][random.below(5)];
    let mut word = String::new();
    for _ in 0..syllables {
        word.push(random.pick(&[
            'b', 'c', 'd', 'f', 'g', 'h', 'j', 'k', 'l', 'm', 'n', 'p', 'r', 's', 't', 'v', 'w',
            'z',
        ]));
        word.push(random.pick(&['a', 'e', 'i', 'o', 'u']));
    }
    if random.chance(0.4) {
        word.push(random.pick(&['l', 'n', 'r', 's', 't']));
    }
    word
}

/// About 80 characters.
fn sentence(words: &[String], word: &Shares, random: &mut Random) -> String {
    let mut text = titled(&words[word.draw(random)]);
    while text.len() < 76 {
        text.push(' ');
        text += &words[word.draw(random)];
    }
    text + "."
}

fn titled(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

/// Low prices are likelier: 1.99 to about 2,000.
fn price(random: &mut Random) -> Money {
    let euros = 1_000.0_f64.mul_add(random.share().powi(4), 1.0) * (1.0 + random.share());
    Money {
        minor: i64::try_from(whole(euros) * 100 + 99).expect("a few thousand"),
        currency: Currency::parse("EUR").expect("a currency"),
    }
}

fn external(external_id: String) -> ExternalRef {
    ExternalRef {
        system: SYSTEM.to_owned(),
        external_id,
    }
}
