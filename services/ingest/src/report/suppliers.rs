//! Suppliers of which the lines of a run say different things.

use std::collections::HashMap;

use serde::Serialize;
use vitrine_domain::import::Namesake;
use vitrine_model::import::SupplierDraft;
use vitrine_model::supplier::SupplierFacts;
use vitrine_model::text::fold;

/// The maximum number of suppliers whose lines are compared.
const MAX_SUPPLIERS: usize = 100_000;
/// The maximum number of different facts that are kept of a supplier.
const MAX_FACTS: usize = 20;
/// The number of lines that are kept of each.
const MAX_PLACES: usize = 5;

/// What the lines of a run say of suppliers.
#[derive(Debug, Default)]
pub(crate) struct Suppliers {
    found: HashMap<(Identity, String), Vec<SaidFacts>>,
}

/// What lines of one supplier have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Identity {
    /// The id in the source.
    Id,
    /// The name: there is no id.
    Name,
}

/// A supplier of which lines say different things.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SupplierConflict {
    /// What the lines have in common.
    pub identity: Identity,
    /// The id, or the name.
    pub supplier: String,
    /// What they say, in the order of the feed.
    pub said: Vec<SaidFacts>,
}

/// What some lines say of a supplier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SaidFacts {
    /// The facts.
    #[serde(flatten)]
    pub facts: SupplierFacts,
    /// The number of these lines.
    pub count: u64,
    /// The first of them, as `file:line`.
    pub places: Vec<String>,
    /// The file of the first one.
    #[serde(skip)]
    pub(crate) file: String,
    /// The number of the first one.
    #[serde(skip)]
    pub(crate) line: u64,
}

impl Suppliers {
    /// Records what a line says.
    pub(crate) fn add(&mut self, supplier: &SupplierDraft, file: &str, line: u64) {
        let facts = supplier.facts();
        let key = match &supplier.origin {
            Some(origin) => (Identity::Id, origin.external_id.clone()),
            None => (Identity::Name, fold(&facts.name)),
        };
        let is_same = |one: &SaidFacts| match key.0 {
            Identity::Id => one.facts == facts,
            Identity::Name => one.facts.country == facts.country,
        };
        let room = self.found.len() < MAX_SUPPLIERS || self.found.contains_key(&key);
        if !room {
            return;
        }
        let known = self.found.entry(key.clone()).or_default();
        if let Some(same) = known.iter_mut().find(|one| is_same(one)) {
            same.count += 1;
            if same.places.len() < MAX_PLACES {
                same.places.push(format!("{file}:{line}"));
            }
        } else if known.len() < MAX_FACTS {
            known.push(SaidFacts {
                facts,
                count: 1,
                places: vec![format!("{file}:{line}")],
                file: file.to_owned(),
                line,
            });
        }
    }

    /// The suppliers of which lines say different things, in the order of the feed.
    pub(crate) fn conflicts(self) -> Vec<SupplierConflict> {
        let several = self.found.into_iter().filter(|(_, said)| said.len() > 1);
        let mut conflicts: Vec<SupplierConflict> = several
            .map(|((identity, id), said)| SupplierConflict {
                identity,
                supplier: match identity {
                    Identity::Id => id,
                    Identity::Name => said[0].facts.name.clone(),
                },
                said,
            })
            .collect();
        conflicts.sort_by(|a, b| {
            let first = |of: &SupplierConflict| (of.said[0].file.clone(), of.said[0].line);
            (first(a), &a.supplier).cmp(&(first(b), &b.supplier))
        });
        conflicts
    }
}

impl SupplierConflict {
    /// What the lines say, and what becomes of it.
    #[must_use]
    pub fn reason(&self) -> String {
        let by_id = self.identity == Identity::Id;
        let said: Vec<String> = self.said.iter().map(|said| said.shown(by_id)).collect();
        let (what, outcome) = if by_id {
            ("the supplier with the id", "the first holds".to_owned())
        } else {
            let suppliers = self.said.len();
            let outcome = format!("these are {suppliers} suppliers, unless supplier.id says more");
            ("the supplier", outcome)
        };
        format!(
            "{what} {:?} is {}; {outcome}",
            self.supplier,
            said.join(", ")
        )
    }
}

impl SaidFacts {
    fn shown(&self, with_name: bool) -> String {
        let facts = if with_name {
            format!("{:?} {}", self.facts.name, country(&self.facts))
        } else {
            country(&self.facts).to_owned()
        };
        let more = self.count - self.places.len() as u64;
        let more = match more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{facts} in {}{more}", self.places.join(", "))
    }
}

/// A new supplier beside others of its name, as a sentence.
pub(crate) fn namesake(of: &Namesake) -> String {
    let mut stored: Vec<&str> = of.stored.iter().map(country).collect();
    stored.sort_unstable();
    format!(
        "{:?} ({}) is new, and there is one of {}",
        of.new.name,
        country(&of.new),
        stored.join(", ")
    )
}

fn country(facts: &SupplierFacts) -> &str {
    facts.country.as_deref().unwrap_or("of no country")
}

#[cfg(test)]
mod tests {
    use vitrine_model::import::ExternalRef;

    use super::*;

    fn supplier(id: Option<&str>, name: &str, country: Option<&str>) -> SupplierDraft {
        SupplierDraft {
            name: name.to_owned(),
            country: country.map(str::to_owned),
            origin: id.map(|id| ExternalRef {
                system: "shop".to_owned(),
                external_id: id.to_owned(),
            }),
        }
    }

    #[test]
    fn lines_that_differ_are_named_with_what_they_say() {
        let mut suppliers = Suppliers::default();
        let lines = [
            supplier(None, "North", Some("DE")),
            supplier(None, "NORTH", Some("FR")),
            supplier(None, "South", None),
            supplier(Some("7"), "North", Some("DE")),
            supplier(None, "north", Some("DE")),
            supplier(Some("7"), "Nord", Some("DE")),
            supplier(Some("8"), "North", Some("SE")),
            supplier(None, "South", None),
        ];
        for (line, supplier) in (1..).zip(&lines) {
            suppliers.add(supplier, "a.csv", line);
        }
        let conflicts = suppliers.conflicts();
        let reasons: Vec<String> = conflicts.iter().map(SupplierConflict::reason).collect();
        assert_eq!(
            reasons,
            [
                "the supplier \"North\" is DE in a.csv:1, a.csv:5, FR in a.csv:2; these are 2 \
                 suppliers, unless supplier.id says more",
                "the supplier with the id \"7\" is \"North\" DE in a.csv:4, \"Nord\" DE in a.csv:6; \
                 the first holds",
            ]
        );
    }

    #[test]
    fn what_is_kept_is_limited() {
        let mut suppliers = Suppliers::default();
        for line in 0..MAX_SUPPLIERS as u64 + 10 {
            suppliers.add(&supplier(None, &line.to_string(), None), "a", line);
        }
        for line in 0..100 {
            let country = ["DE", "FR"][usize::from(line % 2 == 0)];
            suppliers.add(&supplier(None, "0", Some(country)), "a", line);
        }
        assert_eq!(suppliers.found.len(), MAX_SUPPLIERS);
        let conflicts = suppliers.conflicts();
        assert_eq!(conflicts[0].said[1].count, 50);
        assert_eq!(conflicts[0].said[1].places.len(), MAX_PLACES);
    }
}
