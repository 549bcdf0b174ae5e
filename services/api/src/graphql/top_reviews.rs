//! Decides whether a `reviews` field can be answered from the top reviews stored with the product,
//! without a database query.

use async_graphql::SelectionField;
use async_graphql_value::ConstValue;

/// The fields of a review that are stored with its product.
const STORED_FIELDS: [&str; 9] = [
    "__typename",
    "id",
    "rating",
    "title",
    "author",
    "helpfulCount",
    "verified",
    "status",
    "createdAt",
];

/// Whether the top reviews stored with a product suffice for this `reviews` field: it sorts by
/// `MOST_HELPFUL` and selects only stored fields.
pub(crate) fn suffice_for(field: &SelectionField<'_>) -> bool {
    let arguments = field.arguments().unwrap_or_default();
    let helpful = arguments.iter().any(|(name, value)| {
        let sort = match value {
            ConstValue::Enum(sort) => sort.as_str(),
            ConstValue::String(sort) => sort,
            _ => "",
        };
        name.as_str() == "sort" && sort == "MOST_HELPFUL"
    });
    helpful && field.selection_set().all(|child| is_stored(&child))
}

fn is_stored(child: &SelectionField<'_>) -> bool {
    let review = |node: &SelectionField<'_>| {
        let mut fields = node.selection_set();
        fields.all(|field| STORED_FIELDS.contains(&field.name()))
    };
    match child.name() {
        "nodes" => review(child),
        "edges" => child.selection_set().all(|field| match field.name() {
            "node" => review(&field),
            "cursor" | "__typename" => true,
            _ => false,
        }),
        "pageInfo" | "totalCount" | "__typename" => true,
        _ => false,
    }
}
