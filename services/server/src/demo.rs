//! Loading the made-up catalogue into an empty database.

use anyhow::{Context as _, bail};
use indicatif::{ProgressBar, ProgressStyle};
use vitrine_domain::Catalog;
use vitrine_domain::import::{ImportMode, RunState};
use vitrine_ingest::demo::{Demo, DemoOptions};
use vitrine_model::import::LineOutcome;

const RUN: &str = "demo";
/// How many drafts are stored at a time.
const BATCH: usize = 1000;

/// Loads the made-up catalogue if the database is empty, or if loading it was cut off before.
pub(crate) async fn load_if_empty(catalog: &Catalog, seed: u64) -> anyhow::Result<()> {
    let state = catalog.run_state(RUN).await?;
    if state == Some(RunState::Finished) || (state.is_none() && !catalog.is_empty().await?) {
        return Ok(());
    }
    catalog.begin_run(RUN, "demo").await?;
    load(catalog, seed)
        .await
        .context("loading the made-up catalogue")?;
    catalog.finish_run(RUN).await?;
    Ok(())
}

async fn load(catalog: &Catalog, seed: u64) -> anyhow::Result<()> {
    let demo = Demo::new(DemoOptions {
        seed,
        ..DemoOptions::new(catalog.now())
    });
    let rows = demo.product_count() + demo.review_count();
    let bar = bar(u64::try_from(rows).unwrap_or(u64::MAX));
    let mut session = catalog.import(ImportMode::Write);
    let mut products = demo.products();
    loop {
        let batch: Vec<_> = products.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        bar.inc(u64::try_from(batch.len()).unwrap_or(0));
        none_rejected(&session.products(batch).await?)?;
    }
    let mut reviews = demo.reviews();
    loop {
        let batch: Vec<_> = reviews.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        bar.inc(u64::try_from(batch.len()).unwrap_or(0));
        none_rejected(&session.reviews(batch).await?)?;
    }
    bar.set_message("computing ratings");
    session.finish().await?;
    bar.finish_and_clear();
    Ok(())
}

fn none_rejected(outcomes: &[LineOutcome]) -> anyhow::Result<()> {
    for outcome in outcomes {
        if let LineOutcome::Rejected(reasons) = outcome {
            bail!("the made-up catalogue contradicts the rules of this release: {reasons:?}");
        }
    }
    Ok(())
}

fn bar(rows: u64) -> ProgressBar {
    let style =
        ProgressStyle::with_template("loading the made-up catalogue [{bar:30}] {pos}/{len} {msg}");
    let style = style
        .expect("the template is a constant")
        .progress_chars("=> ");
    ProgressBar::new(rows).with_style(style)
}
