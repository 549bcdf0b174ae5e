//! Keyset pagination: a page begins right after a row whose sort key is known, so page five
//! thousand costs as much as page one, and inserts and deletes elsewhere move nothing.
//!
//! Rows without a value for the first sort key come last in both directions. MongoDB sorts absent
//! values first when ascending, so such an ascending list is read in two segments: the rows that
//! have the value, then those that lack it. The second segment is read only where the first one
//! ends.
//!
//! For a list over several categories, the server merges several ranges of an index. After a
//! cursor, the rows that share the cursor's coarse sort key (a rank) are a segment of their own.

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::{RawBsonRef, RawDocument};
use mongodb::bson::{Bson, DateTime, Document, doc};
use mongodb::options::Hint;
use mongodb::raw_batch_cursor::RawBatch;
use vitrine_model::clock::Timestamp;
use vitrine_model::cursor::{KeyValue, Position};

use self::range::{IndexRange, OtherEnd};
use crate::raw::{Fields, date, stored_id};
use crate::{StorageError, Store};

mod limited;
mod range;

/// Which page of a list to read.
#[derive(Clone, Debug, PartialEq)]
pub struct PageRequest {
    /// The maximum number of rows.
    pub size: usize,
    /// Where the page begins, and in which direction it is read.
    pub from: Boundary,
}

/// The boundary of a page.
#[derive(Clone, Debug, PartialEq)]
pub enum Boundary {
    /// The first rows, or the rows right after a position.
    After(Option<Position>),
    /// The last rows, or the rows right before a position; still returned in list order.
    Before(Option<Position>),
}

/// A page of a list.
#[derive(Clone, Debug)]
pub struct Page<T> {
    /// The rows, in list order.
    pub rows: Vec<Row<T>>,
    /// Whether the list has more rows: after the last row, or before the first one when reading
    /// backwards. True also where reading stopped before that is known.
    pub more: bool,
    /// Where reading stopped, if that is not at the last row of the page.
    pub stopped: Option<Stopped>,
}

/// Where the reading of a page stopped: the next page begins there.
#[derive(Clone, Debug, PartialEq)]
pub struct Stopped {
    /// The position of the last row that was examined.
    pub at: Position,
    /// The number of rows that were examined, if a limit of them ended the page.
    pub looked_through: Option<u32>,
}

/// A limit of the rows that a page examines. An index has them in the order of the list.
#[derive(Clone, Debug)]
pub(crate) struct ExaminationLimit {
    /// The maximum number of rows.
    pub(crate) max: u32,
    /// The part of the filter that the index serves: rows that match it are examined.
    pub(crate) scope: Document,
}

impl<T> Page<T> {
    /// Returns the page of the first rows of a list, of which one more was read than it has.
    pub(crate) fn of(mut rows: Vec<Row<T>>, size: usize) -> Self {
        let more = rows.len() > size;
        rows.truncate(size);
        Self {
            rows,
            more,
            stopped: None,
        }
    }

    /// Returns the page with its values replaced by what `to` makes of them.
    pub fn map<U>(self, to: impl Fn(T) -> U) -> Page<U> {
        let row = |row: Row<T>| Row {
            value: to(row.value),
            position: row.position,
        };
        Page {
            rows: self.rows.into_iter().map(row).collect(),
            more: self.more,
            stopped: self.stopped,
        }
    }
}

/// A row with its position in the list.
#[derive(Clone, Debug)]
pub struct Row<T> {
    /// The value.
    pub value: T,
    /// The position.
    pub position: Position,
}

/// A field that a list is sorted by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) field: &'static str,
    pub(crate) kind: ColumnKind,
    /// Whether rows may lack it.
    pub(crate) nullable: bool,
    /// Whether very many rows share each value.
    pub(crate) coarse: bool,
}

impl Column {
    /// Returns a column that every row has, and whose values few rows share.
    pub(crate) const fn new(field: &'static str, kind: ColumnKind) -> Self {
        Self {
            field,
            kind,
            nullable: false,
            coarse: false,
        }
    }

    /// Rows may lack it.
    pub(crate) const fn nullable(mut self) -> Self {
        self.nullable = true;
        self
    }

    /// Very many rows share each value.
    pub(crate) const fn coarse(mut self) -> Self {
        self.coarse = true;
        self
    }
}

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Integer,
    Instant,
    Text,
}

/// Reads a row from its document.
pub(crate) type ReadRow<T> = fn(&RawDocument) -> Result<T, StorageError>;

/// A query for a list, independent of the page.
#[derive(Clone, Debug)]
pub(crate) struct ListQuery {
    pub(crate) collection: &'static str,
    /// Leading stages, for lists whose rows the filter alone does not select.
    pub(crate) window: Vec<Document>,
    pub(crate) filter: Document,
    pub(crate) columns: Vec<Column>,
    pub(crate) descending: bool,
    pub(crate) index: &'static str,
    /// Whether the server merges several index ranges. It cannot split a range where the position
    /// lies within equal values, so these are read as a segment of their own.
    pub(crate) merged: bool,
    pub(crate) projection: Option<Document>,
    /// How many rows a page may examine, where the index does not bound that.
    pub(crate) limit: Option<ExaminationLimit>,
}

impl ListQuery {
    /// Returns the query for the matching documents of a collection, in ascending order of one column, by an index that
    /// has it.
    pub(crate) fn by(
        column: Column,
        (collection, index): (&'static str, &'static str),
        filter: Document,
    ) -> Self {
        Self {
            collection,
            window: Vec::new(),
            filter,
            columns: vec![column],
            descending: false,
            index,
            merged: false,
            projection: None,
            limit: None,
        }
    }
}

/// A single command of a list query.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    pub(crate) filter: Document,
    pub(crate) sort: Document,
    /// The range of the index that has the rows, where the filter does not say it.
    pub(crate) range: Option<IndexRange>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Segment {
    /// All rows.
    Whole,
    /// The rows that have a value for the first sort key.
    Present,
    /// The rows that lack it.
    Absent,
    /// The rows whose first sort key equals that of the position.
    Tie,
    /// The rows whose first sort key is present and comes after that of the position.
    AfterTie,
}

impl ListQuery {
    /// Returns the scans that a page may need, in order; the next one runs only if the previous
    /// ones returned too few rows.
    pub(crate) fn scans(&self, from: &Boundary) -> Vec<Scan> {
        let (position, backward) = match from {
            Boundary::After(position) => (position.as_ref(), false),
            Boundary::Before(position) => (position.as_ref(), true),
        };
        let segments = self.segments(position, backward);
        let mut scans = Vec::with_capacity(segments.len());
        for (at, segment) in segments.into_iter().enumerate() {
            let here = position.filter(|_| at == 0 || segment == Segment::AfterTie);
            scans.push(self.scan(segment, here, backward));
        }
        scans
    }

    /// Returns the segments that a page may reach, in reading order.
    fn segments(&self, position: Option<&Position>, backward: bool) -> Vec<Segment> {
        let nullable = self.columns.first().is_some_and(|column| column.nullable);
        let Some(position) = position else {
            return match (nullable && !self.descending, backward) {
                (false, _) => vec![Segment::Whole],
                (true, false) => vec![Segment::Present, Segment::Absent],
                (true, true) => vec![Segment::Absent, Segment::Present],
            };
        };
        let absent = position.keys.first() == Some(&KeyValue::Absent);
        let coarse = self.columns.first().is_some_and(|column| column.coarse);
        if self.merged && coarse {
            return match (absent, backward) {
                (true, false) => vec![Segment::Absent],
                (true, true) => vec![Segment::Absent, Segment::Present],
                (false, false) if nullable => {
                    vec![Segment::Tie, Segment::AfterTie, Segment::Absent]
                }
                (false, _) => vec![Segment::Tie, Segment::AfterTie],
            };
        }
        if !nullable || (self.descending && !self.merged) {
            return vec![Segment::Whole];
        }
        match (absent, backward) {
            (false, false) => vec![Segment::Present, Segment::Absent],
            (false, true) => vec![Segment::Present],
            (true, false) => vec![Segment::Absent],
            (true, true) => vec![Segment::Absent, Segment::Present],
        }
    }

    fn scan(&self, segment: Segment, position: Option<&Position>, backward: bool) -> Scan {
        let descending = self.descending != backward;
        let first = self.columns.first();
        let key = position.and_then(|position| position.keys.first());
        if let Some(range) = self.segment_range(segment, position, descending) {
            let filter = if range.is_filter {
                Document::new()
            } else {
                self.filter.clone()
            };
            return Scan {
                filter,
                sort: range.sort.clone(),
                range: Some(range),
            };
        }
        let mut columns = self.columns.clone();
        let mut parts = vec![self.filter.clone()];
        let mut bounds = position.map(|position| after_position(&columns, position, descending));
        match (segment, first) {
            (Segment::Whole, _) | (_, None) => {}
            (Segment::Present, Some(first)) => {
                parts.push(doc! { first.field: { "$gte": min_value(first.kind) } });
                columns[0].nullable = false;
                bounds = position.map(|position| after_position(&columns, position, descending));
            }
            (Segment::AfterTie, Some(first)) => {
                let first = Column {
                    nullable: false,
                    ..*first
                };
                bounds = key
                    .and_then(|key| after_value(first, key, descending))
                    .map(|part| vec![part]);
            }
            (Segment::Tie | Segment::Absent, Some(first)) => {
                let value = if segment == Segment::Tie {
                    key.map_or(Bson::Null, bson)
                } else {
                    Bson::Null
                };
                parts.push(doc! { first.field: value });
                // A field with a fixed value must not be in the sort: the server would then sort in
                // memory what several index ranges already return in order.
                columns.remove(0);
                bounds =
                    position.map(|position| after_position(&columns, &rest(position), descending));
            }
        }
        parts.extend(bounds.into_iter().flatten());
        Scan {
            filter: all_of(parts),
            sort: sort(&columns, descending),
            range: None,
        }
    }

    /// Returns the range of the index for a segment behind a position. Without one, only for the rows that lack the
    /// first sort key: a comparison with null reads each of them.
    fn segment_range(
        &self,
        segment: Segment,
        position: Option<&Position>,
        descending: bool,
    ) -> Option<IndexRange> {
        if position.is_none() && segment != Segment::Absent {
            return None;
        }
        let other_end = match segment {
            Segment::Whole => OtherEnd::All,
            Segment::Present => OtherEnd::Present,
            Segment::Absent => OtherEnd::Absent,
            Segment::Tie | Segment::AfterTie => return None,
        };
        self.range(position, descending, other_end)
    }

    /// Reads a row.
    pub(crate) fn row<T>(
        &self,
        row: &RawDocument,
        read: ReadRow<T>,
    ) -> Result<Row<T>, StorageError> {
        Ok(Row {
            position: self.position(row)?,
            value: read(row)?,
        })
    }

    fn position(&self, row: &RawDocument) -> Result<Position, StorageError> {
        let id = row.get("_id").ok().flatten().and_then(RawBsonRef::as_i64);
        let corrupt = |field: &str| Fields::of(self.collection, row).corrupt(field);
        let mut keys = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            let value = at_path(row, column.field).map_err(|()| corrupt(column.field))?;
            keys.push(key_value(value).ok_or_else(|| corrupt(column.field))?);
        }
        Ok(Position {
            keys,
            id: id.ok_or_else(|| corrupt("_id"))?,
        })
    }
}

impl Store {
    /// Reads one page of a list: one command, and another one where a segment ends.
    pub(crate) async fn read_page<T>(
        &self,
        query: &ListQuery,
        request: &PageRequest,
        read: ReadRow<T>,
    ) -> Result<Page<T>, StorageError> {
        if let Some(limit) = &query.limit {
            return self.read_limited_page(query, limit, request, read).await;
        }
        let mut rows: Vec<Row<T>> = Vec::with_capacity(request.size + 1);
        for scan in query.scans(&request.from) {
            let missing = request.size + 1 - rows.len();
            for batch in self.run_scan(query, &scan, missing).await? {
                for row in documents(&batch)? {
                    rows.push(query.row(row?, read)?);
                }
            }
            if rows.len() > request.size {
                break;
            }
        }
        let mut page = Page::of(rows, request.size);
        if matches!(request.from, Boundary::Before(_)) {
            page.rows.reverse();
        }
        Ok(page)
    }

    /// Returns whether the list has a row before this position (or after it).
    pub(crate) async fn has_row(
        &self,
        query: &ListQuery,
        from: &Boundary,
    ) -> Result<bool, StorageError> {
        let id_only = ListQuery {
            projection: Some(doc! { "_id": 1 }),
            ..query.clone()
        };
        for scan in id_only.scans(from) {
            for batch in self.run_scan(&id_only, &scan, 1).await? {
                if documents(&batch)?.next().is_some() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Reads one page of several consecutive lists, each sorted on its own. The first key of a
    /// position is the index of its list. One command for each list that the page reaches.
    pub(crate) async fn read_tiers<T>(
        &self,
        tiers: &[ListQuery],
        request: &PageRequest,
        read: ReadRow<T>,
    ) -> Result<Page<T>, StorageError> {
        let (position, backward) = match &request.from {
            Boundary::After(position) => (position.as_ref(), false),
            Boundary::Before(position) => (position.as_ref(), true),
        };
        let mut rows: Vec<Row<T>> = Vec::with_capacity(request.size + 1);
        for (tier, from) in tiers_from(tiers.len(), position, backward) {
            let request = PageRequest {
                size: request.size - rows.len(),
                from,
            };
            let page = self.read_page(&tiers[tier], &request, read).await?;
            let place = |row: Row<T>| Row {
                position: in_tier(tier, row.position),
                ..row
            };
            let found = page.rows.into_iter().map(place);
            if backward {
                rows.splice(0..0, found);
            } else {
                rows.extend(found);
            }
            if page.more {
                return Ok(Page {
                    rows,
                    more: true,
                    stopped: None,
                });
            }
        }
        Ok(Page {
            rows,
            more: false,
            stopped: None,
        })
    }

    /// Returns whether consecutive lists have a row before this position (or after it).
    pub(crate) async fn has_row_in_tiers(
        &self,
        tiers: &[ListQuery],
        from: &Boundary,
    ) -> Result<bool, StorageError> {
        let (position, backward) = match from {
            Boundary::After(position) => (position.as_ref(), false),
            Boundary::Before(position) => (position.as_ref(), true),
        };
        for (tier, from) in tiers_from(tiers.len(), position, backward) {
            if self.has_row(&tiers[tier], &from).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn run_scan(
        &self,
        query: &ListQuery,
        scan: &Scan,
        limit: usize,
    ) -> Result<Vec<RawBatch>, StorageError> {
        let limit = u32::try_from(limit).expect("pages are small");
        if !query.window.is_empty() {
            return self.run_windowed_scan(query, scan, limit).await;
        }
        let collection = self.raw(query.collection);
        let mut find = collection
            .find(scan.filter.clone())
            .sort(scan.sort.clone())
            .hint(Hint::Name(query.index.to_owned()))
            .limit(i64::from(limit))
            .batch_size(limit + 1)
            .max_time(self.max_time);
        if let Some(range) = &scan.range {
            find = find.min(range.min.clone()).max(range.max.clone());
        }
        if let Some(projection) = &query.projection {
            find = find.projection(projection.clone());
        }
        Ok(find.batch().await?.try_collect().await?)
    }

    async fn run_windowed_scan(
        &self,
        query: &ListQuery,
        scan: &Scan,
        limit: u32,
    ) -> Result<Vec<RawBatch>, StorageError> {
        let mut pipeline = query.window.clone();
        pipeline.push(doc! { "$match": scan.filter.clone() });
        // A window that is already in the requested order ends where the page is full.
        if !query.window.contains(&doc! { "$sort": scan.sort.clone() }) {
            pipeline.push(doc! { "$sort": scan.sort.clone() });
        }
        pipeline.push(doc! { "$limit": i64::from(limit) });
        let shown = query.projection.clone();
        pipeline.extend(shown.map(|shown| doc! { "$project": shown }));
        let collection = self.documents(query.collection);
        let aggregate = collection
            .aggregate(pipeline)
            .hint(Hint::Name(query.index.to_owned()))
            .batch_size(limit + 1)
            .max_time(self.max_time);
        Ok(aggregate.batch().await?.try_collect().await?)
    }
}

/// Returns the documents of a batch.
fn documents(
    batch: &RawBatch,
) -> Result<impl Iterator<Item = Result<&RawDocument, StorageError>>, StorageError> {
    Ok(batch.doc_slices()?.into_iter().map(document))
}

fn document(
    row: Result<RawBsonRef<'_>, mongodb::bson::error::Error>,
) -> Result<&RawDocument, StorageError> {
    let row = row.map_err(mongodb::error::Error::from)?.as_document();
    row.ok_or_else(|| mongodb::error::Error::custom("a row is a document").into())
}

/// Returns the lists that a page may reach, in reading order, and the boundary in each.
fn tiers_from(tiers: usize, position: Option<&Position>, backward: bool) -> Vec<(usize, Boundary)> {
    let from = |position| {
        if backward {
            Boundary::Before(position)
        } else {
            Boundary::After(position)
        }
    };
    let first = match position.and_then(|position| position.keys.first()) {
        Some(KeyValue::Int(tier)) => usize::try_from(*tier).unwrap_or(0).min(tiers - 1),
        _ if backward => tiers - 1,
        _ => 0,
    };
    let mut reached: Vec<(usize, Boundary)> = vec![(first, from(position.map(rest)))];
    if backward {
        reached.extend((0..first).rev().map(|tier| (tier, from(None))));
    } else {
        reached.extend((first + 1..tiers).map(|tier| (tier, from(None))));
    }
    reached
}

fn in_tier(tier: usize, position: Position) -> Position {
    let tier = KeyValue::Int(i64::try_from(tier).expect("few"));
    Position {
        keys: std::iter::once(tier).chain(position.keys).collect(),
        id: position.id,
    }
}

fn sort(columns: &[Column], descending: bool) -> Document {
    let direction = if descending { -1 } else { 1 };
    let fields = columns.iter().map(|column| column.field).chain(["_id"]);
    fields
        .map(|field| (field.to_owned(), Bson::Int32(direction)))
        .collect()
}

/// Returns the position without its first key.
fn rest(position: &Position) -> Position {
    Position {
        keys: position.keys.iter().skip(1).cloned().collect(),
        id: position.id,
    }
}

/// Returns the filter for rows behind a position, in the direction of reading: a bound on the
/// leading column within one range, and an OR that breaks ties. A form that ANDs two bounds loses
/// rows.
fn after_position(columns: &[Column], position: &Position, descending: bool) -> Vec<Document> {
    let mut branches = Vec::new();
    let mut equal = Document::new();
    for (column, key) in columns.iter().zip(&position.keys) {
        if let Some(after_value) = after_value(*column, key, descending) {
            branches.push(all_of(vec![equal.clone(), after_value]));
        }
        equal.insert(column.field, bson(key));
    }
    let operator = if descending { "$lt" } else { "$gt" };
    equal.insert("_id", doc! { operator: stored_id(position.id) });
    branches.push(equal);
    let lead = columns.first().zip(position.keys.first());
    let mut parts: Vec<Document> = lead
        .and_then(|(column, key)| lead_bound(*column, key, descending))
        .into_iter()
        .collect();
    parts.push(any_of(branches));
    parts
}

/// Returns the filter for values of a column that come after this one.
fn after_value(column: Column, key: &KeyValue, descending: bool) -> Option<Document> {
    let absent = *key == KeyValue::Absent;
    match (descending, absent) {
        (true, true) => None,
        (true, false) => {
            let less = doc! { column.field: { "$lt": bson(key) } };
            let none = column.nullable.then(|| doc! { column.field: Bson::Null });
            Some(any_of([Some(less), none].into_iter().flatten().collect()))
        }
        (false, true) => Some(doc! { column.field: { "$gte": min_value(column.kind) } }),
        (false, false) => Some(doc! { column.field: { "$gt": bson(key) } }),
    }
}

/// Returns a bound on the first column that holds for all rows behind the position.
fn lead_bound(column: Column, key: &KeyValue, descending: bool) -> Option<Document> {
    let absent = *key == KeyValue::Absent;
    match (descending, absent) {
        (true, true) => Some(doc! { column.field: Bson::Null }),
        (true, false) => (!column.nullable).then(|| doc! { column.field: { "$lte": bson(key) } }),
        (false, true) => None,
        (false, false) => Some(doc! { column.field: { "$gte": bson(key) } }),
    }
}

/// Returns the conjunction, without needless nesting.
pub(crate) fn all_of(parts: Vec<Document>) -> Document {
    let mut parts: Vec<Document> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    match parts.len() {
        0 => Document::new(),
        1 => parts.remove(0),
        _ => doc! { "$and": parts },
    }
}

/// Returns the disjunction; of no parts, a filter that matches nothing.
pub(crate) fn any_of(mut parts: Vec<Document>) -> Document {
    match parts.len() {
        0 => doc! { "_id": { "$in": [] } },
        1 => parts.remove(0),
        _ => doc! { "$or": parts },
    }
}

fn min_value(kind: ColumnKind) -> Bson {
    match kind {
        ColumnKind::Integer => Bson::Int64(i64::MIN),
        ColumnKind::Instant => Bson::DateTime(DateTime::MIN),
        ColumnKind::Text => Bson::String(String::new()),
    }
}

fn bson(key: &KeyValue) -> Bson {
    match key {
        KeyValue::Absent => Bson::Null,
        KeyValue::Int(n) => Bson::Int64(*n),
        KeyValue::Float(n) => Bson::Double(*n),
        KeyValue::Instant(at) => date(Timestamp::from_millis(*at)),
        KeyValue::Text(text) => Bson::String(text.clone()),
    }
}

fn key_value(value: Option<RawBsonRef<'_>>) -> Option<KeyValue> {
    match value {
        None | Some(RawBsonRef::Null) => Some(KeyValue::Absent),
        Some(RawBsonRef::Int32(n)) => Some(KeyValue::Int(i64::from(n))),
        Some(RawBsonRef::Int64(n)) => Some(KeyValue::Int(n)),
        Some(RawBsonRef::Double(n)) => Some(KeyValue::Float(n)),
        Some(RawBsonRef::DateTime(at)) => Some(KeyValue::Instant(at.timestamp_millis())),
        Some(RawBsonRef::String(text)) => Some(KeyValue::Text(text.to_owned())),
        Some(_) => None,
    }
}

fn at_path<'a>(row: &'a RawDocument, path: &str) -> Result<Option<RawBsonRef<'a>>, ()> {
    match path.split_once('.') {
        None => row.get(path).map_err(|_| ()),
        Some((head, tail)) => match row.get(head).map_err(|_| ())? {
            Some(RawBsonRef::Document(inner)) => at_path(inner, tail),
            Some(_) => Err(()),
            None => Ok(None),
        },
    }
}
