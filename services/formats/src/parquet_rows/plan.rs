//! Which columns of a file are read, and as what.

use std::collections::HashMap;
use std::sync::Arc;

use parquet::basic::{
    Compression, ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical,
};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::schema::types::{SchemaDescPtr, SchemaDescriptor, Type, TypePtr};

use super::value::{Kind, Leaf};

/// The maximum depth of columns in columns.
const MAX_DEPTH: usize = 64;

/// How a file is read.
pub(super) struct Plan {
    /// All columns, of numbers and bytes without a meaning.
    plain: SchemaDescPtr,
    /// Those that are read.
    columns: Vec<(TypePtr, Kind)>,
    read: SchemaDescPtr,
    /// The names of the others, with what they are.
    left_out: Vec<(String, String)>,
}

/// Why a column is left out.
type Reason = String;

impl Plan {
    /// # Errors
    /// Why nothing can be read.
    pub(super) fn of(metadata: &ParquetMetaData) -> Result<Self, String> {
        let schema = metadata.file_metadata().schema_descr();
        let mut planning = Planning {
            packed: packed(metadata),
            left_out: Vec::new(),
            path: Vec::new(),
        };
        let fields = schema.root_schema().get_fields();
        let plain: Result<Vec<TypePtr>, String> =
            fields.iter().map(|field| plain(field, 0)).collect();
        let columns = fields.iter().filter_map(|field| planning.column(field));
        let columns: Vec<(TypePtr, Kind)> = columns.collect();
        Ok(Self {
            plain: described(plain?)?,
            read: described(
                columns
                    .iter()
                    .map(|(column, _)| Arc::clone(column))
                    .collect(),
            )?,
            columns,
            left_out: planning.left_out,
        })
    }

    /// Leaves the columns out that cannot be read, as `read` finds out for each alone.
    ///
    /// # Errors
    /// None is left.
    pub(super) fn leave_out(
        &mut self,
        read: impl Fn(&SchemaDescPtr) -> Result<(), String>,
    ) -> Result<(), String> {
        for (column, kind) in std::mem::take(&mut self.columns) {
            let alone = described(vec![Arc::clone(&column)])?;
            match read(&alone) {
                Ok(()) => self.columns.push((column, kind)),
                Err(reason) => self.left_out.push((column.name().to_owned(), reason)),
            }
        }
        if self.columns.is_empty() && !self.left_out.is_empty() {
            return Err(format!("no column of it can be read: {}", self.listed()));
        }
        let columns = self.columns.iter().map(|(column, _)| Arc::clone(column));
        self.read = described(columns.collect())?;
        Ok(())
    }

    pub(super) fn plain(&self) -> SchemaDescPtr {
        Arc::clone(&self.plain)
    }

    pub(super) fn read(&self) -> SchemaDescPtr {
        Arc::clone(&self.read)
    }

    /// What the columns that are read are.
    pub(super) fn kinds(&self) -> impl Iterator<Item = &Kind> {
        self.columns.iter().map(|(_, kind)| kind)
    }

    /// How the file is read, with what is left out.
    pub(super) fn described(&self) -> String {
        if self.left_out.is_empty() {
            return "Parquet".to_owned();
        }
        format!("Parquet, without {}", self.listed())
    }

    fn listed(&self) -> String {
        let listed = self.left_out.iter();
        let listed: Vec<String> = listed
            .map(|(name, what)| format!("{name} ({what})"))
            .collect();
        listed.join(", ")
    }
}

/// The columns whose pages are packed in a way that is not read.
fn packed(metadata: &ParquetMetaData) -> HashMap<Vec<String>, Reason> {
    let mut packed = HashMap::new();
    for column in metadata
        .row_groups()
        .iter()
        .flat_map(RowGroupMetaData::columns)
    {
        let name = match column.compression() {
            Compression::LZ4 | Compression::LZ4_RAW => "LZ4",
            Compression::BROTLI(_) => "Brotli",
            Compression::LZO => "LZO",
            _ => continue,
        };
        let reason = format!("packed with {name}; Snappy, gzip and Zstandard are read");
        packed.insert(column.column_path().parts().to_vec(), reason);
    }
    packed
}

fn described(fields: Vec<TypePtr>) -> Result<SchemaDescPtr, String> {
    let root = Type::group_type_builder("rows").with_fields(fields).build();
    let root = root.map_err(|error| error.to_string())?;
    Ok(Arc::new(SchemaDescriptor::new(Arc::new(root))))
}

/// A column of numbers and bytes that mean nothing. Lists and maps stay such.
fn plain(column: &Type, depth: usize) -> Result<TypePtr, String> {
    if depth > MAX_DEPTH {
        return Err(format!("its columns have more than {MAX_DEPTH} levels"));
    }
    let (info, name) = (column.get_basic_info(), column.name());
    let built = match column {
        Type::PrimitiveType {
            physical_type,
            type_length,
            ..
        } => Type::primitive_type_builder(name, *physical_type)
            .with_repetition(info.repetition())
            .with_length(*type_length)
            .build(),
        Type::GroupType { fields, .. } => {
            let fields: Result<Vec<TypePtr>, String> =
                fields.iter().map(|field| plain(field, depth + 1)).collect();
            Type::group_type_builder(name)
                .with_repetition(info.repetition())
                .with_converted_type(form(column))
                .with_fields(fields?)
                .build()
        }
    };
    built.map(Arc::new).map_err(|error| error.to_string())
}

/// Whether a group is a list or a map.
fn form(group: &Type) -> ConvertedType {
    let info = group.get_basic_info();
    match (info.logical_type_ref(), info.converted_type()) {
        (Some(LogicalType::List), _) | (_, ConvertedType::LIST) => ConvertedType::LIST,
        (Some(LogicalType::Map), _) | (_, ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE) => {
            ConvertedType::MAP
        }
        _ => ConvertedType::NONE,
    }
}

struct Planning {
    packed: HashMap<Vec<String>, Reason>,
    left_out: Vec<(String, String)>,
    path: Vec<String>,
}

impl Planning {
    /// A column without what is not read in it; `None` if nothing is left.
    fn column(&mut self, column: &Type) -> Option<(TypePtr, Kind)> {
        self.path.push(column.name().to_owned());
        let planned = self.plan(column);
        let name = self.path.join(".");
        self.path.pop();
        match planned {
            Ok(planned) => planned,
            Err(reason) => {
                self.left_out.push((name, reason));
                None
            }
        }
    }

    fn plan(&mut self, column: &Type) -> Result<Option<(TypePtr, Kind)>, Reason> {
        let Type::GroupType { fields, .. } = column else {
            return self.leaf(column).map(Some);
        };
        let info = column.get_basic_info();
        match info.logical_type_ref() {
            None | Some(LogicalType::List | LogicalType::Map) => {}
            Some(other) => return Err(format!("of type {}", named(other))),
        }
        match form(column) {
            ConvertedType::LIST => {
                let kind = self.list(fields)?;
                Ok(Some((plain(column, 0)?, Kind::List(Box::new(kind)))))
            }
            ConvertedType::MAP => {
                let kind = self.map(fields)?;
                Ok(Some((plain(column, 0)?, kind)))
            }
            _ => {
                let inner: Vec<(TypePtr, Kind)> = fields
                    .iter()
                    .filter_map(|field| self.column(field))
                    .collect();
                if inner.is_empty() {
                    return Ok(None);
                }
                let (fields, kinds) = inner.into_iter().unzip();
                let group = Type::group_type_builder(column.name())
                    .with_repetition(info.repetition())
                    .with_fields(fields)
                    .build();
                let group = group.map_err(|error| error.to_string())?;
                Ok(Some((Arc::new(group), Kind::Group(kinds))))
            }
        }
    }

    /// What the items of a list are. A list is left out as a whole.
    fn list(&mut self, fields: &[TypePtr]) -> Result<Kind, Reason> {
        let [repeated] = fields else {
            return Err(NO_LIST.to_owned());
        };
        if !is_repeated(repeated) {
            return Err(NO_LIST.to_owned());
        }
        // How older writers have lists, by the rules of the format.
        let is_item = match &**repeated {
            Type::PrimitiveType { .. } => true,
            Type::GroupType { fields, .. } => {
                let name = repeated.name();
                fields.len() != 1 || name == "array" || name.ends_with("_tuple")
            }
        };
        let only_child = match &**repeated {
            Type::GroupType { fields, .. } if !is_item || form(repeated) == ConvertedType::LIST => {
                fields.first()
            }
            _ => None,
        };
        self.path.push(repeated.name().to_owned());
        let item = self.inner(only_child.unwrap_or(repeated), only_child.is_some());
        self.path.pop();
        item
    }

    fn map(&mut self, fields: &[TypePtr]) -> Result<Kind, Reason> {
        let [entry] = fields else {
            return Err(NO_MAP.to_owned());
        };
        let Type::GroupType { fields, .. } = &**entry else {
            return Err(NO_MAP.to_owned());
        };
        if !is_repeated(entry) {
            return Err(NO_MAP.to_owned());
        }
        self.path.push(entry.name().to_owned());
        let kind = match fields.as_slice() {
            [key] => self.inner(key, true).map(|key| Kind::List(Box::new(key))),
            [key, value] => self.inner(key, true).and_then(|key| {
                let value = self.inner(value, true)?;
                Ok(Kind::Map(Box::new(key), Box::new(value)))
            }),
            _ => Err(NO_MAP.to_owned()),
        };
        self.path.pop();
        kind
    }

    /// What a column in a list or a map is, of which nothing can be left out.
    fn inner(&mut self, column: &Type, has_name: bool) -> Result<Kind, Reason> {
        let known = self.left_out.len();
        if has_name {
            self.path.push(column.name().to_owned());
        }
        let planned = self.plan(column);
        if has_name {
            self.path.pop();
        }
        if let Some((name, reason)) = self.left_out.drain(known..).next() {
            return Err(format!("{name} in it is {reason}"));
        }
        let planned = planned?.ok_or_else(|| "without columns".to_owned())?;
        Ok(planned.1)
    }

    fn leaf(&self, column: &Type) -> Result<(TypePtr, Kind), Reason> {
        if let Some(reason) = self.packed.get(&self.path) {
            return Err(reason.clone());
        }
        let leaf = leaf(column)?;
        Ok((plain(column, 0)?, Kind::Leaf(leaf)))
    }
}

const NO_LIST: &str = "of a form that lists do not have";
const NO_MAP: &str = "of a form that maps do not have";

fn is_repeated(column: &Type) -> bool {
    let info = column.get_basic_info();
    info.has_repetition() && info.repetition() == Repetition::REPEATED
}

/// What the values of a column mean.
fn leaf(column: &Type) -> Result<Leaf, Reason> {
    let Type::PrimitiveType {
        physical_type,
        type_length,
        scale,
        ..
    } = column
    else {
        return Err("a group".to_owned());
    };
    let info = column.get_basic_info();
    match info.logical_type_ref() {
        Some(logical) => of_logical(logical, *physical_type),
        None => of_converted(info.converted_type(), *physical_type, *type_length, *scale),
    }
}

fn of_logical(logical: &LogicalType, physical: Physical) -> Result<Leaf, Reason> {
    Ok(match (logical, physical) {
        (LogicalType::Unknown, _) => Leaf::Plain,
        (LogicalType::Date, Physical::INT32) => Leaf::Date,
        (LogicalType::Time(time), Physical::INT32 | Physical::INT64) => {
            Leaf::Time(per_second(time.unit))
        }
        (LogicalType::Timestamp(time), Physical::INT64) => Leaf::Timestamp {
            per_second: per_second(time.unit),
            is_utc: time.is_adjusted_to_u_t_c,
        },
        (LogicalType::Integer(integer), Physical::INT32 | Physical::INT64) => {
            if integer.is_signed {
                Leaf::Plain
            } else {
                Leaf::Unsigned
            }
        }
        (LogicalType::Decimal(decimal), _) => Leaf::Decimal(decimal.scale),
        (LogicalType::String | LogicalType::Enum, Physical::BYTE_ARRAY) => Leaf::Text,
        (LogicalType::Json, Physical::BYTE_ARRAY) => Leaf::Json,
        (LogicalType::Uuid, Physical::FIXED_LEN_BYTE_ARRAY) => Leaf::Uuid,
        (LogicalType::Float16, Physical::FIXED_LEN_BYTE_ARRAY) => Leaf::Float16,
        (other, _) => return Err(format!("of type {}", named(other))),
    })
}

/// What the types that logical ones have replaced mean.
fn of_converted(
    converted: ConvertedType,
    physical: Physical,
    length: i32,
    scale: i32,
) -> Result<Leaf, Reason> {
    let utc = |per_second| Leaf::Timestamp {
        per_second,
        is_utc: true,
    };
    Ok(match (converted, physical) {
        (ConvertedType::NONE, Physical::INT96)
        | (ConvertedType::TIMESTAMP_MILLIS, Physical::INT64) => utc(1000),
        (ConvertedType::NONE, Physical::BYTE_ARRAY) => Leaf::Bytes,
        (ConvertedType::NONE, Physical::FIXED_LEN_BYTE_ARRAY) => Leaf::FixedBytes,
        (
            ConvertedType::NONE
            | ConvertedType::INT_8
            | ConvertedType::INT_16
            | ConvertedType::INT_32
            | ConvertedType::INT_64,
            _,
        ) => Leaf::Plain,
        (
            ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64,
            _,
        ) => Leaf::Unsigned,
        (ConvertedType::DATE, Physical::INT32) => Leaf::Date,
        (ConvertedType::TIME_MILLIS, Physical::INT32) => Leaf::Time(1000),
        (ConvertedType::TIME_MICROS, Physical::INT64) => Leaf::Time(1_000_000),
        (ConvertedType::TIMESTAMP_MICROS, Physical::INT64) => utc(1_000_000),
        (ConvertedType::DECIMAL, _) => Leaf::Decimal(scale),
        (ConvertedType::UTF8 | ConvertedType::ENUM, Physical::BYTE_ARRAY) => Leaf::Text,
        (ConvertedType::JSON, Physical::BYTE_ARRAY) => Leaf::Json,
        (ConvertedType::INTERVAL, _) if length == 12 => Leaf::Interval,
        (other, _) => return Err(format!("of type {other}")),
    })
}

fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::MILLIS => 1000,
        TimeUnit::MICROS => 1_000_000,
        TimeUnit::NANOS => 1_000_000_000,
    }
}

fn named(logical: &LogicalType) -> String {
    let text = format!("{logical:?}");
    let end = text
        .find(|sign: char| !sign.is_alphanumeric())
        .unwrap_or(text.len());
    match &text[..end] {
        "" => "that is not known".to_owned(),
        name => name.to_uppercase(),
    }
}
