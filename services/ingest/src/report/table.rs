//! A report as text for people.

use std::collections::BTreeMap;
use std::fmt::{Formatter, Result};

use vitrine_model::spec::SpecKey;

use super::suppliers::namesake;
use super::{RecordCounts, Report, SpecExample};
use crate::mapping::Unmatched;

/// The maximum number of reasons listed.
const MAX_ROWS: usize = 20;
/// The maximum number of spec keys listed; the JSON report has all of them.
const MAX_KEYS: usize = 500;

/// Writes the report as aligned text.
pub(super) fn write(report: &Report, f: &mut Formatter<'_>) -> Result {
    headline(report, f)?;
    read_as(report, f)?;
    counts(report, f)?;
    let rejected = if report.records.is_some() {
        "products and reviews were rejected because"
    } else {
        "lines were rejected because"
    };
    reasons(f, rejected, &report.rejected_for)?;
    reasons(f, "values were dropped because", &report.dropped_for)?;
    reasons(f, "values were ignored because", &report.ignored_for)?;
    repeats(report, f)?;
    suppliers(report, f)?;
    padded_skus(report, f)?;
    shared_keys(report, f)?;
    unmatched(report, f)?;
    new_entries(report, f)?;
    for (file, reason) in &report.broken_files {
        writeln!(f, "{file} is INCOMPLETE: {reason}")?;
    }
    rejects(report, f)?;
    report
        .notice
        .iter()
        .try_for_each(|notice| writeln!(f, "{notice}"))
}

fn headline(report: &Report, f: &mut Formatter<'_>) -> Result {
    let title = if report.dry_run {
        "Dry run, nothing was written. An import would do this"
    } else {
        "Imported"
    };
    let seconds = report.elapsed.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = report.counts.lines as f64 / seconds.max(1e-3);
    writeln!(
        f,
        "{title} · {} · {seconds:.1} s · {rate:.0} lines/s",
        report.system
    )
}

/// How each file was read.
fn read_as(report: &Report, f: &mut Formatter<'_>) -> Result {
    for (file, read_as) in report.read_as.iter().take(MAX_ROWS) {
        writeln!(f, "  {file} is {read_as}")?;
    }
    rest(f, report.read_as.len(), MAX_ROWS, "files")
}

fn counts(report: &Report, f: &mut Formatter<'_>) -> Result {
    let counts = &report.counts;
    let rows = [
        ("lines", counts.lines),
        ("  created", counts.created),
        ("  updated", counts.updated),
        ("  unchanged", counts.unchanged),
        ("  rejected", counts.rejected),
        ("  blank", counts.blank),
    ];
    rows.iter()
        .try_for_each(|(name, count)| row(f, name, *count))?;
    if counts.waiting > 0 {
        row(f, "  waiting", counts.waiting)?;
        writeln!(
            f,
            "    for a line with their sku that has name, kind and category"
        )?;
    }
    let rare = [
        ("  gathered", counts.gathered),
        ("  skipped", counts.skipped),
    ];
    let mut rare = rare.iter().filter(|(_, count)| *count > 0);
    rare.try_for_each(|(name, count)| row(f, name, *count))?;
    if report.kept_by_people > 0 {
        row(f, "kept by people", report.kept_by_people)?;
    }
    row(f, "values dropped", counts.dropped_values)?;
    if counts.ignored_values > 0 {
        row(f, "values ignored", counts.ignored_values)?;
    }
    if let Some(records) = report.records {
        record_counts(f, "products", records.products)?;
        record_counts(f, "reviews", records.reviews)?;
    }
    let Some(derived) = report.products_derived else {
        return Ok(());
    };
    row(
        f,
        "products derived",
        derived.created + derived.unchanged + derived.rejected,
    )?;
    row(f, "  created", derived.created)?;
    row(f, "  existing", derived.unchanged)?;
    row(f, "  rejected", derived.rejected)
}

fn record_counts(f: &mut Formatter<'_>, name: &str, counts: RecordCounts) -> Result {
    let all = counts.created + counts.updated + counts.unchanged + counts.waiting + counts.rejected;
    row(f, name, all)?;
    row(f, "  created", counts.created)?;
    row(f, "  updated", counts.updated)?;
    row(f, "  unchanged", counts.unchanged)?;
    if counts.waiting > 0 {
        row(f, "  waiting", counts.waiting)?;
    }
    row(f, "  rejected", counts.rejected)
}

/// The ids that repeat, each with its lines.
fn repeats(report: &Report, f: &mut Formatter<'_>) -> Result {
    for (file, repeats) in &report.repeats {
        if repeats.ids > 0 {
            writeln!(f, "  {} ids repeat in {file}", repeats.ids)?;
        }
        for id in repeats.repeated.iter().take(MAX_ROWS) {
            writeln!(f, "    {}: {}", id.of, id.reason())?;
        }
        let ids = usize::try_from(repeats.ids).unwrap_or(usize::MAX);
        rest(f, ids, MAX_ROWS, "ids")?;
        if repeats.not_compared > 0 {
            let not_compared = repeats.not_compared;
            writeln!(
                f,
                "    {not_compared} ids of {file} were not compared: too many"
            )?;
        }
    }
    Ok(())
}

/// The suppliers of which lines, or a line and the database, say different things.
fn suppliers(report: &Report, f: &mut Formatter<'_>) -> Result {
    let conflicts = &report.supplier_conflicts;
    if !conflicts.is_empty() {
        let count = conflicts.len();
        writeln!(f, "  lines differ in what they say of {count} suppliers")?;
    }
    for conflict in conflicts.iter().take(MAX_ROWS) {
        writeln!(f, "    {}", conflict.reason())?;
    }
    rest(f, conflicts.len(), MAX_ROWS, "suppliers")?;
    let namesakes = &report.new.namesakes;
    if !namesakes.is_empty() {
        let count = namesakes.len();
        writeln!(f, "  {count} new suppliers have the name of another one")?;
    }
    for one in namesakes.iter().take(MAX_ROWS) {
        writeln!(f, "    {}", namesake(one))?;
    }
    rest(f, namesakes.len(), MAX_ROWS, "suppliers")
}

/// The waiting skus that products have with more or fewer zeros.
fn padded_skus(report: &Report, f: &mut Formatter<'_>) -> Result {
    let padded = &report.padded_skus;
    if padded.is_empty() {
        return Ok(());
    }
    let count = padded.len();
    writeln!(
        f,
        "  {count} waiting skus are those of products but for zeros at their beginning"
    )?;
    for (waiting, known) in padded.iter().take(MAX_ROWS) {
        writeln!(f, "    {waiting}: the product has {known}")?;
    }
    rest(f, count, MAX_ROWS, "skus")
}

/// The spec keys that several names of the feed make.
fn shared_keys(report: &Report, f: &mut Formatter<'_>) -> Result {
    let shared = &report.shared_keys;
    if shared.is_empty() {
        return Ok(());
    }
    writeln!(
        f,
        "  different names make the same spec key; rename tells them apart"
    )?;
    for (key, names) in shared.iter().take(MAX_ROWS) {
        writeln!(f, "    {key}: {}", names.join(", "))?;
    }
    rest(f, shared.len(), MAX_ROWS, "spec keys")
}

/// What the mapping names and the feed does not have.
fn unmatched(report: &Report, f: &mut Formatter<'_>) -> Result {
    for (join, rows) in &report.unpaired {
        writeln!(f, "  {rows} rows have no matching row in join.{join}")?;
    }
    write_unmatched(&report.unmatched, f)
}

/// Writes the paths of a mapping that no row has.
pub(crate) fn write_unmatched(unmatched: &[Unmatched], f: &mut Formatter<'_>) -> Result {
    if unmatched.is_empty() {
        return Ok(());
    }
    writeln!(f, "  no row has what these settings name")?;
    for one in unmatched.iter().take(MAX_ROWS) {
        let hint = one.similar.as_ref();
        let hint = hint.map_or_else(String::new, |similar| format!("; did you mean {similar}?"));
        writeln!(f, "    {}: {}{hint}", one.setting, one.path)?;
    }
    rest(f, unmatched.len(), MAX_ROWS, "settings")
}

fn row(f: &mut Formatter<'_>, name: &str, count: u64) -> Result {
    writeln!(f, "  {name:<18}{count:>9}")
}

fn reasons(f: &mut Formatter<'_>, title: &str, reasons: &BTreeMap<String, u64>) -> Result {
    if reasons.is_empty() {
        return Ok(());
    }
    writeln!(f, "  {title}")?;
    let mut sorted: Vec<_> = reasons.iter().collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (reason, count) in sorted.iter().take(MAX_ROWS) {
        writeln!(f, "    {count:>7}  {reason}")?;
    }
    rest(f, sorted.len(), MAX_ROWS, "kinds of reasons")
}

fn new_entries(report: &Report, f: &mut Formatter<'_>) -> Result {
    let new = &report.new;
    row(f, "new categories", new.categories.len() as u64)?;
    row(f, "new suppliers", new.suppliers.len() as u64)?;
    row(f, "new spec keys", new.spec_keys.len() as u64)?;
    if !report.dry_run {
        return Ok(());
    }
    for key in new.spec_keys.iter().take(MAX_KEYS) {
        writeln!(f, "    {:<36}{}", key.key, of_type(key))?;
        values(f, report, report.spec_values.get(&key.key))?;
    }
    rest(f, new.spec_keys.len(), MAX_KEYS, "spec keys")?;
    let is_new = |key: &String| new.spec_keys.iter().any(|new| new.key == *key);
    let known: Vec<_> = report
        .spec_values
        .iter()
        .filter(|(key, _)| !is_new(key))
        .collect();
    if known.is_empty() {
        return Ok(());
    }
    row(f, "known spec keys", known.len() as u64)?;
    for (key, of_key) in known.iter().take(MAX_KEYS) {
        writeln!(f, "    {key}")?;
        values(f, report, Some(of_key))?;
    }
    rest(f, known.len(), MAX_KEYS, "spec keys")
}

/// Writes values of a spec key, with their lines, and of several files with the file.
fn values(f: &mut Formatter<'_>, report: &Report, values: Option<&Vec<SpecExample>>) -> Result {
    let values = values.into_iter().flatten();
    let shown = values.map(|SpecExample { value, file, line }| {
        if report.read_as.len() > 1 {
            format!("{value} ({file}, line {line})")
        } else {
            format!("{value} (line {line})")
        }
    });
    let shown: Vec<String> = shown.collect();
    if shown.is_empty() {
        return Ok(());
    }
    writeln!(f, "      {}", shown.join(", "))
}

fn of_type(key: &SpecKey) -> String {
    match (&key.dimension, &key.base_unit) {
        (Some(dimension), Some(unit)) => format!("{}, {dimension} in {unit}", key.value_type),
        _ => key.value_type.to_string(),
    }
}

fn rejects(report: &Report, f: &mut Formatter<'_>) -> Result {
    let rejects = &report.rejects;
    if let Some(path) = &rejects.path {
        writeln!(f, "  {} entries in {}", rejects.entries, path.display())?;
    }
    let Some(earlier) = &rejects.earlier else {
        return Ok(());
    };
    writeln!(
        f,
        "  the rejects of an earlier run are now in {}",
        earlier.display()
    )
}

fn rest(f: &mut Formatter<'_>, rows: usize, shown: usize, of: &str) -> Result {
    if rows > shown {
        writeln!(f, "    and {} more {of}", rows - shown)?;
    }
    Ok(())
}
