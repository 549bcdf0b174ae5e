//! Reading rows of Parquet files. In memory are the dictionary and a page of each column, which
//! [`pages`] bounds.
//!
//! Every column is read by its logical type, as [`value`] says. A column that has no meaning here,
//! or that the reader of the format cannot read, is left out by name.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parquet::file::metadata::ParquetStatisticsPolicy;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::ReadOptionsBuilder;
use parquet::record::Row as ParquetRow;
use parquet::record::reader::TreeBuilder;
use serde_json::{Map, Value};

use super::background::{Background, Sink, Unread};
use super::{CellProblem, MAX_LINE_BYTES, Row};

mod pages;
mod plan;
mod value;

use plan::Plan;
use value::Reading;

/// The rows of a file, and how it is read.
pub(super) struct Opened {
    pub(super) rows: Background,
    pub(super) described: String,
}

/// Starts to read the rows of a file.
///
/// # Errors
/// If there is no thread for it.
pub(super) fn rows(file: &File, read: Arc<AtomicU64>) -> Result<Opened, String> {
    let size = file.metadata().map_err(|error| error.to_string())?.len();
    // Libraries for binary formats may panic over a damaged file.
    let planned = undamaged(|| planned(file));
    let described = match &planned {
        Ok((_, plan)) => plan.described(),
        Err(_) => "Parquet".to_owned(),
    };
    let started = Background::start(move |sink| match planned {
        // Nobody reads any more: nothing is left to do.
        Ok((reader, plan)) => drop(send(&reader, &plan, size, &read, sink)),
        Err(reason) => sink.broken(&reason),
    });
    let rows = started.map_err(|error| error.to_string())?;
    Ok(Opened { rows, described })
}

/// Returns what reading returns; a panic is a reason.
fn undamaged<T>(read: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let read = std::panic::AssertUnwindSafe(read);
    std::panic::catch_unwind(read).unwrap_or_else(|_| Err("it is damaged".to_owned()))
}

type Reader = SerializedFileReader<File>;

/// Finds out how the columns of a file are read.
fn planned(file: &File) -> Result<(Reader, Plan), String> {
    pages::check_footer(file)?;
    let opened = |options: ReadOptionsBuilder| {
        let options = options.with_column_stats_policy(ParquetStatisticsPolicy::SkipAll);
        let file = file.try_clone().map_err(|error| error.to_string())?;
        Reader::new_with_options(file, options.build()).map_err(|error| error.to_string())
    };
    let reader = opened(ReadOptionsBuilder::new())?;
    let mut plan = Plan::of(reader.metadata())?;
    pages::check(file, reader.metadata())?;
    // The reader gives plain numbers and bytes then, which are converted here.
    let reader = opened(ReadOptionsBuilder::new().with_parquet_schema(plan.plain()))?;
    plan.leave_out(|descr| {
        undamaged(|| {
            if reader.num_row_groups() == 0 {
                return Ok(());
            }
            let group = reader.get_row_group(0).map_err(|error| error.to_string())?;
            let rows = TreeBuilder::new().as_iter(Arc::clone(descr), group.as_ref());
            let mut rows = rows.map_err(|error| error.to_string())?;
            let row = rows.next().transpose();
            row.map(drop).map_err(|error| error.to_string())
        })
    })?;
    Ok((reader, plan))
}

fn send(
    reader: &Reader,
    plan: &Plan,
    size: u64,
    read: &AtomicU64,
    sink: &mut Sink,
) -> Result<(), Unread> {
    let stated = reader.metadata().file_metadata().num_rows();
    let stated = u64::try_from(stated).unwrap_or_default();
    let total = stated.max(1);
    let mut number = 0;
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group);
        let rows = group.and_then(|group| TreeBuilder::new().as_iter(plan.read(), group.as_ref()));
        let rows = match rows {
            Ok(rows) => rows,
            Err(error) => {
                sink.broken(&error.to_string());
                return Ok(());
            }
        };
        for row in rows {
            number += 1;
            let row = match row {
                Ok(row) => row,
                Err(error) => {
                    sink.broken(&error.to_string());
                    return Ok(());
                }
            };
            let (bytes, row, cells) = read_row(&row, plan, number);
            sink.row_with(number, bytes, row, cells)?;
            let share = u128::from(size) * u128::from(number.min(total)) / u128::from(total);
            read.store(u64::try_from(share).unwrap_or(size), Ordering::Relaxed);
        }
    }
    if number != stated {
        sink.broken(&format!("it has {number} rows where it says {stated}"));
    }
    Ok(())
}

/// The length of a row, the row, and the cells of it that mean nothing.
fn read_row(row: &ParquetRow, plan: &Plan, number: u64) -> (usize, Row, Vec<CellProblem>) {
    let (mut object, mut cells) = (Map::with_capacity(row.len()), Vec::new());
    let mut reading = Reading {
        problem: None,
        bytes: 0,
        max_bytes: MAX_LINE_BYTES,
    };
    for ((name, field), kind) in row.get_column_iter().zip(plan.kinds()) {
        let value = value::value(field, kind, &mut reading);
        cells.extend(reading.problem.take().map(|reason| CellProblem {
            column: name.clone(),
            cell: number.to_string(),
            reason,
        }));
        object.insert(name.clone(), value);
    }
    let bytes = reading.bytes;
    if bytes > MAX_LINE_BYTES {
        let reason = format!("is longer than {MAX_LINE_BYTES} bytes");
        return (bytes, Row::Unreadable(reason), Vec::new());
    }
    (bytes, Row::Object(Value::Object(object)), cells)
}

#[cfg(test)]
mod tests;
