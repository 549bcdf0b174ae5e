//! Clothes and shoes.

use super::lines::{LINES, NOTHING};
use super::opinions;
use crate::facts::{Attr, fine, measure, one, several, sold, whole, yes};
use crate::leaf::{Family, Leaf};

const COLORS: &[&str] = &[
    "Black",
    "Navy",
    "Grey",
    "White",
    "Olive",
    "Beige",
    "Burgundy",
    "Forest green",
    "Rust",
    "Sky blue",
    "Cream",
    "Charcoal",
    "Mustard",
    "Terracotta",
    "Lilac",
    "Teal",
];
const CARE: &[&str] = &[
    "Machine wash cold",
    "Hand wash",
    "Line dry",
    "Do not bleach",
    "Cool iron",
];
const COUNTRIES: &[&str] = &[
    "Portugal",
    "Turkey",
    "Italy",
    "Bangladesh",
    "Vietnam",
    "India",
    "Romania",
    "Lithuania",
];

const CLOTHES: Family = Family {
    kind: "apparel",
    brands: &[
        "Halden",
        "Ostrava Line",
        "Marrow & Finch",
        "Tidelane",
        "Vessla",
        "Corvane",
        "Lumi Atelier",
        "Brackwater",
        "Ansgard",
        "Pellico",
        "Northmere",
        "Quillon",
    ],
    words: [LINES, NOTHING],
    facts: &[
        several("color", 100, 3, COLORS),
        several("season", 70, 2, &["Autumn", "Winter", "Spring", "Summer"]),
        several("care", 80, 3, CARE),
        one("country_of_origin", 75, COUNTRIES),
        yes("organic_fibre", 40, 35),
        yes("vegan", 30, 60),
        measure("recycled_share", 25, [20, 100, 10], "%", &[]),
        one(
            "care_instructions",
            6,
            &[
                "Turn inside out, wash with similar colours, reshape while damp and dry flat away from direct sunlight.",
                "Dry clean only for the first three months; after that wash by hand in cool water and never tumble dry.",
            ],
        ),
    ],
    about: &[
        &[
            "Made of {material} in {=country_of_origin}.",
            "The {material} is soft from the first day and keeps its shape.",
            "{An} {fit} cut in {material}.",
        ],
        &[
            "Here in {color}; {recycled_share} of the fibres had a life before this one.",
            "Shown in {color}, and easy to look after: {care}.",
            "The {color} comes from yarn that was dyed before it was knitted or woven, so it fades slowly.",
            "Care: {care}.",
        ],
        &[
            "{+organic_fibre}The fibre is grown organically.",
            "{?pockets}There are {pockets} pockets, all of them deep enough for a hand.",
            "Meant for {season}, and for the weeks on either side of it.",
            "{+vegan}No part of it comes from an animal.",
        ],
    ],
    voice: &opinions::CLOTHES,
};

const FITS: Attr = one("fit", 90, &["Regular", "Slim", "Relaxed", "Oversized"]);
const POCKETS: Attr = whole("pockets", 70, [2, 6, 1]);
const WOMEN: Attr = one("gender", 100, &["Women"]);
const MEN: Attr = one("gender", 100, &["Men"]);
const CLOSURE: Attr = one("closure", 70, &["Buttons", "Zip", "Press studs", "Hooks"]);
const STRETCH: Attr = measure("elastane_share", 45, [1, 5, 1], "%", &[]);
const RAIN: Attr = measure(
    "water_column",
    70,
    [3000, 20000, 1000],
    "mmH2O",
    &["psi", "kPa"],
);
const HOOD: Attr = yes("hood", 90, 60);
const KNIT: &[&str] = &[
    "Merino wool",
    "Lambswool",
    "Cotton",
    "Alpaca",
    "Cashmere blend",
];
const WOVEN: &[&str] = &[
    "Cotton",
    "Linen",
    "Viscose",
    "Organic cotton",
    "Tencel blend",
];
const SHELL: &[&str] = &["Recycled polyester", "Waxed cotton", "Nylon", "Wool blend"];
const LEGS: &[&str] = &["Cotton twill", "Denim", "Corduroy", "Wool flannel", "Linen"];

const KNIT_FACTS: [Attr; 6] = [
    one("material", 100, KNIT),
    FITS,
    one(
        "neckline",
        100,
        &["Crew", "V-neck", "Roll-neck", "Half-zip"],
    ),
    one("knit", 60, &["Fine gauge", "Cable", "Rib", "Waffle"]),
    one("sleeve_length", 90, &["Long", "Three-quarter"]),
    measure("weight", 70, [260, 620, 20], "g", &["oz", "kg"]),
];
const KNIT_NAMES: &[&str] = &[
    "{=brand} {=a} {^material} {=neckline} Sweater",
    "{=brand} {=a} {=neckline} Sweater",
    "{=brand} {=a} {=knit} Knit",
];
const KNIT_ABOUT: &[&str] = &[
    "{An} {neckline} sweater for cold offices and long walks.",
    "{An} {=knit} knit that weighs {weight} and wears lighter than that.",
    "The sweater that {=brand} has made, in one form or another, since its first winter.",
];
const JACKET_ABOUT: &[&str] = &[
    "A jacket that holds off rain up to {=water_column} and still breathes on the way uphill.",
    "{+hood}A hooded jacket for days that cannot make up their mind.",
    "A plain jacket for town, made to be worn for years rather than seasons.",
    "{?insulation}Warm without bulk: the filling is {insulation}.",
];
const JACKET_NAMES: &[&str] = &[
    "{=brand} {=a} {^jacket_type}",
    "{=brand} {=a} {^material} {^jacket_type}",
];
const TROUSER_NAMES: &[&str] = &[
    "{=brand} {=a} {=leg_shape} Trousers",
    "{=brand} {=a} {^material} Trousers",
];
const TROUSER_ABOUT: &[&str] = &[
    "{^leg_shape} trousers with {an} {=rise} rise, cut to be worn with a belt or without.",
    "Trousers that look like work and feel like the weekend.",
    "An inseam of {inseam} and enough room at the knee to ride a bicycle.",
];
const SHIRT_ABOUT: &[&str] = &[
    "A shirt with {an} {collar} collar that keeps its shape under a sweater.",
    "{An} {pattern} shirt for five days out of seven.",
    "Cut from {material}, sewn with short stitches, buttoned with horn from nuts.",
];

const fn jacket(gender: Attr) -> [Attr; 10] {
    [
        one(
            "jacket_type",
            100,
            &[
                "Parka",
                "Rain jacket",
                "Field jacket",
                "Quilted jacket",
                "Coat",
            ],
        ),
        one("material", 100, SHELL),
        gender,
        FITS,
        RAIN,
        HOOD,
        POCKETS,
        one(
            "insulation",
            55,
            &["Recycled wadding", "Goose down", "Wool fleece"],
        ),
        one(
            "lining_material",
            60,
            &["Viscose", "Recycled polyester", "Cotton"],
        ),
        yes("packable", 50, 40),
    ]
}

const fn trousers(gender: Attr) -> [Attr; 8] {
    [
        one("material", 100, LEGS),
        gender,
        one("fit", 90, &["Regular", "Slim", "Relaxed"]),
        one(
            "leg_shape",
            100,
            &["Straight", "Tapered", "Wide", "Bootcut"],
        ),
        one("rise", 80, &["Mid", "High", "Low"]),
        measure("inseam", 80, [70, 90, 2], "cm", &["in"]),
        POCKETS,
        STRETCH,
    ]
}

const WOMEN_JACKET: [Attr; 10] = jacket(WOMEN);
const MEN_JACKET: [Attr; 10] = jacket(MEN);
const WOMEN_TROUSERS: [Attr; 8] = trousers(WOMEN);
const MEN_TROUSERS: [Attr; 8] = trousers(MEN);

const SHOES: Family = Family {
    kind: "apparel",
    brands: &[
        "Tarvo",
        "Kessrin",
        "Podarge",
        "Fellmark",
        "Sandrell",
        "Ostrid",
        "Vandro",
        "Brisk & Loam",
    ],
    words: [LINES, NOTHING],
    facts: &[
        several("color", 100, 2, COLORS),
        one(
            "upper_material",
            100,
            &["Leather", "Suede", "Mesh", "Canvas", "Recycled knit"],
        ),
        one(
            "sole_material",
            90,
            &["Rubber", "EVA foam", "Cork", "Natural crepe"],
        ),
        one("country_of_origin", 70, COUNTRIES),
        measure("weight", 75, [180, 620, 20], "g", &["oz", "kg"]),
        yes("removable_insole", 50, 55),
        yes("vegan", 50, 35),
        one("width_fitting", 60, &["Standard", "Wide", "Narrow"]),
    ],
    about: &[
        &[
            "Upper in {upper_material}, sole in {sole_material}.",
            "One shoe weighs {weight}.",
            "The last is {width_fitting} and kind to high insteps.",
        ],
        &[
            "{+removable_insole}The insole comes out, so your own fits in.",
            "Made in {=country_of_origin}.",
            "{+vegan}Glued and stitched without anything from animals.",
            "They can be resoled twice; after that they have earned their rest.",
        ],
    ],
    voice: &opinions::SHOES,
};
const CASUAL_SHOE: [Attr; 3] = [
    one("fastening", 90, &["Laces", "Slip-on", "Hook and loop"]),
    fine("sole_height", 60, [20, 45, 5], "cm", &["in", "mm"]),
    one("pattern", 40, &["Plain", "Two-tone", "Perforated"]),
];
const BOOT: [Attr; 5] = [
    measure("shaft_height", 90, [10, 38, 2], "cm", &["in"]),
    fine("heel_height", 80, [15, 70, 5], "cm", &["in", "mm"]),
    one(
        "lining_material",
        80,
        &["Leather", "Wool fleece", "Textile"],
    ),
    yes("waterproof", 80, 55),
    one("fastening", 90, &["Laces", "Zip", "Slip-on"]),
];
const SPORT_SHOE: [Attr; 6] = [
    measure("heel_drop", 90, [0, 12, 2], "mm", &["in"]),
    one("cushioning", 90, &["Medium", "High", "Low"]),
    one("terrain", 90, &["Road", "Trail", "Mixed"]),
    yes("waterproof", 60, 35),
    yes("reflective", 60, 60),
    one("pronation", 60, &["Neutral", "Support"]),
];
const SNEAKER_NAMES: &[&str] = &[
    "{=brand} {=a} {^upper_material} Sneakers",
    "{=brand} {=a} Sneakers",
];
const SNEAKER_ABOUT: &[&str] = &[
    "Low sneakers with {an} {sole_material} sole of {sole_height}.",
    "Sneakers that go with everything but a ball gown, and perhaps with that.",
    "Plain sneakers, well made, with fastening by {fastening}.",
];
const BOOT_ABOUT: &[&str] = &[
    "Boots with a shaft of {shaft_height} and a heel of {heel_height}.",
    "{+waterproof}Boots that take puddles seriously and keep your socks out of them.",
    "Boots for frost and pavements, lined with {lining_material}.",
];

/// The leaves of this file.
pub(crate) const LEAVES: &[Leaf] = &[
    Leaf {
        family: &CLOTHES,
        path: ["Clothing", "Women", "Dresses"],
        weight: 62,
        thing: "dress",
        plural: false,
        prices: (39, 180),
        names: &[
            "{=brand} {=a} {^dress_style} Dress",
            "{=brand} {=a} {^material} {^dress_style} Dress",
            "{=brand} {=a} {^pattern} Dress",
        ],
        facts: &[
            one(
                "dress_style",
                100,
                &["Wrap", "Shirt", "Slip", "Tea", "Pinafore"],
            ),
            one(
                "material",
                100,
                &["Viscose", "Linen", "Cotton poplin", "Silk blend", "Jersey"],
            ),
            WOMEN,
            FITS,
            one("dress_length", 90, &["Midi", "Knee", "Maxi", "Mini"]),
            one(
                "sleeve_length",
                90,
                &["Short", "Long", "Sleeveless", "Three-quarter"],
            ),
            one("neckline", 80, &["V-neck", "Crew", "Square", "Boat"]),
            one(
                "pattern",
                100,
                &["Plain", "Floral", "Striped", "Dotted", "Checked"],
            ),
            several(
                "occasion",
                60,
                2,
                &["Everyday", "Office", "Wedding guest", "Holiday"],
            ),
            POCKETS,
            CLOSURE,
        ],
        about: &[
            "{An} {dress_length} {dress_style} dress with {an} {neckline} neckline.",
            "{An} {pattern} dress in {color} that moves well and creases little.",
            "A {dress_style} dress that goes from desk to dinner with a change of shoes.",
        ],
    },
    Leaf {
        family: &CLOTHES,
        path: ["Clothing", "Women", "Knitwear"],
        weight: 48,
        thing: "sweater",
        plural: false,
        prices: (45, 190),
        names: KNIT_NAMES,
        facts: &[
            WOMEN,
            KNIT_FACTS[0],
            KNIT_FACTS[1],
            KNIT_FACTS[2],
            KNIT_FACTS[3],
            KNIT_FACTS[4],
            KNIT_FACTS[5],
        ],
        about: KNIT_ABOUT,
    },
    Leaf {
        family: &CLOTHES,
        path: ["Clothing", "Women", "Jackets & coats"],
        weight: 40,
        thing: "jacket",
        plural: false,
        prices: (89, 420),
        names: JACKET_NAMES,
        facts: &WOMEN_JACKET,
        about: JACKET_ABOUT,
    },
    Leaf {
        family: &CLOTHES,
        path: ["Clothing", "Women", "Trousers"],
        weight: 38,
        thing: "trousers",
        plural: true,
        prices: (45, 150),
        names: TROUSER_NAMES,
        facts: &WOMEN_TROUSERS,
        about: TROUSER_ABOUT,
    },
    Leaf {
        family: &CLOTHES,
        path: ["Clothing", "Women", "Shirts & blouses"],
        weight: 34,
        thing: "blouse",
        plural: false,
        prices: (35, 120),
        names: &[
            "{=brand} {=a} {^material} Blouse",
            "{=brand} {=a} {^pattern} Blouse",
        ],
        facts: &[
            one("material", 100, WOVEN),
            WOMEN,
            FITS,
            one("collar", 80, &["Stand-up", "Classic", "Bow", "Peter Pan"]),
            one("pattern", 100, &["Plain", "Striped", "Floral", "Dotted"]),
            one("sleeve_length", 90, &["Long", "Short", "Three-quarter"]),
            one("transparency", 50, &["Opaque", "Slightly sheer"]),
        ],
        about: &[
            "{An} {pattern} blouse with {an} {collar} collar.",
            "A blouse in {color} that stays tucked in.",
        ],
    },
    Leaf {
        family: &CLOTHES,
        path: ["Clothing", "Men", "Shirts"],
        weight: 46,
        thing: "shirt",
        plural: false,
        prices: (35, 130),
        names: &[
            "{=brand} {=a} {^material} Shirt",
            "{=brand} {=a} {^pattern} Shirt",
        ],
        facts: &[
            one(
                "material",
                100,
                &[
                    "Cotton poplin",
                    "Oxford cotton",
                    "Linen",
                    "Flannel",
                    "Organic cotton",
                ],
            ),
            MEN,
            one("fit", 95, &["Regular", "Slim", "Relaxed"]),
            one(
                "collar",
                90,
                &["Kent", "Button-down", "Stand-up", "Cutaway"],
            ),
            one("pattern", 100, &["Plain", "Checked", "Striped", "Melange"]),
            one("cuff", 60, &["Single", "French", "Adjustable"]),
            whole("thread_count", 40, [80, 160, 20]),
            yes("non_iron", 50, 40),
        ],
        about: SHIRT_ABOUT,
    },
    Leaf {
        family: &CLOTHES,
        path: ["Clothing", "Men", "Knitwear"],
        weight: 40,
        thing: "sweater",
        plural: false,
        prices: (45, 190),
        names: KNIT_NAMES,
        facts: &[
            MEN,
            KNIT_FACTS[0],
            KNIT_FACTS[1],
            KNIT_FACTS[2],
            KNIT_FACTS[3],
            KNIT_FACTS[5],
        ],
        about: KNIT_ABOUT,
    },
    Leaf {
        family: &CLOTHES,
        path: ["Clothing", "Men", "Jackets & coats"],
        weight: 38,
        thing: "jacket",
        plural: false,
        prices: (89, 420),
        names: JACKET_NAMES,
        facts: &MEN_JACKET,
        about: JACKET_ABOUT,
    },
    Leaf {
        family: &CLOTHES,
        path: ["Clothing", "Men", "Trousers"],
        weight: 36,
        thing: "trousers",
        plural: true,
        prices: (45, 160),
        names: TROUSER_NAMES,
        facts: &MEN_TROUSERS,
        about: TROUSER_ABOUT,
    },
    Leaf {
        family: &CLOTHES,
        path: ["Clothing", "Men", "T-shirts"],
        weight: 44,
        thing: "T-shirt",
        plural: false,
        prices: (15, 49),
        names: &[
            "{=brand} {=a} {^material} T-Shirt",
            "{=brand} {=a} {=neckline} T-Shirt",
        ],
        facts: &[
            one(
                "material",
                100,
                &["Organic cotton", "Cotton", "Hemp blend", "Merino wool"],
            ),
            MEN,
            one("fit", 95, &["Regular", "Slim", "Boxy"]),
            one("neckline", 100, &["Crew", "V-neck", "Henley"]),
            one("pattern", 80, &["Plain", "Striped", "Printed"]),
            sold(
                "pack_size_weight",
                30,
                &[(160.0, "g"), (0.18, "kg"), (6.5, "oz")],
            ),
            whole("pieces", 40, [1, 3, 1]),
        ],
        about: &[
            "A T-shirt in {an} {fit} cut, heavy enough not to show what is under it.",
            "The plain T-shirt, done properly, in {material}.",
        ],
    },
    Leaf {
        family: &CLOTHES,
        path: ["Clothing", "Children", "Rainwear"],
        weight: 22,
        thing: "rain jacket",
        plural: false,
        prices: (29, 95),
        names: &[
            "{=brand} {=a} Kids' Rain Jacket",
            "{=brand} {=a} Kids' {^material} Raincoat",
        ],
        facts: &[
            one(
                "material",
                100,
                &["Recycled polyester", "Rubberised cotton", "Nylon"],
            ),
            one("gender", 100, &["Unisex"]),
            one(
                "age_group",
                100,
                &["3–6 years", "7–10 years", "0–2 years", "11–14 years"],
            ),
            RAIN,
            yes("hood", 100, 95),
            yes("reflective", 90, 85),
            yes("name_label", 60, 80),
        ],
        about: &[
            "Puddle-proof up to {=water_column}, for ages {age_group}.",
            "{+reflective}A rain jacket with strips that light up in headlights.",
        ],
    },
    Leaf {
        family: &CLOTHES,
        path: ["Clothing", "Children", "Tops"],
        weight: 20,
        thing: "top",
        plural: false,
        prices: (12, 39),
        names: &[
            "{=brand} {=a} Kids' {^pattern} Top",
            "{=brand} {=a} Kids' {^material} Top",
        ],
        facts: &[
            one("material", 100, &["Organic cotton", "Cotton", "Jersey"]),
            one("gender", 100, &["Unisex"]),
            one("age_group", 100, &["3–6 years", "0–2 years", "7–10 years"]),
            one("pattern", 100, &["Striped", "Plain", "Animals", "Dotted"]),
            one("sleeve_length", 90, &["Long", "Short"]),
        ],
        about: &[
            "{An} {pattern} top that survives the playground.",
            "A soft top for ages {age_group}, with room to grow.",
        ],
    },
    Leaf {
        family: &CLOTHES,
        path: ["Clothing", "Accessories", "Scarves"],
        weight: 22,
        thing: "scarf",
        plural: false,
        prices: (19, 110),
        names: &[
            "{=brand} {=a} {^material} Scarf",
            "{=brand} {=a} {^pattern} Scarf",
        ],
        facts: &[
            one(
                "material",
                100,
                &["Lambswool", "Merino wool", "Silk", "Cotton", "Alpaca"],
            ),
            one("gender", 90, &["Unisex"]),
            one(
                "pattern",
                100,
                &["Plain", "Checked", "Striped", "Herringbone"],
            ),
            measure("length", 95, [140, 210, 5], "cm", &["in", "m"]),
            measure("width", 90, [25, 70, 5], "cm", &["in"]),
            one("hem", 70, &["Fringed", "Rolled", "Plain"]),
        ],
        about: &[
            "{An} {pattern} scarf, {length} long.",
            "{length} of {material}: enough for two turns and a knot.",
        ],
    },
    Leaf {
        family: &CLOTHES,
        path: ["Clothing", "Accessories", "Hats & gloves"],
        weight: 24,
        thing: "hat",
        plural: false,
        prices: (15, 75),
        names: &[
            "{=brand} {=a} {^hat_type}",
            "{=brand} {=a} {^material} {^hat_type}",
        ],
        facts: &[
            one(
                "hat_type",
                100,
                &["Beanie", "Bucket hat", "Flat cap", "Felt hat"],
            ),
            one(
                "material",
                100,
                &["Merino wool", "Cotton", "Wool felt", "Linen"],
            ),
            one("gender", 90, &["Unisex", "Women", "Men"]),
            fine("brim_width", 40, [40, 90, 5], "cm", &["in"]),
            yes("packable", 60, 70),
            yes("handmade", 40, 40),
        ],
        about: &[
            "{An} {hat_type} in {color}.",
            "{An} {hat_type} of {material}, warm where it matters.",
        ],
    },
    Leaf {
        family: &SHOES,
        path: ["Shoes", "Women's shoes", "Sneakers"],
        weight: 40,
        thing: "sneakers",
        plural: true,
        prices: (59, 160),
        names: SNEAKER_NAMES,
        facts: &[WOMEN, CASUAL_SHOE[0], CASUAL_SHOE[1], CASUAL_SHOE[2]],
        about: SNEAKER_ABOUT,
    },
    Leaf {
        family: &SHOES,
        path: ["Shoes", "Women's shoes", "Boots"],
        weight: 34,
        thing: "boots",
        plural: true,
        prices: (89, 260),
        names: &[
            "{=brand} {=a} {^upper_material} Boots",
            "{=brand} {=a} Ankle Boots",
        ],
        facts: &[
            WOMEN,
            one(
                "upper_material",
                100,
                &["Leather", "Suede", "Waxed leather"],
            ),
            measure("shaft_height", 90, [10, 18, 1], "cm", &["in"]),
            BOOT[1],
            BOOT[2],
            BOOT[3],
            BOOT[4],
        ],
        about: BOOT_ABOUT,
    },
    Leaf {
        family: &SHOES,
        path: ["Shoes", "Men's shoes", "Sneakers"],
        weight: 38,
        thing: "sneakers",
        plural: true,
        prices: (59, 160),
        names: SNEAKER_NAMES,
        facts: &[MEN, CASUAL_SHOE[0], CASUAL_SHOE[1], CASUAL_SHOE[2]],
        about: SNEAKER_ABOUT,
    },
    Leaf {
        family: &SHOES,
        path: ["Shoes", "Men's shoes", "Boots"],
        weight: 26,
        thing: "boots",
        plural: true,
        prices: (95, 280),
        names: &[
            "{=brand} {=a} {^upper_material} Boots",
            "{=brand} {=a} Work Boots",
        ],
        facts: &[
            MEN,
            one(
                "upper_material",
                100,
                &["Leather", "Waxed leather", "Suede"],
            ),
            BOOT[0],
            BOOT[2],
            BOOT[3],
            BOOT[4],
        ],
        about: BOOT_ABOUT,
    },
    Leaf {
        family: &SHOES,
        path: ["Shoes", "Sports shoes", "Running shoes"],
        weight: 36,
        thing: "running shoes",
        plural: true,
        prices: (79, 190),
        names: &[
            "{=brand} {=a} {=terrain} Running Shoes",
            "{=brand} {=a} Running Shoes",
        ],
        facts: &[
            one("upper_material", 100, &["Mesh", "Recycled knit"]),
            one("sole_material", 100, &["EVA foam", "Rubber"]),
            one("gender", 100, &["Unisex", "Women", "Men"]),
            SPORT_SHOE[0],
            SPORT_SHOE[1],
            SPORT_SHOE[2],
            SPORT_SHOE[4],
            SPORT_SHOE[5],
        ],
        about: &[
            "Running shoes for {terrain} surfaces with {cushioning} cushioning and {heel_drop} of drop.",
            "Shoes for the long slow run, and for the short one that was meant to be long.",
        ],
    },
    Leaf {
        family: &SHOES,
        path: ["Shoes", "Sports shoes", "Hiking boots"],
        weight: 24,
        thing: "hiking boots",
        plural: true,
        prices: (110, 290),
        names: &[
            "{=brand} {=a} Hiking Boots",
            "{=brand} {=a} {^upper_material} Trekking Boots",
        ],
        facts: &[
            one(
                "upper_material",
                100,
                &["Leather", "Suede", "Recycled knit"],
            ),
            one("gender", 100, &["Unisex", "Women", "Men"]),
            one("terrain", 90, &["Trail", "Alpine", "Mixed"]),
            yes("waterproof", 100, 80),
            measure("shaft_height", 90, [12, 20, 1], "cm", &["in"]),
            one("fastening", 100, &["Laces"]),
        ],
        about: &[
            "{+waterproof}Waterproof boots for {terrain} ground.",
            "Hiking boots with a shaft of {shaft_height} and a grip that trusts wet stone.",
        ],
    },
];
