//! What products have apart from specs: the details of typed kinds, and media.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The file `details.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DetailWords {
    /// Images, videos and manuals.
    pub(crate) media: MediaWords,
    /// Clothes and shoes.
    pub(crate) apparel: ApparelWords,
    /// Books.
    pub(crate) book: BookWords,
    /// Devices.
    pub(crate) electronics: ElectronicsWords,
    /// Food.
    pub(crate) grocery: GroceryWords,
    /// Films.
    pub(crate) movie: MovieWords,
}

/// Alternative texts of media, with gaps.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MediaWords {
    /// Of images, in their order.
    pub(crate) images: Vec<String>,
    /// Of a video.
    pub(crate) video: String,
    /// Of the manual of a device.
    pub(crate) manual: String,
}

/// Sizes and materials of clothes and shoes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApparelWords {
    /// XS to XXL.
    pub(crate) letter_sizes: Vec<String>,
    /// The systems of shoe sizes.
    pub(crate) shoe_size_systems: [String; 3],
    /// Sizes of women's shoes in each system.
    pub(crate) womens_shoe_sizes: Vec<[String; 3]>,
    /// Sizes of all other shoes in each system.
    pub(crate) mens_shoe_sizes: Vec<[String; 3]>,
    /// The sizes of children's clothes.
    pub(crate) age_groups: Vec<AgeGroup>,
    /// The body measurements of women's clothes in XS, in centimetres.
    pub(crate) smallest_woman: BTreeMap<String, f64>,
    /// The body measurements of all other clothes in XS, in centimetres.
    pub(crate) smallest_other: BTreeMap<String, f64>,
    /// The keys of the specs that name materials.
    pub(crate) material_keys: Vec<String>,
    /// Specs that contradict a material.
    pub(crate) ruled_out: Vec<RuledOut>,
}

/// A spec that products of some materials do not have.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuledOut {
    /// The key of the spec.
    pub(crate) key: String,
    /// Words that the names of these materials contain, in lower case.
    pub(crate) materials: Vec<String>,
}

/// The sizes of children's clothes of an age group.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgeGroup {
    /// The value of the spec `age_group`.
    pub(crate) name: String,
    /// The European sizes.
    pub(crate) sizes: Vec<String>,
}

/// Formats and languages of books.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BookWords {
    /// The formats.
    pub(crate) formats: Vec<BookFormat>,
    /// Languages that books are translated from.
    pub(crate) original_languages: Vec<String>,
    /// The keys of specs that digital formats do not have.
    pub(crate) paper_keys: Vec<String>,
}

/// A format of books.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BookFormat {
    /// The name.
    pub(crate) name: String,
    /// How many of a hundred books have it.
    pub(crate) percent: u32,
    /// Whether it is a file.
    #[serde(default)]
    pub(crate) digital: bool,
}

/// Warranties, labels and compatibility of devices.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ElectronicsWords {
    /// Warranties in months, the frequent ones first.
    pub(crate) warranty_months: Vec<i32>,
    /// Energy labels, each as likely.
    pub(crate) energy_labels: Vec<String>,
    /// What devices work with.
    pub(crate) compatibility: Vec<Compatibility>,
}

/// What the products with one value of a spec work with.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Compatibility {
    /// The key of the spec.
    pub(crate) key: String,
    /// Its text.
    pub(crate) text: String,
    /// What such products work with.
    pub(crate) with: String,
}

/// The nutrition table of food.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroceryWords {
    /// The keys of specs that the table repeats.
    pub(crate) nutrients: Vec<String>,
}

/// Ages and countries of films.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MovieWords {
    /// The countries that rate films by age.
    pub(crate) age_rating_countries: [String; 3],
    /// The ratings in these countries, the mildest first.
    pub(crate) age_ratings: [[String; 3]; 5],
    /// The genres whose films may have the mildest rating.
    pub(crate) mild_genres: Vec<String>,
    /// Where films come out after their home country.
    pub(crate) release_countries: Vec<String>,
    /// The synopsis. `{=plot}` stands for a first sentence of descriptions.
    pub(crate) synopsis: String,
}
