//! Bulk changes: one change of all products that match a filter. A mutation stores what is wanted; the worker
//! `bulk_changes` collects the products and changes one after the other, each in a transaction of its own that also
//! stores the outcome. A product that no longer matches is left alone. A dry run makes the same transactions, and
//! aborts them; only words of the vocabulary stay.

use serde::{Deserialize, Serialize};
use vitrine_model::bulk::{BulkChange, BulkItem, BulkOutcome, BulkState, MAX_BULK_PRODUCTS};
use vitrine_model::cursor::ListFingerprint;
use vitrine_model::filter::{Condition, ProductFilter};
use vitrine_model::id::{BulkChangeId, CategoryId, ProductId, SupplierId};
use vitrine_model::import_run::StopRequest;
use vitrine_model::product::ProductStatus;
use vitrine_model::spec::Spec;
use vitrine_model::text::excerpt;
use vitrine_model::worker::WorkerRun;
use vitrine_storage::bulk::{BulkFilter, NewBulkChange, OpenBulkChange, WaitingItem};
use vitrine_storage::write::{Answer, WriteUnit};
use vitrine_storage::{StorageError, Store};

use super::answers::StorableAnswer;
use super::commands::{Attempt, Change, Command, Step};
use super::products::{ChangeProduct, Edit, checked_on_any_product};
use super::{MutationRequest, PriceInput, ProductPatch, SpecRef};
use crate::outcome::{Outcome, UserError, UserErrorCode};
use crate::page::{HasMore, Listed, PageArguments};
use crate::{Catalog, DomainError};

/// The number of products that a run of the worker changes.
const BATCH: i64 = 50;
/// The maximum number of products that a bulk change can name by their ids.
pub const MAX_NAMED_PRODUCTS: usize = 1_000;
/// The maximum number of parts of a bulk change.
const MAX_EDITS: usize = 20;
/// The maximum length of the reason for a refusal, in characters.
const MAX_MESSAGE: usize = 1_000;

/// A page of bulk changes.
pub type ListedBulkChanges = Listed<BulkChange, ()>;
/// A page of the products of a bulk change, or of those with an outcome.
pub type ListedBulkItems = Listed<BulkItem, (BulkChangeId, Option<BulkOutcome>)>;

/// The products of a bulk change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum BulkSelection {
    /// Those that match a filter and a search text when they are collected.
    Matching(Box<ProductFilter>, Option<String>),
    /// These.
    Named(Vec<ProductId>),
}

/// A part of a bulk change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum BulkEdit {
    /// Sets the status.
    Status(ProductStatus),
    /// Sets the category, named by its slug. Stored as [`BulkEdit::CategoryId`], because a slug may change or name
    /// another category before every product had its turn.
    Category(String),
    /// Sets the category.
    CategoryId(CategoryId),
    /// Sets or clears the brand.
    Brand(Option<String>),
    /// Sets or clears the supplier.
    Supplier(Option<SupplierId>),
    /// Sets or clears the price.
    Price(Option<PriceInput>),
    /// Sets specs.
    SetSpecs(Vec<Spec>),
    /// Removes specs.
    RemoveSpecs(Vec<SpecRef>),
}

/// A bulk change that is requested.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NewBulk {
    /// Its products.
    pub selection: BulkSelection,
    /// What is changed.
    pub edits: Vec<BulkEdit>,
    /// Whether products are left as they are.
    pub dry_run: bool,
}

/// Returns the changes of fields among the parts of a bulk change.
pub(super) fn patch(edits: &[BulkEdit]) -> ProductPatch {
    let mut patch = ProductPatch::default();
    for edit in edits.iter().cloned() {
        match edit {
            BulkEdit::Status(status) => patch.status = Some(status),
            BulkEdit::Category(slug) => patch.category = Some(slug),
            BulkEdit::Brand(brand) => patch.brand = Some(brand),
            BulkEdit::Supplier(supplier) => patch.supplier = Some(supplier),
            BulkEdit::Price(price) => patch.price = Some(price),
            BulkEdit::CategoryId(_) | BulkEdit::SetSpecs(_) | BulkEdit::RemoveSpecs(_) => {}
        }
    }
    patch
}

impl Catalog {
    /// Requests a bulk change. The worker begins it within seconds after those that were started before have ended.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for an invalid filter or search.
    pub async fn start_bulk_change(
        &self,
        request: MutationRequest,
        new: NewBulk,
    ) -> Result<Outcome<BulkChange>, DomainError> {
        let mut condition = None;
        let filter = match &new.selection {
            BulkSelection::Named(products) => BulkFilter::of(products),
            BulkSelection::Matching(filter, search) => {
                let found = self.matching_condition(filter, search.as_deref()).await?;
                let filter = BulkFilter::matching(&found);
                condition = Some(found);
                filter
            }
        };
        if let Some(refusal) = check_form(&new) {
            return Ok(refused(refusal));
        }
        let start = StartBulk {
            id: BulkChangeId::random(),
            by: request.subject.clone(),
            condition,
            filter,
            new: new.clone(),
        };
        let started = self.execute(request, ("startBulkChange", "", &new), start);
        let id = match started.await? {
            Outcome::Done(StartedBulk(id)) => id,
            Outcome::Refused { refusals, .. } => {
                return Ok(Outcome::Refused {
                    refusals,
                    current: None,
                });
            }
        };
        let job = self.bulk_change(id).await?;
        // With a repeated idempotency key it may have expired.
        Ok(job.map_or_else(|| refused(missing()), Outcome::Done))
    }

    /// Asks a bulk change to stop; it does so within seconds. What it has changed stays. Does nothing if it has ended.
    pub async fn stop_bulk_change(
        &self,
        by: &str,
        id: BulkChangeId,
    ) -> Result<Outcome<BulkChange>, DomainError> {
        let stop = StopRequest {
            at: self.now(),
            by: by.to_owned(),
        };
        let job = self
            .write(|store| async move { store.stop_bulk_change(id, &stop).await })
            .await?;
        Ok(job.map_or_else(|| refused(missing()), Outcome::Done))
    }

    /// A bulk change; `None` if there is none, or no longer. One command.
    pub async fn bulk_change(&self, id: BulkChangeId) -> Result<Option<BulkChange>, DomainError> {
        self.read(|store| async move { store.get_bulk_change(id).await })
            .await
    }

    /// A page of all bulk changes, newest first. One command.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for an invalid page, [`DomainError::InvalidCursor`] for a cursor of
    /// another list.
    pub async fn bulk_changes(
        &self,
        page: &PageArguments,
    ) -> Result<ListedBulkChanges, DomainError> {
        let fingerprint = ListFingerprint::of(&[b"bulk_changes"]);
        let request = page.request(self, fingerprint)?;
        let wanted = request.clone();
        let page = self
            .read(|store| async move { store.page_bulk_changes(&wanted).await })
            .await?;
        Ok(Listed::new(self, fingerprint, (), request, page))
    }

    /// Whether bulk changes follow the page. At most one command.
    pub async fn bulk_changes_follow(&self, page: &ListedBulkChanges) -> Result<bool, DomainError> {
        self.has_bulk_changes(page.has_more_after()).await
    }

    /// Whether bulk changes precede the page. At most one command.
    pub async fn bulk_changes_precede(
        &self,
        page: &ListedBulkChanges,
    ) -> Result<bool, DomainError> {
        self.has_bulk_changes(page.has_more_before()).await
    }

    /// The number of all bulk changes. One command.
    pub async fn count_bulk_changes(&self) -> Result<u64, DomainError> {
        self.read(|store| async move { store.count_bulk_changes().await })
            .await
    }

    async fn has_bulk_changes(&self, has_more: HasMore) -> Result<bool, DomainError> {
        match has_more {
            HasMore::Known(more) => Ok(more),
            HasMore::Lookup(from) => {
                self.read(|store| async move { store.has_bulk_change(from).await })
                    .await
            }
        }
    }

    /// A page of the products of a bulk change, in the order of their turns; only those with an
    /// outcome, if one is given. One command.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] for an invalid page, [`DomainError::InvalidCursor`] for a cursor of
    /// another list.
    pub async fn bulk_items(
        &self,
        of: (BulkChangeId, Option<BulkOutcome>),
        page: &PageArguments,
    ) -> Result<ListedBulkItems, DomainError> {
        let outcome = of.1.map_or("", BulkOutcome::name);
        let id = of.0.to_i64().to_be_bytes();
        let fingerprint = ListFingerprint::of(&[b"bulk_items", &id, outcome.as_bytes()]);
        let request = page.request(self, fingerprint)?;
        let wanted = request.clone();
        let page = self
            .read(|store| async move { store.page_bulk_items(of, &wanted).await })
            .await?;
        Ok(Listed::new(self, fingerprint, of, request, page))
    }

    /// Whether products follow the page. At most one command.
    pub async fn bulk_items_follow(&self, page: &ListedBulkItems) -> Result<bool, DomainError> {
        self.has_bulk_items(page, page.has_more_after()).await
    }

    /// Whether products precede the page. At most one command.
    pub async fn bulk_items_precede(&self, page: &ListedBulkItems) -> Result<bool, DomainError> {
        self.has_bulk_items(page, page.has_more_before()).await
    }

    async fn has_bulk_items(
        &self,
        page: &ListedBulkItems,
        has_more: HasMore,
    ) -> Result<bool, DomainError> {
        match has_more {
            HasMore::Known(more) => Ok(more),
            HasMore::Lookup(from) => {
                let of = page.list;
                self.read(|store| async move { store.has_bulk_item(of, from).await })
                    .await
            }
        }
    }

    /// Continues the oldest bulk change: collects up to 1,000 products, or changes up to 50. Can be interrupted at
    /// any point; the next call continues.
    pub async fn continue_bulk_changes(&self) -> Result<WorkerRun, DomainError> {
        let open = self
            .maintain(|store| async move { store.open_bulk_change().await })
            .await?;
        let Some(open) = open else {
            return Ok(WorkerRun::default());
        };
        if open.job.stop.is_some() {
            return self.end_bulk_change(&open, BulkState::Stopped).await;
        }
        if open.job.state == BulkState::Collecting {
            let now = self.now();
            let done = self
                .maintain(|store| async move { store.collect_bulk_items(&open, now).await })
                .await?;
            return Ok(WorkerRun {
                done,
                backlog: 1,
                ..WorkerRun::default()
            });
        }
        let id = open.job.id;
        let items = self
            .maintain(|store| async move { store.waiting_bulk_items(id, BATCH).await })
            .await?;
        if items.is_empty() {
            return self.end_bulk_change(&open, BulkState::Done).await;
        }
        let done = items.len() as u64;
        let Ok(edits) = serde_json::from_str::<Vec<BulkEdit>>(&open.change) else {
            tracing::error!(id = %open.job.id, "a bulk change of another release is stopped: its change cannot be read");
            return self.end_bulk_change(&open, BulkState::Stopped).await;
        };
        for item in items {
            match self.change_one(&open, &edits, item).await {
                // Tried again and again, it would stop all products behind it, and all later changes.
                Err(DomainError::Internal(error)) => {
                    tracing::error!(product = %item.product, %error, "a product of a bulk change cannot be written");
                    self.refuse_one(id, item).await?;
                }
                done => done?,
            }
        }
        Ok(WorkerRun {
            done,
            backlog: open.job.counts.waiting.saturating_sub(done).max(1),
            ..WorkerRun::default()
        })
    }

    async fn end_bulk_change(
        &self,
        open: &OpenBulkChange,
        state: BulkState,
    ) -> Result<WorkerRun, DomainError> {
        let (id, now) = (open.job.id, self.now());
        self.maintain(|store| async move { store.end_bulk_change(id, state, now).await })
            .await?;
        // Another one may wait.
        Ok(WorkerRun {
            done: 1,
            backlog: 1,
            ..WorkerRun::default()
        })
    }

    /// Stores that a product of a bulk change cannot be written.
    async fn refuse_one(&self, job: BulkChangeId, item: WaitingItem) -> Result<(), DomainError> {
        self.maintain(|store| async move { store_refusal(&store, job, item, UNWRITABLE).await })
            .await
    }

    /// Changes a product of a bulk change, and stores the outcome.
    async fn change_one(
        &self,
        open: &OpenBulkChange,
        edits: &[BulkEdit],
        item: WaitingItem,
    ) -> Result<(), DomainError> {
        let request = MutationRequest {
            subject: open.job.by.clone(),
            idempotency_key: None,
            expected_revision: None,
        };
        let one = BulkOne {
            job: open.job.id,
            dry_run: open.job.dry_run,
            filter: open.filter.clone(),
            item,
            change: ChangeProduct {
                id: item.product,
                edit: Edit::Bulk(edits.to_vec()),
            },
        };
        let done = self.execute(request, ("bulk", "", &()), one);
        done.await.map(drop)
    }
}

fn refused(refusal: UserError) -> Outcome<BulkChange> {
    Outcome::Refused {
        refusals: vec![refusal],
        current: None,
    }
}

fn missing() -> UserError {
    let message = "there is no such bulk change, or no longer";
    UserError::new(UserErrorCode::NotFound, &[&"id"], message)
}

fn too_many() -> UserError {
    let message = format!(
        "more than {MAX_BULK_PRODUCTS} products match; narrow the filter and make several bulk changes"
    );
    UserError::new(UserErrorCode::TooLarge, &[&"filter"], message)
}

/// Returns what is wrong with the form of the input, whatever the database has.
fn check_form(new: &NewBulk) -> Option<UserError> {
    let invalid = |field: &str, message: String| {
        Some(UserError::new(UserErrorCode::Invalid, &[&field], message))
    };
    if new.edits.is_empty() {
        let message = "nothing is to be changed; give at least one field".to_owned();
        return invalid("change", message);
    }
    if new.edits.len() > MAX_EDITS {
        let message = format!("{} parts; {MAX_EDITS} are possible", new.edits.len());
        return invalid("change", message);
    }
    match &new.selection {
        BulkSelection::Named(products) if products.len() > MAX_NAMED_PRODUCTS => {
            let message = format!(
                "{} products; at most {MAX_NAMED_PRODUCTS} can be named, use a filter for more",
                products.len()
            );
            invalid("ids", message)
        }
        _ => None,
    }
}

struct StartBulk {
    id: BulkChangeId,
    by: String,
    /// Unless the products are named.
    condition: Option<Condition>,
    filter: BulkFilter,
    new: NewBulk,
}

impl StartBulk {
    /// Returns what is wrong with the selected products.
    async fn check_selection(&self, at: &Attempt) -> Result<Option<UserError>, StorageError> {
        if let Some(condition) = &self.condition {
            let most = MAX_BULK_PRODUCTS + 1;
            let found = at.store().count_products(condition, most).await?;
            return Ok((found > MAX_BULK_PRODUCTS).then(too_many));
        }
        let BulkSelection::Named(products) = &self.new.selection else {
            return Ok(None);
        };
        let missing = at.store().missing_products(products).await?;
        Ok(missing.first().map(|id| {
            let at = products.iter().position(|one| one == id).unwrap_or(0);
            let message = "there is no such product";
            UserError::new(UserErrorCode::NotFound, &[&"ids", &at], message)
        }))
    }
}

/// The id of the bulk change that was started.
pub(crate) struct StartedBulk(BulkChangeId);

impl StorableAnswer for StartedBulk {
    fn to_stored(&self) -> Answer {
        Answer::Text(self.0.to_i64().to_string())
    }

    fn from_stored(answer: Answer) -> Option<Self> {
        let Answer::Text(text) = answer else {
            return None;
        };
        text.parse().ok().map(BulkChangeId::from_i64).map(Self)
    }
}

impl Command for StartBulk {
    type Answer = StartedBulk;

    async fn attempt(
        &self,
        unit: &mut WriteUnit,
        at: &Attempt,
    ) -> Result<Step<StartedBulk>, StorageError> {
        if let Some(refusal) = self.check_selection(at).await? {
            return Ok(Step::refuse(refusal, None));
        }
        // What is wrong for every product is refused at once.
        let refusals = checked_on_any_product(&self.new.edits, unit, at).await?;
        if !refusals.is_empty() {
            let refusals = refusals.into_iter().map(of_change).collect();
            return Ok(Step::refused(refusals, None));
        }
        let categories = &at.reference.categories;
        let edits = self.new.edits.iter().cloned().map(|edit| match edit {
            BulkEdit::Category(slug) => match categories.by_slug(&slug) {
                Some(category) => BulkEdit::CategoryId(category.id),
                None => BulkEdit::Category(slug),
            },
            edit => edit,
        });
        let change = serde_json::to_string(&edits.collect::<Vec<_>>());
        let new = NewBulkChange {
            id: self.id,
            by: self.by.clone(),
            dry_run: self.new.dry_run,
            filter: self.filter.clone(),
            change: change.expect("edits are plain data"),
        };
        unit.insert_bulk_change(&new, at.now).await?;
        Ok(Step::done(StartedBulk(self.id), Change::Content))
    }
}

/// The refusal at its place in the input.
fn of_change(mut refusal: UserError) -> UserError {
    if let Some(first) = refusal.path.first_mut()
        && first == "specs"
    {
        "setSpecs".clone_into(first);
    }
    refusal.path.insert(0, "change".to_owned());
    refusal
}

/// One product of a bulk change.
struct BulkOne {
    job: BulkChangeId,
    dry_run: bool,
    filter: BulkFilter,
    item: WaitingItem,
    change: ChangeProduct,
}

/// Commands without an idempotency key need no answer.
impl StorableAnswer for () {
    fn to_stored(&self) -> Answer {
        Answer::Text(String::new())
    }

    fn from_stored(_: Answer) -> Option<Self> {
        Some(())
    }
}

impl Command for BulkOne {
    type Answer = ();

    async fn attempt(&self, unit: &mut WriteUnit, at: &Attempt) -> Result<Step<()>, StorageError> {
        let matches = unit.bulk_product(self.item.product, &self.filter).await?;
        if matches.is_none() {
            return self
                .end(unit, BulkOutcome::Skipped, None, Change::Content)
                .await;
        }
        let step = if self.dry_run {
            let mut trial = at.store().begin_write().await?;
            let step = self.change.attempt(&mut trial, at).await;
            trial.abort().await;
            step
        } else {
            self.change.attempt(unit, at).await
        };
        let step = match step {
            Err(error @ (StorageError::Newer { .. } | StorageError::Corrupt { .. })) => {
                return self.refuse_unchanged(at, &error.to_string()).await;
            }
            step => step?,
        };
        match step {
            Step::Retry => Ok(Step::Retry),
            Step::Refused { refusals, .. } => self.refuse_unchanged(at, &shown(&refusals)).await,
            Step::Done { change, .. } => {
                let outcome = match change {
                    Change::Nothing => BulkOutcome::Unchanged,
                    Change::Content | Change::Reference => BulkOutcome::Changed,
                };
                let written = match change {
                    Change::Reference if !self.dry_run => Change::Reference,
                    _ => Change::Content,
                };
                self.end(unit, outcome, None, written).await
            }
        }
    }
}

impl BulkOne {
    /// Stores that a product is refused, in a transaction of its own: that of the attempt is aborted with whatever it has
    /// written. Tried again and again, a product that cannot be written would stop all others.
    async fn refuse_unchanged(
        &self,
        at: &Attempt,
        message: &str,
    ) -> Result<Step<()>, StorageError> {
        store_refusal(at.store(), self.job, self.item, message).await?;
        Ok(Step::refused(Vec::new(), None))
    }

    /// Stores the outcome.
    async fn end(
        &self,
        unit: &mut WriteUnit,
        outcome: BulkOutcome,
        message: Option<&str>,
        change: Change,
    ) -> Result<Step<()>, StorageError> {
        let stored = unit
            .store_bulk_outcome(self.job, self.item, (outcome, message))
            .await?;
        // Another process was faster, or the bulk change has ended: nothing is written.
        Ok(if stored {
            Step::done((), change)
        } else {
            Step::refused(Vec::new(), None)
        })
    }
}

/// Why a product is refused whose write the database refuses.
const UNWRITABLE: &str = "the database refuses to write it; the log of the service has the reason";

/// Stores that a product is refused, in a transaction of its own.
async fn store_refusal(
    store: &Store,
    job: BulkChangeId,
    item: WaitingItem,
    message: &str,
) -> Result<(), StorageError> {
    let mut own = store.begin_write().await?;
    let outcome = (BulkOutcome::Refused, Some(message));
    if own.store_bulk_outcome(job, item, outcome).await? {
        return own.commit().await;
    }
    own.abort().await;
    Ok(())
}

/// The refusals as one text.
fn shown(refusals: &[UserError]) -> String {
    let all = refusals.iter().map(|refusal| {
        if refusal.path.is_empty() {
            refusal.message.clone()
        } else {
            format!("{}: {}", refusal.path.join("."), refusal.message)
        }
    });
    let all: Vec<String> = all.collect();
    excerpt(&all.join("; "), MAX_MESSAGE).text
}
