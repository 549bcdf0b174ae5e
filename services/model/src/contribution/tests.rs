//! Tests of the single view.

use proptest::prelude::*;

use super::*;
use crate::clock::Timestamp;
use crate::money::Currency;
use crate::product::Book;
use crate::spec::SpecValue;

fn said(system: &str, priority: SourcePriority, content: Content) -> Contribution {
    Contribution {
        source: Source {
            system: system.to_owned(),
            external_id: "1".to_owned(),
            imported_at: Timestamp::from_millis(0),
            digest: String::new(),
            priority,
        },
        content,
    }
}

fn whole() -> SourcePriority {
    SourcePriority::default()
}

fn partial() -> SourcePriority {
    SourcePriority {
        partial: true,
        ..SourcePriority::default()
    }
}

fn derived() -> SourcePriority {
    SourcePriority {
        derived: true,
        ..SourcePriority::default()
    }
}

fn owner(field: ProductField) -> SourcePriority {
    SourcePriority {
        owns: vec![field],
        ..SourcePriority::default()
    }
}

fn brand(brand: &str) -> Content {
    Content {
        brand: Some(brand.to_owned()),
        ..Content::default()
    }
}

fn text(key: &str, value: &str) -> Spec {
    Spec {
        key: key.to_owned(),
        value: SpecValue::Text(value.to_owned()),
        qualifier: None,
    }
}

fn specs_of(specs: &[Spec]) -> Content {
    Content {
        specs: specs.to_vec(),
        ..Content::default()
    }
}

#[test]
fn owners_come_before_some_fields_before_whole_products_before_reviews() {
    let mut all = vec![
        said("a", derived(), brand("derived")),
        said("c", whole(), brand("whole, later")),
        said("b", whole(), brand("whole")),
        said("z", partial(), brand("some fields")),
        said("y", owner(ProductField::Brand), brand("owner")),
        said("x", owner(ProductField::Price), Content::default()),
    ];
    let mut winners = Vec::new();
    while let Some(winner) = merge(&all).brand {
        all.retain(|one| one.content.brand.as_deref() != Some(&winner));
        winners.push(winner);
    }
    assert_eq!(
        winners,
        ["owner", "some fields", "whole", "whole, later", "derived"]
    );
}

#[test]
fn each_key_of_the_specs_has_its_own_owner() {
    let catalogue = specs_of(&[text("color", "red"), text("fit", "slim")]);
    let sizes = specs_of(&[text("size", "M"), text("fit", "loose"), text("fit", "wide")]);
    let all = [
        said("sizes", partial(), sizes),
        said("catalogue", whole(), catalogue),
    ];
    assert_eq!(
        merge(&all).specs,
        [
            text("color", "red"),
            text("fit", "loose"),
            text("fit", "wide"),
            text("size", "M")
        ]
    );
}

#[test]
fn details_of_another_kind_do_not_count() {
    let book = Details::Book(Book {
        pages: Some(12),
        ..Book::default()
    });
    let of_kind = |kind: &str, details: &Details| Content {
        kind: Some(kind.to_owned()),
        details: details.clone(),
        ..Content::default()
    };
    let all = [
        said("a", whole(), of_kind("thing", &Details::Generic)),
        said("b", whole(), of_kind("book", &book)),
    ];
    assert_eq!(merge(&all).details, Details::Generic);
    assert_eq!(merge(&all[1..]).details, book);
    let owned = [
        all[0].clone(),
        said("b", owner(ProductField::Kind), of_kind("book", &book)),
    ];
    assert_eq!(merge(&owned).details, book);
}

#[test]
fn every_field_has_a_name_of_its_own() {
    for field in ProductField::ALL {
        assert_eq!(ProductField::named(field.name()), Some(field));
        let stored = serde_json::to_string(&field).unwrap();
        assert_eq!(stored, format!("{:?}", field.name()));
    }
    assert_eq!(ProductField::named("Name"), None);
}

fn contents() -> impl Strategy<Value = Content> {
    let word = || prop::option::of("[ab]");
    let specs = prop::collection::vec(("[xyz]", "[ab]"), 0..4);
    let kind = prop::option::of(prop::sample::select(vec!["book", "thing"]));
    (
        word(),
        word(),
        kind,
        prop::option::of(1..3_i64),
        specs,
        0..3_i32,
    )
        .prop_map(|(name, brand, kind, price, specs, pages)| Content {
            name,
            brand,
            kind: kind.map(str::to_owned),
            price: price.map(|minor| Money {
                minor,
                currency: Currency::parse("EUR").unwrap(),
            }),
            specs: specs.iter().map(|(key, value)| text(key, value)).collect(),
            details: Details::Book(Book {
                pages: Some(pages),
                ..Book::default()
            }),
            ..Content::default()
        })
}

fn contributions() -> impl Strategy<Value = Vec<Contribution>> {
    let priority = prop::sample::select(vec![
        whole(),
        partial(),
        derived(),
        owner(ProductField::Brand),
        owner(ProductField::Specs),
    ]);
    prop::collection::vec((priority, contents()), 0..5).prop_map(|all| {
        let systems = ["a", "b", "c", "d", "e"].into_iter();
        let all = systems.zip(all);
        all.map(|(system, (priority, content))| said(system, priority, content))
            .collect()
    })
}

proptest! {
    /// The order of sources does not matter, and merging what is merged changes nothing.
    #[test]
    fn the_single_view_does_not_depend_on_the_order(
        (all, shuffled) in contributions().prop_flat_map(|all| {
            let shuffled = Just(all.clone()).prop_shuffle();
            (Just(all), shuffled)
        })
    ) {
        let merged = merge(&all);
        prop_assert_eq!(&merge(&shuffled), &merged);
        let again = [said("m", whole(), merged.clone())];
        prop_assert_eq!(merge(&again), merged);
    }

    /// Every value that a source says is there, or another one is, and none is made up.
    #[test]
    fn no_field_is_lost(all in contributions()) {
        let merged = merge(&all);
        let said = |says: fn(&Content) -> bool| all.iter().any(|one| says(&one.content));
        prop_assert_eq!(merged.name.is_some(), said(|content| content.name.is_some()));
        prop_assert_eq!(merged.price.is_some(), said(|content| content.price.is_some()));
        let keys = |specs: &[Spec]| -> std::collections::BTreeSet<String> {
            specs.iter().map(|spec| spec.key.clone()).collect()
        };
        let all_specs = all.iter().flat_map(|one| one.content.specs.clone());
        prop_assert_eq!(keys(&merged.specs), keys(&all_specs.collect::<Vec<_>>()));
    }
}
