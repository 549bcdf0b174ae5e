//! The settings for rows that are made of several lines, and for lists that are made of columns.

use std::sync::Arc;

use serde_json::Value;
use vitrine_formats::{FeedForm, Gather, Unpivot};

use super::error::MappingError;
use super::rows::{FillDown, RowSettings};
use super::section::Section;
use super::uses::{Use, Uses};

fn unpivot(section: &Section<'_>) -> Result<Unpivot, MappingError> {
    let columns = section.texts("columns")?;
    if columns.is_empty() {
        let reason = "is required: the names of the columns, with * and ?";
        return Err(section.invalid("columns", reason));
    }
    let unpivot = Unpivot {
        columns: columns.into_iter().map(str::to_owned).collect(),
        list: name(section, "as", "the name of the list")?,
        name: name(section, "name", "what items call the name of their column")?,
        value: name(
            section,
            "value",
            "what items call the value of their column",
        )?,
    };
    if unpivot.name == unpivot.value {
        return Err(section.invalid("value", "must differ from name"));
    }
    Ok(unpivot)
}

/// Reads the lists that are made of columns.
pub(super) fn unpivots(section: &Section<'_>) -> Result<Vec<Unpivot>, MappingError> {
    let sections = section.tables("unpivot")?.into_iter();
    sections
        .map(|section| {
            let unpivot = unpivot(&section)?;
            section.finish()?;
            Ok(unpivot)
        })
        .collect()
}

/// A setting that changes the shape of rows, and whether it has for one.
#[derive(Clone, Debug)]
pub(super) struct ShapeUse {
    /// What rows have if it does something for them.
    key: String,
    used: Arc<Use>,
}

impl ShapeUse {
    /// Records whether a row has what the setting makes, or needs.
    pub(super) fn ask(&self, row: &Value) {
        self.used.asked(row.get(&self.key).is_some());
    }
}

/// The settings of a form that change the shape of rows.
pub(super) fn uses(form: &FeedForm, rows: &RowSettings, uses: &Uses) -> Vec<ShapeUse> {
    let numbered = rows.lists().map(|(list, columns)| ShapeUse {
        key: list.to_owned(),
        used: uses.add("numbered.columns", columns),
    });
    let unpivots = form.unpivot.iter().map(|unpivot| ShapeUse {
        key: unpivot.list.clone(),
        used: uses.add("unpivot.columns", unpivot.columns.join(", ")),
    });
    let keys = form.gather.iter().flat_map(|gather| &gather.keys);
    let gather = keys.map(|key| ShapeUse {
        key: key.clone(),
        used: uses.add("gather.key", key),
    });
    let filled = rows.fill_down.iter().flat_map(FillDown::names);
    let filled = filled.map(|name| ShapeUse {
        key: name.to_owned(),
        used: uses.add("fill_down", name),
    });
    let numbered = filled.chain(numbered);
    numbered.chain(unpivots).chain(gather).collect()
}

/// Reads which lines become one row.
pub(super) fn gather(section: &Section<'_>) -> Result<Option<Gather>, MappingError> {
    let Some(section) = section.section("gather")? else {
        return Ok(None);
    };
    let keys = section.texts("key")?;
    if keys.is_empty() || keys.contains(&"") {
        let reason = "is required: the column with the key of the row, or several columns";
        return Err(section.invalid("key", reason));
    }
    let gather = Gather {
        keys: keys.into_iter().map(str::to_owned).collect(),
        list: name(&section, "as", "the name of the list of the lines")?,
    };
    section.finish()?;
    Ok(Some(gather))
}

fn name(section: &Section<'_>, setting: &'static str, what: &str) -> Result<String, MappingError> {
    let text = section.text(setting)?.filter(|text| !text.is_empty());
    let required = || section.invalid(setting, format!("is required: {what}"));
    text.map(str::to_owned).ok_or_else(required)
}
