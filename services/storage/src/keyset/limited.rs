//! Pages of lists whose filter no index bounds: a page examines a limited number of rows, in the order of the list. If they
//! do not fill it, the page ends with the last row that was examined, and the next page begins there. So no page costs more
//! than the limit, and the pages of a list have all its rows.
//!
//! An aggregation limits the rows before it filters them, which costs the server about twice as much for each row as a
//! `find`. Lists over few rows are read without a limit.

use futures_util::TryStreamExt as _;
use mongodb::bson::raw::RawDocumentBuf;
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::Hint;
use mongodb::raw_batch_cursor::RawBatch;
use vitrine_model::cursor::{KeyValue, Position};

use super::{
    Boundary, ExaminationLimit, ListQuery, Page, PageRequest, ReadRow, Row, Scan, Stopped,
    documents, key_value,
};
use crate::raw::Fields;
use crate::{StorageError, Store};

impl ListQuery {
    /// Returns the list of the rows that may be examined. It is read in segments that have no OR: the server would not
    /// bound the rows behind a position otherwise.
    fn examined(&self, limit: &ExaminationLimit) -> Self {
        Self {
            filter: limit.scope.clone(),
            columns: self.columns.iter().map(|column| column.coarse()).collect(),
            merged: true,
            ..self.clone()
        }
    }
}

impl Store {
    /// Reads one page. One command, and for each segment that does not fill it one more, from the index alone.
    pub(super) async fn read_limited_page<T>(
        &self,
        query: &ListQuery,
        limit: &ExaminationLimit,
        request: &PageRequest,
        read: ReadRow<T>,
    ) -> Result<Page<T>, StorageError> {
        let examined = query.examined(limit);
        let mut rows: Vec<Row<T>> = Vec::with_capacity(request.size + 1);
        let (mut left, mut stopped) = (limit.max, None);
        for scan in examined.scans(&request.from) {
            let missing = request.size + 1 - rows.len();
            for batch in self.scan_limited(query, &scan, left, missing).await? {
                for row in documents(&batch)? {
                    rows.push(query.row(row?, read)?);
                }
            }
            if rows.len() > request.size {
                break;
            }
            let (seen, last) = self.last_examined(&examined, &scan, left).await?;
            left = left.saturating_sub(seen);
            if left == 0 {
                stopped = last;
                break;
            }
        }
        let mut page = Page::of(rows, request.size);
        if let Some(at) = stopped {
            page.more = true;
            page.stopped = Some(Stopped {
                at,
                looked_through: Some(limit.max),
            });
        }
        if matches!(request.from, Boundary::Before(_)) {
            page.rows.reverse();
        }
        Ok(page)
    }

    async fn scan_limited(
        &self,
        query: &ListQuery,
        scan: &Scan,
        examined: u32,
        rows: usize,
    ) -> Result<Vec<RawBatch>, StorageError> {
        let rows = u32::try_from(rows).expect("pages are small");
        let mut pipeline = beginning(scan, examined);
        pipeline.extend([
            doc! { "$match": query.filter.clone() },
            doc! { "$limit": i64::from(rows) },
        ]);
        let shown = query.projection.clone();
        pipeline.extend(shown.map(|shown| doc! { "$project": shown }));
        let collection = self.documents(query.collection);
        let aggregate = collection
            .aggregate(pipeline)
            .hint(Hint::Name(query.index.to_owned()))
            .batch_size(rows + 1)
            .max_time(self.max_time);
        Ok(aggregate.batch().await?.try_collect().await?)
    }

    /// Returns how many rows a scan has, up to `max`, and the position of the last of them.
    async fn last_examined(
        &self,
        examined: &ListQuery,
        scan: &Scan,
        max: u32,
    ) -> Result<(u32, Option<Position>), StorageError> {
        let mut last =
            doc! { "_id": Bson::Null, "n": { "$sum": 1_i64 }, "id": { "$last": "$_id" } };
        for (at, column) in examined.columns.iter().enumerate() {
            last.insert(key_name(at), doc! { "$last": format!("${}", column.field) });
        }
        let mut pipeline = beginning(scan, max);
        pipeline.push(doc! { "$group": last });
        let collection = self.documents(examined.collection);
        let aggregate = collection
            .aggregate(pipeline)
            .hint(Hint::Name(examined.index.to_owned()))
            .max_time(self.max_time);
        let cursor = aggregate.await?.with_type::<RawDocumentBuf>();
        let groups: Vec<RawDocumentBuf> = cursor.try_collect().await?;
        let Some(group) = groups.first() else {
            return Ok((0, None));
        };
        let fields = Fields::of(examined.collection, group);
        let mut keys: Vec<KeyValue> = Vec::with_capacity(examined.columns.len());
        for (at, column) in examined.columns.iter().enumerate() {
            let value = group.get(key_name(at)).ok().flatten();
            keys.push(key_value(value).ok_or_else(|| fields.corrupt(column.field))?);
        }
        let seen = u32::try_from(fields.i64("n")?).map_err(|_| fields.corrupt("n"))?;
        let id = fields.id("id")?;
        Ok((seen, Some(Position { keys, id })))
    }
}

/// Returns the stages that select the first rows of a scan.
fn beginning(scan: &Scan, rows: u32) -> Vec<Document> {
    vec![
        doc! { "$match": scan.filter.clone() },
        doc! { "$sort": scan.sort.clone() },
        doc! { "$limit": i64::from(rows) },
    ]
}

fn key_name(at: usize) -> String {
    format!("key{at}")
}
