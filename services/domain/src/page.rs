//! Page arguments and cursors.
//!
//! A page reads one row more than it returns, which answers `hasNextPage`. `hasPreviousPage` after
//! the first page is one more command, and `totalCount` another unless the page holds the whole
//! list. Both are sent only when selected.

use std::sync::Arc;

use vitrine_model::cursor::{CursorCodec, ListFingerprint, Position};
use vitrine_storage::keyset::{Boundary, Page, PageRequest, Stopped};

use crate::{Catalog, DomainError};

/// The maximum page size.
pub const MAX_PAGE: usize = 100;
/// The default page size.
pub const DEFAULT_PAGE: usize = 20;

/// Page arguments as callers give them (GraphQL Cursor Connections).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageArguments {
    /// The number of rows from the beginning, or after `after`.
    pub first: Option<i32>,
    /// The cursor before the first row.
    pub after: Option<String>,
    /// The number of rows at the end, or before `before`.
    pub last: Option<i32>,
    /// The cursor after the last row.
    pub before: Option<String>,
}

/// A page of a list.
#[derive(Clone, Debug)]
pub struct Listed<T, L> {
    /// The rows in list order.
    pub rows: Vec<ListedRow<T>>,
    /// The list.
    pub list: L,
    request: PageRequest,
    more: bool,
    /// Where reading stopped, if that is not at the last row.
    stopped: Option<Stopped>,
    cursors: Arc<ListCursors>,
}

/// A row of a list.
#[derive(Clone, Debug)]
pub struct ListedRow<T> {
    /// The value.
    pub value: T,
    position: Position,
    cursors: Arc<ListCursors>,
}

/// What the cursors of a list are made with.
#[derive(Debug)]
pub(crate) struct ListCursors {
    pub(crate) codec: CursorCodec,
    pub(crate) list: ListFingerprint,
}

impl<T> ListedRow<T> {
    pub(crate) const fn new(value: T, position: Position, cursors: Arc<ListCursors>) -> Self {
        Self {
            value,
            position,
            cursors,
        }
    }

    /// Returns the cursor of the row. It is signed each time.
    #[must_use]
    pub fn cursor(&self) -> String {
        let ListCursors { codec, list } = &*self.cursors;
        codec.encode(*list, &self.position)
    }
}

/// Whether a list has rows beyond a page.
pub(crate) enum HasMore {
    Known(bool),
    Lookup(Boundary),
}

impl PageArguments {
    /// Validates the sizes and decodes the cursors.
    pub(crate) fn request(
        &self,
        catalog: &Catalog,
        list: ListFingerprint,
    ) -> Result<PageRequest, DomainError> {
        let position = |field, cursor: &Option<String>| {
            let decode = |text: &String| {
                let position = catalog.cursors().decode(list, text);
                position.map_err(|source| DomainError::InvalidCursor { field, source })
            };
            cursor.as_ref().map(decode).transpose()
        };
        match (self.first, self.last) {
            (Some(_), Some(_)) => Err(DomainError::invalid(
                "first",
                "give first or last, not both",
            )),
            (None, Some(last)) => {
                refuse_other("after", self.after.as_deref(), "last", "before")?;
                let from = Boundary::Before(position("before", &self.before)?);
                Ok(PageRequest {
                    size: size("last", last)?,
                    from,
                })
            }
            (first, None) => {
                refuse_other("before", self.before.as_deref(), "first", "after")?;
                let size = first.map_or(Ok(DEFAULT_PAGE), |first| size("first", first))?;
                Ok(PageRequest {
                    size,
                    from: Boundary::After(position("after", &self.after)?),
                })
            }
        }
    }
}

fn refuse_other(
    field: &'static str,
    given: Option<&str>,
    size: &str,
    right: &str,
) -> Result<(), DomainError> {
    if given.is_none() {
        return Ok(());
    }
    let reason = format!(
        "goes with {}; with {size} give {right}",
        if size == "first" { "last" } else { "first" }
    );
    Err(DomainError::invalid(field, reason))
}

fn size(field: &'static str, size: i32) -> Result<usize, DomainError> {
    let fits = usize::try_from(size)
        .ok()
        .filter(|size| (1..=MAX_PAGE).contains(size));
    fits.ok_or_else(|| DomainError::invalid(field, format!("must be 1 to {MAX_PAGE}, not {size}")))
}

impl<T, L> Listed<T, L> {
    pub(crate) fn new(
        catalog: &Catalog,
        fingerprint: ListFingerprint,
        list: L,
        request: PageRequest,
        page: Page<T>,
    ) -> Self {
        let cursors = Arc::new(ListCursors {
            codec: catalog.cursors().clone(),
            list: fingerprint,
        });
        let row = |row: vitrine_storage::keyset::Row<T>| {
            ListedRow::new(row.value, row.position, Arc::clone(&cursors))
        };
        Self {
            rows: page.rows.into_iter().map(row).collect(),
            list,
            request,
            more: page.more,
            stopped: page.stopped,
            cursors,
        }
    }

    /// The cursor of the first row. Where a page that was read backwards stopped before it was full, the cursor of the last
    /// row that was examined.
    #[must_use]
    pub fn start_cursor(&self) -> Option<String> {
        let first = || self.rows.first().map(ListedRow::cursor);
        match self.request.from {
            Boundary::Before(_) => self.stopped_cursor().or_else(first),
            Boundary::After(_) => first(),
        }
    }

    /// The cursor of the last row. Where a page stopped before it was full, the cursor of the last row that was examined.
    #[must_use]
    pub fn end_cursor(&self) -> Option<String> {
        let last = || self.rows.last().map(ListedRow::cursor);
        match self.request.from {
            Boundary::After(_) => self.stopped_cursor().or_else(last),
            Boundary::Before(_) => last(),
        }
    }

    /// The number of rows that were examined, if a limit of them ended the page.
    pub(crate) fn looked_through(&self) -> Option<u32> {
        self.stopped.as_ref()?.looked_through
    }

    fn stopped_cursor(&self) -> Option<String> {
        let ListCursors { codec, list } = &*self.cursors;
        let stopped = self.stopped.as_ref()?;
        Some(codec.encode(*list, &stopped.at))
    }

    /// The number of rows of the list, if this page has all of them.
    pub(crate) fn is_all(&self) -> Option<usize> {
        let from_an_end = matches!(
            self.request.from,
            Boundary::After(None) | Boundary::Before(None)
        );
        (from_an_end && !self.more).then_some(self.rows.len())
    }

    /// Whether rows follow: known when paging forwards, requires a lookup when paging backwards.
    pub(crate) fn has_more_after(&self) -> HasMore {
        match &self.request.from {
            Boundary::After(_) => HasMore::Known(self.more),
            Boundary::Before(None) => HasMore::Known(false),
            Boundary::Before(Some(_)) => {
                let last = self.rows.last().map(|row| row.position.clone());
                HasMore::Lookup(Boundary::After(last))
            }
        }
    }

    /// Whether rows precede: known when paging backwards, requires a lookup when paging forwards.
    pub(crate) fn has_more_before(&self) -> HasMore {
        match &self.request.from {
            Boundary::Before(_) => HasMore::Known(self.more),
            Boundary::After(None) => HasMore::Known(false),
            Boundary::After(Some(_)) => {
                let first = self.rows.first().map(|row| row.position.clone());
                HasMore::Lookup(Boundary::Before(first))
            }
        }
    }
}
