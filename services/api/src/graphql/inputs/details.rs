//! Inputs for details that only some product kinds have.

use async_graphql::{ID, InputObject, OneofObject};
use vitrine_domain::admin;
use vitrine_model::id::ProductId;
use vitrine_model::product;

use super::user_errors::{UserErrors, path};

/// The details of a product. Give exactly the one field for the kind of the product.
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

/// Details of clothing and shoes.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct ApparelInput {
    /// The fit: `slim`, `regular`.
    fit: Option<String>,
    /// The measurements of each size.
    size_chart: Option<Vec<SizeChartRowInput>>,
}

/// The measurements of one size.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct SizeChartRowInput {
    /// The size: `M`.
    size: String,
    /// The measurements of this size.
    measurements: Vec<MeasurementInput>,
}

/// A measured value with its unit.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct MeasurementInput {
    /// The name of the measurement: `chest`, `protein`.
    name: String,
    /// The number of units.
    value: f64,
    /// The unit.
    unit: String,
}

/// Details of books.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct BookInput {
    /// The authors and other contributors.
    contributors: Option<Vec<ContributorInput>>,
    /// The ISBN.
    isbn: Option<String>,
    /// The binding or format: `hardcover`, `paperback`, `e-book`.
    format: Option<String>,
    /// The number of pages.
    pages: Option<i32>,
}

/// A person who contributed to a book or film.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct ContributorInput {
    /// The name of the person.
    name: String,
    /// The role: `author`, `translator`; for a film, the character played.
    role: String,
}

/// Details of electrical and electronic products.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct ElectronicsInput {
    /// The energy efficiency class: `A` to `G`.
    energy_label: Option<String>,
    /// The warranty period in months.
    warranty_months: Option<i32>,
    /// What the product is compatible with.
    compatibility: Option<Vec<String>>,
}

/// Details of food and drink.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct GroceryInput {
    /// The list of ingredients.
    ingredients: Option<String>,
    /// The allergens it contains.
    allergens: Option<Vec<String>>,
    /// The nutrition facts per 100 g or 100 ml.
    nutrition: Option<Vec<MeasurementInput>>,
}

/// Details of films.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct MovieInput {
    /// The actors and the characters they play.
    cast: Option<Vec<ContributorInput>>,
    /// The running time in minutes.
    runtime_minutes: Option<i32>,
}

/// Details of bundles.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct BundleInput {
    /// The products in the bundle; at most 100.
    items: Vec<BundleItemInput>,
}

/// A product in a bundle.
#[derive(Clone, Debug, InputObject)]
pub(crate) struct BundleItemInput {
    /// The global id of the product.
    product_id: ID,
    /// The number of units in the bundle; at least 1.
    #[graphql(default = 1)]
    quantity: i32,
}

impl ProductDetailsInput {
    /// Converts the details to their domain type and adds any errors to `errors`.
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
            let path = path(["details", "bundle", "items", &at.to_string(), "productId"]);
            let id = errors.product(path, &item.product_id)?;
            Some((id, item.quantity))
        };
        numbered.filter_map(item).collect()
    }
}

impl From<ApparelInput> for product::Apparel {
    fn from(input: ApparelInput) -> Self {
        Self {
            fit: input.fit,
            size_chart: all(input.size_chart),
        }
    }
}

impl From<BookInput> for product::Book {
    fn from(input: BookInput) -> Self {
        Self {
            contributors: all(input.contributors),
            isbn: input.isbn,
            format: input.format,
            pages: input.pages,
        }
    }
}

impl From<ElectronicsInput> for product::Electronics {
    fn from(input: ElectronicsInput) -> Self {
        Self {
            energy_label: input.energy_label,
            warranty_months: input.warranty_months,
            compatibility: input.compatibility.unwrap_or_default(),
        }
    }
}

impl From<GroceryInput> for product::Grocery {
    fn from(input: GroceryInput) -> Self {
        Self {
            ingredients: input.ingredients,
            allergens: input.allergens.unwrap_or_default(),
            nutrition: all(input.nutrition),
        }
    }
}

impl From<MovieInput> for product::Movie {
    fn from(input: MovieInput) -> Self {
        Self {
            cast: all(input.cast),
            runtime_minutes: input.runtime_minutes,
        }
    }
}

impl From<SizeChartRowInput> for product::SizeChartRow {
    fn from(input: SizeChartRowInput) -> Self {
        Self {
            size: input.size,
            measurements: all(Some(input.measurements)),
        }
    }
}

impl From<MeasurementInput> for product::Measurement {
    fn from(input: MeasurementInput) -> Self {
        Self {
            name: input.name,
            value: input.value,
            unit: input.unit,
        }
    }
}

impl From<ContributorInput> for product::Contributor {
    fn from(input: ContributorInput) -> Self {
        Self {
            name: input.name,
            role: input.role,
        }
    }
}

/// Converts each item to its model type; returns an empty list when absent.
fn all<A, B: From<A>>(items: Option<Vec<A>>) -> Vec<B> {
    items.unwrap_or_default().into_iter().map(B::from).collect()
}
