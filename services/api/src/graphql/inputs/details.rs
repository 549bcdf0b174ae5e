//! What only some kinds of products have, as admins write it.

use async_graphql::{ID, InputObject, OneofObject};
use vitrine_domain::admin;
use vitrine_model::id::ProductId;
use vitrine_model::product;

use super::user_errors::{UserErrors, path};

/// What only one kind of product has: exactly one, that of the product's kind.
#[derive(Clone, Debug, OneofObject)]
pub(crate) enum ProductDetailsInput {
    /// For the kind `apparel`.
    Apparel(ApparelInput),
    /// For the kind `book`.
    Book(BookInput),
    /// For the kind `electronics`.
    Electronics(ElectronicsInput),
    /// For the kind `grocery`.
    Grocery(GroceryInput),
    /// For the kind `movie`.
    Movie(MovieInput),
    /// For the kind `bundle`.
    Bundle(BundleInput),
}

/// What clothes and shoes have.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct ApparelInput {
    /// How it is cut: `slim`, `regular`.
    fit: Option<String>,
    /// The measures of each size.
    size_chart: Option<Vec<SizeChartRowInput>>,
}

/// The measures of one size.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct SizeChartRowInput {
    /// The size: `M`.
    size: String,
    /// What was measured.
    measurements: Vec<MeasurementInput>,
}

/// One measure.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct MeasurementInput {
    /// What was measured: `chest`, `protein`.
    name: String,
    /// How many units.
    value: f64,
    /// Of which unit.
    unit: String,
}

/// What books have.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct BookInput {
    /// Who made it.
    contributors: Option<Vec<ContributorInput>>,
    /// The ISBN.
    isbn: Option<String>,
    /// The form it comes in: `hardcover`, `paperback`, `e-book`.
    format: Option<String>,
    /// How many pages it has.
    pages: Option<i32>,
}

/// Someone who had a part in a work.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct ContributorInput {
    /// The name.
    name: String,
    /// The part: `author`, `translator`; in a film the character played.
    role: String,
}

/// What things with a plug or a battery have.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct ElectronicsInput {
    /// The energy label: `A` to `G`.
    energy_label: Option<String>,
    /// The warranty in months.
    warranty_months: Option<i32>,
    /// What it works with.
    compatibility: Option<Vec<String>>,
}

/// What food and drink have.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct GroceryInput {
    /// The list of ingredients.
    ingredients: Option<String>,
    /// The allergens in it.
    allergens: Option<Vec<String>>,
    /// Nutrition facts per 100 g or 100 ml.
    nutrition: Option<Vec<MeasurementInput>>,
}

/// What films have.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct MovieInput {
    /// Who plays whom.
    cast: Option<Vec<ContributorInput>>,
    /// How long it is, in minutes.
    runtime_minutes: Option<i32>,
}

/// What bundles have.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct BundleInput {
    /// The products in it; at most 100.
    items: Vec<BundleItemInput>,
}

/// A product in a bundle.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct BundleItemInput {
    /// The product.
    product_id: ID,
    /// How many of it; at least 1.
    #[graphql(default = 1)]
    quantity: i32,
}

impl ProductDetailsInput {
    /// What the domain takes; what is wrong is noted.
    pub(super) fn read(self, errors: &mut UserErrors) -> admin::DetailsInput {
        match self {
            Self::Apparel(apparel) => admin::DetailsInput::Apparel(apparel.into()),
            Self::Book(book) => admin::DetailsInput::Book(book.into()),
            Self::Electronics(device) => admin::DetailsInput::Electronics(device.into()),
            Self::Grocery(grocery) => admin::DetailsInput::Grocery(grocery.into()),
            Self::Movie(movie) => admin::DetailsInput::Movie(movie.into()),
            Self::Bundle(bundle) => admin::DetailsInput::Bundle(bundle.read(errors)),
        }
    }
}

impl BundleInput {
    fn read(self, errors: &mut UserErrors) -> Vec<(ProductId, i32)> {
        let numbered = self.items.into_iter().enumerate();
        let item = |(at, item): (usize, BundleItemInput)| {
            let place = path(["details", "bundle", "items", &at.to_string(), "productId"]);
            let id = errors.product(place, &item.product_id)?;
            Some((id, item.quantity))
        };
        numbered.filter_map(item).collect()
    }
}

impl From<ApparelInput> for product::Apparel {
    fn from(given: ApparelInput) -> Self {
        Self {
            fit: given.fit,
            size_chart: all(given.size_chart),
        }
    }
}

impl From<BookInput> for product::Book {
    fn from(given: BookInput) -> Self {
        Self {
            contributors: all(given.contributors),
            isbn: given.isbn,
            format: given.format,
            pages: given.pages,
        }
    }
}

impl From<ElectronicsInput> for product::Electronics {
    fn from(given: ElectronicsInput) -> Self {
        Self {
            energy_label: given.energy_label,
            warranty_months: given.warranty_months,
            compatibility: given.compatibility.unwrap_or_default(),
        }
    }
}

impl From<GroceryInput> for product::Grocery {
    fn from(given: GroceryInput) -> Self {
        Self {
            ingredients: given.ingredients,
            allergens: given.allergens.unwrap_or_default(),
            nutrition: all(given.nutrition),
        }
    }
}

impl From<MovieInput> for product::Movie {
    fn from(given: MovieInput) -> Self {
        Self {
            cast: all(given.cast),
            runtime_minutes: given.runtime_minutes,
        }
    }
}

impl From<SizeChartRowInput> for product::SizeChartRow {
    fn from(given: SizeChartRowInput) -> Self {
        Self {
            size: given.size,
            measurements: all(Some(given.measurements)),
        }
    }
}

impl From<MeasurementInput> for product::Measurement {
    fn from(given: MeasurementInput) -> Self {
        Self {
            name: given.name,
            value: given.value,
            unit: given.unit,
        }
    }
}

impl From<ContributorInput> for product::Contributor {
    fn from(given: ContributorInput) -> Self {
        Self {
            name: given.name,
            role: given.role,
        }
    }
}

/// Each of them as the model has it; none when absent.
fn all<A, B: From<A>>(items: Option<Vec<A>>) -> Vec<B> {
    items.unwrap_or_default().into_iter().map(B::from).collect()
}
