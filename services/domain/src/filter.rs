//! From callers' filters to conditions on stored data: slugs become ids, aliases become keys, units
//! become canonical numbers. Contradictions are refused with the path of the input.
//!
//! The states that the caller may see are the first part of every condition. A condition that no
//! product can match costs no command.

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive as _;
use vitrine_model::derived::{boolean_token, brand_token, country_token, text_token};
use vitrine_model::filter::{
    AdminFilter, Bounds, Condition, DateTest, End, MAX_DEPTH, MAX_LEAVES, MAX_VALUES, NumberTest,
    ProductFilter, Range, SpecFilter, SpecTest, equality_band,
};
use vitrine_model::money::Currency;
use vitrine_model::product::ProductStatus;
use vitrine_model::spec::{
    MAX_FILTERABLE_BYTES, MAX_KEY_BYTES, SpecKey, ValueType, normal_qualifier,
};
use vitrine_model::unit::{Unit, UnitTable};

use crate::DomainError;
use crate::products::Visibility;
use crate::reference::Reference;

/// The relative tolerance for converted numbers: `27 in` and `68.58 cm` are equal although their
/// last bits differ.
const TOLERANCE: f64 = 1e-9;

/// The maximum number of filter objects in `and`, `or` and `not`, including empty ones.
const MAX_OBJECTS: usize = 100;

/// Whether the reference data contains everything that a filter names.
pub(crate) fn is_known(filter: &ProductFilter, reference: &Reference) -> bool {
    let categories = filter.category.iter().flatten();
    let mut specs = filter.specs.iter().flatten();
    categories
        .into_iter()
        .all(|slug| reference.categories.by_slug(slug).is_some())
        && specs.all(|spec| reference.dictionary.get(&spec.key).is_some())
        && parts(filter).all(|part| is_known(part, reference))
}

/// A part of a request that is valid but possibly a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The path of the input.
    pub path: String,
    /// What is suspicious about it.
    pub message: String,
}

/// A hint for each spec key of the filter that no product has ever had.
pub(crate) fn hints(filter: &ProductFilter, reference: &Reference) -> Vec<Hint> {
    let mut hints = Vec::new();
    collect_hints(filter, "filter", reference, &mut hints);
    hints
}

fn collect_hints(filter: &ProductFilter, path: &str, reference: &Reference, hints: &mut Vec<Hint>) {
    for (at, spec) in filter.specs.iter().flatten().enumerate() {
        if reference.dictionary.get(&spec.key).is_none() {
            let path = format!("{path}.specs[{at}].key");
            hints.push(unknown_key_hint(&path, &spec.key, reference));
        }
    }
    let lists = [("and", &filter.and), ("or", &filter.or)];
    for (name, parts) in lists {
        for (at, part) in parts.iter().flatten().enumerate() {
            collect_hints(part, &format!("{path}.{name}[{at}]"), reference, hints);
        }
    }
    if let Some(part) = filter.not.as_deref() {
        collect_hints(part, &format!("{path}.not"), reference, hints);
    }
}

/// A hint for an unknown key, with the most similar known one.
pub(crate) fn unknown_key_hint(path: &str, key: &str, reference: &Reference) -> Hint {
    let shown = vitrine_model::text::excerpt(key, 80).text;
    let asked = key.to_ascii_lowercase().replace(['-', ' '], "_");
    let known = reference.dictionary.keys().iter().flat_map(|entry| {
        let names = std::iter::once(&entry.key).chain(&entry.aliases);
        names.map(|name| (name.as_str(), entry.key.as_str()))
    });
    let near = known
        .filter(|(name, _)| key.len() <= MAX_KEY_BYTES && name.len().abs_diff(key.len()) <= 2)
        .map(|(name, entry)| (strsim::osa_distance(name, &asked), entry))
        .filter(|(distance, _)| *distance <= 2)
        .min();
    let meant = near.map_or_else(String::new, |(_, entry)| {
        format!("; did you mean {entry:?}?")
    });
    Hint {
        path: path.to_owned(),
        message: format!("there is no spec key {shown:?}{meant}"),
    }
}

/// The canonical range of a number filter.
pub(crate) fn number_range(
    test: &NumberTest,
    key: &SpecKey,
    units: &UnitTable,
) -> Result<Range, DomainError> {
    number(test, Some(key), units, "number")
}

fn parts(filter: &ProductFilter) -> impl Iterator<Item = &ProductFilter> {
    let lists = filter
        .and
        .iter()
        .flatten()
        .chain(filter.or.iter().flatten());
    lists.chain(filter.not.as_deref())
}

/// The condition of a filter for a caller; always includes the caller's visibility.
pub(crate) fn resolve(
    filter: &ProductFilter,
    visibility: Visibility,
    reference: &Reference,
    currency: Currency,
) -> Result<Condition, DomainError> {
    let mut resolver = Resolver {
        reference,
        currency,
        visibility,
        leaves: 0,
        objects: 0,
    };
    let mut all = vec![Condition::Status(resolver.visible(filter)?)];
    all.extend(resolver.object(filter, "filter", 0, true)?);
    Ok(Condition::All(all))
}

struct Resolver<'a> {
    reference: &'a Reference,
    currency: Currency,
    visibility: Visibility,
    leaves: usize,
    objects: usize,
}

type Resolved<T> = Result<T, DomainError>;

impl Resolver<'_> {
    /// The statuses to search: those of the top-level filter, restricted to what the caller may
    /// see.
    fn visible(&self, filter: &ProductFilter) -> Resolved<Vec<ProductStatus>> {
        match &filter.status {
            Some(requested) => self
                .allowed(requested, "filter.status")
                .map(|()| distinct(requested)),
            None => Ok(self.visibility.states().to_vec()),
        }
    }

    fn allowed(&self, requested: &[ProductStatus], path: &str) -> Resolved<()> {
        let visible = self.visibility.states();
        if requested.iter().all(|state| visible.contains(state)) {
            return Ok(());
        }
        let reason =
            format!("{path}: only ACTIVE products may be requested without the role admin");
        Err(DomainError::Forbidden(reason))
    }

    /// The conditions of one filter object; all must hold.
    fn object(
        &mut self,
        filter: &ProductFilter,
        path: &str,
        depth: usize,
        top: bool,
    ) -> Resolved<Vec<Condition>> {
        self.objects += 1;
        if self.objects > MAX_OBJECTS {
            let reason = format!("a filter may have {MAX_OBJECTS} objects in and, or and not");
            return Err(DomainError::invalid(path, reason));
        }
        if depth > MAX_DEPTH {
            let reason = format!("and, or and not may be nested {MAX_DEPTH} deep");
            return Err(DomainError::invalid(path, reason));
        }
        let mut all = Vec::new();
        self.fields(filter, path, top, &mut all)?;
        self.admin_fields(&filter.admin, path, &mut all)?;
        for (at, spec) in filter.specs.iter().flatten().enumerate() {
            let path = format!("{path}.specs[{at}]");
            self.leaf(&path)?;
            all.push(self.spec(spec, &path)?);
        }
        for (at, part) in filter.and.iter().flatten().enumerate() {
            all.extend(self.object(part, &format!("{path}.and[{at}]"), depth + 1, false)?);
        }
        if let Some(parts) = &filter.or {
            all.push(self.any(parts, &format!("{path}.or"), depth)?);
        }
        if let Some(part) = filter.not.as_deref() {
            let inner = self.object(part, &format!("{path}.not"), depth + 1, false)?;
            all.push(Condition::Not(Box::new(Condition::All(inner))));
        }
        Ok(all)
    }

    fn any(&mut self, parts: &[ProductFilter], path: &str, depth: usize) -> Resolved<Condition> {
        let mut any = Vec::with_capacity(parts.len());
        for (at, part) in parts.iter().enumerate() {
            let inner = self.object(part, &format!("{path}[{at}]"), depth + 1, false)?;
            any.push(inner);
        }
        Ok(alternatives(any))
    }

    fn fields(
        &mut self,
        filter: &ProductFilter,
        path: &str,
        top: bool,
        all: &mut Vec<Condition>,
    ) -> Resolved<()> {
        if let Some(slugs) = &filter.category {
            self.list(path, "category", slugs.len())?;
            all.push(self.category(slugs));
        }
        if let Some(brands) = &filter.brand {
            self.list(path, "brand", brands.len())?;
            all.push(Condition::Token(
                brands.iter().map(|brand| brand_token(brand)).collect(),
            ));
        }
        if let Some(countries) = &filter.country {
            self.list(path, "country", countries.len())?;
            let tokens = countries.iter().map(|country| country_token(country));
            all.push(Condition::Token(tokens.collect()));
        }
        if let Some(bounds) = &filter.price {
            let path = self.list(path, "price", 1)?;
            all.push(Condition::Price(self.price(*bounds, &path)?));
        }
        if let Some(min) = filter.min_rating {
            let path = self.list(path, "rating", 1)?;
            all.push(half_stars(min, &path)?);
        }
        if let (Some(states), false) = (&filter.status, top) {
            let path = self.list(path, "status", states.len())?;
            self.allowed(states, &path)?;
            all.push(Condition::Status(distinct(states)));
        }
        Ok(())
    }

    fn admin_fields(
        &mut self,
        filter: &AdminFilter,
        path: &str,
        all: &mut Vec<Condition>,
    ) -> Resolved<()> {
        if let Some(kinds) = &filter.kind {
            self.admin_list(path, "kind", kinds.len())?;
            all.push(Condition::Kind(kinds.clone()));
        }
        if let Some(suppliers) = &filter.supplier {
            self.admin_list(path, "supplier", suppliers.len())?;
            all.push(Condition::Supplier(suppliers.clone()));
        }
        if let Some(has_price) = filter.has_price {
            self.admin_list(path, "hasPrice", 1)?;
            all.push(Condition::HasPrice(has_price));
        }
        if let Some(has_media) = filter.has_media {
            self.admin_list(path, "hasMedia", 1)?;
            all.push(Condition::HasMedia(has_media));
        }
        if let Some(since) = filter.updated_since {
            self.admin_list(path, "updatedSince", 1)?;
            all.push(Condition::UpdatedSince(since));
        }
        Ok(())
    }

    /// Counts a leaf that only admins may use.
    fn admin_list(&mut self, path: &str, field: &str, values: usize) -> Resolved<()> {
        let path = self.list(path, field, values)?;
        if self.visibility == Visibility::Everything {
            return Ok(());
        }
        let reason = format!("{path}: only the role admin may filter by {field}");
        Err(DomainError::Forbidden(reason))
    }

    fn leaf(&mut self, path: &str) -> Resolved<()> {
        self.leaves += 1;
        if self.leaves <= MAX_LEAVES {
            return Ok(());
        }
        Err(DomainError::invalid(
            path,
            format!("a filter may have {MAX_LEAVES} conditions"),
        ))
    }

    fn list(&mut self, path: &str, field: &str, values: usize) -> Resolved<String> {
        let path = format!("{path}.{field}");
        self.leaf(&path)?;
        if values <= MAX_VALUES {
            return Ok(path);
        }
        Err(DomainError::invalid(
            path,
            format!("may list at most {MAX_VALUES} values"),
        ))
    }

    /// A category matches itself and its descendants; an unknown one matches nothing.
    fn category(&self, slugs: &[String]) -> Condition {
        let tree = &self.reference.categories;
        let known = slugs.iter().filter_map(|slug| tree.by_slug(slug));
        let mut ids: Vec<_> = known
            .flat_map(|category| tree.subtree(category.id))
            .collect();
        ids.sort_unstable();
        ids.dedup();
        Condition::Category(ids)
    }

    fn price(&self, bounds: Bounds<Decimal>, path: &str) -> Resolved<Bounds<i64>> {
        let scale = Decimal::from(10_i64.pow(self.currency.decimals()));
        // An amount outside the range of prices is clamped.
        let minor = |amount: Decimal, round: fn(&Decimal) -> Decimal| {
            let end = if amount.is_sign_negative() {
                i64::MIN
            } else {
                i64::MAX
            };
            let scaled = amount.checked_mul(scale).map(|minor| round(&minor));
            scaled.and_then(|minor| minor.to_i64()).unwrap_or(end)
        };
        let gte = bounds.gte.map(|amount| minor(amount, Decimal::ceil));
        let lte = bounds.lte.map(|amount| minor(amount, Decimal::floor));
        match (bounds.gte, bounds.lte) {
            (None, None) => Err(no_bounds(path, "gte, lte")),
            (Some(low), Some(high)) if low > high => Err(reversed(path)),
            _ => Ok(Bounds { gte, lte }),
        }
    }

    fn spec(&self, filter: &SpecFilter, path: &str) -> Resolved<Condition> {
        let key = self.reference.dictionary.get(&filter.key);
        if let Some(key) = key {
            check_type(key, &filter.test, path)?;
        }
        // While a key is being merged into another, products may have either.
        let mut names = self.reference.dictionary.stored_names(&filter.key);
        if names.is_empty() {
            names.push(&filter.key);
        }
        let mut either = Vec::with_capacity(names.len());
        for name in names {
            either.push(self.spec_test(name, key, filter, path)?);
        }
        let condition = any_of(either);
        let absent = matches!(filter.test, SpecTest::Exists(false));
        // No product has an unknown key, so its absence holds for all.
        let condition = if key.is_none() {
            Condition::nothing()
        } else {
            condition
        };
        Ok(if absent {
            Condition::Not(Box::new(condition))
        } else {
            condition
        })
    }

    fn spec_test(
        &self,
        name: &str,
        key: Option<&SpecKey>,
        filter: &SpecFilter,
        path: &str,
    ) -> Resolved<Condition> {
        let normal = filter.qualifier.as_deref().map(normal_qualifier);
        let qualifier = normal.as_deref();
        let range = |range| Condition::SpecRange {
            key: name.to_owned(),
            qualifier: normal.clone(),
            range,
        };
        match &filter.test {
            SpecTest::Text(values) => text(name, qualifier, values, path),
            SpecTest::Boolean(value) => Ok(Condition::Token(vec![boolean_token(
                name, qualifier, *value,
            )])),
            SpecTest::Number(test) => number(test, key, &self.reference.units, path).map(range),
            SpecTest::Date(test) => date(test, path).map(range),
            SpecTest::Exists(_) => Ok(Condition::SpecExists {
                key: name.to_owned(),
                qualifier: normal.clone(),
            }),
        }
    }
}

/// A disjunction of conjunctions; tokens are joined in one list, which an index can use.
fn alternatives(mut any: Vec<Vec<Condition>>) -> Condition {
    let is_token = |all: &Vec<Condition>| matches!(all.as_slice(), [Condition::Token(_)]);
    if !any.is_empty() && any.iter().all(is_token) {
        return any_of(any.drain(..).flatten().collect());
    }
    Condition::Any(any.into_iter().map(Condition::All).collect())
}

/// A disjunction; tokens are joined in one list, which an index can use.
fn any_of(mut either: Vec<Condition>) -> Condition {
    if either.len() == 1 {
        return either.remove(0);
    }
    let tokens = |condition: &Condition| match condition {
        Condition::Token(tokens) => Some(tokens.clone()),
        _ => None,
    };
    let lists: Option<Vec<Vec<String>>> = either.iter().map(tokens).collect();
    match lists {
        Some(lists) => Condition::Token(lists.concat()),
        None => Condition::Any(either),
    }
}

fn distinct(states: &[ProductStatus]) -> Vec<ProductStatus> {
    let mut states = states.to_vec();
    states.sort_unstable();
    states.dedup();
    states
}

/// Refuses a test that does not match the type of its key.
fn check_type(key: &SpecKey, test: &SpecTest, path: &str) -> Resolved<()> {
    let (fits, right) = match key.value_type {
        ValueType::Text => (matches!(test, SpecTest::Text(_)), "text"),
        ValueType::Number => (matches!(test, SpecTest::Number(_)), "number"),
        ValueType::Quantity => (matches!(test, SpecTest::Number(_)), "number with a unit"),
        ValueType::Boolean => (matches!(test, SpecTest::Boolean(_)), "boolean"),
        ValueType::Date => (matches!(test, SpecTest::Date(_)), "date"),
    };
    if !key.filterable {
        return Err(DomainError::invalid(
            path,
            format!("{} may not be filtered by", key.key),
        ));
    }
    if fits || matches!(test, SpecTest::Exists(_)) {
        return Ok(());
    }
    let reason = format!(
        "{} holds values of type {}: use {right} or exists",
        key.key, key.value_type
    );
    Err(DomainError::invalid(path, reason))
}

fn text(key: &str, qualifier: Option<&str>, values: &[String], path: &str) -> Resolved<Condition> {
    if values.len() > MAX_VALUES {
        return Err(DomainError::invalid(
            format!("{path}.text.in"),
            format!("may list at most {MAX_VALUES} values"),
        ));
    }
    let token = |text: &String| {
        text_token(key, qualifier, text).ok_or_else(|| {
            let reason =
                format!("text of more than {MAX_FILTERABLE_BYTES} bytes cannot be filtered by");
            DomainError::invalid(format!("{path}.text"), reason)
        })
    };
    let mut tokens = values
        .iter()
        .map(token)
        .collect::<Resolved<Vec<String>>>()?;
    tokens.sort_unstable();
    tokens.dedup();
    Ok(Condition::Token(tokens))
}

fn number(
    test: &NumberTest,
    key: Option<&SpecKey>,
    units: &UnitTable,
    path: &str,
) -> Resolved<Range> {
    let path = format!("{path}.number");
    let unit = unit_of(test, key, units, &path)?;
    let given = [test.eq, test.gte, test.lte, test.gt, test.lt];
    if given.iter().flatten().any(|n| !n.is_finite()) {
        return Err(DomainError::invalid(path, "must be finite numbers"));
    }
    match test.eq {
        Some(_) if given.iter().flatten().count() > 1 => Err(DomainError::invalid(
            path,
            "eq goes alone: leave out gte, lte, gt and lt",
        )),
        Some(n) => Ok(equal(n, unit)),
        None => compare(test, unit, &path),
    }
}

/// A plain number equals itself; a quantity equals all that are displayed the same.
fn equal(n: f64, unit: Option<&Unit>) -> Range {
    let (low, high) = if unit.is_some() {
        equality_band(n)
    } else {
        (n - tolerance(n), n + tolerance(n))
    };
    let base = |n| unit.map_or(n, |unit| unit.to_base(n));
    let end = |at: f64| Some(End { at, included: true });
    Range {
        min: end(base(low)),
        max: end(base(high)),
    }
}

fn compare(test: &NumberTest, unit: Option<&Unit>, path: &str) -> Resolved<Range> {
    let low = one_end(test.gte, test.gt, path, "gte", "gt")?;
    let high = one_end(test.lte, test.lt, path, "lte", "lt")?;
    if low.is_none() && high.is_none() {
        return Err(no_bounds(path, "eq, gte, lte, gt, lt"));
    }
    if let (Some(low), Some(high)) = (low, high)
        && low.at > high.at
    {
        return Err(reversed(path));
    }
    // An included end moves outwards by the tolerance, an excluded one inwards.
    let widen = |end: End, outwards: f64| {
        let Some(unit) = unit else { return end };
        let at = unit.to_base(end.at);
        let by = tolerance(at) * if end.included { outwards } else { -outwards };
        End { at: at + by, ..end }
    };
    Ok(Range {
        min: low.map(|end| widen(end, -1.0)),
        max: high.map(|end| widen(end, 1.0)),
    })
}

fn tolerance(n: f64) -> f64 {
    n.abs() * TOLERANCE
}

fn one_end(
    included: Option<f64>,
    excluded: Option<f64>,
    path: &str,
    one: &str,
    other: &str,
) -> Resolved<Option<End>> {
    match (included, excluded) {
        (Some(_), Some(_)) => Err(DomainError::invalid(
            path,
            format!("give {one} or {other}, not both"),
        )),
        (Some(at), None) => Ok(Some(End { at, included: true })),
        (None, Some(at)) => Ok(Some(End {
            at,
            included: false,
        })),
        (None, None) => Ok(None),
    }
}

/// The unit of a test: required for quantities, refused for plain numbers.
fn unit_of<'a>(
    test: &NumberTest,
    key: Option<&SpecKey>,
    units: &'a UnitTable,
    path: &str,
) -> Resolved<Option<&'a Unit>> {
    let field = format!("{path}.unit");
    let dimension = key.and_then(|key| key.dimension.as_deref());
    match (&test.unit, key, dimension) {
        (Some(unit), _, Some(dimension)) => {
            let found = units.get_in(unit, dimension);
            let example = units.base(dimension).map_or("", |base| base.id.as_str());
            let refuse = |wrong| {
                DomainError::invalid(
                    field,
                    format!("{wrong}; give a unit of {dimension} such as {example}"),
                )
            };
            found.map(Some).map_err(refuse)
        }
        (Some(unit), None, None) => units
            .get(unit)
            .map(Some)
            .map_err(|wrong| DomainError::invalid(field, wrong.to_string())),
        (Some(_), Some(key), None) => Err(DomainError::invalid(
            field,
            format!("{} holds plain numbers: leave the unit out", key.key),
        )),
        (None, Some(key), Some(dimension)) => {
            let example = units.base(dimension).map_or("", |base| base.id.as_str());
            let reason = format!(
                "{} measures {dimension}: say the unit, such as {example}",
                key.key
            );
            Err(DomainError::invalid(field, reason))
        }
        (None, _, None) | (None, None, Some(_)) => Ok(None),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "dates stay far below 2^53 milliseconds"
)]
fn date(test: &DateTest, path: &str) -> Resolved<Range> {
    let path = format!("{path}.date");
    let number = |at: Option<vitrine_model::clock::Timestamp>| at.map(|at| at.as_millis() as f64);
    let low = one_end(number(test.gte), number(test.gt), &path, "gte", "gt")?;
    let high = one_end(number(test.lte), number(test.lt), &path, "lte", "lt")?;
    match (low, high) {
        (None, None) => Err(no_bounds(&path, "gte, lte, gt, lt")),
        (Some(low), Some(high)) if low.at > high.at => Err(reversed(&path)),
        (min, max) => Ok(Range { min, max }),
    }
}

fn half_stars(min: f64, path: &str) -> Resolved<Condition> {
    let is_half = (min * 2.0).fract() == 0.0;
    if is_half && (1.0..=5.0).contains(&min) {
        return Ok(Condition::HalfStars(min));
    }
    Err(DomainError::invalid(
        path,
        format!("must be 1 to 5 in steps of 0.5, not {min}"),
    ))
}

fn no_bounds(path: &str, fields: &str) -> DomainError {
    DomainError::invalid(path, format!("give at least one of {fields}"))
}

fn reversed(path: &str) -> DomainError {
    DomainError::invalid(path, "the lower end is above the upper end")
}
