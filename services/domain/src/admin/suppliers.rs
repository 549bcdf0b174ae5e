//! Creating and changing suppliers.

use vitrine_model::id::SupplierId;
use vitrine_model::supplier::{Supplier, country_code};
use vitrine_model::text::{collapse, excerpt, fold};
use vitrine_storage::StorageError;
use vitrine_storage::write::WriteUnit;

use super::commands::{Attempt, Change, Command, Step};
use super::{MutationRequest, NewSupplier, SupplierPatch};
use crate::limits::{self, MAX_LABEL_CHARACTERS};
use crate::outcome::{Outcome, UserError, UserErrorCode, ValidationErrors};
use crate::{Catalog, DomainError};

impl Catalog {
    /// Creates a supplier.
    pub async fn create_supplier(
        &self,
        request: MutationRequest,
        new: NewSupplier,
    ) -> Result<Outcome<Supplier>, DomainError> {
        let create = CreateSupplier {
            id: SupplierId::random(),
            new: new.clone(),
        };
        self.execute(request, ("createSupplier", "", &new), create)
            .await
    }

    /// Changes a supplier. The copies in its products are updated a little later.
    pub async fn update_supplier(
        &self,
        request: MutationRequest,
        id: SupplierId,
        patch: SupplierPatch,
    ) -> Result<Outcome<Supplier>, DomainError> {
        let named = ("updateSupplier", &*id.to_string(), &patch);
        let update = UpdateSupplier {
            id,
            patch: patch.clone(),
        };
        self.execute(request, named, update).await
    }
}

struct CreateSupplier {
    id: SupplierId,
    new: NewSupplier,
}

struct UpdateSupplier {
    id: SupplierId,
    patch: SupplierPatch,
}

impl Command for CreateSupplier {
    type Answer = Supplier;

    async fn attempt(
        &self,
        unit: &mut WriteUnit,
        _at: &Attempt,
    ) -> Result<Step<Supplier>, StorageError> {
        let mut errors = ValidationErrors::default();
        let blank = Supplier {
            id: self.id,
            name: String::new(),
            country: None,
            origin: None,
            said: None,
            version: 1,
            propagated_version: 1,
            changed_at: None,
        };
        let patch = SupplierPatch {
            name: Some(self.new.name.clone()),
            country: Some(self.new.country.clone()),
        };
        let supplier = Supplier {
            said: None,
            ..apply(&blank, &patch, &mut errors)
        };
        if !errors.is_empty() {
            return Ok(Step::refused(errors.0, None));
        }
        if unit.has_supplier_named(&supplier.name, self.id).await? {
            return Ok(Step::refuse(taken(&supplier), None));
        }
        match unit.insert_supplier(&supplier).await {
            Err(StorageError::Conflict { .. }) => Ok(Step::refuse(taken(&supplier), None)),
            inserted => inserted.map(|()| Step::done(supplier, Change::Content)),
        }
    }
}

impl Command for UpdateSupplier {
    type Answer = Supplier;

    async fn attempt(
        &self,
        unit: &mut WriteUnit,
        at: &Attempt,
    ) -> Result<Step<Supplier>, StorageError> {
        let Some(before) = unit.supplier(self.id).await? else {
            let message = "there is no such supplier";
            let refusal = UserError::new(UserErrorCode::NotFound, &[&"id"], message);
            return Ok(Step::refuse(refusal, None));
        };
        if let Some(refusal) = at.stale("supplier", before.version) {
            return Ok(Step::refuse(refusal, Some(before)));
        }
        let mut errors = ValidationErrors::default();
        let mut after = apply(&before, &self.patch, &mut errors);
        if !errors.is_empty() {
            return Ok(Step::refused(errors.0, Some(before)));
        }
        if after == before {
            return Ok(Step::done(after, Change::Nothing));
        }
        let renamed = fold(&after.name) != fold(&before.name);
        if renamed
            && after.origin.is_none()
            && unit.has_supplier_named(&after.name, self.id).await?
        {
            return Ok(Step::refuse(taken(&after), Some(before)));
        }
        after.version += 1;
        after.changed_at = Some(at.now);
        match unit.replace_supplier(&after, before.version).await {
            Ok(true) => Ok(Step::done(after, Change::Content)),
            Ok(false) => Ok(Step::Retry),
            Err(StorageError::Conflict { .. }) => Ok(Step::refuse(taken(&after), Some(before))),
            Err(error) => Err(error),
        }
    }
}

fn apply(before: &Supplier, patch: &SupplierPatch, errors: &mut ValidationErrors) -> Supplier {
    let mut after = before.facts();
    if let Some(name) = &patch.name {
        errors.check(&[&"name"], limits::text(name, 1..=MAX_LABEL_CHARACTERS));
        after.name = collapse(name);
    }
    if let Some(country) = &patch.country {
        after.country = country.as_deref().and_then(country_code);
        if let Some(wrong) = country.as_deref().filter(|_| after.country.is_none()) {
            let shown = excerpt(wrong, 40).text;
            let message = format!("{shown:?} is no ISO 3166-1 alpha-2 country code such as DE");
            errors.invalid(&[&"country"], message);
        }
    }
    before.with_admin_facts(after)
}

fn taken(supplier: &Supplier) -> UserError {
    let message = format!(
        "there is a supplier {:?}, or one that feeds call so; names are compared without regard to \
         case and accents",
        supplier.name
    );
    UserError::new(UserErrorCode::Taken, &[&"name"], message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_changes_and_checks_what_it_names() {
        let before = Supplier {
            id: SupplierId::random(),
            name: "North".to_owned(),
            country: Some("DE".to_owned()),
            origin: None,
            said: None,
            version: 4,
            propagated_version: 3,
            changed_at: None,
        };
        let after = |name: Option<&str>, country: Option<Option<&str>>| {
            let mut errors = ValidationErrors::default();
            let patch = SupplierPatch {
                name: name.map(str::to_owned),
                country: country.map(|country| country.map(str::to_owned)),
            };
            let after = apply(&before, &patch, &mut errors);
            let paths: Vec<String> = errors
                .codes_and_paths()
                .into_iter()
                .map(|(_, at)| at)
                .collect();
            (after.name, after.country, paths)
        };
        let (north, de) = (|| "North".to_owned(), || Some("DE".to_owned()));
        assert_eq!(after(None, None), (north(), de(), vec![]));
        assert_eq!(
            after(Some(" North "), Some(Some("de"))),
            (north(), de(), vec![])
        );
        assert_eq!(after(None, Some(None)), (north(), None, vec![]));
        let (.., paths) = after(Some(" "), Some(Some("Germany")));
        assert_eq!(paths, ["name", "country"]);
        let (.., paths) = after(None, Some(Some("")));
        assert_eq!(paths, ["country"]);
    }
}
