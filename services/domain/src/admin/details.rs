//! The fields of one product kind.

use vitrine_model::product::{
    Apparel, Book, Bundle, Contributor, Details, Electronics, Grocery, Kind,
    MAX_DESCRIPTION_CHARACTERS, Measurement, Movie,
};

use super::DetailsInput;
use crate::limits::{self, MAX_LABEL_CHARACTERS};
use crate::outcome::{FieldPath, ValidationErrors};

/// The maximum of pages, months of warranty, minutes of runtime.
const MAX_NUMBER: i32 = 1_000_000;

impl DetailsInput {
    /// The kind of product that has these fields.
    pub(super) const fn kind(&self) -> Kind<'static> {
        match self {
            Self::Apparel(_) => Kind::Apparel,
            Self::Book(_) => Kind::Book,
            Self::Electronics(_) => Kind::Electronics,
            Self::Grocery(_) => Kind::Grocery,
            Self::Movie(_) => Kind::Movie,
            Self::Bundle(_) => Kind::Bundle,
        }
    }
}

/// Checks the fields and returns them in stored form. The items of a bundle are looked up
/// elsewhere.
pub(super) fn read(input: &DetailsInput, errors: &mut ValidationErrors) -> Details {
    match input {
        DetailsInput::Apparel(apparel) => Details::Apparel(read_apparel(apparel, errors)),
        DetailsInput::Book(book) => Details::Book(read_book(book, errors)),
        DetailsInput::Electronics(device) => Details::Electronics(read_electronics(device, errors)),
        DetailsInput::Grocery(grocery) => Details::Grocery(read_grocery(grocery, errors)),
        DetailsInput::Movie(movie) => Details::Movie(read_movie(movie, errors)),
        DetailsInput::Bundle(_) => Details::Bundle(Bundle::default()),
    }
}

fn read_apparel(apparel: &Apparel, errors: &mut ValidationErrors) -> Apparel {
    let path: FieldPath<'_> = &[&"details", &"apparel"];
    optional(apparel.fit.as_deref(), path, "fit", errors);
    for (at, row) in apparel.size_chart.iter().enumerate() {
        let path: FieldPath<'_> = &[&"details", &"apparel", &"sizeChart", &at];
        label(&row.size, &within(path, &[&"size"]), errors);
        for (nth, measurement) in row.measurements.iter().enumerate() {
            let path = within(path, &[&"measurements", &nth]);
            check_measurement(measurement, &path, errors);
        }
    }
    apparel.clone()
}

fn read_book(book: &Book, errors: &mut ValidationErrors) -> Book {
    let path: FieldPath<'_> = &[&"details", &"book"];
    check_people(&book.contributors, path, "contributors", errors);
    optional(book.format.as_deref(), path, "format", errors);
    count(book.pages, 1, path, "pages", errors);
    let isbn = book.isbn.as_deref().map(plain_isbn);
    if let Some(isbn) = isbn.as_deref().filter(|isbn| !is_isbn(isbn)) {
        let shown = vitrine_model::text::excerpt(isbn, 40).text;
        let message = format!(
            "{shown:?} is no ISBN: 13 digits, or 10 of which the last may be X; hyphens may be left out"
        );
        errors.invalid(&[&"details", &"book", &"isbn"], message);
    }
    Book {
        isbn,
        ..book.clone()
    }
}

fn read_electronics(device: &Electronics, errors: &mut ValidationErrors) -> Electronics {
    let path: FieldPath<'_> = &[&"details", &"electronics"];
    optional(device.energy_label.as_deref(), path, "energyLabel", errors);
    count(device.warranty_months, 0, path, "warrantyMonths", errors);
    labels(&device.compatibility, path, "compatibility", errors);
    device.clone()
}

fn read_grocery(grocery: &Grocery, errors: &mut ValidationErrors) -> Grocery {
    let path: FieldPath<'_> = &[&"details", &"grocery"];
    if let Some(ingredients) = &grocery.ingredients {
        let checked = limits::text(ingredients, 1..=MAX_DESCRIPTION_CHARACTERS);
        errors.check(&within(path, &[&"ingredients"]), checked);
    }
    labels(&grocery.allergens, path, "allergens", errors);
    for (at, measurement) in grocery.nutrition.iter().enumerate() {
        check_measurement(measurement, &within(path, &[&"nutrition", &at]), errors);
    }
    grocery.clone()
}

fn read_movie(movie: &Movie, errors: &mut ValidationErrors) -> Movie {
    let path: FieldPath<'_> = &[&"details", &"movie"];
    check_people(&movie.cast, path, "cast", errors);
    count(movie.runtime_minutes, 1, path, "runtimeMinutes", errors);
    movie.clone()
}

fn check_people(
    people: &[Contributor],
    path: FieldPath<'_>,
    field: &str,
    errors: &mut ValidationErrors,
) {
    for (at, person) in people.iter().enumerate() {
        label(&person.name, &within(path, &[&field, &at, &"name"]), errors);
        label(&person.role, &within(path, &[&field, &at, &"role"]), errors);
    }
}

fn check_measurement(
    measurement: &Measurement,
    path: FieldPath<'_>,
    errors: &mut ValidationErrors,
) {
    label(&measurement.name, &within(path, &[&"name"]), errors);
    label(&measurement.unit, &within(path, &[&"unit"]), errors);
    if !measurement.value.is_finite() {
        errors.invalid(&within(path, &[&"value"]), "not a finite number");
    }
}

fn label(text: &str, path: FieldPath<'_>, errors: &mut ValidationErrors) {
    errors.check(path, limits::text(text, 1..=MAX_LABEL_CHARACTERS));
}

fn optional(text: Option<&str>, path: FieldPath<'_>, field: &str, errors: &mut ValidationErrors) {
    if let Some(text) = text {
        label(text, &within(path, &[&field]), errors);
    }
}

fn labels(texts: &[String], path: FieldPath<'_>, field: &str, errors: &mut ValidationErrors) {
    for (at, text) in texts.iter().enumerate() {
        label(text, &within(path, &[&field, &at]), errors);
    }
}

fn count(
    number: Option<i32>,
    min: i32,
    path: FieldPath<'_>,
    field: &str,
    errors: &mut ValidationErrors,
) {
    let Some(number) = number.filter(|number| !(min..=MAX_NUMBER).contains(number)) else {
        return;
    };
    let message = format!("{number} is out of range: {min} to 1,000,000");
    errors.invalid(&within(path, &[&field]), message);
}

/// A path within another one.
fn within<'a>(
    path: FieldPath<'a>,
    inner: &[&'a dyn std::fmt::Display],
) -> Vec<&'a dyn std::fmt::Display> {
    path.iter().chain(inner).copied().collect()
}

/// Removes hyphens and blanks; upper case.
fn plain_isbn(isbn: &str) -> String {
    let kept = isbn.chars().filter(|c| !c.is_whitespace() && *c != '-');
    kept.collect::<String>().to_ascii_uppercase()
}

fn is_isbn(isbn: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    match isbn.len() {
        13 => digits(isbn),
        10 => digits(isbn.strip_suffix('X').unwrap_or(isbn)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use vitrine_model::product::SizeChartRow;

    use super::*;
    use crate::outcome::UserErrorCode;

    fn book(isbn: &str) -> (Option<String>, Vec<(UserErrorCode, String)>) {
        let mut errors = ValidationErrors::default();
        let input = DetailsInput::Book(Book {
            isbn: Some(isbn.to_owned()),
            ..Book::default()
        });
        let Details::Book(book) = read(&input, &mut errors) else {
            panic!("a book")
        };
        (book.isbn, errors.codes_and_paths())
    }

    #[test]
    fn isbns_are_digits() {
        for (given, kept) in [
            ("978-3-16-148410-0", "9783161484100"),
            ("3 598 21500 x", "359821500X"),
        ] {
            assert_eq!(book(given), (Some(kept.to_owned()), vec![]));
        }
        let path = vec![(UserErrorCode::Invalid, "details.book.isbn".to_owned())];
        for bad in [
            "",
            "978316148410",
            "97831614841OO",
            "X598215001",
            "９783161484100",
        ] {
            assert_eq!(book(bad).1, path, "{bad}");
        }
    }

    #[test]
    fn all_errors_are_reported_with_their_paths() {
        let measurement = Measurement {
            name: " ".to_owned(),
            value: f64::INFINITY,
            unit: "cm".to_owned(),
        };
        let row = SizeChartRow {
            size: "M".to_owned(),
            measurements: vec![measurement],
        };
        let mut errors = ValidationErrors::default();
        let apparel = DetailsInput::Apparel(Apparel {
            fit: Some(String::new()),
            size_chart: vec![row],
        });
        read(&apparel, &mut errors);
        let movie = DetailsInput::Movie(Movie {
            cast: vec![Contributor {
                name: "A".to_owned(),
                role: "\0".to_owned(),
            }],
            runtime_minutes: Some(0),
        });
        read(&movie, &mut errors);
        let paths: Vec<String> = errors
            .codes_and_paths()
            .into_iter()
            .map(|(_, at)| at)
            .collect();
        assert_eq!(
            paths,
            [
                "details.apparel.fit",
                "details.apparel.sizeChart.0.measurements.0.name",
                "details.apparel.sizeChart.0.measurements.0.value",
                "details.movie.cast.0.role",
                "details.movie.runtimeMinutes",
            ]
        );
    }
}
