//! Logging, to standard error: standard output is for results. And traces, to a collector.

use std::io::IsTerminal as _;

use anyhow::Context as _;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, fmt};
use vitrine_domain::spans::SPANS;

use crate::settings::{Cli, Common, LogFormat};
use crate::traces::Traces;

/// Starts logging with the configured filter and format, and the export of traces if it is configured.
pub(crate) fn start(cli: &Cli) -> anyhow::Result<Option<Traces>> {
    let settings = &cli.common;
    let filter = EnvFilter::try_new(&settings.log)
        .context("--log (VITRINE_LOG) is neither a level nor a list of levels by module")?;
    // Spans of traces are not for the log, whatever its level.
    let off = format!("{SPANS}=off").parse().context("a directive")?;
    let filter = filter.add_directive(off);
    let Some(endpoint) = &cli.telemetry.otlp_endpoint else {
        // A filter for everything costs less than one for each destination.
        let registry = tracing_subscriber::registry().with(filter);
        registry.with(log(settings)).try_init()?;
        return Ok(None);
    };
    let (traces, tracer) = Traces::start(endpoint)?;
    let exported = Targets::new().with_target(SPANS, LevelFilter::INFO);
    let spans = tracing_opentelemetry::layer().with_tracer(tracer);
    // Where the code is, and which thread ran it, says nothing of a request.
    let spans = spans.with_location(false).with_threads(false);
    let spans = spans.with_target(false).with_level(false);
    tracing_subscriber::registry()
        .with(log(settings).with_filter(filter))
        .with(spans.with_filter(exported))
        .try_init()?;
    Ok(Some(traces))
}

/// Writes log lines in the configured format.
fn log<S>(settings: &Common) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let layer = fmt::layer().with_writer(std::io::stderr);
    // Colour codes would make lines in files hard to search. On a terminal, NO_COLOR turns them off.
    let layer = if std::io::stderr().is_terminal() {
        layer
    } else {
        layer.with_ansi(false)
    };
    match settings.log_format {
        LogFormat::Text => layer.with_target(false).boxed(),
        LogFormat::Json => layer.json().boxed(),
    }
}
