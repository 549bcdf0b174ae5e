//! Which rows, and which items of lists in them, a part of the mapping makes products or reviews of.

use serde_json::Value;
use vitrine_model::import::Rejection;

use super::condition::Condition;
use super::error::MappingError;
use super::path::Row;
use super::problems::Problems;
use super::product::ProductMapping;
use super::reading::Reading;
use super::review::ReviewMapping;
use super::section::Section;
use super::uses::UsedPath;

/// The rows and items that become products or reviews.
#[derive(Clone, Debug)]
pub(super) struct Records {
    setting: String,
    each: Option<UsedPath>,
    condition: Option<Condition>,
    item_condition: Option<Condition>,
    repeated: Repeated,
    derived: Option<bool>,
}

/// Which of several records of one id in a file is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Repeated {
    /// The last one: later records replace earlier ones.
    #[default]
    Last,
    /// The first one: later records are rejected.
    First,
}

/// A row or item that became a draft, or none for the reasons in `problems`.
#[derive(Debug)]
pub(crate) struct Mapped<D> {
    /// The draft.
    pub(crate) draft: Option<D>,
    /// What is wrong with it.
    pub(crate) problems: Problems,
    /// Which of several of the same id is kept.
    pub(crate) repeated: Repeated,
}

/// Maps a row or item to a draft.
type MapRow<'a, D> = &'a mut dyn FnMut(Row<'_>, &mut Problems) -> Option<D>;

impl Records {
    /// Reads the settings of a `[product]`.
    pub(super) fn of_products(
        section: &Section<'_>,
        reading: &Reading,
    ) -> Result<Self, MappingError> {
        let derived = match section.value("derived") {
            None => None,
            Some(_) => Some(section.flag("derived", true)?),
        };
        Ok(Self {
            derived,
            ..Self::of_reviews(section, reading)?
        })
    }

    /// Reads the settings of a `[review]`.
    pub(super) fn of_reviews(
        section: &Section<'_>,
        reading: &Reading,
    ) -> Result<Self, MappingError> {
        let words = [("last", Repeated::Last), ("first", Repeated::First)];
        let setting = section.at("each");
        let each = section.text("each")?;
        let each = each.map(|each| UsedPath::parse(each, &setting, &reading.uses));
        let each = each
            .transpose()
            .map_err(|reason| section.invalid("each", reason))?;
        let records = Self {
            setting: section.path().to_owned(),
            each,
            condition: Condition::read(section, reading)?,
            item_condition: None,
            repeated: section.choice("repeated_id", &words)?.unwrap_or_default(),
            derived: None,
        };
        Ok(Self {
            item_condition: item_condition(section, &records.reading(reading))?,
            ..records
        })
    }

    /// How the values of the records are read.
    pub(super) fn reading(&self, reading: &Reading) -> Reading {
        let lists = self.each.as_ref().map(|each| each.path().lists());
        reading.inside(lists.unwrap_or_default())
    }

    /// Returns true if every row is one record.
    pub(super) fn is_plain(&self) -> bool {
        self.each.is_none() && self.condition.is_none()
    }

    /// The number of items of a row that are records; 0 if the row itself is one.
    pub(super) fn items(&self, row: Row<'_>) -> usize {
        let each = self.each.as_ref().filter(|_| self.holds_for(row));
        each.map_or(0, |each| each.all(row).len())
    }

    /// Maps the records of a row.
    pub(super) fn of<D>(&self, row: Row<'_>, map: MapRow<'_, D>, mapped: &mut Vec<Mapped<D>>) {
        if !self.holds_for(row) {
            return;
        }
        let Some(each) = &self.each else {
            mapped.push(self.one(row, map));
            return;
        };
        let mut number = 0;
        each.visit(row, &mut |item, around, indexes| {
            number += 1;
            let number = Value::from(number);
            let item = row.item(item, &number, around);
            let condition = self.item_condition.as_ref();
            if condition.is_some_and(|condition| !condition.holds(item)) {
                return;
            }
            let mut record = self.one(item, map);
            let place = |rejection: &mut Rejection| {
                rejection.field = format!("{}.{}", each.path().place(indexes), rejection.field);
            };
            record.problems.fatal.iter_mut().for_each(place);
            record.problems.dropped.iter_mut().for_each(place);
            mapped.push(record);
        });
    }

    fn one<D>(&self, row: Row<'_>, map: MapRow<'_, D>) -> Mapped<D> {
        let mut problems = Problems {
            trace: row.traced.then(Vec::new),
            ..Problems::default()
        };
        let draft = map(row, &mut problems);
        Mapped {
            draft: draft.filter(|_| problems.fatal.is_empty()),
            problems,
            repeated: self.repeated,
        }
    }

    /// Returns true if the row, or items of it, are records.
    pub(super) fn holds_for(&self, row: Row<'_>) -> bool {
        let condition = self.condition.as_ref();
        condition.is_none_or(|condition| condition.holds(row))
    }

    fn invalid(&self, reason: &str) -> MappingError {
        MappingError::setting(format!("{}.derived", self.setting), reason)
    }
}

/// Reads the condition on the items of a list.
fn item_condition(
    section: &Section<'_>,
    reading: &Reading,
) -> Result<Option<Condition>, MappingError> {
    let condition = Condition::of_items(section, reading)?;
    if condition.is_some() && section.text("each")?.is_none() {
        let reason = "needs each, the list whose items it is about; where is about the row";
        return Err(section.invalid("where_item", reason));
    }
    Ok(condition)
}

/// Whether products are derived from reviews: with one `[product]` and one `[review]`, unless one
/// of them is for some rows only.
pub(super) fn derived(
    products: &[(Records, ProductMapping)],
    reviews: &[(Records, ReviewMapping)],
) -> Result<bool, MappingError> {
    let [(product, mapping)] = products else {
        let set = products
            .iter()
            .find(|(product, _)| product.derived.is_some());
        return match set {
            None => Ok(false),
            Some((product, _)) => {
                Err(product.invalid("needs exactly one [product] and one [review]"))
            }
        };
    };
    let [(review, _)] = reviews else {
        return match product.derived {
            Some(true) => Err(product.invalid("needs exactly one [product] and one [review]")),
            _ => Ok(false),
        };
    };
    let derived = match product.derived {
        Some(true) if !product.is_plain() || review.each.is_some() => {
            return Err(
                product.invalid("excludes each, and where in [product]: the rows are reviews")
            );
        }
        Some(derived) => derived,
        None => product.is_plain() && review.is_plain(),
    };
    match mapping.lacking() {
        Some(lacking) if derived => {
            let setting = format!("{}.{lacking}", product.setting);
            let reason = "is required, because products are derived from reviews";
            Err(MappingError::setting(setting, reason))
        }
        _ => Ok(derived),
    }
}
