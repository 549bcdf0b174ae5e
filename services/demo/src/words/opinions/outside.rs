//! On drones, camping gear, bicycles and sets.

use super::aspect;
use crate::leaf::{Tongue, Voice};

/// On drones.
pub(crate) const DRONES: Voice = Voice {
    aspects: &[
        aspect(
            &[
                "Stands in the air as if nailed there.",
                "Very easy to fly; my son had it after ten minutes.",
                "Calm even in gusts.",
                "{+return_to_home}Coming home by itself works to the metre.",
            ],
            &[
                "Drifts to the left.",
                "A little wind and it is off.",
                "{+return_to_home}It came home, but to the neighbour's.",
                "Lost contact at fifty metres.",
            ],
        ),
        aspect(
            &[
                "{flight_time} are realistic.",
                "With a second battery it is an afternoon.",
                "{?charging_time}{charging_time} at the plug, then on we go.",
            ],
            &[
                "{flight_time} on paper, two thirds of that in the air.",
                "The battery was swollen after {time}.",
            ],
        ),
        aspect(
            &[
                "{?video_resolution}The footage in {=video_resolution} is smooth as silk.",
                "{?gimbal_axes}The gimbal evens out everything.",
                "{?sensor_resolution}Photographs with {sensor_resolution} can be printed large.",
                "{?video_latency}No noticeable delay in the goggles.",
            ],
            &[
                "{?video_resolution}The picture wobbles like jelly.",
                "{?sensor_resolution}{sensor_resolution} do not help when the lens is soft.",
                "{?video_latency}The delay makes racing impossible.",
            ],
        ),
        aspect(
            &[
                "{+foldable}Folded it fits into a jacket.",
                "Survived three trees.",
                "Spare rotors are cheap.",
                "Quieter than I expected.",
            ],
            &[
                "An arm broke at the first landing.",
                "Sounds like a swarm of hornets.",
                "Spare parts are never in stock.",
            ],
        ),
        aspect(
            &[
                "The app is clear and stable.",
                "Registered and in the air within an hour.",
            ],
            &[
                "The app crashes before take-off.",
                "Wants an update before every flight.",
            ],
        ),
    ],
    titles: [
        &[
            "Flies by itself",
            "Superb footage",
            "Great fun",
            "Stable in wind",
            "Good first drone",
        ],
        &[
            "Flew away",
            "Short flight time",
            "App crashes",
            "Broke on first landing",
        ],
    ],
    german: Tongue {
        good: &[
            "Steht wie angenagelt in der Luft.",
            "Tolle Aufnahmen.",
            "Sehr einfach zu fliegen.",
        ],
        bad: &[
            "Treibt ständig ab.",
            "Die App stürzt ab.",
            "Der Akku hält viel kürzer als angegeben.",
        ],
    },
    french: Tongue {
        good: &["Très stable, même avec du vent.", "De superbes images."],
        bad: &["L'application plante.", "Autonomie très courte."],
    },
};

/// On camping gear.
pub(crate) const CAMPING: Voice = Voice {
    aspects: &[
        aspect(
            &[
                "{?water_column}A night of rain and everything stayed dry.",
                "{?comfort_temperature}Warm at {comfort_temperature}, as promised.",
                "{?boil_time}Coffee water boils in no time.",
                "Withstood a storm on the coast.",
            ],
            &[
                "{?water_column}Water came through the seams.",
                "{?comfort_temperature}At {comfort_temperature} I lay awake and shivered.",
                "{?boil_time}In wind it never boils.",
                "A pole snapped in the first breeze.{?pole_material}",
            ],
        ),
        aspect(
            &[
                "{packed_weight} that my back does not mind.",
                "Packs down to the size of a loaf.",
                "Goes back into its bag without swearing.",
            ],
            &[
                "Never goes back into its bag.",
                "{packed_weight} are too much for hiking.",
                "Takes up half of the rucksack.",
            ],
        ),
        aspect(
            &[
                "{?persons}{persons} people fit in, with luggage.",
                "{?setup_time}Pitched in {setup_time}, in the dark.",
                "{?zip_side}The zip does not catch.",
                "{?fuel}Easy to light, easy to control.",
            ],
            &[
                "{?persons}For {persons} people? If they are children.",
                "{?zip_side}The zip catches every time.",
                "{?fuel}Wobbles under a large pot.",
                "The pegs bend when you look at them.",
            ],
        ),
        aspect(
            &[
                "Two summers old and no tear.",
                "{+repair_kit}The repair kit has saved a holiday.",
                "Well thought out in every detail.",
            ],
            &["A seam opened in the first week.", "Smells of chemicals."],
        ),
    ],
    titles: [
        &[
            "Dry and warm",
            "Light and small",
            "Storm-proof",
            "Well thought out",
        ],
        &["Leaks", "Too heavy", "Zip broken", "Cold"],
    ],
    german: Tongue {
        good: &[
            "Eine Nacht Regen und alles trocken.",
            "Leicht und klein verpackt.",
            "Durchdacht bis ins Detail.",
        ],
        bad: &[
            "Leider nicht dicht.",
            "Der Reißverschluss klemmt.",
            "Viel zu schwer.",
        ],
    },
    french: Tongue {
        good: &[
            "Une nuit de pluie et tout est resté sec.",
            "Léger et compact.",
        ],
        bad: &["Il prend l'eau.", "La fermeture se coince."],
    },
};

/// On bicycles.
pub(crate) const BIKES: Voice = Voice {
    aspects: &[
        aspect(
            &[
                "Rides smoothly and holds its line.",
                "Comfortable even on cobbles.",
                "Fast without effort.",
                "{?battery_energy}The motor pushes evenly and quietly.",
            ],
            &[
                "Sluggish on every hill.",
                "Hard as a board.",
                "{?battery_energy}The motor whines.",
                "It pulls to one side.",
            ],
        ),
        aspect(
            &[
                "The brakes are strong and easy to dose.",
                "{gears} gears are all I need.{gear_system!Single speed}",
                "The {gear_system} change crisply.{gear_system=Hub gears}",
            ],
            &[
                "The brakes squeal whatever I do.",
                "The gears slip under load.{gear_system!Single speed}",
                "The chain came off on the first ride.",
            ],
        ),
        aspect(
            &[
                "Assembled in half an hour, the tool is in the box.",
                "Arrived well packed and almost ready.",
            ],
            &[
                "Had to go to a workshop before it could be ridden.",
                "The handlebar was scratched on arrival.",
                "Instructions for another model.",
            ],
        ),
        aspect(
            &[
                "{+lights_included}The lights are bright enough for the forest.",
                "{+mudguards}The mudguards do not rattle.",
                "{?assisted_range}{assisted_range} are possible if you pedal along.",
                "{weight} that I can carry up the stairs.",
            ],
            &[
                "{+lights_included}The rear light failed in the first week.",
                "{+mudguards}The mudguards rattle.",
                "{?assisted_range}Half of {assisted_range} is closer to the truth.",
                "The saddle is a punishment.",
            ],
        ),
        aspect(
            &[
                "The {color} turns heads.",
                "The frame is beautifully welded.",
            ],
            &[
                "The paint chips if you look at it.",
                "The {color} is duller than in the picture.",
            ],
        ),
    ],
    titles: [
        &[
            "A joy to ride",
            "Fast and comfortable",
            "Great brakes",
            "My car stays at home",
            "Beautiful {color}",
        ],
        &[
            "Squealing brakes",
            "Poorly assembled",
            "Heavy",
            "Uncomfortable saddle",
        ],
    ],
    german: Tongue {
        good: &[
            "Fährt sich wunderbar leicht.",
            "Die Bremsen packen gut zu.",
            "In einer halben Stunde fahrbereit.",
        ],
        bad: &[
            "Die Bremsen quietschen.",
            "Die Schaltung springt.",
            "Kam mit Kratzern im Lack.",
        ],
    },
    french: Tongue {
        good: &["Très agréable à rouler.", "Montage rapide."],
        bad: &["Les freins grincent.", "Les vitesses sautent."],
    },
};

/// On sets of several things.
pub(crate) const BUNDLES: Voice = Voice {
    aspects: &[
        aspect(
            &[
                "The things go well together.",
                "A good selection; I would have chosen the same.",
                "All {pieces} parts are of the same quality.",
            ],
            &[
                "One part is good, the rest is filling.",
                "The things have little to do with each other.",
            ],
        ),
        aspect(
            &[
                "{+gift_wrapped}Beautifully wrapped.",
                "Arrived complete and in one parcel.",
                "As a present it was a great success.",
            ],
            &[
                "One part was missing.",
                "Came in three parcels over two weeks.",
                "{+gift_wrapped}The wrapping was torn.",
            ],
        ),
        aspect(
            &[
                "Cheaper to choose than to think.",
                "Saved me an afternoon of comparing.",
            ],
            &["Bought singly it would have been the better choice."],
        ),
    ],
    titles: [
        &[
            "A lovely present",
            "Goes well together",
            "Good selection",
            "Complete",
        ],
        &["Incomplete", "Odd selection", "Three parcels"],
    ],
    german: Tongue {
        good: &["Schön zusammengestellt.", "Kam als Geschenk sehr gut an."],
        bad: &["Ein Teil fehlte.", "Passt nicht recht zusammen."],
    },
    french: Tongue {
        good: &["Une belle idée de cadeau.", "Tout va bien ensemble."],
        bad: &["Il manquait un article."],
    },
};
