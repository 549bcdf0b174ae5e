//! Defining and changing keys of the spec dictionary.

use std::borrow::Cow;

use vitrine_model::derived::text_token;
use vitrine_model::history::HistoryOf;
use vitrine_model::spec::{
    Dictionary, KeyUsage, MAX_FILTERABLE_BYTES, SpecKey, SpecValue, ValueType, check_key,
};
use vitrine_model::text::{collapse, excerpt, fold, is_visible};
use vitrine_model::unit::UnitTable;
use vitrine_storage::write::WriteUnit;
use vitrine_storage::{StorageError, Store};

use super::commands::{Attempt, Change, Command, Step};
use super::reverts::{key_patch, not_kept, of_revision};
use super::{MutationRequest, NewSpecKey, SpecKeyPatch};
use crate::limits::{self, MAX_LABEL_CHARACTERS};
use crate::outcome::{Outcome, UserError, UserErrorCode, ValidationErrors};
use crate::{Catalog, DomainError};

/// The maximum number of aliases of a key.
const MAX_ALIASES: usize = 20;
/// The maximum number of allowed values of a key.
const MAX_ALLOWED_VALUES: usize = 200;
/// How many conflicting values a refusal names.
const MAX_NAMED_VALUES: usize = 5;

impl Catalog {
    /// Defines a spec key before products have it.
    pub async fn define_spec_key(
        &self,
        request: MutationRequest,
        new: NewSpecKey,
    ) -> Result<Outcome<SpecKey>, DomainError> {
        let define = DefineKey(new.clone());
        self.execute(request, ("defineSpecKey", "", &new), define)
            .await
    }

    /// Changes a spec key, which may be named by an alias.
    pub async fn update_spec_key(
        &self,
        request: MutationRequest,
        key: String,
        patch: SpecKeyPatch,
    ) -> Result<Outcome<SpecKey>, DomainError> {
        let update = UpdateKey {
            key: key.clone(),
            edit: KeyEdit::Patch(patch.clone()),
        };
        self.execute(request, ("updateSpecKey", &key, &patch), update)
            .await
    }
}

struct DefineKey(NewSpecKey);

pub(super) struct UpdateKey {
    pub(super) key: String,
    pub(super) edit: KeyEdit,
}

pub(super) enum KeyEdit {
    Patch(SpecKeyPatch),
    /// Restores this revision.
    Revert(i64),
}

impl Command for DefineKey {
    type Answer = SpecKey;

    async fn attempt(
        &self,
        unit: &mut WriteUnit,
        at: &Attempt,
    ) -> Result<Step<SpecKey>, StorageError> {
        let dictionary = Dictionary::new(unit.spec_keys().await?);
        let units = UnitTable::with_defined(unit.units().await?);
        let key = match define(&self.0, &dictionary, &units) {
            Ok(key) => key,
            Err(refusals) => {
                let current = dictionary.get(&self.0.key).cloned();
                return Ok(Step::refused(refusals, current));
            }
        };
        match unit.insert_spec_key(&key).await {
            // Another writer has inserted a key with one of these names.
            Err(StorageError::Conflict { .. }) => Ok(Step::Retry),
            inserted => {
                inserted?;
                let of = HistoryOf::SpecKey(key.key.clone());
                unit.record_created(&of, &at.by, at.now).await?;
                Ok(Step::done(key, Change::Reference))
            }
        }
    }
}

impl Command for UpdateKey {
    type Answer = SpecKey;

    async fn attempt(
        &self,
        unit: &mut WriteUnit,
        at: &Attempt,
    ) -> Result<Step<SpecKey>, StorageError> {
        let dictionary = Dictionary::new(unit.spec_keys().await?);
        let units = UnitTable::with_defined(unit.units().await?);
        let Some(before) = dictionary.get(&self.key) else {
            return Ok(Step::refuse(unknown("key", &self.key), None));
        };
        if let Some(refusal) = at.stale("key", before.revision) {
            return Ok(Step::refuse(refusal, Some(before.clone())));
        }
        let (patch, by) = match &self.edit {
            KeyEdit::Patch(patch) => (Cow::Borrowed(patch), at.by.clone()),
            KeyEdit::Revert(revision) => {
                let earlier = unit.earlier_spec_key(before, *revision, at.now).await?;
                let Some(earlier) = earlier else {
                    let refusal = not_kept("key", *revision, before.revision);
                    return Ok(Step::refuse(refusal, Some(before.clone())));
                };
                let by = at.by.reverting_to(*revision);
                (Cow::Owned(key_patch(earlier, before)), by)
            }
        };
        let mut errors = ValidationErrors::default();
        let mut after = update(before, &patch, &dictionary, &units, &mut errors);
        refuse_in_use((before, &after), &units, at.store(), &mut errors).await?;
        if !errors.is_empty() {
            let refusals = match self.edit {
                KeyEdit::Patch(_) => errors.0,
                KeyEdit::Revert(_) => of_revision(errors.0),
            };
            return Ok(Step::refused(refusals, Some(before.clone())));
        }
        if after == *before {
            return Ok(Step::done(after, Change::Nothing));
        }
        after.revision += 1;
        after.guessed_by = None;
        match unit.replace_spec_key(before, &after).await {
            Ok(true) => {
                unit.record_spec_key_change(before, &after, (&by, at.now))
                    .await?;
                Ok(Step::done(after, Change::Reference))
            }
            Ok(false) | Err(StorageError::Conflict { .. }) => Ok(Step::Retry),
            Err(error) => Err(error),
        }
    }
}

/// Refuses a change that values of products do not allow.
async fn refuse_in_use(
    (before, after): (&SpecKey, &SpecKey),
    units: &UnitTable,
    store: &Store,
    errors: &mut ValidationErrors,
) -> Result<(), StorageError> {
    if errors.is_empty() && after.earlier_type != before.earlier_type {
        let lost = lost_values(before, after, units, store).await?;
        if !lost.is_empty() {
            errors.add(UserErrorCode::InUse, &[&"type"], lost_message(&lost, after));
        }
    }
    if errors.is_empty() && after.allowed_values != before.allowed_values {
        let allowed = after.allowed_values.as_deref().unwrap_or_default();
        let others = other_values(before, allowed, store).await?;
        if !others.is_empty() {
            errors.add(
                UserErrorCode::InUse,
                &[&"allowedValues"],
                other_values_message(&others),
            );
        }
    }
    Ok(())
}

pub(super) fn unknown(field: &str, key: &str) -> UserError {
    let shown = excerpt(key, 80).text;
    let message = format!("there is no spec key {shown:?}");
    UserError::new(UserErrorCode::NotFound, &[&field], message)
}

/// Returns stored texts of the key that are not allowed, at most [`MAX_NAMED_VALUES`], under every name
/// that products may have it by. Empty when every text is allowed.
pub(super) async fn other_values(
    key: &SpecKey,
    allowed: &[String],
    store: &Store,
) -> Result<Vec<String>, StorageError> {
    let mut others = Vec::new();
    if allowed.is_empty() || key.usage == KeyUsage::Unused {
        return Ok(others);
    }
    let names = std::iter::once(&key.key).chain(&key.absorbing);
    for name in names {
        let tokens: Vec<String> = allowed
            .iter()
            .filter_map(|text| text_token(name, None, text))
            .collect();
        let stored = store.other_tokens(name, &tokens, MAX_NAMED_VALUES).await?;
        others.extend(stored.iter().map(|token| shown(name, token)));
    }
    others.dedup();
    others.truncate(MAX_NAMED_VALUES);
    Ok(others)
}

pub(super) fn other_values_message(others: &[String]) -> String {
    format!(
        "products have other values: {}; allow these or change the products first",
        others.join(", ")
    )
}

fn shown(key: &str, token: &str) -> String {
    let value = token
        .strip_prefix(key)
        .and_then(|rest| rest.strip_prefix('='));
    match value {
        Some(value) if !value.starts_with('#') => format!("{value:?}"),
        // Longer texts are stored as a digest.
        _ => "a text that is longer than 64 bytes or begins with #".to_owned(),
    }
}

fn define(
    new: &NewSpecKey,
    dictionary: &Dictionary,
    units: &UnitTable,
) -> Result<SpecKey, Vec<UserError>> {
    let mut errors = ValidationErrors::default();
    let mut key = SpecKey::new(&new.key, new.value_type);
    match check_key(&new.key) {
        Err(wrong) => errors.invalid(&[&"key"], wrong.to_string()),
        Ok(()) => {
            if let Some(other) = dictionary.get(&new.key) {
                errors.taken(&[&"key"], taken_by(&new.key, other));
            }
        }
    }
    if let Some(label) = &new.label {
        key.label = read_label(label, &mut errors);
    }
    let given = Measure {
        dimension: new.dimension.as_deref(),
        base_unit: new.base_unit.as_deref(),
    };
    (key.dimension, key.base_unit) = given.read(new.value_type, units, &mut errors);
    key.facetable = new.facetable;
    key.filterable = new.filterable;
    key.allowed_values = read_allowed(new.allowed_values.as_deref(), new.value_type, &mut errors);
    key.aliases = read_aliases(&new.aliases, &key, dictionary, &mut errors);
    if errors.is_empty() {
        Ok(key)
    } else {
        Err(errors.0)
    }
}

/// Returns the changed key; adds to the errors.
fn update(
    before: &SpecKey,
    patch: &SpecKeyPatch,
    dictionary: &Dictionary,
    units: &UnitTable,
    errors: &mut ValidationErrors,
) -> SpecKey {
    let mut after = before.clone();
    if let Some(label) = &patch.label {
        after.label = read_label(label, errors);
    }
    update_type(&mut after, patch, units, errors);
    after.facetable = patch.facetable.unwrap_or(before.facetable);
    after.filterable = patch.filterable.unwrap_or(before.filterable);
    let allowed = match &patch.allowed_values {
        None => before.allowed_values.as_deref(),
        Some(given) => given.as_deref(),
    };
    after.allowed_values = read_allowed(allowed, after.value_type, errors);
    if let Some(aliases) = &patch.aliases {
        after.aliases = read_aliases(aliases, before, dictionary, errors);
    }
    after
}

/// Returns values by people that the new type of a key has no value for, at most [`MAX_NAMED_VALUES`]. Those
/// of feeds are left out when products are rewritten: a feed says them again, as its mapping has it.
async fn lost_values(
    before: &SpecKey,
    after: &SpecKey,
    units: &UnitTable,
    store: &Store,
) -> Result<Vec<String>, StorageError> {
    let mut lost = Vec::new();
    for name in std::iter::once(&before.key).chain(&before.absorbing) {
        let passes = |value: &SpecValue| after.converted(value, units).is_some();
        let failing = store.spec_values_failing(name, passes, MAX_NAMED_VALUES);
        lost.extend(failing.await?.iter().map(SpecValue::display));
    }
    lost.truncate(MAX_NAMED_VALUES);
    Ok(lost)
}

fn lost_message(lost: &[String], after: &SpecKey) -> String {
    let shown = |value: &String| format!("{:?}", excerpt(value, 60).text);
    let lost: Vec<String> = lost.iter().map(shown).collect();
    let needed = match (after.value_type, &after.dimension) {
        (ValueType::Number, _) => "a plain number such as 12.5".to_owned(),
        (ValueType::Quantity, Some(dimension)) => {
            format!(
                "a number with a unit of {dimension}, such as 12.5 {}",
                after.base_unit.as_deref().unwrap_or("kg")
            )
        }
        (ValueType::Boolean, _) => "yes or no".to_owned(),
        (ValueType::Date, _) => "a date such as 2026-05-31".to_owned(),
        (other, _) => format!("a value of type {other}"),
    };
    format!(
        "products have {} of {}, which is not {needed}; change or remove these values first",
        lost.join(", "),
        after.key
    )
}

/// The dimension is immutable once products have the key. A new type is possible where the stored values
/// have one of it.
fn update_type(
    after: &mut SpecKey,
    patch: &SpecKeyPatch,
    units: &UnitTable,
    errors: &mut ValidationErrors,
) {
    let value_type = patch.value_type.unwrap_or(after.value_type);
    let given = Measure {
        dimension: patch.dimension.as_deref(),
        base_unit: patch.base_unit.as_deref(),
    };
    if value_type != after.value_type && after.usage > KeyUsage::Unused {
        change_used_type(after, value_type, given, units, errors);
        return;
    }
    if value_type == after.value_type && given.is_empty() {
        return;
    }
    let (dimension, base_unit) = given.read(value_type, units, errors);
    if after.usage > KeyUsage::Unused && dimension != after.dimension {
        if errors.is_empty() {
            errors.add(UserErrorCode::InUse, &[&given.field()], in_use(after));
        }
        return;
    }
    after.value_type = value_type;
    (after.dimension, after.base_unit) = (dimension, base_unit);
}

fn change_used_type(
    after: &mut SpecKey,
    value_type: ValueType,
    given: Measure<'_>,
    units: &UnitTable,
    errors: &mut ValidationErrors,
) {
    if let Some(earlier) = after.earlier_type {
        let message = format!(
            "the values of {} are still being rewritten from type {earlier}; try again in a moment",
            after.key
        );
        errors.add(UserErrorCode::InUse, &[&"type"], message);
        return;
    }
    after.earlier_type = Some(after.value_type);
    (after.dimension, after.base_unit) = given.read(value_type, units, errors);
    after.value_type = value_type;
}

fn in_use(key: &SpecKey) -> String {
    let measures = key
        .dimension
        .as_deref()
        .map_or_else(String::new, |dimension| format!(" ({dimension})"));
    format!(
        "products have {}, of type {}{measures}; store the values under another key and remove them from this one",
        key.key, key.value_type
    )
}

/// What the quantities measure, as in the input.
#[derive(Clone, Copy)]
struct Measure<'a> {
    dimension: Option<&'a str>,
    base_unit: Option<&'a str>,
}

impl Measure<'_> {
    const fn is_empty(&self) -> bool {
        self.dimension.is_none() && self.base_unit.is_none()
    }

    /// The input field to report errors at.
    const fn field(&self) -> &'static str {
        if self.dimension.is_some() {
            "dimension"
        } else {
            "baseUnit"
        }
    }

    /// The dimension and the symbol of its base unit.
    fn read(
        self,
        value_type: ValueType,
        units: &UnitTable,
        errors: &mut ValidationErrors,
    ) -> (Option<String>, Option<String>) {
        if value_type != ValueType::Quantity {
            for (field, given) in [("dimension", self.dimension), ("baseUnit", self.base_unit)] {
                if given.is_some() {
                    let message =
                        format!("only quantities have one, and this is of type {value_type}");
                    errors.invalid(&[&field], message);
                }
            }
            return (None, None);
        }
        if self.is_empty() {
            let message = "quantities need a dimension or the base unit of one";
            errors.invalid(&[&"dimension"], message);
        }
        let of_dimension = self.dimension.and_then(|dimension| {
            let base = units.base(dimension);
            if base.is_none() {
                let shown = excerpt(dimension, 40).text;
                let message =
                    format!("there is no dimension {shown:?}; define its base unit first");
                errors.missing(&[&"dimension"], message);
            }
            base
        });
        let of_unit = self
            .base_unit
            .and_then(|unit| read_base(unit, self.dimension, units, errors));
        let base = of_dimension.or(of_unit);
        (
            base.map(|unit| unit.dimension.clone()),
            base.map(|unit| unit.id.clone()),
        )
    }
}

/// The unit, if it is the base unit of its dimension, and of `dimension` if there is one.
fn read_base<'a>(
    spelling: &str,
    dimension: Option<&str>,
    units: &'a UnitTable,
    errors: &mut ValidationErrors,
) -> Option<&'a vitrine_model::unit::Unit> {
    let unit = match units.get(spelling) {
        Ok(unit) => unit,
        Err(wrong) => {
            errors.missing(&[&"baseUnit"], wrong.to_string());
            return None;
        }
    };
    let right = units.base(dimension.unwrap_or(&unit.dimension))?;
    if unit.id == right.id {
        return Some(unit);
    }
    let message = format!(
        "{} is not the base unit of {}; that is {}",
        unit.id, right.dimension, right.id
    );
    errors.invalid(&[&"baseUnit"], message);
    None
}

fn read_label(label: &str, errors: &mut ValidationErrors) -> String {
    errors.check(&[&"label"], limits::text(label, 1..=MAX_LABEL_CHARACTERS));
    collapse(label)
}

/// The allowed texts; of texts that differ only in case or accents, the first.
fn read_allowed(
    given: Option<&[String]>,
    value_type: ValueType,
    errors: &mut ValidationErrors,
) -> Option<Vec<String>> {
    let given = given?;
    let field = "allowedValues";
    if value_type != ValueType::Text {
        let message = format!(
            "only keys that hold text have allowed values, and this is of type {value_type}"
        );
        errors.invalid(&[&field], message);
        return None;
    }
    if given.is_empty() {
        errors.invalid(&[&field], "give at least one value, or null to allow any");
    }
    if given.len() > MAX_ALLOWED_VALUES {
        let message = format!("{} values; {MAX_ALLOWED_VALUES} are possible", given.len());
        errors.cap(&[&field], Err(message));
    }
    let mut allowed: Vec<String> = Vec::with_capacity(given.len());
    for (at, text) in given.iter().enumerate() {
        let text = collapse(text);
        let fits = (1..=MAX_FILTERABLE_BYTES).contains(&text.len());
        if !fits || text.contains('\0') || !is_visible(&text) {
            let message = format!(
                "{} bytes; 1 to {MAX_FILTERABLE_BYTES} with a visible character, and without NUL characters, are possible",
                text.len()
            );
            errors.invalid(&[&field, &at], message);
        }
        if !allowed.iter().any(|other| fold(other) == fold(&text)) {
            allowed.push(text);
        }
    }
    Some(allowed)
}

/// Sorted aliases, without those that the key is absorbing anyway.
fn read_aliases(
    given: &[String],
    key: &SpecKey,
    dictionary: &Dictionary,
    errors: &mut ValidationErrors,
) -> Vec<String> {
    if given.len() > MAX_ALIASES {
        let message = format!("{} aliases; {MAX_ALIASES} are possible", given.len());
        errors.cap(&[&"aliases"], Err(message));
    }
    for (at, alias) in given.iter().enumerate() {
        if let Err(wrong) = check_key(alias) {
            errors.invalid(&[&"aliases", &at], wrong.to_string());
        } else if *alias == key.key {
            errors.invalid(&[&"aliases", &at], "this is the key itself");
        } else if let Some(other) = dictionary.get(alias).filter(|other| other.key != key.key) {
            errors.taken(&[&"aliases", &at], taken_by(alias, other));
        }
    }
    let new = given.iter().filter(|alias| !key.absorbing.contains(alias));
    let mut aliases: Vec<String> = new.cloned().collect();
    aliases.sort_unstable();
    aliases.dedup();
    aliases
}

fn taken_by(name: &str, other: &SpecKey) -> String {
    if other.key == name {
        format!("there is a spec key {name}")
    } else {
        format!("{name} is another name of the spec key {}", other.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(key: &str, value_type: ValueType) -> NewSpecKey {
        NewSpecKey {
            key: key.to_owned(),
            label: None,
            value_type,
            dimension: None,
            base_unit: None,
            facetable: true,
            filterable: false,
            allowed_values: None,
            aliases: Vec::new(),
        }
    }

    fn dictionary() -> Dictionary {
        let mut color = SpecKey::new("color", ValueType::Text);
        color.usage = KeyUsage::Used;
        color.aliases = vec!["tint".to_owned()];
        color.absorbing = vec!["colour".to_owned()];
        color.allowed_values = Some(vec!["Red".to_owned()]);
        let mut weight = SpecKey::new("weight", ValueType::Quantity);
        weight.usage = KeyUsage::Used;
        (weight.dimension, weight.base_unit) = (Some("mass".to_owned()), Some("g".to_owned()));
        Dictionary::new(vec![color, weight, SpecKey::new("fit", ValueType::Text)])
    }

    fn defined(new: &NewSpecKey) -> Result<SpecKey, Vec<(UserErrorCode, String)>> {
        let refused = |refusals| ValidationErrors(refusals).codes_and_paths();
        define(new, &dictionary(), &UnitTable::built_in()).map_err(refused)
    }

    fn changed(key: &str, patch: &SpecKeyPatch) -> Result<SpecKey, Vec<(UserErrorCode, String)>> {
        let (dictionary, mut errors) = (dictionary(), ValidationErrors::default());
        let before = dictionary.get(key).unwrap();
        let after = update(
            before,
            patch,
            &dictionary,
            &UnitTable::built_in(),
            &mut errors,
        );
        if errors.is_empty() {
            Ok(after)
        } else {
            Err(errors.codes_and_paths())
        }
    }

    fn texts(given: &[&str]) -> Vec<String> {
        given.iter().map(|&text| text.to_owned()).collect()
    }

    fn at(code: UserErrorCode, path: &str) -> Vec<(UserErrorCode, String)> {
        vec![(code, path.to_owned())]
    }

    #[test]
    fn a_quantity_is_defined_by_its_dimension_or_its_base_unit() {
        let units = UnitTable::built_in();
        let base = units.base("length").unwrap().id.clone();
        let by_dimension = NewSpecKey {
            dimension: Some("length".to_owned()),
            ..new("depth", ValueType::Quantity)
        };
        let by_unit = NewSpecKey {
            base_unit: Some(base.clone()),
            ..new("depth", ValueType::Quantity)
        };
        let key = defined(&by_dimension).unwrap();
        assert_eq!(key.base_unit.as_ref(), Some(&base));
        assert_eq!(defined(&by_unit).as_ref(), Ok(&key));
        assert!(key.usage == KeyUsage::Unused && key.revision == 1 && !key.filterable);
        assert_eq!(key.label, "Depth");

        let wrong = |dimension: Option<&str>, unit: Option<&str>| {
            let new = NewSpecKey {
                dimension: dimension.map(str::to_owned),
                base_unit: unit.map(str::to_owned),
                ..new("depth", ValueType::Quantity)
            };
            defined(&new).unwrap_err()
        };
        assert_eq!(wrong(None, None), at(UserErrorCode::Invalid, "dimension"));
        assert_eq!(
            wrong(Some("depth"), None),
            at(UserErrorCode::NotFound, "dimension")
        );
        assert_eq!(
            wrong(None, Some("furlong")),
            at(UserErrorCode::NotFound, "baseUnit")
        );
        assert_eq!(
            wrong(None, Some("in")),
            at(UserErrorCode::Invalid, "baseUnit")
        );
        assert_eq!(
            wrong(Some("mass"), Some(&base)),
            at(UserErrorCode::Invalid, "baseUnit")
        );
        let mut errors = ValidationErrors::default();
        read_base("in", None, &units, &mut errors);
        assert!(
            errors.0[0].message.contains(&format!("that is {base}")),
            "{errors:?}"
        );
    }

    #[test]
    fn all_errors_of_a_definition_are_reported() {
        let bad = NewSpecKey {
            label: Some(" ".to_owned()),
            dimension: Some("mass".to_owned()),
            allowed_values: Some(texts(&["1"])),
            aliases: texts(&["ok", "No", "tint", "colour", "weight", "9"]),
            ..new("Bad", ValueType::Number)
        };
        let paths: Vec<(UserErrorCode, String)> = defined(&bad).unwrap_err();
        let expected = [
            (UserErrorCode::Invalid, "key"),
            (UserErrorCode::Invalid, "label"),
            (UserErrorCode::Invalid, "dimension"),
            (UserErrorCode::Invalid, "allowedValues"),
            (UserErrorCode::Invalid, "aliases.1"),
            (UserErrorCode::Taken, "aliases.2"),
            (UserErrorCode::Taken, "aliases.3"),
            (UserErrorCode::Taken, "aliases.4"),
            (UserErrorCode::Invalid, "aliases.5"),
        ];
        let expected = expected.map(|(code, path)| (code, path.to_owned()));
        assert_eq!(paths, expected);
        for taken in ["color", "tint", "colour"] {
            let refused = defined(&new(taken, ValueType::Text)).unwrap_err();
            assert_eq!(refused, at(UserErrorCode::Taken, "key"), "{taken}");
        }
        let itself = NewSpecKey {
            aliases: texts(&["depth"]),
            ..new("depth", ValueType::Text)
        };
        assert_eq!(
            defined(&itself).unwrap_err(),
            at(UserErrorCode::Invalid, "aliases.0")
        );
    }

    #[test]
    fn allowed_values_are_few_short_and_different() {
        let allowed = |given: Vec<String>| {
            let new = NewSpecKey {
                allowed_values: Some(given),
                ..new("shape", ValueType::Text)
            };
            defined(&new)
        };
        let kept = allowed(texts(&[" Round ", "square", "ROUND"])).unwrap();
        assert_eq!(kept.allowed_values, Some(texts(&["Round", "square"])));
        assert_eq!(
            allowed(vec![]),
            Err(at(UserErrorCode::Invalid, "allowedValues"))
        );
        let long = "x".repeat(257);
        let refused = allowed(vec!["x".to_owned(), " ".to_owned(), long]).unwrap_err();
        let paths: Vec<String> = refused.into_iter().map(|(_, path)| path).collect();
        assert_eq!(paths, ["allowedValues.1", "allowedValues.2"]);
        let many: Vec<String> = (0..201).map(|n| n.to_string()).collect();
        assert!(allowed(many[1..].to_vec()).is_ok());
        assert_eq!(
            allowed(many),
            Err(at(UserErrorCode::TooLarge, "allowedValues"))
        );
    }

    #[test]
    fn the_type_before_is_remembered_once_products_have_the_key() {
        let number = SpecKeyPatch {
            value_type: Some(ValueType::Number),
            allowed_values: Some(None),
            ..SpecKeyPatch::default()
        };
        // Whether the values of products allow it is found out before it is written.
        assert_eq!(
            changed("color", &number).unwrap().earlier_type,
            Some(ValueType::Text)
        );
        assert_eq!(
            changed("fit", &number).unwrap().value_type,
            ValueType::Number
        );
        let length = SpecKeyPatch {
            dimension: Some("length".to_owned()),
            ..SpecKeyPatch::default()
        };
        assert_eq!(
            changed("weight", &length),
            Err(at(UserErrorCode::InUse, "dimension"))
        );
        let same = SpecKeyPatch {
            value_type: Some(ValueType::Quantity),
            dimension: Some("mass".to_owned()),
            ..SpecKeyPatch::default()
        };
        let dictionary = dictionary();
        assert_eq!(
            changed("weight", &same).as_ref(),
            Ok(dictionary.get("weight").unwrap())
        );
        let quantity = SpecKeyPatch {
            value_type: Some(ValueType::Quantity),
            dimension: Some("length".to_owned()),
            ..SpecKeyPatch::default()
        };
        let fit = changed("fit", &quantity).unwrap();
        assert_eq!(fit.dimension.as_deref(), Some("length"));
        let back = SpecKeyPatch {
            dimension: Some("length".to_owned()),
            ..SpecKeyPatch::default()
        };
        assert_eq!(
            changed("fit", &back),
            Err(at(UserErrorCode::Invalid, "dimension"))
        );
    }

    #[test]
    fn aliases_are_replaced_except_those_being_absorbed() {
        let patch = |aliases: &[&str]| SpecKeyPatch {
            aliases: Some(texts(aliases)),
            ..SpecKeyPatch::default()
        };
        let after = changed("color", &patch(&["shade", "colour", "hue", "hue"])).unwrap();
        assert_eq!(after.aliases, ["hue", "shade"]);
        assert_eq!(after.absorbing, ["colour"]);
        assert!(changed("color", &patch(&[])).unwrap().aliases.is_empty());
        let refused = changed("fit", &patch(&["tint", "weight"])).unwrap_err();
        assert_eq!(
            refused,
            [
                (UserErrorCode::Taken, "aliases.0".to_owned()),
                (UserErrorCode::Taken, "aliases.1".to_owned())
            ]
        );
    }

    #[test]
    fn an_empty_patch_changes_nothing() {
        let dictionary = dictionary();
        for key in ["color", "weight", "fit"] {
            let after = changed(key, &SpecKeyPatch::default());
            assert_eq!(after.as_ref(), Ok(dictionary.get(key).unwrap()));
        }
        let cleared = SpecKeyPatch {
            allowed_values: Some(None),
            ..SpecKeyPatch::default()
        };
        assert_eq!(changed("color", &cleared).unwrap().allowed_values, None);
    }

    #[test]
    fn conflicting_values_are_named() {
        assert_eq!(shown("color", "color=light blue"), "\"light blue\"");
        assert_eq!(
            shown("color", "color=#00ff"),
            "a text that is longer than 64 bytes or begins with #"
        );
    }
}
