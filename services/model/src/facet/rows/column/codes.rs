//! Codes of rows, as narrow as the number of cells allows: what is counted is read from memory, and most columns have few
//! distinct cells.

/// The code of a row that has several values: specs with the same key. Each is in the row only.
pub(super) const SEVERAL: u32 = u32::MAX - 1;
/// The code of a row without a value.
pub(super) const NOTHING: u32 = u32::MAX;

/// A code in few bytes. The two highest numbers are [`SEVERAL`] and [`NOTHING`].
pub(super) trait Code: Copy + Into<u32> + TryFrom<u32> {
    /// [`NOTHING`].
    const NOTHING: Self;
    /// For how many cells there are codes.
    const MAX_CELLS: usize;

    /// Whether the number is at least another one, and less than `length` above it. Of narrow numbers a
    /// processor compares more at once.
    fn is_within(self, start: Self, length: Self) -> bool;

    /// Returns the code; a number above those of all cells for a row with several values or none. It needs no branch, which a
    /// processor could not predict.
    fn code_or_above(self) -> u32 {
        self.into()
    }

    /// Returns the code.
    fn code(self) -> u32 {
        let (own, nothing): (u32, u32) = (self.into(), Self::NOTHING.into());
        if own >= nothing - 1 {
            own + (NOTHING - nothing)
        } else {
            own
        }
    }

    /// Returns a code in few bytes; `None` if it does not fit.
    fn narrow(code: u32) -> Option<Self> {
        let nothing: u32 = Self::NOTHING.into();
        let own = match code {
            SEVERAL | NOTHING => code - (NOTHING - nothing),
            code if code < nothing - 1 => code,
            _ => return None,
        };
        Self::try_from(own).ok()
    }
}

impl Code for u8 {
    const NOTHING: Self = Self::MAX;
    const MAX_CELLS: usize = Self::MAX as usize - 1;

    fn is_within(self, start: Self, length: Self) -> bool {
        self.wrapping_sub(start) < length
    }
}

impl Code for u16 {
    const NOTHING: Self = Self::MAX;
    const MAX_CELLS: usize = Self::MAX as usize - 1;

    fn is_within(self, start: Self, length: Self) -> bool {
        self.wrapping_sub(start) < length
    }
}

impl Code for u32 {
    const NOTHING: Self = Self::MAX;
    const MAX_CELLS: usize = Self::MAX as usize - 1;

    fn is_within(self, start: Self, length: Self) -> bool {
        self.wrapping_sub(start) < length
    }
}

/// The code of each row. Rows behind the last have none; after removals there may be fewer rows.
#[derive(Debug)]
pub(super) enum RowCodes {
    One(Vec<u8>),
    Two(Vec<u16>),
    Four(Vec<u32>),
}

/// Evaluates an expression with the codes, whatever their width.
macro_rules! with_codes {
    ($of:expr, $codes:ident => $value:expr) => {
        match $of {
            RowCodes::One($codes) => $value,
            RowCodes::Two($codes) => $value,
            RowCodes::Four($codes) => $value,
        }
    };
}
pub(super) use with_codes;

impl RowCodes {
    /// Returns the codes of so many rows with so many cells from the places and codes of the filled ones.
    pub(super) fn of(filled: &[(u32, u32)], rows: usize, cells: usize) -> Self {
        if cells <= u8::MAX_CELLS {
            Self::One(spread(filled, rows))
        } else if cells <= u16::MAX_CELLS {
            Self::Two(spread(filled, rows))
        } else {
            Self::Four(spread(filled, rows))
        }
    }

    /// Returns the places and codes of the filled rows, in ascending order.
    pub(super) fn filled(&self) -> Vec<(u32, u32)> {
        with_codes!(self, codes => {
            let all = (0..).zip(codes.iter().map(|code| code.code()));
            all.filter(|(_, code)| *code != NOTHING).collect()
        })
    }

    /// Returns the size in memory.
    pub(super) fn bytes(&self) -> usize {
        with_codes!(self, codes => size_of_val(codes.as_slice()))
    }

    /// Frees the memory that is reserved for more rows.
    pub(super) fn shrink(&mut self) {
        with_codes!(self, codes => codes.shrink_to_fit());
    }

    /// Replaces the code of a row.
    pub(super) fn put(&mut self, place: u32, code: u32) {
        if !with_codes!(self, codes => put(codes, place as usize, code)) {
            *self = match self {
                Self::One(codes) => Self::Two(wider(codes)),
                Self::Two(codes) => Self::Four(wider(codes)),
                Self::Four(_) => return,
            };
            self.put(place, code);
        }
    }

    /// Empties a row. Returns its code.
    pub(super) fn take(&mut self, place: u32) -> u32 {
        with_codes!(self, codes => take(&mut codes[place as usize]))
    }

    /// Replaces every code by one of another cell.
    pub(super) fn replace(&mut self, replaced: impl Fn(u32) -> u32) {
        with_codes!(self, codes => codes.iter_mut().for_each(|code| {
            replace(code, &replaced);
        }));
    }
}

fn spread<T: Code>(filled: &[(u32, u32)], rows: usize) -> Vec<T> {
    let mut all = vec![T::NOTHING; rows];
    for (place, code) in filled {
        all[*place as usize] = T::narrow(*code).unwrap_or(T::NOTHING);
    }
    all
}

fn wider<T: Code, U: Code>(codes: &[T]) -> Vec<U> {
    let wider = |code: &T| U::narrow(code.code()).unwrap_or(U::NOTHING);
    codes.iter().map(wider).collect()
}

/// Returns false if the code does not fit.
fn put<T: Code>(codes: &mut Vec<T>, place: usize, code: u32) -> bool {
    let Some(code) = T::narrow(code) else {
        return false;
    };
    if codes.len() <= place {
        codes.resize(place + 1, T::NOTHING);
    }
    codes[place] = code;
    true
}

fn take<T: Code>(code: &mut T) -> u32 {
    std::mem::replace(code, T::NOTHING).code()
}

fn replace<T: Code>(code: &mut T, replaced: impl Fn(u32) -> u32) {
    *code = T::narrow(replaced(code.code())).unwrap_or(*code);
}
