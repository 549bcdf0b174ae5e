//! The supplier of a product.

use vitrine_model::import::{ExternalRef, SupplierDraft};
use vitrine_model::supplier::country_code;

use super::super::error::MappingError;
use super::super::field::Field;
use super::super::path::Row;
use super::super::problems::Problems;
use super::super::reading::Reading;
use super::super::section::Section;
use super::{optional, text};

/// The fields of a supplier: an id in the source, a name, or both.
#[derive(Clone, Debug)]
pub(super) struct SupplierFields {
    id: Option<Field>,
    name: Option<Field>,
    country: Option<Field>,
}

impl SupplierFields {
    /// Reads the settings of a product section.
    pub(super) fn read(
        section: &Section<'_>,
        defaults: &Reading,
    ) -> Result<Option<Self>, MappingError> {
        let Some(section) = section.section("supplier")? else {
            return Ok(None);
        };
        let fields = Self {
            id: optional(&section, "id", defaults)?,
            name: optional(&section, "name", defaults)?,
            country: optional(&section, "country", defaults)?,
        };
        if fields.id.is_none() && fields.name.is_none() {
            let reason = "needs id, name or both";
            return Err(MappingError::setting(section.path(), reason));
        }
        section.finish()?;
        Ok(Some(fields))
    }

    /// Returns true if a bad id or name is left out.
    pub(super) fn drops_bad(&self) -> bool {
        let mut fields = [&self.id, &self.name].into_iter().flatten();
        fields.all(Field::drops_bad)
    }

    /// The supplier of a row; `None` if neither its id nor its name is known.
    pub(super) fn supplier(
        &self,
        system: &str,
        row: Row<'_>,
        problems: &mut Problems,
    ) -> Option<SupplierDraft> {
        let id = text(self.id.as_ref(), row, problems);
        let name = text(self.name.as_ref(), row, problems);
        let country = self.country.as_ref().and_then(|field| {
            let mut code =
                |field: &Field| field.try_text(row)?.as_deref().map(country_of).transpose();
            field.known(row, problems, &mut code, &String::clone)
        });
        Some(SupplierDraft {
            name: name.or_else(|| id.clone())?,
            country,
            origin: id.map(|external_id| ExternalRef {
                system: system.to_owned(),
                external_id,
            }),
        })
    }
}

fn country_of(code: &str) -> Result<String, String> {
    country_code(code).ok_or_else(|| format!("{code:?} is not a country code such as DE"))
}
