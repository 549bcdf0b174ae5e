//! Loading the demo catalogue into an empty database, with its recent activity.

use anyhow::{Context as _, bail};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use indicatif::{ProgressBar, ProgressStyle};
use vitrine_demo::{Demo, DemoActivity, DemoOptions};
use vitrine_domain::Catalog;
use vitrine_domain::activity::{Event, MAX_EVENTS, Recorder};
use vitrine_domain::import::{ImportMode, RunState};
use vitrine_domain::outcome::Outcome;
use vitrine_domain::products::{ProductKey, Visibility};
use vitrine_domain::reviewing::Purchase;
use vitrine_domain::workers::Worker;
use vitrine_model::activity::ActivityKind;
use vitrine_model::id::ProductId;
use vitrine_model::import::LineOutcome;

const RUN: &str = "demo";
/// The number of drafts per batch.
const BATCH: usize = 1000;
/// The number of purchases that are recorded concurrently.
const MAX_CONCURRENT_PURCHASES: usize = 8;

/// Loads the demo catalogue if the database is empty, or if an earlier load was interrupted.
pub(crate) async fn load_if_empty(catalog: &Catalog, seed: u64) -> anyhow::Result<()> {
    let state = catalog.run_state(RUN).await?;
    if state == Some(RunState::Finished) || (state.is_none() && !catalog.is_empty().await?) {
        return Ok(());
    }
    catalog.begin_run(RUN, "demo").await?;
    load(catalog, seed)
        .await
        .context("loading the demo catalogue")?;
    catalog.finish_run(RUN).await?;
    Ok(())
}

async fn load(catalog: &Catalog, seed: u64) -> anyhow::Result<()> {
    let demo = Demo::new(DemoOptions {
        seed,
        ..DemoOptions::new(catalog.now())
    });
    let progress = Progress::begin(&demo);
    let mut session = catalog.import(ImportMode::Write);
    let mut products = demo.products();
    loop {
        let batch: Vec<_> = products.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        progress.add(batch.len());
        fail_if_rejected(&session.products(batch).await?)?;
    }
    let mut reviews = demo.reviews();
    loop {
        let batch: Vec<_> = reviews.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        progress.add(batch.len());
        fail_if_rejected(&session.reviews(batch).await?)?;
    }
    progress.next("computing ratings");
    session.finish().await?;
    progress.next("recording views and orders");
    record_activity(catalog, &demo).await?;
    progress.end();
    Ok(())
}

/// Records purchases, then views and carts. Purchases have order numbers, so those recorded before
/// an interruption are not counted twice. Views and carts come last, because they have none.
async fn record_activity(catalog: &Catalog, demo: &Demo) -> anyhow::Result<()> {
    let (mut purchases, mut events) = (Vec::new(), Vec::new());
    for activity in demo.activity(catalog.now()) {
        let key = ProductKey::Sku(activity.sku.clone());
        let product = catalog.product(key, Visibility::Public).await?;
        let product = product.with_context(|| format!("product {} is missing", activity.sku))?;
        add(product.id(), activity, &mut purchases, &mut events);
    }
    stream::iter(purchases)
        .map(|purchase| async {
            match catalog.record_purchase(purchase).await? {
                Outcome::Done(_) => Ok(()),
                Outcome::Refused { refusals, .. } => {
                    bail!("an order of the demo catalogue was refused: {refusals:?}")
                }
            }
        })
        .buffer_unordered(MAX_CONCURRENT_PURCHASES)
        .try_collect::<()>()
        .await?;
    for batch in events.chunks(MAX_EVENTS) {
        catalog
            .record_activity(batch, None, &Recorder::trusted("demo"))
            .await?;
        catalog.flush_activity().await?;
    }
    for worker in [Worker::Activity, Worker::Trending] {
        catalog.work_off(worker).await?;
    }
    Ok(())
}

fn add(
    product: ProductId,
    activity: DemoActivity,
    purchases: &mut Vec<Purchase>,
    events: &mut Vec<Event>,
) {
    for order in activity.orders {
        purchases.push(Purchase {
            product,
            customer: order.customer,
            at: Some(order.at),
            quantity: order.units,
            order: Some(order.number),
        });
    }
    let views = activity
        .views
        .into_iter()
        .map(|at| (ActivityKind::View, at));
    let carts = activity
        .carts
        .into_iter()
        .map(|at| (ActivityKind::Cart, at));
    events.extend(views.chain(carts).map(|(kind, at)| Event {
        product,
        kind,
        at: Some(at),
    }));
}

fn fail_if_rejected(outcomes: &[LineOutcome]) -> anyhow::Result<()> {
    for outcome in outcomes {
        if let LineOutcome::Rejected(reasons) = outcome {
            bail!("the demo catalogue is invalid in this release: {reasons:?}");
        }
    }
    Ok(())
}

/// Shows how far the load is: a bar on a terminal, lines in the log otherwise.
struct Progress(ProgressBar);

impl Progress {
    fn begin(demo: &Demo) -> Self {
        let (products, reviews) = (demo.product_count(), demo.review_count());
        tracing::info!(
            "loading the demo catalogue of {products} products and {reviews} reviews; this takes about half a minute, only at the first start"
        );
        let style =
            ProgressStyle::with_template("loading the demo catalogue [{bar:30}] {pos}/{len} {msg}");
        let style = style
            .expect("the template is a constant")
            .progress_chars("=> ");
        let rows = u64::try_from(products + reviews).unwrap_or(u64::MAX);
        Self(ProgressBar::new(rows).with_style(style))
    }

    /// Adds products or reviews. Each quarter is a line.
    fn add(&self, rows: usize) {
        let quarter = || 4 * self.0.position() / self.0.length().unwrap_or(1).max(1);
        let before = quarter();
        self.0.inc(u64::try_from(rows).unwrap_or(0));
        if self.0.is_hidden() && quarter() > before {
            let percent = 25 * quarter();
            tracing::info!("{percent} % of the demo catalogue are loaded");
        }
    }

    /// Begins the next part.
    fn next(&self, part: &'static str) {
        self.0.set_message(part);
        if self.0.is_hidden() {
            tracing::info!("loading the demo catalogue: {part}");
        }
    }

    fn end(self) {
        self.0.finish_and_clear();
        tracing::info!("the demo catalogue is loaded");
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use indicatif::ProgressDrawTarget;

    use super::*;

    /// Collects what is logged.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn without_a_terminal_each_quarter_and_each_part_is_a_line() {
        let log = Log::default();
        let written = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || written.clone())
            .without_time()
            .with_target(false)
            .with_level(false)
            .with_ansi(false)
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            let hidden = ProgressDrawTarget::hidden();
            let progress = Progress(ProgressBar::with_draw_target(Some(1_000), hidden));
            for _ in 0..10 {
                progress.add(100);
            }
            progress.next("computing ratings");
            progress.end();
        });
        let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let expected = [
            "25 % of the demo catalogue are loaded",
            "50 % of the demo catalogue are loaded",
            "75 % of the demo catalogue are loaded",
            "100 % of the demo catalogue are loaded",
            "loading the demo catalogue: computing ratings",
            "the demo catalogue is loaded",
        ];
        assert_eq!(lines, expected);
    }
}
