//! The shipped mappings of formats, on the feeds of these.

use super::*;

/// The feeds, and the shipped mapping that reads each.
const FEEDS: [(&str, &str); 12] = [
    ("shopify.csv", "shopify"),
    ("shopify-classic.csv", "shopify"),
    ("woocommerce.csv", "woocommerce"),
    ("bmecat.xml", "bmecat"),
    ("bmecat-groups.xml", "bmecat"),
    ("google.xml", "google-products"),
    ("google-table.tsv", "google-products"),
    ("google-reviews.xml", "google-reviews"),
    ("judgeme.csv", "judgeme"),
    ("loox.csv", "loox"),
    ("yotpo.csv", "yotpo"),
    ("trustpilot.csv", "trustpilot"),
];

#[test]
fn shipped_mappings_read_the_formats_that_they_are_called_after() {
    for (feed, name) in FEEDS {
        let feed = fixtures().join("formats").join(feed);
        let mapping = Mapping::load(name).unwrap_or_else(|error| panic!("{error}"));
        let mapping = mapping.with_feed(std::slice::from_ref(&feed)).unwrap();
        let drafted = drafts::drafted_by(&feed, &mapping);
        let file = feed.with_extension("shipped.txt");
        compare_file(&file, &drafted);
        let first = first_mapping(&feed).unwrap();
        has(
            &first,
            &[&format!(
                "#   vitrine import {} --mapping {name}",
                file_name(&feed)
            )],
        );
    }
}
