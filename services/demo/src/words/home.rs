//! Furniture, plants, instruments.

use super::lines::{LINES, MODELS, NOTHING, SERIES};
use super::opinions;
use crate::facts::{Attr, fine, measure, one, several, whole, yes};
use crate::leaf::{Family, Leaf};

const WOODS: &[&str] = &["Oak", "Beech", "Ash", "Walnut", "Pine", "Birch plywood"];
const FURNITURE: Family = Family {
    kind: "furniture",
    brands: &[
        "Nordal",
        "Holzapfel",
        "Vinter & Vik",
        "Casa Bruma",
        "Plankton Studio",
        "Tischwerk",
    ],
    words: [LINES, NOTHING],
    facts: &[
        several(
            "color",
            90,
            2,
            &[
                "Natural",
                "White",
                "Black",
                "Grey",
                "Sage green",
                "Ochre",
                "Blue",
            ],
        ),
        one(
            "country_of_origin",
            75,
            &["Poland", "Lithuania", "Germany", "Romania", "Denmark"],
        ),
        yes("assembly_required", 95, 75),
        measure("assembly_time", 55, [15, 150, 15], "min", &["", "h"]),
        yes("certified_wood", 60, 75),
        fine("weight", 90, [60, 780, 20], "kg", &["lb"]),
        one(
            "style",
            70,
            &[
                "Scandinavian",
                "Plain",
                "Mid-century",
                "Farmhouse",
                "Industrial",
            ],
        ),
        one(
            "delivery_note",
            8,
            &[
                "Delivered in two parcels to the first lockable door; carrying it to your flat can be booked with the order.",
            ],
        ),
    ],
    about: &[
        &[
            "{+assembly_required}Put together in {assembly_time}.",
            "In {color}, made in {=country_of_origin}.",
            "{-assembly_required}It comes in one piece.",
            "{+certified_wood}The wood comes from forests that are looked after.",
        ],
        &[
            "Screws, felt pads and the right key are in the box.",
            "Weighs {weight}, so ask a friend.",
            "Scratches can be sanded and oiled away.",
        ],
    ],
    voice: &opinions::FURNITURE,
};
const BOX: [Attr; 3] = [
    measure("width", 100, [60, 220, 10], "cm", &["in", "mm"]),
    measure("depth", 100, [30, 100, 5], "cm", &["in", "mm"]),
    measure("height", 100, [40, 210, 5], "cm", &["in", "mm"]),
];
const LOAD: Attr = measure("max_load", 75, [40, 180, 10], "kg", &["lb"]);

const PLANTS: Family = Family {
    kind: "plant",
    brands: &[
        "Gärtnerei Moosbach",
        "Fernworks",
        "Greenhouse Nine",
        "Wurzelhof",
    ],
    words: [
        &[
            "Moss Garden",
            "Green Lantern",
            "Quiet Rain",
            "Paper Moon",
            "Velvet",
            "Little Prince",
            "Silver Lining",
            "Night Swim",
            "Lemon Tart",
            "Marble",
            "Tiger Eye",
            "Tea Party",
            "First Frost",
            "Old Rose",
            "Firefly",
            "Blue Hour",
            "Sunday Best",
            "Calico",
        ],
        NOTHING,
    ],
    facts: &[
        measure("plant_height", 95, [10, 160, 10], "cm", &["in", "m"]),
        measure("pot_diameter", 90, [7, 30, 1], "cm", &["in"]),
        one("light_needs", 100, &["Half shade", "Full sun", "Shade"]),
        one("watering", 100, &["Weekly", "Twice a week", "Sparingly"]),
        yes("pet_safe", 90, 45),
        measure("hardiness_temperature", 70, [-20, 12, 2], "°C", &["°F"]),
        one("soil", 60, &["Loose, peat-free", "Sandy", "Rich in humus"]),
        one(
            "growth_habit",
            70,
            &["Upright", "Climbing", "Trailing", "Bushy"],
        ),
        yes("air_humidity_sensitive", 40, 40),
    ],
    about: &[
        &[
            "Wants {light_needs} and water {watering}.",
            "Arrives {plant_height} tall in a pot of {pot_diameter}.",
            "{+pet_safe}Safe for cats, who will try anyway.",
            "{-pet_safe}{?pet_safe}Keep it away from cats and toddlers.",
        ],
        &[
            "Soil: {soil}.",
            "Grows {growth_habit} and forgives a holiday.",
            "Bears down to {hardiness_temperature}.",
        ],
    ],
    voice: &opinions::PLANTS,
};

const INSTRUMENTS: Family = Family {
    kind: "instrument",
    brands: &[
        "Saitenreich",
        "Dovecote",
        "Lumbre",
        "Orphea",
        "Hollow Oak",
        "Kettledrum & Co",
    ],
    words: [SERIES, MODELS],
    facts: &[
        several(
            "color",
            85,
            2,
            &["Natural", "Sunburst", "Black", "White", "Cherry"],
        ),
        one("finish", 80, &["Satin", "Gloss", "Open pore", "Aged"]),
        one(
            "country_of_origin",
            75,
            &["Indonesia", "Spain", "Czechia", "China", "Germany", "Japan"],
        ),
        yes("bag_included", 80, 55),
        one(
            "player_level",
            85,
            &["Beginner", "Intermediate", "Advanced"],
        ),
        fine("weight", 85, [12, 240, 4], "kg", &["lb", "g"]),
        one("handedness", 60, &["Right", "Left", "Both"]),
    ],
    about: &[
        &[
            "{An} instrument for players of {player_level} level, with {an} {finish} finish.",
            "{+bag_included}A padded bag is included.",
            "Built in {=country_of_origin} and set up before it is sent.",
        ],
        &[
            "Weighs {weight}.",
            "In {color}.",
            "It gets better with every year that it is played.",
        ],
    ],
    voice: &opinions::INSTRUMENTS,
};

const fn furniture(
    path: [&'static str; 3],
    weight: u32,
    thing: &'static str,
    prices: (i64, i64),
    names: &'static [&'static str],
    facts: &'static [Attr],
    about: &'static [&'static str],
) -> Leaf {
    Leaf {
        family: &FURNITURE,
        path,
        weight,
        thing,
        plural: false,
        prices,
        names,
        facts,
        about,
    }
}

/// The leaves of this file.
pub(crate) const LEAVES: &[Leaf] = &[
    furniture(
        ["Furniture", "Living room", "Sofas"],
        30,
        "sofa",
        (349, 2600),
        &[
            "{=brand} {=a} {seats}-Seat Sofa",
            "{=brand} {=a} {seats}-Seat {^upholstery} Sofa",
        ],
        &[
            whole("seats", 100, [2, 4, 1]),
            one(
                "upholstery",
                100,
                &["Linen", "Wool", "Velvet", "Leather", "Corduroy"],
            ),
            measure("width", 100, [150, 260, 10], "cm", &["in", "mm"]),
            measure("depth", 100, [82, 110, 4], "cm", &["in", "mm"]),
            measure("seat_height", 90, [40, 48, 1], "cm", &["in"]),
            measure("seat_depth", 85, [50, 68, 2], "cm", &["in"]),
            one("frame_material", 85, &["Pine", "Beech", "Steel"]),
            whole("abrasion_cycles", 60, [15000, 60000, 5000]),
            yes("removable_cover", 85, 55),
            yes("sofa_bed", 80, 25),
        ],
        &[
            "A sofa for {seats}, {width} wide, covered in {upholstery}.",
            "{+sofa_bed}A sofa by day and a guest room by night.",
        ],
    ),
    furniture(
        ["Furniture", "Living room", "Shelves"],
        28,
        "shelf",
        (49, 690),
        &["{=brand} {=a} {^wood_type} Shelf", "{=brand} {=a} Bookcase"],
        &[
            one("wood_type", 100, WOODS),
            whole("shelves", 100, [2, 7, 1]),
            yes("adjustable_shelves", 80, 60),
            BOX[0],
            measure("depth", 100, [22, 40, 2], "cm", &["in", "mm"]),
            BOX[2],
            LOAD,
            yes("wall_mounted", 85, 35),
        ],
        &[
            "{shelves} shelves of {wood_type}.",
            "Holds {max_load} of books, or one collection of stones.",
        ],
    ),
    furniture(
        ["Furniture", "Dining", "Tables"],
        26,
        "table",
        (129, 1800),
        &[
            "{=brand} {=a} {^wood_type} Table",
            "{=brand} {=a} {^table_shape} Table",
        ],
        &[
            one("wood_type", 100, WOODS),
            one("table_shape", 100, &["Rectangular", "Oval", "Boat-shaped"]),
            BOX[0],
            measure("depth", 100, [70, 110, 5], "cm", &["in", "mm"]),
            measure("height", 100, [73, 77, 1], "cm", &["in", "mm"]),
            whole("seats", 90, [4, 10, 2]),
            yes("extendable", 90, 40),
            one("surface_treatment", 80, &["Oiled", "Lacquered", "Soaped"]),
        ],
        &[
            "{An} {table_shape} table of {wood_type} for {seats}.",
            "{+extendable}A table that grows when the family comes.",
        ],
    ),
    furniture(
        ["Furniture", "Study", "Office chairs"],
        26,
        "chair",
        (89, 890),
        &[
            "{=brand} {=a} Office Chair",
            "{=brand} {=a} {^upholstery} Office Chair",
        ],
        &[
            one(
                "upholstery",
                95,
                &["Mesh", "Wool", "Recycled polyester", "Leather"],
            ),
            measure("seat_height_min", 95, [38, 46, 1], "cm", &["in"]),
            measure("seat_height_max", 95, [50, 58, 1], "cm", &["in"]),
            yes("lumbar_support", 95, 75),
            one("armrests", 90, &["Adjustable", "Fixed", "None"]),
            measure("max_load", 95, [100, 160, 10], "kg", &["lb"]),
            one(
                "castors",
                85,
                &["Soft, for hard floors", "Hard, for carpets"],
            ),
            measure("tilt_angle", 60, [12, 30, 2], "°", &[]),
        ],
        &[
            "A chair that goes from {seat_height_min} to {seat_height_max}.",
            "{+lumbar_support}A chair with an adjustable back that reminds you to sit up.",
        ],
    ),
    furniture(
        ["Furniture", "Study", "Desks"],
        22,
        "desk",
        (119, 990),
        &[
            "{=brand} {=a} Desk, {=width}",
            "{=brand} {=a} {^wood_type} Desk",
        ],
        &[
            one("wood_type", 100, WOODS),
            measure("width", 100, [100, 180, 10], "cm", &["in", "mm"]),
            measure("depth", 100, [55, 80, 5], "cm", &["in", "mm"]),
            yes("height_adjustable", 95, 50),
            whole("drawers", 80, [0, 4, 1]),
            LOAD,
            yes("cable_tray", 80, 65),
            measure("lifting_speed", 30, [20, 40, 5], "mm", &[]),
        ],
        &[
            "{width} of {wood_type} to spread out on.",
            "{+height_adjustable}Sit in the morning, stand after lunch.",
        ],
    ),
    furniture(
        ["Furniture", "Bedroom", "Beds"],
        24,
        "bed",
        (199, 1900),
        &[
            "{=brand} {=a} Bed, {=mattress_size}",
            "{=brand} {=a} {^wood_type} Bed, {=mattress_size}",
        ],
        &[
            one("wood_type", 100, WOODS),
            one(
                "mattress_size",
                100,
                &["160 × 200", "140 × 200", "180 × 200", "90 × 200"],
            ),
            measure("bed_height", 90, [25, 50, 5], "cm", &["in"]),
            one("headboard", 90, &["Slatted", "Upholstered", "None"]),
            yes("slats_included", 95, 60),
            yes("storage_space", 80, 30),
            measure("max_load", 80, [150, 320, 10], "kg", &["lb"]),
        ],
        &[
            "A bed of {wood_type} for mattresses of {=mattress_size}.",
            "It does not creak, which we tested in the only honest way.",
        ],
    ),
    Leaf {
        family: &PLANTS,
        path: ["Garden", "Houseplants", "Foliage plants"],
        weight: 40,
        thing: "plant",
        plural: false,
        prices: (6, 89),
        names: &[
            "Monstera ‘{=a}’",
            "Philodendron ‘{=a}’",
            "Calathea ‘{=a}’",
            "Rubber Fig ‘{=a}’",
            "Peace Lily ‘{=a}’",
        ],
        facts: &[
            several(
                "foliage_color",
                95,
                2,
                &["Dark green", "Variegated", "Silver", "Red veins"],
            ),
            yes("air_purifying", 60, 40),
            one(
                "plant_location",
                90,
                &["Living room", "Bathroom", "Bedroom", "Hall"],
            ),
        ],
        about: &[
            "A foliage plant in {foliage_color} for the {plant_location}.",
            "Leaves first: {foliage_color}, and more of them every spring.",
        ],
    },
    Leaf {
        family: &PLANTS,
        path: ["Garden", "Houseplants", "Succulents"],
        weight: 22,
        thing: "plant",
        plural: false,
        prices: (3, 35),
        names: &[
            "Echeveria ‘{=a}’",
            "Haworthia ‘{=a}’",
            "Aloe ‘{=a}’",
            "Jade Plant ‘{=a}’",
        ],
        facts: &[
            one("watering", 100, &["Sparingly"]),
            one("light_needs", 100, &["Full sun"]),
            several(
                "foliage_color",
                90,
                2,
                &["Blue green", "Red edged", "Striped"],
            ),
            yes("grafted", 30, 20),
        ],
        about: &[
            "A succulent that likes to be forgotten.",
            "{^foliage_color}, {plant_height} and content with a window sill.",
        ],
    },
    Leaf {
        family: &PLANTS,
        path: ["Garden", "Outdoor plants", "Perennials"],
        weight: 30,
        thing: "plant",
        plural: false,
        prices: (4, 24),
        names: &[
            "Cranesbill ‘{=a}’",
            "Sage ‘{=a}’",
            "Coneflower ‘{=a}’",
            "Peony ‘{=a}’",
            "Astilbe ‘{=a}’",
        ],
        facts: &[
            several(
                "flower_color",
                100,
                2,
                &["Purple", "Pink", "White", "Yellow", "Deep red"],
            ),
            several(
                "flowering_months",
                100,
                3,
                &["June", "July", "May", "August", "September"],
            ),
            yes("bee_friendly", 95, 80),
            measure("planting_distance", 80, [25, 60, 5], "cm", &["in"]),
            yes("fragrant", 70, 40),
        ],
        about: &[
            "Flowers in {flower_color} from {=flowering_months}.",
            "{+bee_friendly}Bees will find it before you have put the spade away.",
        ],
    },
    Leaf {
        family: &INSTRUMENTS,
        path: ["Music", "Guitars", "Acoustic guitars"],
        weight: 28,
        thing: "guitar",
        plural: false,
        prices: (119, 1900),
        names: &[
            "{=brand} {=a} {=b} {=body_shape} Guitar",
            "{=brand} {=a} {=b} Acoustic Guitar",
        ],
        facts: &[
            one(
                "body_shape",
                100,
                &["Dreadnought", "Concert", "Parlour", "Classical"],
            ),
            one("top_wood", 100, &["Spruce", "Cedar", "Mahogany"]),
            one(
                "body_wood",
                95,
                &["Mahogany", "Sapele", "Rosewood", "Maple"],
            ),
            one("fretboard", 90, &["Walnut", "Richlite", "Ebony"]),
            whole("number_of_strings", 100, [6, 12, 6]),
            measure("scale_length", 90, [590, 660, 10], "mm", &["in", "cm"]),
            measure("nut_width", 85, [42, 52, 1], "mm", &["in"]),
            whole("frets", 85, [18, 22, 1]),
            yes("pickup_installed", 85, 40),
        ],
        about: &[
            "{An} {body_shape} guitar with {an} {top_wood} top over {body_wood}.",
            "A guitar for kitchens and campfires.",
        ],
    },
    Leaf {
        family: &INSTRUMENTS,
        path: ["Music", "Guitars", "Electric guitars"],
        weight: 22,
        thing: "guitar",
        plural: false,
        prices: (149, 1900),
        names: &["{=brand} {=a} {=b} Electric Guitar"],
        facts: &[
            one("body_wood", 95, &["Alder", "Ash", "Mahogany", "Basswood"]),
            one("pickups", 100, &["Single coil", "Humbucker", "Mixed"]),
            one("bridge", 85, &["Fixed", "Tremolo"]),
            whole("frets", 90, [21, 24, 1]),
            measure("scale_length", 90, [620, 660, 4], "mm", &["in"]),
            whole("number_of_strings", 100, [6, 7, 1]),
        ],
        about: &[
            "A body of {body_wood}, {frets} frets and pickups of the kind {pickups}.",
            "Loud when asked and articulate when not.",
        ],
    },
    Leaf {
        family: &INSTRUMENTS,
        path: ["Music", "Keys", "Digital pianos"],
        weight: 24,
        thing: "piano",
        plural: false,
        prices: (249, 2400),
        names: &[
            "{=brand} {=a} {=b} Digital Piano, {keys} Keys",
            "{=brand} {=a} {=b} Stage Piano",
        ],
        facts: &[
            whole("keys", 100, [61, 88, 27]),
            one(
                "key_action",
                95,
                &["Hammer action", "Semi-weighted", "Graded hammer"],
            ),
            whole("polyphony", 90, [64, 256, 64]),
            whole("sounds", 90, [8, 320, 8]),
            measure("output_power", 85, [8, 60, 4], "W", &[]),
            several(
                "connectivity",
                90,
                3,
                &["USB-C", "Bluetooth", "MIDI", "Headphones"],
            ),
            yes("metronome", 80, 90),
            measure("width", 90, [94, 140, 2], "cm", &["in", "mm"]),
        ],
        about: &[
            "{keys} keys with {key_action} and {polyphony} voices.",
            "A piano for people with neighbours.",
        ],
    },
    Leaf {
        family: &INSTRUMENTS,
        path: ["Music", "Percussion", "Drums"],
        weight: 18,
        thing: "drum",
        plural: false,
        prices: (59, 990),
        names: &[
            "{=brand} {=a} {=b} Snare Drum, {=drum_diameter}",
            "{=brand} {=a} {=b} {^shell_material} Drum",
        ],
        facts: &[
            measure("drum_diameter", 100, [20, 40, 2], "cm", &["in"]),
            measure("drum_depth", 90, [8, 30, 1], "cm", &["in"]),
            one("shell_material", 100, &["Maple", "Birch", "Steel", "Brass"]),
            whole("lugs", 80, [6, 10, 2]),
            one("drum_head", 80, &["Coated", "Clear", "Calfskin"]),
        ],
        about: &[
            "A drum with a shell of {shell_material}, {drum_diameter} across.",
            "{lugs} lugs, {an} {drum_head} head and a quick answer.",
        ],
    },
];
