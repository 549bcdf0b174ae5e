//! Merging spec keys, and rewriting the values of a key that got another type. Once the mutation is
//! committed, both names mean the same key, and new values have the new type; products that have the old
//! key or values of the old type are rewritten in batches.
//!
//! Another process may write products with the old key until it reads the new dictionary, which
//! takes seconds. The work is therefore finished only when no product has had the old key for some
//! time after the last rewrite.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use vitrine_model::clock::Timestamp;
use vitrine_model::history::{ChangeOrigin, ChangedBy};
use vitrine_model::id::ProductId;
use vitrine_model::product::Product;
use vitrine_model::spec::{Dictionary, SpecKey, ValueType};
use vitrine_storage::write::WriteUnit;
use vitrine_storage::{StorageError, Store, retry_contended};

use super::commands::{Attempt, Change, Command, Step};
use super::keys::{other_values, other_values_message, unknown};
use super::{Merge, MutationRequest};
use crate::outcome::{Outcome, UserError, UserErrorCode};
use crate::reference::Reference;
use crate::specs::{with_current_keys, with_current_types};
use crate::{Catalog, DomainError};

/// The number of products per transaction.
const BATCH: u32 = 100;
/// The maximum number of batches per key in one run.
const MAX_BATCHES: usize = 50;
/// How long no product may have the old key before a merge is finished: far longer than a process
/// uses an outdated dictionary.
const SETTLED_MILLIS: i64 = 10_000;

/// How often the names of finished merges are checked again.
const SWEEP: Duration = Duration::from_mins(1);

/// What products have that they are rewritten without.
#[derive(Clone, Debug)]
enum Outdated {
    /// A key that was merged into another.
    Name(String),
    /// Values of a key that have another type than the key has now.
    Type(String, ValueType),
}

impl Outdated {
    /// Identifies it while it lasts: no key has a colon.
    fn name(&self) -> String {
        match self {
            Self::Name(name) => name.clone(),
            Self::Type(key, _) => format!("{key}:"),
        }
    }

    async fn find(&self, store: &Store) -> Result<Vec<ProductId>, StorageError> {
        match self {
            Self::Name(name) => store.products_with_key(name, BATCH).await,
            Self::Type(key, new) => store.products_with_other_type(key, *new, BATCH).await,
        }
    }

    async fn finish(&self, unit: &mut WriteUnit) -> Result<(), StorageError> {
        match self {
            Self::Name(name) => unit.finish_absorbing(name).await,
            Self::Type(key, _) => unit.finish_new_type(key).await,
        }
    }
}

/// What the products of a dictionary may have to be rewritten without.
fn outdated(dictionary: &Dictionary) -> Vec<Outdated> {
    let of = |key: &SpecKey| {
        let retyped = key.earlier_type;
        let retyped = retyped.map(|_| Outdated::Type(key.key.clone(), key.value_type));
        let names = key.absorbing.iter().cloned().map(Outdated::Name);
        names.chain(retyped).collect::<Vec<_>>()
    };
    dictionary.keys().iter().flat_map(of).collect()
}

/// For each old key, the time since when no product has had it.
#[derive(Debug, Default)]
pub(crate) struct MergeTracker {
    since: Mutex<HashMap<String, Timestamp>>,
    swept: Mutex<Option<Instant>>,
}

impl MergeTracker {
    /// Whether the names of finished merges are due for another check. If so, records the check.
    fn is_sweep_due(&self) -> bool {
        let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
        let due = swept.is_none_or(|at| at.elapsed() >= SWEEP);
        if due {
            *swept = Some(Instant::now());
        }
        due
    }

    /// Records whether products had the name just now. Returns whether none has had it for long
    /// enough.
    fn is_settled(&self, name: &str, has_old_key: bool, now: Timestamp) -> bool {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        if has_old_key {
            since.remove(name);
        }
        let since = *since.entry(name.to_owned()).or_insert(now);
        now.as_millis() - since.as_millis() >= SETTLED_MILLIS
    }

    fn forget(&self, name: &str) {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        since.remove(name);
    }
}

/// The result of one pass over the products that have a name.
struct Pass {
    rewritten: u64,
    /// Whether no product had it at the end.
    clean: bool,
}

impl Catalog {
    /// Begins to merge one key into another. Both names mean the same from now on;
    /// [`Catalog::continue_merges`] rewrites the products in batches.
    pub async fn merge_spec_keys(
        &self,
        request: MutationRequest,
        from: String,
        into: String,
    ) -> Result<Outcome<Merge>, DomainError> {
        let merge = MergeKeys {
            from: from.clone(),
            into: into.clone(),
        };
        self.execute(request, ("mergeSpecKeys", &from, &into), merge)
            .await
    }

    /// Rewrites products whose spec keys are being merged; returns how many. Can be interrupted at
    /// any point; the next call continues.
    ///
    /// # Errors
    /// The first error, after everything that could be rewritten has been.
    pub async fn continue_merges(&self) -> Result<u64, DomainError> {
        self.refresh_reference().await?;
        let reference = self.reference();
        let (mut total, mut over, mut failed) = (0, false, None);
        if self.merge_tracker().is_sweep_due() {
            // A delayed writer may still have stored a merged key.
            for alias in reference
                .dictionary
                .keys()
                .iter()
                .flat_map(|key| &key.aliases)
            {
                match self.rewrite_all(&Outdated::Name(alias.clone())).await {
                    Ok(pass) => total += pass.rewritten,
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
        }
        for one in outdated(&reference.dictionary) {
            // One merge that fails does not block the others.
            let pass = match self.rewrite_all(&one).await {
                Ok(pass) => pass,
                Err(error) => {
                    failed = failed.or(Some(error));
                    continue;
                }
            };
            total += pass.rewritten;
            let has_old_key = pass.rewritten > 0 || !pass.clean;
            if self
                .merge_tracker()
                .is_settled(&one.name(), has_old_key, self.now())
            {
                over |= self.finish_merge(&one).await?;
            }
        }
        if over {
            self.reload_changed_reference().await;
        }
        failed.map_or(Ok(total), Err)
    }

    /// Rewrites products until none has what is outdated, or until other writers are rewriting the rest.
    /// Limited to an amount that takes seconds.
    async fn rewrite_all(&self, outdated: &Outdated) -> Result<Pass, DomainError> {
        let mut rewritten = 0;
        for _ in 0..MAX_BATCHES {
            let one = outdated.clone();
            let products_with_old_key = self
                .maintain(|store| async move { one.find(&store).await })
                .await?;
            let clean = products_with_old_key.is_empty();
            let now = if clean {
                0
            } else {
                self.rewrite(products_with_old_key).await?
            };
            rewritten += now;
            if now == 0 {
                return Ok(Pass { rewritten, clean });
            }
        }
        Ok(Pass {
            rewritten,
            clean: false,
        })
    }

    /// Rewrites products in one transaction, or one by one after a write conflict or when one of
    /// them has a newer schema version, so that the others are still rewritten.
    async fn rewrite(&self, products: Vec<ProductId>) -> Result<u64, DomainError> {
        let catalog = self.clone();
        self.maintain(|_| async move {
            match catalog.rewrite_in_transaction(&products).await {
                Err(StorageError::Contended(_) | StorageError::Newer { .. }) => {}
                result => return result,
            }
            let (mut total, mut newer) = (0, None);
            for product in products {
                let one = [product];
                match retry_contended(|| catalog.rewrite_in_transaction(&one)).await {
                    Ok(rewritten) => total += rewritten,
                    Err(error @ StorageError::Newer { .. }) => newer = newer.or(Some(error)),
                    Err(error) => return Err(error),
                }
            }
            match newer {
                Some(error) if total == 0 => Err(error),
                _ => Ok(total),
            }
        })
        .await
    }

    async fn rewrite_in_transaction(&self, products: &[ProductId]) -> Result<u64, StorageError> {
        let mut unit = self.store().begin_write().await?;
        match self.rewrite_in(&mut unit, products).await {
            Ok(rewritten) if rewritten > 0 => unit.commit().await.map(|()| rewritten),
            other => {
                unit.abort().await;
                other
            }
        }
    }

    async fn rewrite_in(
        &self,
        unit: &mut WriteUnit,
        products: &[ProductId],
    ) -> Result<u64, StorageError> {
        let (reference, now) = (self.reference(), self.now());
        let by = ChangedBy::key_merge();
        let mut rewritten = 0;
        for id in products {
            let Some(view) = unit.product(*id).await? else {
                continue;
            };
            let before = view.product()?;
            let Some(after) = rewritten_product(&before, &reference, now) else {
                continue;
            };
            // The words of a value make it searchable; removing a duplicate value may make room for
            // others.
            self.words().learn(self.store(), [&after]).await?;
            let encoding = self.encoding(&reference.units);
            if unit
                .replace_product(&after, (before.revision, Some(&by)), encoding)
                .await?
            {
                rewritten += 1;
            }
        }
        Ok(rewritten)
    }

    /// Marks a merge as finished. Returns whether that was written.
    async fn finish_merge(&self, outdated: &Outdated) -> Result<bool, DomainError> {
        let one = outdated.clone();
        let finished = self
            .maintain(|store| async move {
                let mut unit = store.begin_write().await?;
                one.finish(&mut unit).await?;
                match unit.commit().await {
                    // The next call retries.
                    Err(StorageError::Contended(_)) => Ok(false),
                    committed => committed.map(|()| true),
                }
            })
            .await?;
        if finished {
            self.merge_tracker().forget(&outdated.name());
        }
        Ok(finished)
    }
}

/// The product with the current names and types of its keys; `None` if it has them already.
fn rewritten_product(before: &Product, reference: &Reference, now: Timestamp) -> Option<Product> {
    let specs = with_current_keys(&before.specs, &reference.dictionary);
    let specs = with_current_types(specs, &reference.dictionary, &reference.units);
    (specs != before.specs).then(|| Product {
        specs,
        revision: before.revision + 1,
        updated_at: now,
        ..before.clone()
    })
}

struct MergeKeys {
    from: String,
    into: String,
}

#[derive(Debug, PartialEq)]
enum Plan<'a> {
    Absorb {
        from: &'a SpecKey,
        into: &'a SpecKey,
    },
    /// One is already a name of the other.
    Nothing { into: &'a SpecKey },
}

impl Command for MergeKeys {
    type Answer = Merge;

    async fn attempt(
        &self,
        unit: &mut WriteUnit,
        at: &Attempt,
    ) -> Result<Step<Merge>, StorageError> {
        let dictionary = Dictionary::new(unit.spec_keys().await?);
        let plan = match plan(&self.from, &self.into, &dictionary) {
            Ok(plan) => plan,
            Err(refusals) => return Ok(Step::refused(refusals, None)),
        };
        let remaining = at.store().count_with_key(&self.from).await?;
        let merge = |key: &SpecKey| Merge {
            key: key.clone(),
            remaining,
        };
        let (from, into) = match plan {
            Plan::Nothing { into } => return Ok(Step::done(merge(into), Change::Nothing)),
            Plan::Absorb { from, into } => (from, into),
        };
        if let Some(refusal) = at.stale("key", into.revision) {
            return Ok(Step::refuse(refusal, Some(merge(into))));
        }
        let allowed = into.allowed_values.as_deref().unwrap_or_default();
        let others = other_values(from, allowed, at.store()).await?;
        if !others.is_empty() {
            let refusal = UserError::new(
                UserErrorCode::InUse,
                &[&"from"],
                other_values_message(&others),
            );
            return Ok(Step::refuse(refusal, Some(merge(into))));
        }
        if !unit.absorb_spec_key(from, into).await? {
            return Ok(Step::Retry);
        }
        let after = Dictionary::new(unit.spec_keys().await?);
        let Some(after) = after.get(&into.key) else {
            return Ok(Step::Retry);
        };
        let by = ChangedBy {
            origin: ChangeOrigin::KeyMerge,
            ..at.by.clone()
        };
        unit.record_spec_key_change(into, after, (&by, at.now))
            .await?;
        Ok(Step::done(merge(after), Change::Reference))
    }
}

fn plan<'a>(
    from: &str,
    into: &str,
    dictionary: &'a Dictionary,
) -> Result<Plan<'a>, Vec<UserError>> {
    let found = [("from", from), ("into", into)].map(|(field, key)| {
        let found = dictionary.get(key);
        found.ok_or_else(|| unknown(field, key))
    });
    let (source, target) = match found {
        [Ok(source), Ok(target)] => (source, target),
        found => return Err(found.into_iter().filter_map(Result::err).collect()),
    };
    let refuse = |code, field: &str, message| Err(vec![UserError::new(code, &[&field], message)]);
    if source.key == target.key {
        if from != target.key && into == target.key {
            return Ok(Plan::Nothing { into: target });
        }
        let message = if from == into {
            "a key cannot be merged into itself".to_owned()
        } else {
            format!("{from} and {into} both mean {} already", target.key)
        };
        return refuse(UserErrorCode::Invalid, "into", message);
    }
    if from != source.key {
        let message = format!("{from} is another name of {0}; merge {0}", source.key);
        return refuse(UserErrorCode::Invalid, "from", message);
    }
    if (source.value_type, &source.dimension) != (target.value_type, &target.dimension) {
        let message = format!(
            "{} holds {}, {} holds {}; only keys that hold the same can be merged",
            source.key,
            holds(source),
            target.key,
            holds(target)
        );
        return refuse(UserErrorCode::TypeMismatch, "from", message);
    }
    Ok(Plan::Absorb {
        from: source,
        into: target,
    })
}

fn holds(key: &SpecKey) -> String {
    match &key.dimension {
        Some(dimension) => format!("values of type {} ({dimension})", key.value_type),
        None => format!("values of type {}", key.value_type),
    }
}

#[cfg(test)]
mod tests {
    use vitrine_model::spec::ValueType;

    use super::*;

    fn dictionary() -> Dictionary {
        let mut color = SpecKey::new("color", ValueType::Text);
        color.absorbing = vec!["colour".to_owned()];
        color.aliases = vec!["tint".to_owned()];
        let mut weight = SpecKey::new("weight", ValueType::Quantity);
        weight.dimension = Some("mass".to_owned());
        let mut width = SpecKey::new("width", ValueType::Quantity);
        width.dimension = Some("length".to_owned());
        let shade = SpecKey::new("shade", ValueType::Text);
        let ports = SpecKey::new("ports", ValueType::Number);
        Dictionary::new(vec![color, weight, width, shade, ports])
    }

    #[test]
    fn only_distinct_keys_of_one_type_and_dimension_merge() {
        let dictionary = dictionary();
        let plan = |from: &str, into: &str| match super::plan(from, into, &dictionary) {
            Ok(Plan::Absorb { from, into }) => format!("{} into {}", from.key, into.key),
            Ok(Plan::Nothing { into }) => format!("{} has it", into.key),
            Err(refusals) => {
                let paths = crate::outcome::ValidationErrors(refusals).codes_and_paths();
                let paths = paths
                    .iter()
                    .map(|(code, place)| format!("{code:?} {place}"));
                paths.collect::<Vec<_>>().join(", ")
            }
        };
        for (from, into, expected) in [
            ("shade", "color", "shade into color"),
            ("color", "shade", "color into shade"),
            ("shade", "tint", "shade into color"),
            ("colour", "color", "color has it"),
            ("tint", "color", "color has it"),
            ("color", "color", "Invalid into"),
            ("color", "tint", "Invalid into"),
            ("tint", "colour", "Invalid into"),
            ("tint", "shade", "Invalid from"),
            ("ports", "color", "TypeMismatch from"),
            ("weight", "width", "TypeMismatch from"),
            ("a", "color", "NotFound from"),
            ("color", "b", "NotFound into"),
            ("a", "b", "NotFound from, NotFound into"),
        ] {
            assert_eq!(plan(from, into), expected, "{from} into {into}");
        }
        let refusals = super::plan("weight", "width", &dictionary).unwrap_err();
        let message = &refusals[0].message;
        assert!(
            message.contains("mass") && message.contains("length"),
            "{message}"
        );
    }

    #[test]
    fn a_merge_is_finished_when_no_product_has_the_key_for_a_while() {
        let merge_tracker = MergeTracker::default();
        let at = Timestamp::from_millis;
        assert!(!merge_tracker.is_settled("colour", true, at(0)));
        assert!(!merge_tracker.is_settled("colour", false, at(9_999)));
        assert!(merge_tracker.is_settled("colour", false, at(10_000)));
        assert!(
            !merge_tracker.is_settled("colour", true, at(11_000)),
            "one appeared"
        );
        assert!(!merge_tracker.is_settled("colour", false, at(20_999)));
        assert!(merge_tracker.is_settled("colour", false, at(21_000)));
        assert!(!merge_tracker.is_settled("tint", false, at(21_000)));
        merge_tracker.forget("colour");
        assert!(!merge_tracker.is_settled("colour", false, at(30_000)));
    }
}
