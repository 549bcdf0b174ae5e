//! What a file says about the sizes of its parts, which are allocated before they are read.

use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};

use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

/// The maximum length of what describes a file, at its end.
const MAX_FOOTER_BYTES: u64 = 32 * 1024 * 1024;
/// The maximum size of the dictionaries and the largest pages of all columns together, unpacked.
const MAX_PAGE_BYTES: u64 = 512 * 1024 * 1024;
/// What a value of a dictionary takes beside its bytes.
const VALUE_BYTES: u64 = 32;
/// The maximum number of values that the lists of a column have in a group of rows. A row may have
/// all of them.
const MAX_LISTED: u64 = 16 * 1024 * 1024;
/// The maximum length of the description of a page.
const MAX_HEADER_BYTES: usize = 16 * 1024 * 1024;

/// Checks that the description of a file is not too long, before it is read.
///
/// # Errors
/// What is wrong with it.
pub(super) fn check_footer(file: &File) -> Result<(), String> {
    let mut file = file.try_clone().map_err(|error| error.to_string())?;
    let end = file.seek(SeekFrom::End(-8));
    let mut footer = [0; 8];
    let read = end.and_then(|_| file.read_exact(&mut footer));
    read.map_err(|_| "it is too short".to_owned())?;
    let bytes = u64::from(u32::from_le_bytes([
        footer[0], footer[1], footer[2], footer[3],
    ]));
    match &footer[4..] {
        b"PAR1" if bytes > MAX_FOOTER_BYTES => Err(format!(
            "what describes it takes {bytes} bytes; at most {MAX_FOOTER_BYTES} are read"
        )),
        b"PAR1" => Ok(()),
        b"PARE" => Err("it is encrypted".to_owned()),
        _ => Err("its end is missing: the file may be cut off".to_owned()),
    }
}

/// Checks that the pages that are in memory together are not too large.
///
/// # Errors
/// What is wrong with them.
pub(super) fn check(file: &File, metadata: &ParquetMetaData) -> Result<(), String> {
    let size = file.metadata().map_err(|error| error.to_string())?.len();
    let file = file.try_clone().map_err(|error| error.to_string())?;
    let mut file = BufReader::with_capacity(1024, file);
    for group in metadata.row_groups() {
        let mut together = 0_u64;
        for column in group.columns() {
            together = largest(&mut file, column, size)?.saturating_add(together);
            if together > MAX_PAGE_BYTES {
                let mebibytes = MAX_PAGE_BYTES / (1024 * 1024);
                return Err(format!(
                    "the dictionaries and pages of its columns take more than {mebibytes} MiB at once; \
                     write it with smaller pages or fewer columns"
                ));
            }
        }
    }
    Ok(())
}

/// The size of the dictionary and of the largest page of a column.
fn largest(
    file: &mut BufReader<File>,
    column: &ColumnChunkMetaData,
    size: u64,
) -> Result<u64, String> {
    let wrong = |what: &str| format!("the pages of its column {}: {what}", column.column_path());
    let start = column
        .dictionary_page_offset()
        .unwrap_or(column.data_page_offset());
    let start = start.min(column.data_page_offset());
    let (Ok(start), Ok(bytes)) = (
        u64::try_from(start),
        u64::try_from(column.compressed_size()),
    ) else {
        return Err(wrong("are nowhere"));
    };
    let end = start.checked_add(bytes).filter(|end| *end <= size);
    let end = end.ok_or_else(|| wrong("end behind the file"))?;
    let (mut at, mut dictionary, mut largest, mut values) = (start, 0, 0, 0_u64);
    while at < end {
        file.seek(SeekFrom::Start(at))
            .map_err(|error| error.to_string())?;
        let page = Page::read(file).map_err(|error| wrong(&error.to_string()))?;
        let unpacked = page.unpacked.max(page.packed);
        if page.is_dictionary {
            let bytes = page.values.saturating_mul(VALUE_BYTES);
            dictionary = dictionary.max(unpacked.saturating_add(bytes));
        } else {
            largest = largest.max(unpacked);
            values = values.saturating_add(page.values);
        }
        if values > MAX_LISTED && column.column_descr().max_rep_level() > 0 {
            return Err(wrong(&format!(
                "have more than {MAX_LISTED} values of lists in a group of rows; write it with smaller ones"
            )));
        }
        at = at.saturating_add(page.header).saturating_add(page.packed);
        if page.packed == 0 && page.header == 0 {
            return Err(wrong("have no length"));
        }
    }
    // Packed and unpacked pages are there at the same time.
    Ok(largest.saturating_mul(2).saturating_add(dictionary))
}

/// What is needed of the description of a page.
struct Page {
    header: u64,
    is_dictionary: bool,
    packed: u64,
    unpacked: u64,
    values: u64,
}

impl Page {
    /// Reads a description, in the compact protocol of Thrift.
    fn read(file: &mut impl io::Read) -> io::Result<Self> {
        let mut compact = Compact { file, bytes: 0 };
        let (mut field, mut kind, mut packed, mut unpacked) = (0_i64, -1, -1, -1);
        let mut values = 0;
        loop {
            let byte = compact.byte()?;
            if byte == 0 {
                break;
            }
            field = match byte >> 4 {
                0 => compact.integer()?,
                step => field + i64::from(step),
            };
            match (field, byte & 0x0f) {
                (1, 5) => kind = compact.integer()?,
                (2, 5) => unpacked = compact.integer()?,
                (3, 5) => packed = compact.integer()?,
                // The description of a data page, a dictionary, and a data page of the newer form.
                (5 | 7 | 8, 12) => values = compact.first_number()?,
                (_, other) => compact.skip(other, 0)?,
            }
        }
        let size = |size: i64| u64::try_from(size).map_err(|_| wrong("has no size"));
        Ok(Self {
            header: compact.bytes as u64,
            is_dictionary: kind == 2,
            packed: size(packed)?,
            unpacked: size(unpacked)?,
            values: size(values)?,
        })
    }
}

fn wrong(what: &str) -> io::Error {
    io::Error::other(what.to_owned())
}

/// A reader of the compact protocol.
struct Compact<'f, R> {
    file: &'f mut R,
    bytes: usize,
}

impl<R: io::Read> Compact<'_, R> {
    fn byte(&mut self) -> io::Result<u8> {
        if self.bytes == MAX_HEADER_BYTES {
            return Err(wrong("have too long a description"));
        }
        let mut byte = [0];
        self.file.read_exact(&mut byte)?;
        self.bytes += 1;
        Ok(byte[0])
    }

    fn unsigned(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(wrong("have a wrong number"))
    }

    fn integer(&mut self) -> io::Result<i64> {
        let number = self.unsigned()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    fn skip_bytes(&mut self, count: u64) -> io::Result<()> {
        for _ in 0..count {
            self.byte()?;
        }
        Ok(())
    }

    /// The first field of a structure, if it is a number. The rest is skipped.
    fn first_number(&mut self) -> io::Result<i64> {
        let mut number = 0;
        let mut is_first = true;
        loop {
            let byte = self.byte()?;
            if byte == 0 {
                return Ok(number);
            }
            if byte >> 4 == 0 {
                self.integer()?;
            }
            if is_first && byte == 0x15 {
                number = self.integer()?;
            } else {
                self.skip(byte & 0x0f, 1)?;
            }
            is_first = false;
        }
    }

    /// Skips the value of a field of this type.
    fn skip(&mut self, kind: u8, depth: usize) -> io::Result<()> {
        const MAX_DEPTH: usize = 16;
        if depth > MAX_DEPTH {
            return Err(wrong("have a description that is too deep"));
        }
        match kind {
            1 | 2 => Ok(()),
            3 => self.byte().map(drop),
            4..=6 => self.unsigned().map(drop),
            7 => self.skip_bytes(8),
            8 => {
                let count = self.unsigned()?;
                self.skip_bytes(count)
            }
            9 | 10 => {
                let byte = self.byte()?;
                let count = match byte >> 4 {
                    15 => self.unsigned()?,
                    few => u64::from(few),
                };
                for _ in 0..count {
                    match byte & 0x0f {
                        1 | 2 => drop(self.byte()?),
                        kind => self.skip(kind, depth + 1)?,
                    }
                }
                Ok(())
            }
            12 => loop {
                let byte = self.byte()?;
                if byte == 0 {
                    return Ok(());
                }
                if byte >> 4 == 0 {
                    self.integer()?;
                }
                self.skip(byte & 0x0f, depth + 1)?;
            },
            _ => Err(wrong("have a description that is not known")),
        }
    }
}
