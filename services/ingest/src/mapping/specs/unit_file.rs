//! The unit file of a mapping: CSV with the columns `category,path,unit`.

use std::collections::HashMap;

use vitrine_model::spec::ValueType;

use super::super::error::MappingError;
use super::super::path::Path;
use super::super::section::Section;
use super::super::uses::Uses;
use super::{ByPath, Specs, named};

type Units = HashMap<String, ByPath>;

/// Reads the unit file of a section, if it has one.
pub(super) fn read(
    section: &Section<'_>,
    read_table: &mut super::super::ReadTable<'_>,
    uses: &Uses,
) -> Result<Units, MappingError> {
    let Some(name) = section.text("unit_file")? else {
        return Ok(Units::new());
    };
    let content = read_table(name);
    let content = content.map_err(|error| MappingError::file(section.at("unit_file"), &error))?;
    let text = String::from_utf8(content);
    let text = text.map_err(|_| section.invalid("unit_file", format!("{name} is not UTF-8")))?;
    parse(&text, &section.at("unit_file"), uses)
        .map_err(|reason| section.invalid("unit_file", format!("{name}: {reason}")))
}

fn parse(text: &str, setting: &str, uses: &Uses) -> Result<Units, String> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(text.trim_start_matches('\u{feff}').as_bytes());
    let header = reader.headers().map_err(|error| error.to_string())?;
    if header != ["category", "path", "unit"][..] {
        return Err("the columns must be category,path,unit".to_owned());
    }
    let mut units = Units::new();
    for row in reader.into_records() {
        let row = row.map_err(|error| error.to_string())?;
        let path = Path::parse(&row[1]).map_err(|reason| format!("{:?}: {reason}", &row[1]))?;
        let of_category = units.entry(row[0].to_owned()).or_default();
        let setting = format!("{setting}, {}", &row[0]);
        of_category.insert(&path, named(row[2].to_owned(), &setting, &path, uses));
    }
    Ok(units)
}

/// Fails for unknown units, unless a rule decides how the path is mapped.
pub(super) fn check(specs: &Specs) -> Result<(), MappingError> {
    for (category, units) in &specs.unit_file {
        for (path, unit) in units.iter() {
            let unit = &unit.to;
            if specs.table.find(unit).is_none() && !has_rule(specs, category, path) {
                let reason = format!(
                    "there is no unit {unit:?} ({category}, {path}); a rule for the path can name \
                     another unit or another type"
                );
                return Err(MappingError::setting(
                    format!("{}.unit_file", specs.setting),
                    reason,
                ));
            }
        }
    }
    Ok(())
}

fn has_rule(specs: &Specs, category: &str, path: &str) -> bool {
    let steps = Path::parse(path).expect("parsed when the table was read");
    let mut rules = specs
        .rules
        .iter()
        .filter(|rule| rule.may_apply_to(category, steps.steps()));
    rules.any(|rule| {
        let typed = rule
            .options
            .value_type
            .is_some_and(|known| known != ValueType::Quantity);
        rule.skip || typed || rule.options.unit.is_some()
    })
}
