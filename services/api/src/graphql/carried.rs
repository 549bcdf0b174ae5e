//! Whether a selection of reviews can be answered from what the product carries of its most helpful
//! ones.

use async_graphql::SelectionField;
use async_graphql_value::ConstValue;

/// What products carry of a review.
const CARRIED: [&str; 9] = [
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

/// Whether this field `reviews` may be answered without a look-up: the most helpful reviews are
/// asked for, and nothing of them that the product does not carry.
pub(crate) fn suffices(field: &SelectionField<'_>) -> bool {
    let arguments = field.arguments().unwrap_or_default();
    let helpful = arguments.iter().any(|(name, value)| {
        let order = match value {
            ConstValue::Enum(order) => order.as_str(),
            ConstValue::String(order) => order,
            _ => "",
        };
        name.as_str() == "sort" && order == "MOST_HELPFUL"
    });
    helpful && field.selection_set().all(|child| is_carried(&child))
}

fn is_carried(child: &SelectionField<'_>) -> bool {
    let review = |node: &SelectionField<'_>| {
        let mut fields = node.selection_set();
        fields.all(|field| CARRIED.contains(&field.name()))
    };
    match child.name() {
        "nodes" => review(child),
        "edges" => child.selection_set().all(|of_edge| match of_edge.name() {
            "node" => review(&of_edge),
            "cursor" | "__typename" => true,
            _ => false,
        }),
        "pageInfo" | "totalCount" | "__typename" => true,
        _ => false,
    }
}
