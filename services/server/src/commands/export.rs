//! `export`: the catalogue as files.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use indicatif::{ProgressBar, ProgressStyle};
use vitrine_api::graphql;
use vitrine_domain::DomainError;
use vitrine_export::google::{Availability, Condition, FeedOptions};
use vitrine_export::output::Target;
use vitrine_export::record::Counts;
use vitrine_export::site::{InvalidSite, Site};
use vitrine_export::{ExportError, ExportOptions, Format};
use vitrine_model::filter::ProductFilter;

use super::{log_progress, print, shutdown_signal};
use crate::database::Database;
use crate::settings::{Common, Export, ExportFormat, FeedAvailability, FeedCondition};

pub(super) async fn run(settings: &Common, arguments: &Export) -> anyhow::Result<ExitCode> {
    let options = options(arguments)?;
    let database = Database::open(settings, &log_progress).await?;
    database.require_schema().await?;
    let catalog = database.catalog_read_only(settings).await?;
    let bar = bar();
    let export = vitrine_export::export(
        &catalog,
        &options,
        |counts| update(&bar, counts),
        |hint| tracing::warn!("--filter: {}: {}", hint.path, hint.message),
    );
    let outcome = tokio::select! {
        outcome = export => Some(outcome),
        () = shutdown_signal() => None,
    };
    bar.finish_and_clear();
    catalog.drain().await;
    database.close().await?;
    let Some(outcome) = outcome else {
        let again = "stopped; run the same command again";
        log_progress(&match arguments.format {
            ExportFormat::Jsonl => format!("{again} to continue the export"),
            _ => again.to_owned(),
        });
        return Ok(ExitCode::FAILURE);
    };
    let report = outcome.map_err(|error| explained(error, arguments))?;
    let said = report.to_string();
    if options.target == Target::Standard {
        said.lines().for_each(log_progress);
    } else {
        print(said.trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

/// The error, with the option that caused it.
fn explained(error: ExportError, arguments: &Export) -> anyhow::Error {
    match error {
        ExportError::Catalog(DomainError::Invalid { field, reason }) => {
            anyhow::anyhow!("--filter: {field}: {reason}")
        }
        ExportError::Catalog(DomainError::Forbidden(_)) => anyhow::anyhow!(
            "--filter: {} has products on sale only, so the filter can ask for no other status than ACTIVE",
            arguments.format.name()
        ),
        error => {
            let error = anyhow::Error::new(error);
            match &arguments.out {
                Some(out) => error.context(format!("exporting to {}", out.display())),
                None => error.context("reading the catalogue"),
            }
        }
    }
}

fn options(arguments: &Export) -> anyhow::Result<ExportOptions> {
    refuse_without_effect(arguments)?;
    let (filter, filter_text) = filter(arguments.filter.as_deref())?;
    Ok(ExportOptions {
        target: target(arguments)?,
        format: format(arguments)?,
        filter,
        filter_text,
        reviews: !arguments.products_only,
        restart: arguments.restart,
    })
}

/// Fails if an option has no effect for the format.
fn refuse_without_effect(arguments: &Export) -> anyhow::Result<()> {
    use ExportFormat::{Csv, GoogleProducts, GoogleReviews, Jsonl, Sitemap};
    let feeds = &[GoogleReviews, GoogleProducts][..];
    let with_addresses = &[GoogleReviews, GoogleProducts, Sitemap][..];
    let given = [
        (
            "--products-only",
            arguments.products_only,
            &[Jsonl, Csv][..],
        ),
        ("--restart", arguments.restart, &[Jsonl]),
        ("--site", arguments.site.is_some(), with_addresses),
        (
            "--product-path",
            arguments.product_path.is_some(),
            with_addresses,
        ),
        (
            "--category-path",
            arguments.category_path.is_some(),
            &[Sitemap],
        ),
        ("--publisher", arguments.publisher.is_some(), feeds),
        (
            "--availability",
            arguments.availability.is_some(),
            &[GoogleProducts],
        ),
        (
            "--condition",
            arguments.condition.is_some(),
            &[GoogleProducts],
        ),
    ];
    for (option, is_given, formats) in given {
        if is_given && !formats.contains(&arguments.format) {
            let names: Vec<&str> = formats.iter().map(|format| format.name()).collect();
            bail!(
                "{option} is for --format {}; it has no effect for {}",
                names.join(" and "),
                arguments.format.name()
            );
        }
    }
    Ok(())
}

fn filter(text: Option<&str>) -> anyhow::Result<(ProductFilter, Option<serde_json::Value>)> {
    let Some(text) = text else {
        return Ok((ProductFilter::default(), None));
    };
    let engine = graphql::engine().context("building the schema")?;
    let filter = graphql::product_filter(&engine, text);
    let filter = filter.map_err(|wrong| anyhow::anyhow!("--filter: {wrong}"))?;
    let as_given = serde_json::from_str(text).context("reading --filter")?;
    Ok((filter, Some(as_given)))
}

fn target(arguments: &Export) -> anyhow::Result<Target> {
    let Some(out) = &arguments.out else {
        return Ok(Target::Nowhere);
    };
    let name = arguments.format.name();
    let has_several_files = matches!(arguments.format, ExportFormat::Csv | ExportFormat::Sitemap);
    if out == Path::new("-") {
        if has_several_files {
            bail!("--format {name} writes several files: give a directory as --out");
        }
        return Ok(Target::Standard);
    }
    if has_several_files {
        if out.is_file() {
            bail!(
                "--out {}: is a file; --format {name} writes several files into a directory",
                out.display()
            );
        }
        return Ok(Target::Directory(out.clone()));
    }
    if out.is_dir() {
        bail!(
            "--out {}: is a directory; --format {name} writes one file",
            out.display()
        );
    }
    if out.extension().is_some_and(|extension| extension == "gz") {
        bail!(
            "--out {}: files are not compressed; use --out - and pipe it into gzip",
            out.display()
        );
    }
    Ok(Target::File(out.clone()))
}

fn format(arguments: &Export) -> anyhow::Result<Format> {
    Ok(match arguments.format {
        ExportFormat::Jsonl => Format::Lines,
        ExportFormat::Csv => Format::Tables,
        ExportFormat::GoogleReviews => {
            Format::GoogleReviews(feed(arguments, Availability::InStock)?)
        }
        ExportFormat::GoogleProducts => {
            let Some(availability) = arguments.availability else {
                bail!(
                    "--format google-products needs --availability in_stock or out_of_stock: the \
                     catalogue does not know what is in stock"
                );
            };
            let availability = match availability {
                FeedAvailability::InStock => Availability::InStock,
                FeedAvailability::OutOfStock => Availability::OutOfStock,
            };
            Format::GoogleProducts(feed(arguments, availability)?)
        }
        ExportFormat::Sitemap => Format::Sitemap(site(arguments)?),
    })
}

fn site(arguments: &Export) -> anyhow::Result<Site> {
    let name = arguments.format.name();
    let Some(site) = &arguments.site else {
        bail!("--format {name} needs --site: the origin of the shop, such as https://shop.example");
    };
    let product_path = arguments.product_path.as_deref();
    let product_path = product_path.unwrap_or(Site::PRODUCT_PATH);
    let category_path = arguments.category_path.as_deref();
    let category_path = category_path.unwrap_or(Site::CATEGORY_PATH);
    Site::new(site, product_path, category_path).map_err(|wrong| {
        let (option, given) = match wrong {
            InvalidSite::Origin => ("--site", site.as_str()),
            InvalidSite::ProductPath => ("--product-path", product_path),
            InvalidSite::CategoryPath => ("--category-path", category_path),
        };
        anyhow::anyhow!("{option} {given}: {wrong}")
    })
}

fn feed(arguments: &Export, availability: Availability) -> anyhow::Result<FeedOptions> {
    let site = site(arguments)?;
    let publisher = arguments.publisher.as_deref().map(str::trim);
    if publisher == Some("") {
        bail!("--publisher: give the name of the shop");
    }
    Ok(FeedOptions {
        publisher: publisher.unwrap_or(site.host()).to_owned(),
        site,
        availability,
        condition: arguments.condition.map(|condition| match condition {
            FeedCondition::New => Condition::New,
            FeedCondition::Refurbished => Condition::Refurbished,
            FeedCondition::Used => Condition::Used,
        }),
    })
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} exporting {msg}");
    let style = style.expect("the template is a constant");
    let bar = ProgressBar::new_spinner().with_style(style);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn update(bar: &ProgressBar, counts: &Counts) {
    bar.set_message(format!(
        "{} products, {} reviews",
        counts.products, counts.reviews
    ));
}
