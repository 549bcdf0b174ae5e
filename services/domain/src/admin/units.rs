//! Defining units. Units are immutable, because stored values refer to them.

use vitrine_model::unit::{Unit, UnitDefinitionError, UnitTable};
use vitrine_storage::StorageError;
use vitrine_storage::write::WriteUnit;

use super::MutationRequest;
use super::commands::{Attempt, Change, Command, Step};
use crate::outcome::{Outcome, UserError, UserErrorCode};
use crate::{Catalog, DomainError};

impl Catalog {
    /// Defines a unit of measure. Units cannot be changed afterwards, because stored values refer
    /// to them. Repeating a definition is not an error.
    pub async fn define_unit(
        &self,
        request: MutationRequest,
        unit: Unit,
    ) -> Result<Outcome<Unit>, DomainError> {
        let define = DefineUnit(unit.clone());
        self.execute(request, ("defineUnit", "", &unit), define)
            .await
    }
}

struct DefineUnit(Unit);

impl Command for DefineUnit {
    type Answer = Unit;

    async fn attempt(
        &self,
        unit: &mut WriteUnit,
        _at: &Attempt,
    ) -> Result<Step<Unit>, StorageError> {
        match define(&self.0, UnitTable::with_defined(unit.units().await?)) {
            Err(refusal) => Ok(Step::refuse(refusal, None)),
            Ok(false) => Ok(Step::done(self.0.clone(), Change::Nothing)),
            Ok(true) => match unit.insert_unit(&self.0).await {
                Err(StorageError::Conflict { .. }) => Ok(Step::Retry),
                inserted => inserted.map(|()| Step::done(self.0.clone(), Change::Reference)),
            },
        }
    }
}

/// Returns whether the unit is new.
fn define(unit: &Unit, mut table: UnitTable) -> Result<bool, UserError> {
    let before = table.units().len();
    match table.define(unit.clone()) {
        Ok(()) => Ok(table.units().len() > before),
        Err(wrong) => Err(refusal(&wrong)),
    }
}

fn refusal(wrong: &UnitDefinitionError) -> UserError {
    let code = match wrong {
        UnitDefinitionError::Taken { .. } | UnitDefinitionError::Defined { .. } => {
            UserErrorCode::Taken
        }
        _ => UserErrorCode::Invalid,
    };
    let (field, message) = (wrong.field(), wrong.to_string());
    let prefix = format!("{field}: ");
    let message = message.strip_prefix(&prefix).unwrap_or(&message);
    UserError::new(code, &[&field], message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(symbol: &str, dimension: &str, factor: f64) -> Unit {
        Unit {
            id: symbol.to_owned(),
            dimension: dimension.to_owned(),
            factor,
            offset: 0.0,
            ucum: None,
            aliases: Vec::new(),
        }
    }

    #[test]
    fn a_definition_is_new_known_or_refused() {
        // Stored in no particular order: the base of a dimension may come last.
        let defined = vec![unit("wear", "abrasion", 2.0), unit("rub", "abrasion", 1.0)];
        let table = || UnitTable::with_defined(defined.clone());
        assert_eq!(define(&unit("rub", "abrasion", 1.0), table()), Ok(false));
        assert_eq!(define(&unit("scrape", "abrasion", 3.0), table()), Ok(true));
        let place = |unit: Unit| {
            let refusal = define(&unit, table()).unwrap_err();
            assert!(
                !refusal.message.starts_with(&refusal.path[0]),
                "{refusal:?}"
            );
            (refusal.code, refusal.path.join("."))
        };
        let taken = (UserErrorCode::Taken, "symbol".to_owned());
        assert_eq!(place(unit("wear", "abrasion", 4.0)), taken);
        assert_eq!(place(unit("kg", "mass", 4.0)), taken);
        let invalid = |field: &str| (UserErrorCode::Invalid, field.to_owned());
        assert_eq!(place(unit("zz", "mass", 0.0)), invalid("factor"));
        assert_eq!(place(unit("zz", "Bad", 1.0)), invalid("dimension"));
    }
}
