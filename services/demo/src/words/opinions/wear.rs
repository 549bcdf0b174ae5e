//! On clothes and shoes.

use super::aspect;
use crate::leaf::{Tongue, Voice};

/// On clothes.
pub(crate) const CLOTHES: Voice = Voice {
    aspects: &[
        aspect(
            &[
                "{size!One size}The fit is spot on; I took my usual size.",
                "{size!One size}{It} fit{s} as if made for me.",
                "{?fit}True to size, with room for a layer underneath.",
                "{?fit}I am tall and {it} {is} long enough for once.",
                "The {fit} cut suits me better than I thought.",
            ],
            &[
                "{size!One size}Runs small: order one size up.",
                "{?fit}Far too wide around the waist.",
                "{?fit}The cut is odd; two sizes ordered, neither fits.",
                "Shorter than in the pictures.",
            ],
        ),
        aspect(
            &[
                "The {material} feels soft and not at all flimsy.",
                "You can tell that the {material} is of good quality.",
                "No itching, even on bare skin.",
                "Feels twice as expensive as {it} {was}.",
            ],
            &[
                "The {material} is thinner than I expected.",
                "It itches, and I am not sensitive.",
                "After one evening it was covered in little bobbles.",
            ],
        ),
        aspect(
            &[
                "The {color} is exactly as in the pictures.",
                "The {color} is even nicer in daylight.",
                "I get compliments on the colour every time.",
            ],
            &[
                "In the pictures it was {color}; in my hands it is something else.",
                "The colour has run after the first wash.",
            ],
        ),
        aspect(
            &[
                "Washed five times so far, no change in shape or colour.",
                "Comes out of the machine as it went in.",
                "Easy to wash, dries overnight.",
            ],
            &[
                "Lost {its} shape after the second wash.",
                "Shrank by a size although I followed the label.",
                "{?fit}Creases the moment you sit down.",
            ],
        ),
        aspect(
            &[
                "The seams are clean and straight.",
                "Carefully made, down to the last seam.",
            ],
            &[
                "A seam came undone in the first week.",
                "Loose threads everywhere.",
                "{?collar}One button was missing when it arrived.",
            ],
        ),
        aspect(
            &[
                "{?pockets}And the pockets! Real ones, {pockets} of them.",
                "{+hood}The hood stays up in the wind.",
                "{?water_column}An hour of rain and I stayed dry.",
                "{?closure}The {closure} work smoothly.{closure=Buttons}",
                "Goes with everything I own.",
            ],
            &[
                "{?pockets}The pockets are too shallow for a phone.",
                "{?water_column}After twenty minutes of rain I was wet through.",
                "{+hood}The hood falls over my eyes.",
                "Too warm for spring, too thin for winter.",
            ],
        ),
    ],
    titles: [
        &[
            "{size!One size}Fits perfectly",
            "My new favourite",
            "Lovely {color}",
            "Great quality {material}",
            "So comfortable",
            "Compliments guaranteed",
            "{size!One size}True to size",
        ],
        &[
            "{size!One size}Runs small",
            "{?fit}Strange cut",
            "Thin {material}",
            "Lost its shape",
            "Not the colour in the picture",
        ],
    ],
    german: Tongue {
        good: &[
            "{size!One size}Sitzt perfekt, ich habe meine normale Größe genommen.",
            "Der Stoff ist weich und wirkt hochwertig.",
            "Auch nach mehreren Wäschen noch wie neu.",
            "Die Farbe ist genau wie auf den Bildern.",
            "Sauber verarbeitet, nichts kratzt.",
        ],
        bad: &[
            "{size!One size}Fällt leider sehr klein aus.",
            "Nach der zweiten Wäsche völlig aus der Form.",
            "Der Stoff ist dünner als gedacht.",
            "Eine Naht ging schon in der ersten Woche auf.",
        ],
    },
    french: Tongue {
        good: &[
            "{size!One size}La coupe est parfaite, taille normalement.",
            "La matière est douce et de belle qualité.",
            "La couleur est fidèle aux photos.",
            "Lavé plusieurs fois, toujours impeccable.",
        ],
        bad: &[
            "{size!One size}Taille petit, prenez une taille au-dessus.",
            "Le tissu est trop fin.",
            "Déformé après deux lavages.",
        ],
    },
};

/// On shoes.
pub(crate) const SHOES: Voice = Voice {
    aspects: &[
        aspect(
            &[
                "Comfortable from the first step, no blisters.",
                "I walked ten kilometres in them on the first day and felt nothing.",
                "Wide enough at the toes, snug at the heel.",
                "{+removable_insole}My own insoles fit in without trouble.",
            ],
            &[
                "Blisters on both heels after an hour.",
                "They press on the instep and did not give.",
                "My feet hurt by noon.",
            ],
        ),
        aspect(
            &[
                "True to size.",
                "I took half a size more, as others wrote, and that was right.",
                "The fit is {width_fitting}, as it says.{width_fitting!Standard}",
            ],
            &[
                "They run small; go up a size.",
                "The left one is wider than the right one.",
                "Far too narrow for my feet.",
            ],
        ),
        aspect(
            &[
                "The {upper_material} is easy to clean.",
                "The {upper_material} looks better with every week.",
                "Well glued, neatly stitched.",
            ],
            &[
                "The {upper_material} has cracked at the bend.",
                "The sole came off after {time}.",
                "The laces tore on the third day.",
            ],
        ),
        aspect(
            &[
                "Good grip on wet cobbles.",
                "The sole of {sole_material} is springy and quiet.",
                "Hardly any wear on the sole so far.",
            ],
            &[
                "Slippery as soon as it rains.",
                "They squeak at every step.",
                "The heel is worn down already.",
            ],
        ),
        aspect(
            &[
                "{+waterproof}Dry feet after a morning in wet grass.",
                "Light: I forget that I have them on.",
                "{+reflective}Drivers see me from far away.",
            ],
            &[
                "{+waterproof}Waterproof? My socks say otherwise.",
                "Heavier than they look.",
                "Warm feet in summer, and not in a good way.",
            ],
        ),
        aspect(
            &[
                "The {color} goes with everything.",
                "They look even better than in the pictures.",
            ],
            &[
                "The {color} rubbed off on my trousers.",
                "They look cheap in real life.",
            ],
        ),
    ],
    titles: [
        &[
            "Comfortable from day one",
            "Like walking on clouds",
            "Great shoes",
            "No blisters",
            "Good grip",
            "Beautiful {upper_material}",
        ],
        &[
            "Blisters",
            "Too narrow",
            "Sole came off",
            "Squeaky",
            "Not for wide feet",
        ],
    ],
    german: Tongue {
        good: &[
            "Vom ersten Tag an bequem, keine Blasen.",
            "Fallen normal aus und sitzen gut.",
            "Guter Halt auch bei Nässe.",
            "Sehr leicht und gut verarbeitet.",
        ],
        bad: &[
            "Blasen nach einer Stunde.",
            "Viel zu schmal geschnitten.",
            "Nach vier Wochen löst sich die Sohle.",
        ],
    },
    french: Tongue {
        good: &[
            "Confortables dès le premier jour.",
            "Bonne adhérence, même sous la pluie.",
            "Belle finition.",
        ],
        bad: &[
            "Trop étroites pour moi.",
            "La semelle s'est décollée au bout d'un mois.",
        ],
    },
};
