//! Food and drink.

use super::lines::NOTHING;
use super::opinions;
use crate::facts::{Attr, fine, measure, one, several, sold, tenths, whole, yes};
use crate::leaf::{Family, Leaf};

const HARVESTS: &[&str] = &[
    "Old Harbour",
    "Copper Kettle",
    "Meadow",
    "Sunday",
    "Blue Door",
    "Hillside",
    "Night Train",
    "Orchard Row",
    "Little Farm",
    "Seven Sisters",
    "Stone Mill",
    "Half Moon",
    "North Gate",
    "Wild Hedge",
    "Red Barn",
    "Early Bird",
    "Market Day",
    "Long Table",
    "Grandmother's",
    "Riverbank",
    "Village",
    "Terrace",
    "Lighthouse",
    "Chapel Lane",
];
const BRANDS: &[&str] = &[
    "Morrow & Pell",
    "Kornblum",
    "Casa Ventura",
    "Fern Valley",
    "Lindholm & Sohn",
    "Petit Moulin",
    "Salvia",
    "Oak & Barley",
    "Terra Lunga",
    "Hummel",
    "Saltwell",
    "Good Cellar",
];
const GROCERY: Family = Family {
    kind: "grocery",
    brands: BRANDS,
    words: [HARVESTS, NOTHING],
    facts: &[
        yes("organic", 90, 45),
        yes("gluten_free", 60, 100),
        several(
            "certificates",
            35,
            2,
            &[
                "Protected origin",
                "Bird-friendly",
                "Regional",
                "Plastic-free",
            ],
        ),
        one(
            "packaging",
            80,
            &["Paper bag", "Glass", "Tin", "Recyclable film", "Carton"],
        ),
        one(
            "storage_advice",
            50,
            &[
                "Cool and dry",
                "Keep refrigerated after opening",
                "Away from light",
            ],
        ),
        measure("shelf_life", 80, [3, 24, 3], "mo", &["yr", "wk"]),
        yes("resealable", 40, 60),
    ],
    about: &[
        &[
            "From {=origin_region}.",
            "{+organic}Organically grown, which is checked twice a year.",
            "Made in small batches and packed the same week.",
            "{?certificates}Certified: {certificates}.",
        ],
        &[
            "Keeps for {shelf_life}; store it like this: {storage_advice}.",
            "Packaging: {packaging}.",
            "{-vegan}Nothing in it that a kitchen would not have.",
            "{+vegan}Vegan, and nobody notices.",
        ],
    ],
    voice: &opinions::FOOD,
};
const BREWED: Family = Family {
    voice: &opinions::DRINKS,
    about: &[
        &[
            "From {=origin_region}, with notes of {flavour_notes}.",
            "Tastes of {flavour_notes}.",
            "{+organic}Organically grown in {=origin_region}.",
        ],
        &[
            "{?altitude}Grown at {altitude}.",
            "Packaging: {packaging}; keeps for {shelf_life}.",
            "{+fair_trade}The growers are paid a fixed price above the market's.",
            "Best brewed with water of {brewing_temperature}.",
        ],
    ],
    ..GROCERY
};

const VEGAN: Attr = yes("vegan", 100, 100);
const FAIR: Attr = yes("fair_trade", 70, 50);

const fn nutrition(fat: [i32; 3], sugar: [i32; 3], protein: [i32; 3]) -> [Attr; 3] {
    [
        fine("fat", 90, fat, "g", &["", "mg"]),
        fine("sugar", 90, sugar, "g", &[]),
        fine("protein", 90, protein, "g", &[]),
    ]
}
const LEAN: [Attr; 3] = nutrition([1, 12, 1], [1, 40, 3], [1, 30, 2]);
const GRAIN: [Attr; 3] = nutrition([8, 40, 2], [10, 60, 5], [80, 150, 5]);
const SWEET: [Attr; 3] = nutrition([180, 460, 10], [240, 560, 20], [40, 110, 5]);
const RICH: [Attr; 3] = nutrition([400, 620, 20], [20, 60, 5], [150, 260, 10]);

const BAGS: &[(f64, &str)] = &[
    (250.0, "g"),
    (500.0, "g"),
    (1.0, "kg"),
    (12.0, "oz"),
    (0.5, "kg"),
    (1.0, "lb"),
    (200.0, "g"),
];
const BOTTLES: &[(f64, &str)] = &[
    (500.0, "ml"),
    (0.5, "l"),
    (1.0, "l"),
    (16.9, "fl oz"),
    (330.0, "ml"),
    (0.75, "l"),
    (33.0, "cl"),
    (12.0, "fl oz"),
];

const fn food(
    path: [&'static str; 3],
    weight: u32,
    thing: &'static str,
    prices: (i64, i64),
    names: &'static [&'static str],
    facts: &'static [Attr],
    about: &'static [&'static str],
) -> Leaf {
    Leaf {
        family: &GROCERY,
        path,
        weight,
        thing,
        plural: matches!(thing.as_bytes(), b"nuts" | b"biscuits"),
        prices,
        names,
        facts,
        about,
    }
}

/// The leaves of this file.
pub(crate) const LEAVES: &[Leaf] = &[
    Leaf {
        family: &BREWED,
        ..food(
            ["Food", "Drinks", "Coffee"],
            78,
            "coffee",
            (6, 32),
            &[
                "{=brand} {=a} {=roast_level} Roast Coffee, {=net_weight}",
                "{=brand} {=a} {=coffee_type}, {=net_weight}",
            ],
            &[
                sold("net_weight", 100, BAGS),
                one(
                    "coffee_type",
                    100,
                    &["Whole Bean Coffee", "Ground Coffee", "Espresso Beans"],
                ),
                one("roast_level", 100, &["Medium", "Dark", "Light"]),
                one(
                    "origin_region",
                    95,
                    &[
                        "Ethiopia",
                        "Colombia",
                        "Guatemala",
                        "Kenya",
                        "Peru",
                        "Sumatra",
                    ],
                ),
                several(
                    "flavour_notes",
                    95,
                    3,
                    &[
                        "Chocolate",
                        "Hazelnut",
                        "Blackcurrant",
                        "Citrus",
                        "Caramel",
                        "Plum",
                        "Jasmine",
                    ],
                ),
                one(
                    "bean_variety",
                    85,
                    &["Arabica", "Arabica and robusta", "Robusta"],
                ),
                one("processing", 75, &["Washed", "Natural", "Honey"]),
                measure("altitude", 70, [900, 2100, 50], "m", &["ft", "km"]),
                measure("brewing_temperature", 60, [90, 96, 1], "°C", &["°F"]),
                yes("decaffeinated", 90, 8),
                FAIR,
                VEGAN,
            ],
            &[
                "{An} {roast_level} roast of {bean_variety}, {processing} process.",
                "A {roast_level} roast for mornings that start before the light does.",
                "Everyday coffee from {=origin_region}, a little better than it has to be.",
            ],
        )
    },
    Leaf {
        family: &BREWED,
        ..food(
            ["Food", "Drinks", "Tea"],
            36,
            "tea",
            (4, 26),
            &[
                "{=brand} {=a} {=tea_type} Tea, {=net_weight}",
                "{=brand} {=a} {=tea_type} Tea",
            ],
            &[
                sold(
                    "net_weight",
                    100,
                    &[
                        (100.0, "g"),
                        (40.0, "g"),
                        (250.0, "g"),
                        (3.5, "oz"),
                        (0.1, "kg"),
                    ],
                ),
                one(
                    "tea_type",
                    100,
                    &["Black", "Green", "Herbal", "Oolong", "White", "Rooibos"],
                ),
                one(
                    "origin_region",
                    90,
                    &["Assam", "Ceylon", "Uji", "Fujian", "Nilgiri", "Cederberg"],
                ),
                several(
                    "flavour_notes",
                    90,
                    3,
                    &[
                        "Malt", "Bergamot", "Grass", "Peach", "Smoke", "Mint", "Honey",
                    ],
                ),
                measure("brewing_time", 90, [2, 8, 1], "min", &["", "s"]),
                measure("brewing_temperature", 90, [70, 100, 5], "°C", &["°F"]),
                whole("tea_bags", 40, [15, 50, 5]),
                FAIR,
                VEGAN,
            ],
            &[
                "{An} {tea_type} tea that wants {brewing_temperature} and {brewing_time}.",
                "Leaves from {=origin_region}, picked by hand and rolled the same day.",
            ],
        )
    },
    food(
        ["Food", "Drinks", "Juice & soft drinks"],
        38,
        "juice",
        (1, 9),
        &[
            "{=brand} {=a} {^fruit} Juice, {=net_volume}",
            "{=brand} {=a} {^fruit} Spritz, {=net_volume}",
        ],
        &[
            sold("net_volume", 100, BOTTLES),
            one(
                "fruit",
                100,
                &[
                    "Apple",
                    "Rhubarb",
                    "Orange",
                    "Blackcurrant",
                    "Pear",
                    "Elderflower",
                    "Ginger",
                ],
            ),
            measure("fruit_content", 95, [12, 100, 4], "%", &[]),
            yes("sparkling", 85, 40),
            yes("deposit", 80, 60),
            one(
                "origin_region",
                70,
                &[
                    "Lake Constance",
                    "Kent",
                    "Normandy",
                    "South Tyrol",
                    "Andalusia",
                ],
            ),
            measure("energy", 95, [80, 220, 10], "kJ", &["kcal"]),
            LEAN[0],
            fine("sugar", 90, [40, 120, 5], "g", &[]),
            LEAN[2],
            VEGAN,
        ],
        &[
            "{fruit_content} {fruit}, pressed and bottled within a day.",
            "{+sparkling}Sparkling {fruit}, drier than it looks.",
            "{^fruit} in a bottle of {net_volume}, no sugar added.",
        ],
    ),
    food(
        ["Food", "Drinks", "Beer & cider"],
        28,
        "beer",
        (1, 8),
        &["{=brand} {=a} {=beer_style}, {=net_volume}"],
        &[
            sold("net_volume", 100, BOTTLES),
            one(
                "beer_style",
                100,
                &["Pale Ale", "Lager", "Stout", "Wheat Beer", "Pilsner"],
            ),
            fine("alcohol", 100, [38, 78, 2], "%", &["", "‰"]),
            yes("gluten_free", 100, 0),
            whole("bitterness_ibu", 80, [8, 60, 2]),
            several(
                "hops",
                80,
                3,
                &["Saaz", "Cascade", "Hallertau", "Fuggle", "Citra"],
            ),
            measure("serving_temperature", 70, [5, 12, 1], "°C", &["°F"]),
            yes("deposit", 90, 80),
            measure("energy", 90, [120, 260, 10], "kJ", &["kcal"]),
            yes("vegan", 100, 85),
        ],
        &[
            "{An} {=beer_style} with {alcohol} and the {=hops} hop.",
            "{An} {=beer_style} for after the hedge has been cut.",
        ],
    ),
    food(
        ["Food", "Pantry", "Pasta"],
        34,
        "pasta",
        (1, 7),
        &["{=brand} {=a} {=pasta_shape}, {=net_weight}"],
        &[
            sold("net_weight", 100, BAGS),
            one(
                "pasta_shape",
                100,
                &[
                    "Spaghetti",
                    "Penne",
                    "Fusilli",
                    "Orecchiette",
                    "Tagliatelle",
                    "Rigatoni",
                ],
            ),
            one("flour", 100, &["Durum wheat", "Spelt", "Whole wheat"]),
            measure("cooking_time", 95, [6, 13, 1], "min", &["", "s"]),
            one(
                "origin_region",
                80,
                &["Gragnano", "Puglia", "Swabia", "Abruzzo"],
            ),
            yes("bronze_die", 70, 60),
            yes("gluten_free", 100, 0),
            measure("energy", 95, [1440, 1560, 10], "kJ", &["kcal"]),
            GRAIN[0],
            GRAIN[1],
            GRAIN[2],
            VEGAN,
        ],
        &[
            "{=pasta_shape} of {flour}, done in {cooking_time}.",
            "{+bronze_die}Rough from bronze dies, so that sauce stays on.",
        ],
    ),
    food(
        ["Food", "Pantry", "Olive oil"],
        24,
        "olive oil",
        (6, 34),
        &[
            "{=brand} {=a} Olive Oil, {=net_volume}",
            "{=brand} {=a} {=olive_variety} Oil, {=net_volume}",
        ],
        &[
            sold(
                "net_volume",
                100,
                &[
                    (500.0, "ml"),
                    (0.75, "l"),
                    (250.0, "ml"),
                    (16.9, "fl oz"),
                    (1.0, "l"),
                    (3.0, "l"),
                ],
            ),
            one(
                "olive_variety",
                100,
                &["Koroneiki", "Arbequina", "Picual", "Frantoio"],
            ),
            one(
                "origin_region",
                100,
                &["Crete", "Jaén", "Tuscany", "Alentejo", "Istria"],
            ),
            fine("acidity", 90, [1, 7, 1], "%", &["", "‰"]),
            whole("harvest_year", 85, [2022, 2025, 1]),
            one("intensity", 80, &["Medium", "Mild", "Intense"]),
            measure("energy", 95, [3380, 3400, 10], "kJ", &["kcal"]),
            fine("fat", 95, [914, 916, 1], "g", &["", "mg"]),
            yes("gluten_free", 100, 100),
            VEGAN,
        ],
        &[
            "{^olive_variety} olives from {=origin_region}, cold pressed; acidity {acidity}.",
            "{^intensity}, green and a little peppery at the end.",
        ],
    ),
    food(
        ["Food", "Pantry", "Honey & spreads"],
        24,
        "honey",
        (4, 18),
        &["{=brand} {=a} {^blossom} Honey, {=net_weight}"],
        &[
            sold(
                "net_weight",
                100,
                &[(500.0, "g"), (250.0, "g"), (0.5, "kg"), (12.0, "oz")],
            ),
            one(
                "blossom",
                100,
                &[
                    "Linden", "Acacia", "Heather", "Forest", "Rapeseed", "Chestnut",
                ],
            ),
            one(
                "origin_region",
                95,
                &[
                    "Brandenburg",
                    "Transylvania",
                    "Provence",
                    "Wales",
                    "Galicia",
                ],
            ),
            one("texture", 90, &["Creamy", "Liquid"]),
            measure("energy", 95, [1340, 1400, 10], "kJ", &["kcal"]),
            fine("sugar", 95, [760, 820, 10], "g", &[]),
            yes("vegan", 100, 0),
            yes("gluten_free", 100, 100),
        ],
        &[
            "{^texture} {blossom} honey from {=origin_region}.",
            "Honey from bees that were left enough for the winter.",
        ],
    ),
    food(
        ["Food", "Sweets & snacks", "Chocolate"],
        52,
        "chocolate",
        (2, 14),
        &[
            "{=brand} {=a} {=chocolate_type} Chocolate, {=cocoa_content}",
            "{=brand} {=a} {=chocolate_type} Chocolate with {^inclusion}",
        ],
        &[
            one("chocolate_type", 100, &["Dark", "Dark"]),
            measure("cocoa_content", 100, [58, 90, 2], "%", &[]),
            one(
                "inclusion",
                55,
                &[
                    "Sea salt",
                    "Orange peel",
                    "Raspberry",
                    "Cocoa nibs",
                    "Ginger",
                ],
            ),
            sold(
                "net_weight",
                100,
                &[(100.0, "g"), (70.0, "g"), (3.5, "oz"), (0.2, "kg")],
            ),
            one(
                "origin_region",
                90,
                &["Ecuador", "Madagascar", "Ghana", "Peru", "São Tomé"],
            ),
            measure("energy", 95, [2260, 2480, 20], "kJ", &["kcal"]),
            SWEET[0],
            SWEET[1],
            SWEET[2],
            FAIR,
            yes("vegan", 100, 100),
        ],
        &[
            "Dark chocolate with {cocoa_content} cocoa from {=origin_region}.",
            "{^inclusion} and dark chocolate: {net_weight} that rarely see a second evening.",
        ],
    ),
    food(
        ["Food", "Sweets & snacks", "Milk chocolate & pralines"],
        24,
        "chocolate",
        (2, 24),
        &[
            "{=brand} {=a} Milk Chocolate with {^inclusion}",
            "{=brand} {=a} {^inclusion} Pralines, {=net_weight}",
        ],
        &[
            one("chocolate_type", 100, &["Milk"]),
            measure("cocoa_content", 100, [32, 46, 2], "%", &[]),
            one(
                "inclusion",
                100,
                &["Hazelnut", "Caramel", "Almond", "Nougat", "Cherry"],
            ),
            sold(
                "net_weight",
                100,
                &[(100.0, "g"), (180.0, "g"), (6.3, "oz"), (0.25, "kg")],
            ),
            one("origin_region", 80, &["Ghana", "Ecuador", "Ivory Coast"]),
            measure("energy", 95, [2240, 2420, 20], "kJ", &["kcal"]),
            SWEET[0],
            SWEET[1],
            SWEET[2],
            FAIR,
            yes("vegan", 100, 0),
        ],
        &[
            "Milk chocolate with {inclusion}, {cocoa_content} cocoa.",
            "{net_weight} of {inclusion} and good milk.",
        ],
    ),
    food(
        ["Food", "Sweets & snacks", "Biscuits"],
        28,
        "biscuits",
        (2, 9),
        &["{=brand} {=a} {^biscuit_flavour} Biscuits, {=net_weight}"],
        &[
            one(
                "biscuit_flavour",
                100,
                &["Butter", "Oat", "Ginger", "Lemon", "Almond", "Cinnamon"],
            ),
            sold(
                "net_weight",
                100,
                &[(200.0, "g"), (150.0, "g"), (7.0, "oz"), (0.3, "kg")],
            ),
            whole("pieces", 70, [8, 30, 2]),
            yes("gluten_free", 100, 0),
            measure("energy", 95, [1840, 2120, 20], "kJ", &["kcal"]),
            fine("fat", 90, [160, 260, 10], "g", &["", "mg"]),
            fine("sugar", 90, [180, 320, 10], "g", &[]),
            GRAIN[2],
            yes("vegan", 100, 0),
        ],
        &[
            "{^biscuit_flavour} biscuits, baked until the edges turn brown.",
            "A tin of {biscuit_flavour} biscuits for visitors, or instead of them.",
        ],
    ),
    food(
        ["Food", "Sweets & snacks", "Nuts & dried fruit"],
        30,
        "nuts",
        (3, 16),
        &["{=brand} {=a} {^seasoning} {^nut_type}, {=net_weight}"],
        &[
            one(
                "nut_type",
                100,
                &["Almonds", "Cashews", "Walnuts", "Hazelnuts", "Pecans"],
            ),
            one(
                "seasoning",
                100,
                &["Roasted", "Salted", "Smoked", "Plain", "Chilli"],
            ),
            one("spiciness", 50, &["Mild", "Medium", "Hot"]),
            sold(
                "net_weight",
                100,
                &[
                    (150.0, "g"),
                    (500.0, "g"),
                    (5.3, "oz"),
                    (1.0, "kg"),
                    (0.2, "kg"),
                ],
            ),
            one(
                "origin_region",
                80,
                &["Sicily", "California", "Anatolia", "Périgord", "Kerala"],
            ),
            measure("energy", 95, [2380, 2760, 20], "kJ", &["kcal"]),
            RICH[0],
            RICH[1],
            RICH[2],
            tenths("salt_level", 40, [0, 18, 1]),
            VEGAN,
        ],
        &[
            "{seasoning!Plain}{^nut_type} from {=origin_region}, {seasoning} in small batches.",
            "{net_weight} of {nut_type}, for the desk drawer.",
        ],
    ),
    food(
        ["Food", "Pantry", "Breakfast cereals"],
        20,
        "muesli",
        (2, 9),
        &[
            "{=brand} {=a} {^cereal_flavour} Muesli, {=net_weight}",
            "{=brand} {=a} {^cereal_flavour} Granola, {=net_weight}",
        ],
        &[
            one(
                "cereal_flavour",
                100,
                &["Berry", "Nut", "Apple cinnamon", "Chocolate", "Plain oat"],
            ),
            sold(
                "net_weight",
                100,
                &[(500.0, "g"), (750.0, "g"), (1.0, "kg"), (17.6, "oz")],
            ),
            yes("gluten_free", 100, 0),
            measure("serving_size", 80, [40, 60, 5], "g", &["oz"]),
            fine("fibre", 90, [60, 120, 5], "g", &[]),
            ENERGY_OF_OATS,
            GRAIN[0],
            GRAIN[1],
            GRAIN[2],
            VEGAN,
        ],
        &[
            "{^cereal_flavour} muesli of whole oats, {serving_size} a bowl.",
            "Oats first, everything else second.",
        ],
    ),
];
const ENERGY_OF_OATS: Attr = measure("energy", 95, [1480, 1760, 20], "kJ", &["kcal"]);

/// What is in it, by the thing people call it: the list, and its allergens.
pub(crate) const INGREDIENTS: &[(&str, &str, &[&str])] = &[
    ("coffee", "{bean_variety} coffee, roasted.", &[]),
    ("tea", "{tea_type} tea.", &[]),
    (
        "juice",
        "{fruit} juice ({fruit_content}), water, lemon juice.",
        &[],
    ),
    (
        "beer",
        "{-vegan}Water, barley malt, hops ({=hops}), yeast, isinglass.",
        &["Barley", "Fish"],
    ),
    (
        "beer",
        "Water, barley malt, hops ({=hops}), yeast.",
        &["Barley"],
    ),
    ("beer", "Water, barley malt, hops, yeast.", &["Barley"]),
    ("pasta", "{flour} semolina, water.", &["Gluten"]),
    (
        "olive oil",
        "Extra virgin olive oil ({=olive_variety}).",
        &[],
    ),
    ("honey", "{blossom} honey.", &[]),
    (
        "chocolate",
        "{chocolate_type=Milk}Cane sugar, cocoa butter, whole milk powder, {inclusion}, cocoa mass, emulsifier: lecithins. Cocoa: {cocoa_content} minimum.",
        &["Milk", "Nuts", "Soya"],
    ),
    (
        "chocolate",
        "Cocoa mass, cane sugar, {inclusion}, cocoa butter. Cocoa: {cocoa_content} minimum.",
        &[],
    ),
    (
        "chocolate",
        "Cocoa mass, cane sugar, cocoa butter. Cocoa: {cocoa_content} minimum.",
        &[],
    ),
    (
        "biscuits",
        "{biscuit_flavour=Almond}Wheat flour, butter, sugar, almonds (12%), eggs, sea salt.",
        &["Gluten", "Milk", "Eggs", "Nuts"],
    ),
    (
        "biscuits",
        "{biscuit_flavour=Butter}Wheat flour, butter (22%), sugar, eggs, sea salt.",
        &["Gluten", "Milk", "Eggs"],
    ),
    (
        "biscuits",
        "Wheat flour, butter, sugar, eggs, {biscuit_flavour} (4%), sea salt.",
        &["Gluten", "Milk", "Eggs"],
    ),
    ("nuts", "{seasoning=Plain}{nut_type}.", &["Nuts"]),
    (
        "nuts",
        "{nut_type}, sunflower oil, sea salt, spices.",
        &["Nuts"],
    ),
    (
        "muesli",
        "{cereal_flavour=Nut}Whole oat flakes, hazelnuts, almonds, barley malt extract, sunflower oil.",
        &["Gluten", "Nuts"],
    ),
    (
        "muesli",
        "Whole oat flakes, spelt flakes, dried fruit, barley malt extract, sunflower oil.",
        &["Gluten"],
    ),
];
