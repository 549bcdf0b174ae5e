//! The guide's generated tables: that of units here, that of examples in `examples`.

use std::fmt::Write as _;
use std::sync::Mutex;

use super::*;

const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/mappings/README.md");

/// The guide is rewritten by one test at a time.
static REWRITING: Mutex<()> = Mutex::new(());

/// Compares a part of the guide between two marks with what is generated, or rewrites it.
#[expect(
    clippy::disallowed_methods,
    reason = "whether generated files are rewritten is no setting of the service"
)]
pub(super) fn compare(start: &str, end: &str, generated: &str) {
    let _alone = REWRITING.lock();
    let guide = std::fs::read_to_string(GUIDE).unwrap();
    let (before, rest) = guide
        .split_once(start)
        .expect("the guide has the start of the part");
    let (shown, after) = rest
        .split_once(end)
        .expect("the guide has the end of the part");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(GUIDE, format!("{before}{start}{generated}{end}{after}")).unwrap();
        return;
    }
    let differing = shown
        .lines()
        .zip(generated.lines())
        .find(|(shown, real)| shown != real);
    assert!(
        shown == generated,
        "{differing:?}: UPDATE_EXPECT=1 cargo test rewrites it"
    );
}

#[test]
fn the_guide_lists_every_unit() {
    let mut table = "| measures | units |\n|---|---|\n".to_owned();
    let units = UnitTable::built_in();
    let mut dimensions: Vec<&str> = Vec::new();
    for unit in units.units() {
        if dimensions.last() != Some(&unit.dimension.as_str()) {
            dimensions.push(&unit.dimension);
        }
    }
    for dimension in dimensions {
        let of_dimension = units
            .units()
            .iter()
            .filter(|unit| unit.dimension == dimension);
        let shown: Vec<String> = of_dimension
            .map(|unit| match unit.aliases.as_slice() {
                [] => format!("`{}`", unit.id),
                aliases => format!("`{}` ({})", unit.id, aliases.join(", ")),
            })
            .collect();
        let _ = writeln!(
            table,
            "| {} | {} |",
            dimension.replace('_', " "),
            shown.join(", ")
        );
    }
    compare(
        "<!-- units: generated from services/model/src/unit/built_in.rs -->\n",
        "<!-- end of units -->",
        &table,
    );
}
