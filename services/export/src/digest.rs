//! The digest of an export: the sum of the SHA-256 digests of its records, so that it does not
//! depend on their order, and a record that is written again can be taken out.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// The digest of one record.
pub type RecordDigest = [u8; 32];

/// The digest of a set of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetDigest([u64; 4]);

/// Returns the digest of a record as it is written, without the line break.
#[must_use]
pub fn digest(record: &[u8]) -> RecordDigest {
    Sha256::digest(record).into()
}

impl SetDigest {
    /// Adds a record.
    pub fn add(&mut self, record: &RecordDigest) {
        let mut carry = false;
        for (limb, other) in self.0.iter_mut().zip(limbs(record)) {
            let (sum, over) = limb.overflowing_add(other);
            let (sum, over_again) = sum.overflowing_add(u64::from(carry));
            *limb = sum;
            carry = over || over_again;
        }
    }

    /// Takes a record out that was added before.
    pub fn remove(&mut self, record: &RecordDigest) {
        let mut borrow = false;
        for (limb, other) in self.0.iter_mut().zip(limbs(record)) {
            let (rest, under) = limb.overflowing_sub(other);
            let (rest, under_again) = rest.overflowing_sub(u64::from(borrow));
            *limb = rest;
            borrow = under || under_again;
        }
    }
}

/// The digest as a number, lowest part first.
fn limbs(record: &RecordDigest) -> impl Iterator<Item = u64> + '_ {
    record.chunks_exact(8).map(|bytes| {
        let mut limb = [0; 8];
        limb.copy_from_slice(bytes);
        u64::from_le_bytes(limb)
    })
}

impl fmt::Display for SetDigest {
    /// 64 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .rev()
            .try_for_each(|limb| write!(f, "{limb:016x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_does_not_matter_and_records_can_be_taken_out() {
        let records: Vec<RecordDigest> = (0_u8..100).map(|n| digest(&[n])).collect();
        let sum = |records: &mut dyn Iterator<Item = &RecordDigest>| {
            let mut sum = SetDigest::default();
            records.for_each(|record| sum.add(record));
            sum
        };
        let forwards = sum(&mut records.iter());
        assert_eq!(sum(&mut records.iter().rev()), forwards);
        let mut rest = forwards;
        rest.remove(&records[7]);
        assert_ne!(rest, forwards);
        let others = records.iter().enumerate().filter(|(at, _)| *at != 7);
        assert_eq!(sum(&mut others.map(|(_, record)| record)), rest);
        assert_eq!(forwards.to_string().len(), 64);
    }
}
