//! The size of a valid document: depth, aliases, root fields, and fields with all fragments
//! expanded.

use apollo_compiler::{
    ExecutableDocument, Name,
    collections::{HashMap, HashSet, IndexSet},
    executable::{Operation, Selection, SelectionSet},
    introspection,
    validation::Valid,
};

use super::{
    ErrorCode, ResponseError, convert,
    limits::{MAX_ALIASES, MAX_DEPTH, MAX_FIELDS, MAX_MUTATIONS, MAX_ROOT_FIELDS},
    validator::refuse_unless,
};

/// Refuses documents that exceed a size limit.
pub(super) fn check(document: &Valid<ExecutableDocument>) -> Result<(), Vec<ResponseError>> {
    check_aliases(document).map_err(|error| vec![error])?;
    for operation in document.operations.iter() {
        check_operation(document, operation).map_err(|error| vec![error])?;
    }
    Ok(())
}

fn check_operation(
    document: &Valid<ExecutableDocument>,
    operation: &Operation,
) -> Result<(), ResponseError> {
    let size = Sizes::new(document).of(&operation.selection_set);
    refuse_unless(size.fields <= MAX_FIELDS, || {
        format!("The operation selects more than {MAX_FIELDS} fields.")
    })?;
    refuse_unless(size.depth <= MAX_DEPTH, || {
        format!(
            "Fields are nested {} levels deep; the maximum is {MAX_DEPTH}.",
            size.depth
        )
    })?;
    check_roots(document, operation)?;
    introspection::check_max_depth(document, operation).map_err(|error| {
        let location = convert::location(error.location(), &document.sources);
        ResponseError::new(ErrorCode::CostExceeded, error.message().to_string()).located(location)
    })
}

fn check_roots(document: &ExecutableDocument, operation: &Operation) -> Result<(), ResponseError> {
    let keys: IndexSet<&Name> = operation
        .root_fields(document)
        .map(|field| field.response_key())
        .collect();
    let max = if operation.is_mutation() {
        MAX_MUTATIONS
    } else {
        MAX_ROOT_FIELDS
    };
    refuse_unless(keys.len() <= max, || {
        let kind = operation.operation_type;
        format!(
            "The {kind} has {} root fields; the maximum is {max}.",
            keys.len()
        )
    })
}

/// Counts aliases as written: a fragment that is spread twice is merged with itself.
fn check_aliases(document: &ExecutableDocument) -> Result<(), ResponseError> {
    let mut pending: Vec<&SelectionSet> = document
        .operations
        .iter()
        .map(|operation| &operation.selection_set)
        .chain(
            document
                .fragments
                .values()
                .map(|fragment| &fragment.selection_set),
        )
        .collect();
    let mut aliases = 0;
    while let Some(set) = pending.pop() {
        for selection in &set.selections {
            match selection {
                Selection::Field(field) => {
                    aliases += usize::from(field.alias.is_some());
                    pending.push(&field.selection_set);
                }
                Selection::InlineFragment(inline) => pending.push(&inline.selection_set),
                Selection::FragmentSpread(_) => {}
            }
        }
    }
    refuse_unless(aliases <= MAX_ALIASES, || {
        format!("The document has {aliases} aliases; the maximum is {MAX_ALIASES}.")
    })
}

#[derive(Clone, Copy, Default)]
struct Size {
    depth: usize,
    fields: u64,
}

impl Size {
    fn add(&mut self, other: Self) {
        self.depth = self.depth.max(other.depth);
        self.fields = self.fields.saturating_add(other.fields);
    }

    /// Adds the field above this selection. Introspection fields do not count towards the depth.
    fn under(self, field: &str) -> Self {
        let depth = if matches!(field, "__schema" | "__type") {
            0
        } else {
            self.depth
        };
        Self {
            depth: depth + 1,
            fields: self.fields.saturating_add(1),
        }
    }
}

/// The sizes of selections. Each fragment is measured once.
struct Sizes<'a> {
    document: &'a ExecutableDocument,
    fragments: HashMap<&'a Name, Size>,
    open: HashSet<&'a Name>,
}

impl<'a> Sizes<'a> {
    fn new(document: &'a ExecutableDocument) -> Self {
        Self {
            document,
            fragments: HashMap::default(),
            open: HashSet::default(),
        }
    }

    fn of(&mut self, set: &'a SelectionSet) -> Size {
        let mut size = Size::default();
        for selection in &set.selections {
            size.add(match selection {
                Selection::Field(field) => self.of(&field.selection_set).under(&field.name),
                Selection::InlineFragment(inline) => self.of(&inline.selection_set),
                Selection::FragmentSpread(spread) => self.fragment(&spread.fragment_name),
            });
        }
        size
    }

    /// Validation has refused cycles; `open` guarantees termination independently of that.
    fn fragment(&mut self, name: &'a Name) -> Size {
        if let Some(&size) = self.fragments.get(name) {
            return size;
        }
        let Some(fragment) = self.document.fragments.get(name) else {
            return Size::default();
        };
        if !self.open.insert(name) {
            return Size::default();
        }
        let size = self.of(&fragment.selection_set);
        self.fragments.insert(name, size);
        size
    }
}
