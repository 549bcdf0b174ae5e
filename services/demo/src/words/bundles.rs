//! Sets of several products.

use super::lines::{LINES, NOTHING};
use super::opinions;
use crate::facts::{one, several, yes};
use crate::leaf::{Family, Leaf};

const SETS: Family = Family {
    kind: "bundle",
    brands: &["Vitrine Selection", "Parcel & Bow", "Two of a Kind"],
    words: [LINES, NOTHING],
    facts: &[
        yes("gift_wrapped", 90, 50),
        several(
            "occasion",
            80,
            2,
            &["Birthday", "Housewarming", "Holiday", "Everyday", "Wedding"],
        ),
        one(
            "packaging",
            70,
            &["Carton", "Wooden box", "Recyclable film"],
        ),
    ],
    about: &[
        &[
            "In it: {items}.",
            "{pieces} things that belong together: {items}.",
        ],
        &[
            "{+gift_wrapped}Wrapped by hand, with a card.",
            "The price is that of its parts, the choosing is free.",
        ],
    ],
    voice: &opinions::BUNDLES,
};

const fn set(
    path: [&'static str; 3],
    weight: u32,
    names: &'static [&'static str],
    about: &'static [&'static str],
) -> Leaf {
    Leaf {
        family: &SETS,
        path,
        weight,
        thing: "set",
        plural: false,
        prices: (0, 0),
        names,
        facts: &[],
        about,
    }
}

/// The leaves of this file, and for each the leaves that its items come from.
pub(crate) const LEAVES: &[(Leaf, &[&str])] = &[
    (
        set(
            ["Sets", "At home", "Breakfast"],
            22,
            &["{=a} Breakfast Hamper", "{=a} Slow Sunday Set"],
            &[
                "Everything for a breakfast that lasts until noon.",
                "A breakfast for people who like each other.",
            ],
        ),
        &[
            "Coffee",
            "Tea",
            "Honey & spreads",
            "Breakfast cereals",
            "Juice & soft drinks",
            "Kettles",
        ],
    ),
    (
        set(
            ["Sets", "At home", "Supper"],
            18,
            &["{=a} Supper Box", "{=a} Italian Evening Box"],
            &[
                "Supper for friends who ring the bell without warning.",
                "A pot, a bottle and an hour: supper.",
            ],
        ),
        &[
            "Pasta",
            "Olive oil",
            "Beer & cider",
            "Chocolate",
            "Nuts & dried fruit",
            "Cookery",
        ],
    ),
    (
        set(
            ["Sets", "At home", "Home office"],
            20,
            &["{=a} Home Office Set", "{=a} Desk Starter Set"],
            &[
                "A desk that is ready on Monday.",
                "What a day at home needs, apart from discipline.",
            ],
        ),
        &[
            "Keyboards",
            "Mice",
            "Monitors",
            "Headphones",
            "Office chairs",
            "Desks",
        ],
    ),
    (
        set(
            ["Sets", "Free time", "Reading"],
            24,
            &["{=a} Reading Parcel", "{=a} Long Evening Parcel"],
            &[
                "For a weekend without plans.",
                "A parcel for readers and for those who live with them.",
            ],
        ),
        &[
            "Crime",
            "Literary fiction",
            "Historical novels",
            "Tea",
            "Chocolate",
            "Biscuits",
        ],
    ),
    (
        set(
            ["Sets", "Free time", "Film night"],
            18,
            &["{=a} Film Night Box", "{=a} Double Feature"],
            &[
                "Two hours of film and something to eat with it.",
                "Lights off, phones away.",
            ],
        ),
        &[
            "Drama",
            "Comedy",
            "Thriller",
            "Animation",
            "Nuts & dried fruit",
            "Milk chocolate & pralines",
        ],
    ),
    (
        set(
            ["Sets", "Free time", "Outdoors"],
            16,
            &["{=a} Weekend Kit", "{=a} First Camp Kit"],
            &[
                "From Friday evening to Sunday evening, without a roof.",
                "What a weekend outside needs, and nothing that it does not.",
            ],
        ),
        &["Tents", "Sleeping bags", "Stoves", "Hiking boots", "Travel"],
    ),
    (
        set(
            ["Sets", "To wear", "Outfits"],
            18,
            &["{=a} Winter Outfit", "{=a} Capsule Outfit"],
            &[
                "Chosen to be worn together and apart.",
                "Five minutes in the morning, saved.",
            ],
        ),
        &[
            "Scarves",
            "Hats & gloves",
            "Knitwear",
            "Jackets & coats",
            "Trousers",
        ],
    ),
];
