//! `mapping` and `units`: what helps to write mapping files. Needs no database.

use std::process::ExitCode;

use vitrine_first_mapping::first_mapping_of_sheet;
use vitrine_ingest::mapping::{self, Mapping};
use vitrine_model::unit::{Unit, UnitTable};

use super::print;
use crate::settings;

pub(super) fn run(command: &settings::Mapping) -> anyhow::Result<ExitCode> {
    match command {
        settings::Mapping::Init { file, sheet } => {
            let mapping = first_mapping_of_sheet(file, sheet.as_deref())?;
            print(mapping.trim_end());
            Ok(ExitCode::SUCCESS)
        }
        settings::Mapping::Check { mapping } => check(mapping),
        settings::Mapping::Schema => {
            print(mapping::SCHEMA.trim_end());
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn check(name_or_path: &str) -> anyhow::Result<ExitCode> {
    let mistakes = Mapping::check(name_or_path)?;
    if mistakes.is_empty() {
        print(&format!("{name_or_path} is valid"));
        return Ok(ExitCode::SUCCESS);
    }
    for mistake in &mistakes {
        print(&mistake.to_string());
    }
    Ok(ExitCode::FAILURE)
}

/// Prints the built-in units, by dimension.
pub(super) fn units() {
    let table = UnitTable::built_in();
    let mut dimension = "";
    for unit in table.units() {
        if unit.dimension != dimension {
            print(&unit.dimension);
            dimension = &unit.dimension;
        }
        print(&line(unit));
    }
}

fn line(unit: &Unit) -> String {
    let also = unit.aliases.join(", ");
    format!("  {:<8}{also}", unit.id).trim_end().to_owned()
}
