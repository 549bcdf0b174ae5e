//! Article numbers that differ in zeros at their beginning only: spreadsheets leave these out.

use std::collections::{BTreeMap, BTreeSet};

use vitrine_domain::products::Visibility;
use vitrine_domain::{Catalog, DomainError};
use vitrine_model::import::{LineOutcome, ProductDraft};

/// The maximum number of article numbers that are compared.
const MAX_COMPARED: usize = 1000;
/// The lengths of article numbers that are GTINs.
const LENGTHS: [usize; 4] = [8, 12, 13, 14];

/// The article numbers of lines that wait for a product.
#[derive(Debug, Default)]
pub(super) struct WaitingNumbers(BTreeSet<String>);

/// The article numbers of drafts that may have to wait, by the place of the draft.
pub(super) type Numbers = Vec<(usize, String)>;

/// The article numbers of drafts that may have to wait and consist of digits.
pub(super) fn numbers(drafts: &[ProductDraft]) -> Numbers {
    let partial = drafts
        .iter()
        .enumerate()
        .filter(|(_, draft)| draft.is_partial());
    let numbers = partial.filter_map(|(at, draft)| Some((at, draft.sku.as_ref()?)));
    let digits = |number: &String| number.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = numbers.filter(|(_, number)| digits(number));
    numbers.map(|(at, number)| (at, number.clone())).collect()
}

impl WaitingNumbers {
    /// Remembers the numbers of drafts that wait.
    pub(super) fn add(&mut self, numbers: Numbers, outcomes: &[LineOutcome]) {
        for (at, number) in numbers {
            if self.0.len() < MAX_COMPARED && outcomes.get(at) == Some(&LineOutcome::Waiting) {
                self.0.insert(number);
            }
        }
    }

    /// The numbers of products that differ from these in zeros only, by these.
    pub(super) async fn padded(
        self,
        catalog: &Catalog,
    ) -> Result<BTreeMap<String, String>, DomainError> {
        if self.0.is_empty() {
            return Ok(BTreeMap::new());
        }
        let others = self.0.iter().flat_map(|number| padded(number)).collect();
        let known = catalog
            .products_by_sku(others, Visibility::Everything)
            .await?;
        let found = self.0.into_iter().filter_map(|number| {
            let other = padded(&number).find(|other| known.contains_key(other))?;
            Some((number, other))
        });
        Ok(found.collect())
    }
}

/// A number with more and fewer zeros at its beginning.
fn padded(number: &str) -> impl Iterator<Item = String> {
    let digits = number.trim_start_matches('0').to_owned();
    let number = number.to_owned();
    let lengths = [0].into_iter().chain(LENGTHS);
    let mut padded: Vec<String> = lengths
        .map(|length| format!("{digits:0>length$}"))
        .collect();
    padded.dedup();
    let others = padded.into_iter();
    others.filter(move |other| !digits.is_empty() && *other != number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_padded_as_gtins_are() {
        let of = |number: &str| padded(number).collect::<Vec<String>>();
        assert_eq!(of("4006381333931"), ["04006381333931"]);
        assert_eq!(of("04006381333931"), ["4006381333931"]);
        assert_eq!(
            of("123456"),
            [
                "00123456",
                "000000123456",
                "0000000123456",
                "00000000123456"
            ]
        );
        assert_eq!(of("000"), [] as [String; 0]);
    }
}
