//! The demo catalogue that `cargo run` loads, as far as the examples need it.

use vitrine_domain::import::ImportMode;
use vitrine_harness::App;
use vitrine_harness::app::NOW;
use vitrine_model::clock::Timestamp;
use vitrine_model::import::{LineOutcome, ProductDraft, ReviewDraft};
use vitrine_server::Cli;

use super::demo::{Demo, DemoOptions};

/// The catalogue with the seed that the service uses by default.
fn usual() -> Demo {
    let settings = Cli::read(["vitrine"]).unwrap();
    Demo::new(DemoOptions {
        seed: settings.dev.seed,
        ..DemoOptions::new(Timestamp::parse(NOW).unwrap())
    })
}

/// The departments that the guide visits. What it says of them is the same in the whole catalogue,
/// which takes longer to load than a test should.
const VISITED: [&str; 3] = ["Computers", "Beer & cider", "Furniture"];
/// The category whose reviews the guide reads.
const REVIEWED: &str = "Monitors";

/// What the guide needs.
pub(super) async fn of_the_guide(app: &App) {
    let demo = usual();
    let within =
        |product: &ProductDraft, category| product.category.iter().any(|name| name == category);
    let visited = |product: &ProductDraft| VISITED.iter().any(|name| within(product, *name));
    let products: Vec<ProductDraft> = demo.products().filter(visited).collect();
    let reviews = reviews_of(&demo, &products, |product| within(product, REVIEWED));
    load(app, products, reviews).await;
}

/// One product with all of its reviews.
pub(super) async fn only(app: &App, name: &str) {
    let demo = usual();
    let products: Vec<ProductDraft> = demo
        .products()
        .filter(|one| one.name.as_deref() == Some(name))
        .collect();
    let reviews = reviews_of(&demo, &products, |_| true);
    load(app, products, reviews).await;
}

fn reviews_of(
    demo: &Demo,
    products: &[ProductDraft],
    reviewed: impl Fn(&ProductDraft) -> bool,
) -> Vec<ReviewDraft> {
    let products = products.iter().filter(|product| reviewed(product));
    let sources: Vec<_> = products.map(|product| product.source.clone()).collect();
    let reviews = demo.reviews();
    reviews
        .filter(|review| sources.contains(&review.product))
        .collect()
}

async fn load(app: &App, products: Vec<ProductDraft>, reviews: Vec<ReviewDraft>) {
    let (outcomes, _) = app.import(ImportMode::Write, products, reviews).await;
    let created = |outcome: &LineOutcome| *outcome == LineOutcome::Created;
    assert!(
        outcomes.iter().all(created),
        "the demo catalogue is taken whole"
    );
}
