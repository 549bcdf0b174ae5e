//! First mappings, unchanged, of the formats that shops and review apps export: of the fields that a
//! person would map, in the file `.wanted` beside each feed, so many are right.

use super::*;

/// The feeds, and the number of wanted fields that their first mapping has.
const FEEDS: [(&str, usize); 64] = [
    ("shopify.csv", 15),
    ("shopify-classic.csv", 12),
    ("woocommerce.csv", 13),
    ("google.xml", 13),
    ("google-table.tsv", 10),
    ("akeneo.csv", 10),
    ("bmecat.xml", 10),
    ("jsonld.json", 18),
    ("judgeme.csv", 8),
    ("loox.csv", 8),
    ("yotpo.csv", 9),
    ("trustpilot.csv", 8),
    ("google-reviews.xml", 8),
    ("books.csv", 8),
    ("coffee.csv", 9),
    ("discogs.xml", 11),
    ("medusa.csv", 11),
    ("vendure.csv", 7),
    ("movies.json", 9),
    ("bmecat-one.xml", 10),
    ("icecat.xml", 10),
    ("gdsn.xml", 7),
    ("preisliste.csv", 7),
    ("magento.csv", 9),
    ("prestashop.csv", 8),
    ("spanish.csv", 8),
    ("polish.csv", 7),
    ("stamped.csv", 10),
    ("okendo.csv", 11),
    ("german-reviews.csv", 8),
    ("awin.csv", 8),
    ("bigcommerce.csv", 9),
    ("units-in-headings.csv", 8),
    ("price-list.csv", 4),
    ("jsonld-graph.json", 5),
    ("shop-api.json", 9),
    ("amazon-flat.tsv", 6),
    ("amazon-reviews.jsonl", 8),
    ("erp.csv", 6),
    ("dutch.csv", 7),
    ("italian.csv", 8),
    ("etsy.csv", 6),
    ("squarespace.csv", 9),
    ("french-reviews.csv", 9),
    ("bazaarvoice.xml", 9),
    ("supplier.json", 7),
    ("icecat-document.json", 9),
    ("heureka.xml", 10),
    ("ecwid.csv", 10),
    ("flags.csv", 7),
    ("feefo.xml", 6),
    ("opencart.csv", 10),
    ("trustedshops.csv", 6),
    ("dates.csv", 6),
    ("formulas.csv", 3),
    ("headings.csv", 15),
    ("prices.csv", 4),
    ("levels.csv", 9),
    ("rest-api.json", 10),
    ("faire.csv", 8),
    ("graphql.json", 9),
    ("plenty.csv", 10),
    ("votes.jsonl", 7),
    ("attributes.xml", 7),
];

/// The number of lines of a file that are among those of a text.
fn right(wanted: &str, drafted: &str) -> (usize, Vec<String>) {
    let has = |line: &&str| {
        let mut lines = drafted.lines().map(str::trim);
        // What follows in brackets is the type of a spec.
        lines.any(|found| {
            found == *line
                || found
                    .rsplit_once(" (")
                    .is_some_and(|(found, _)| found == *line)
        })
    };
    let (right, wrong): (Vec<&str>, Vec<&str>) = wanted.lines().partition(has);
    (right.len(), wrong.into_iter().map(str::to_owned).collect())
}

#[test]
fn first_mappings_have_the_fields_that_a_person_would_map() {
    let (mut found, mut all, mut different) = (0, 0, String::new());
    for (feed, expected) in FEEDS {
        let feed = format!("formats/{feed}");
        let drafted = compare_first_mapping(&feed);
        let wanted = fs::read_to_string(fixtures().join(&feed).with_extension("wanted")).unwrap();
        let (right, wrong) = right(&wanted, &drafted);
        assert!(
            !drafted.contains('@'),
            "{feed}: somebody's address is shown"
        );
        if right != expected {
            let _ = writeln!(
                different,
                "{feed}: {right} instead of {expected}; not {wrong:?}"
            );
        }
        found += right;
        all += wanted.lines().count();
    }
    assert!(different.is_empty(), "{found} of {all}\n{different}");
}
