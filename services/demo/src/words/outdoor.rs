//! Drones, camping, cycling.

use super::lines::{LINES, MODELS, NOTHING, SERIES};
use super::opinions;
use crate::facts::{Attr, fine, measure, one, several, sold, whole, yes};
use crate::leaf::{Family, Leaf};

const DRONES: Family = Family {
    kind: "drone",
    brands: &["Skarve", "Libella", "Windwerk", "Apus", "Norrsken Air"],
    words: [SERIES, MODELS],
    facts: &[
        one("color", 90, &["Grey", "White", "Black", "Orange"]),
        measure("flight_time", 100, [8, 46, 2], "min", &[]),
        measure("max_speed", 95, [30, 140, 5], "km/h", &["mph", "m/s"]),
        measure("control_range", 95, [100, 9000, 100], "m", &["ft", "km"]),
        measure("battery_capacity", 90, [600, 5000, 100], "mAh", &["", "Ah"]),
        measure("charging_time", 80, [35, 120, 5], "min", &["h"]),
        measure("wind_resistance", 85, [20, 45, 5], "km/h", &["mph", "m/s"]),
        whole("rotors", 90, [4, 6, 2]),
        one("drone_class", 95, &["C0", "C1", "C2"]),
        yes("return_to_home", 95, 75),
        yes("foldable", 90, 65),
        yes("remote_id", 80, 80),
        one(
            "safety_notice",
            6,
            &[
                "Flying is subject to rules that differ from country to country: register as an operator, fix your number to the frame, stay in sight of the drone, below 120 metres and away from people, airports and nature reserves. Check the propellers for cracks before every flight and stop when the battery shows a quarter.",
            ],
        ),
    ],
    about: &[
        &[
            "{flight_time} in the air, then {charging_time} at the plug.",
            "Flies at up to {max_speed} and stands still in wind of {wind_resistance}.",
            "Class {=drone_class}; steered from up to {control_range}.",
        ],
        &[
            "{+return_to_home}When the signal goes, it comes home.",
            "{+foldable}Folds to the size of a water bottle.",
            "Spare rotors are included, because you will need them.",
        ],
    ],
    voice: &opinions::DRONES,
};
const TAKEOFF: Attr = measure("takeoff_weight", 100, [249, 1200, 50], "g", &["oz", "kg"]);

const CAMPING: Family = Family {
    kind: "camping_gear",
    brands: &[
        "Fellmark",
        "Igelhaus",
        "Windbreak",
        "Tarnsjö",
        "Loden & Lark",
    ],
    words: [LINES, NOTHING],
    facts: &[
        several("color", 90, 2, &["Olive", "Sand", "Orange", "Blue", "Grey"]),
        one("season_rating", 85, &["3 seasons", "Summer", "4 seasons"]),
        one(
            "country_of_origin",
            60,
            &["Vietnam", "China", "Sweden", "Czechia"],
        ),
        yes("repair_kit", 60, 55),
    ],
    about: &[
        &[
            "Made for {season_rating}.",
            "{+repair_kit}A repair kit is sewn into the bag.",
            "In {color}, so that it can be found again.",
        ],
        &[
            "Tested on a wet hill in October.",
            "Packs small and forgives haste.",
        ],
    ],
    voice: &opinions::CAMPING,
};

const BIKES: Family = Family {
    kind: "bicycle",
    brands: &[
        "Radomir",
        "Velo Wichtel",
        "Pedersholm",
        "Tandrup",
        "Cinder & Chain",
    ],
    words: [LINES, NOTHING],
    facts: &[
        several(
            "color",
            100,
            2,
            &["Black", "Green", "Cream", "Blue", "Red", "Grey"],
        ),
        one(
            "frame_material",
            100,
            &["Aluminium", "Steel", "Carbon", "Titanium"],
        ),
        measure("frame_size", 100, [46, 62, 2], "cm", &["in"]),
        sold(
            "wheel_size",
            95,
            &[(28.0, "in"), (700.0, "mm"), (27.5, "in"), (26.0, "in")],
        ),
        measure("tire_width", 90, [25, 55, 5], "mm", &["in"]),
        one(
            "brake_type",
            95,
            &["Disc, hydraulic", "Disc, mechanical", "Rim"],
        ),
        one(
            "gear_system",
            90,
            &["Derailleur", "Hub gears", "Single speed"],
        ),
        whole("gears", 90, [1, 24, 1]),
        fine("weight", 95, [78, 260, 4], "kg", &["lb"]),
        measure("max_load", 85, [110, 180, 10], "kg", &["lb"]),
        yes("lights_included", 80, 60),
        yes("mudguards", 80, 55),
        whole("model_year", 70, [2022, 2026, 1]),
    ],
    about: &[
        &[
            "{An} {frame_material} frame, brakes: {brake_type}, and a weight of {weight}.",
            "The frame is {frame_material}; the wheels measure {wheel_size}.",
            "Carries {max_load}, luggage included.",
        ],
        &[
            "{+lights_included}Lights are on it and run from the hub.",
            "{+mudguards}With mudguards, because weather exists.",
            "Sent nine-tenths assembled, with the tool for the last tenth.",
        ],
    ],
    voice: &opinions::BIKES,
};

/// The leaves of this file.
pub(crate) const LEAVES: &[Leaf] = &[
    Leaf {
        family: &DRONES,
        path: ["Outdoor", "Drones", "Camera drones"],
        weight: 34,
        thing: "drone",
        plural: false,
        prices: (199, 2200),
        names: &[
            "{=brand} {=a} {=b} Camera Drone",
            "{=brand} {=a} {=b} {=video_resolution} Drone",
        ],
        facts: &[
            measure("sensor_resolution", 100, [12, 48, 4], "MP", &[]),
            one("video_resolution", 100, &["4K", "5.3K", "Full HD"]),
            one("drone_class", 100, &["C1", "C2"]),
            whole("gimbal_axes", 100, [2, 3, 1]),
            whole("obstacle_sensors", 85, [0, 6, 2]),
            TAKEOFF,
            measure("max_altitude", 70, [120, 500, 20], "m", &["ft"]),
            sold(
                "internal_storage",
                70,
                &[(8.0, "GB"), (32.0, "GB"), (4096.0, "MB")],
            ),
        ],
        about: &[
            "A camera drone with {sensor_resolution} and a gimbal of {gimbal_axes} axes.",
            "{takeoff_weight} of drone that films in {=video_resolution}.",
        ],
    },
    Leaf {
        family: &DRONES,
        path: ["Outdoor", "Drones", "Racing drones"],
        weight: 16,
        thing: "drone",
        plural: false,
        prices: (129, 690),
        names: &["{=brand} {=a} {=b} Racing Drone"],
        facts: &[
            measure("max_speed", 100, [90, 180, 5], "km/h", &["mph", "m/s"]),
            one("drone_class", 100, &["C1", "C2"]),
            measure("flight_time", 100, [4, 12, 1], "min", &[]),
            TAKEOFF,
            measure("propeller_size", 95, [3, 7, 1], "in", &["", "cm"]),
            one("video_transmission", 90, &["Analogue", "Digital"]),
            measure("video_latency", 80, [12, 45, 3], "ms", &[]),
        ],
        about: &[
            "{max_speed}, {flight_time} and very little patience.",
            "A racing drone with {video_transmission} transmission.",
        ],
    },
    Leaf {
        family: &DRONES,
        path: ["Outdoor", "Drones", "Mini drones"],
        weight: 18,
        thing: "drone",
        plural: false,
        prices: (29, 149),
        names: &["{=brand} {=a} {=b} Mini Drone"],
        facts: &[
            measure("takeoff_weight", 100, [35, 245, 10], "g", &["oz"]),
            measure("control_range", 100, [30, 200, 10], "m", &["ft"]),
            measure("max_speed", 100, [12, 36, 2], "km/h", &["mph", "m/s"]),
            one("drone_class", 100, &["C0"]),
            yes("indoor_use", 95, 85),
            measure("reading_age", 80, [8, 14, 1], "yr", &[]),
            yes("return_to_home", 100, 10),
        ],
        about: &[
            "{takeoff_weight} of fun for the living room.",
            "A small drone to crash with, so that the large one lives longer.",
        ],
    },
    Leaf {
        family: &CAMPING,
        path: ["Outdoor", "Camping", "Tents"],
        weight: 24,
        thing: "tent",
        plural: false,
        prices: (89, 890),
        names: &[
            "{=brand} {=a} {persons}-Person Tent",
            "{=brand} {=a} {=tent_type} Tent",
        ],
        facts: &[
            whole("persons", 100, [2, 6, 1]),
            one("tent_type", 100, &["Dome", "Tunnel", "Geodesic"]),
            measure(
                "water_column",
                95,
                [2000, 8000, 500],
                "mmH2O",
                &["psi", "kPa"],
            ),
            fine("packed_weight", 95, [14, 90, 2], "kg", &["lb", "g"]),
            measure("packed_length", 80, [38, 70, 2], "cm", &["in"]),
            fine("floor_area", 85, [26, 110, 2], "m²", &["ft²"]),
            one("pole_material", 90, &["Aluminium", "Fibreglass"]),
            measure("setup_time", 70, [4, 20, 1], "min", &[]),
            yes("freestanding", 85, 65),
        ],
        about: &[
            "{An} {tent_type} tent for {persons}, {packed_weight} in the bag.",
            "Up in {setup_time}, dry up to {=water_column}.",
        ],
    },
    Leaf {
        family: &CAMPING,
        path: ["Outdoor", "Camping", "Sleeping bags"],
        weight: 22,
        thing: "sleeping bag",
        plural: false,
        prices: (49, 520),
        names: &[
            "{=brand} {=a} {^filling} Sleeping Bag",
            "{=brand} {=a} Sleeping Bag, {=comfort_temperature}",
        ],
        facts: &[
            one(
                "filling",
                100,
                &["Synthetic", "Duck down", "Goose down", "Wool"],
            ),
            measure("comfort_temperature", 100, [-14, 14, 2], "°C", &["°F"]),
            measure("packed_weight", 95, [600, 1900, 50], "g", &["lb", "kg"]),
            measure("length", 90, [180, 220, 5], "cm", &["in"]),
            one("zip_side", 85, &["Left", "Right"]),
            yes("hood", 85, 80),
        ],
        about: &[
            "Comfortable down to {comfort_temperature}, filled with {filling}.",
            "{packed_weight} of warmth.",
        ],
    },
    Leaf {
        family: &CAMPING,
        path: ["Outdoor", "Camping", "Stoves"],
        weight: 16,
        thing: "stove",
        plural: false,
        prices: (19, 240),
        names: &["{=brand} {=a} Camping Stove", "{=brand} {=a} {^fuel} Stove"],
        facts: &[
            one("fuel", 100, &["Gas", "Spirit", "Multi-fuel", "Wood"]),
            measure("heat_output", 90, [1200, 4200, 200], "W", &["", "kW"]),
            measure("boil_time", 90, [150, 420, 15], "s", &["", "min"]),
            measure("packed_weight", 95, [80, 900, 20], "g", &["oz", "kg"]),
            whole("burners", 90, [1, 2, 1]),
            yes("piezo_ignition", 80, 50),
        ],
        about: &[
            "Boils a litre in {boil_time} on {fuel}.",
            "{packed_weight} that stand between you and cold beans.",
        ],
    },
    Leaf {
        family: &BIKES,
        path: ["Outdoor", "Cycling", "City bikes"],
        weight: 24,
        thing: "bike",
        plural: false,
        prices: (349, 1490),
        names: &[
            "{=brand} {=a} City Bike",
            "{=brand} {=a} {^frame_material} City Bike",
        ],
        facts: &[
            one("frame_material", 100, &["Aluminium", "Steel"]),
            one("frame_shape", 95, &["Diamond", "Step-through"]),
            yes("luggage_rack", 95, 80),
        ],
        about: &[
            "{An} {frame_shape} frame for baskets, school runs and Sundays.",
            "A city bike that starts every morning.",
        ],
    },
    Leaf {
        family: &BIKES,
        path: ["Outdoor", "Cycling", "E-bikes"],
        weight: 26,
        thing: "e-bike",
        plural: false,
        prices: (1490, 5200),
        names: &[
            "{=brand} {=a} E-Bike",
            "{=brand} {=a} {=frame_shape} E-Bike",
        ],
        facts: &[
            one("frame_shape", 100, &["Step-through", "Diamond"]),
            one("frame_material", 100, &["Aluminium"]),
            measure("motor_power", 100, [250, 250, 10], "W", &["hp", "kW"]),
            measure("battery_energy", 100, [400, 900, 25], "Wh", &["", "kWh"]),
            measure("assisted_range", 95, [50, 160, 5], "km", &[]),
            measure("charging_time", 85, [150, 420, 15], "min", &["h"]),
            yes("removable_battery", 95, 85),
            fine("weight", 100, [176, 290, 4], "kg", &["lb"]),
            measure("max_speed", 90, [25, 25, 1], "km/h", &["mph"]),
        ],
        about: &[
            "{battery_energy} for up to {assisted_range} with help.",
            "{+removable_battery}The battery comes off and charges on the fourth floor.",
        ],
    },
    Leaf {
        family: &BIKES,
        path: ["Outdoor", "Cycling", "Road bikes"],
        weight: 16,
        thing: "road bike",
        plural: false,
        prices: (790, 4900),
        names: &["{=brand} {=a} {^frame_material} Road Bike"],
        facts: &[
            one(
                "frame_material",
                100,
                &["Carbon", "Aluminium", "Steel", "Titanium"],
            ),
            fine("weight", 100, [72, 104, 2], "kg", &["lb"]),
            whole("gears", 100, [20, 24, 2]),
            one("gear_system", 100, &["Derailleur"]),
            measure("tire_width", 100, [25, 32, 1], "mm", &[]),
            one("geometry", 90, &["Endurance", "Race"]),
            yes("lights_included", 100, 0),
            yes("mudguards", 100, 0),
        ],
        about: &[
            "{An} {frame_material} bike of {weight} with {geometry} geometry.",
            "For the long way round.",
        ],
    },
];
