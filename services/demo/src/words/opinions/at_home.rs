//! On appliances, food, furniture, plants, instruments.

use super::aspect;
use crate::leaf::{Tongue, Voice};

/// On household appliances.
pub(crate) const APPLIANCES: Voice = Voice {
    aspects: &[
        aspect(
            &[
                "{?pump_pressure}The coffee has a proper crema.",
                "{+grinder}The grinder is quiet and even.",
                "{?heat_up_time}Hot after {heat_up_time}, I timed it.",
                "{?motor_speed}Crushes ice without complaint.",
                "{?vacuum_type}Picks up everything, also along the edges.",
                "{?clean_air_rate}My hay fever is better since it runs.",
                "{?spin_speed}The washing comes out nearly dry.",
            ],
            &[
                "{?pump_pressure}The coffee is never really hot.",
                "{+grinder}The grinder wakes up the house.",
                "{?heat_up_time}{heat_up_time}? It takes twice as long.",
                "{?motor_speed}Smelled of burnt rubber at the first carrot.",
                "{?vacuum_type}Pushes crumbs around instead of picking them up.",
                "{?clean_air_rate}I notice no difference in the air.",
                "{?spin_speed}It wanders through the bathroom when it spins.",
            ],
        ),
        aspect(
            &[
                "Easy to clean: three parts, all for the dishwasher.",
                "Cleaning takes a minute.",
                "No corners where dirt collects.",
            ],
            &[
                "Cleaning takes longer than using it.",
                "Dirt collects in a groove you cannot reach.",
                "Limescale after two weeks.",
            ],
        ),
        aspect(
            &[
                "{?noise_level}Quieter than our old one by far.",
                "You can talk while it runs.",
            ],
            &[
                "Loud as a motorbike.",
                "{?noise_level}{noise_level} on paper; in the kitchen it is a different story.",
            ],
        ),
        aspect(
            &[
                "The {housing_material} looks good and shows no fingerprints.",
                "In {color} it matches our kitchen.",
                "{?capacity}{capacity} are just right for four.",
                "{?load_capacity}{load_capacity} swallow a whole week of a family.",
            ],
            &[
                "{?capacity}The lid does not close properly.",
                "{?capacity}{capacity} are too little for guests.",
                "Scratches on the {housing_material} after one week.",
            ],
        ),
        aspect(
            &[
                "{+auto_off}It switches itself off, which suits me.",
                "{+keep_warm}Keeps the water warm for the second cup.",
                "One dial, no menu.",
                "Spare parts can be ordered singly.",
            ],
            &[
                "The buttons beep, every one of them.",
                "{?cable_length}The cable is too short for our kitchen.",
                "Gave up after {time}.",
            ],
        ),
    ],
    titles: [
        &[
            "Simple and good",
            "Easy to clean",
            "Quiet",
            "In use every day",
            "Better than the expensive one",
        ],
        &[
            "Loud",
            "{?capacity}Leaks",
            "Hard to clean",
            "Broken after {time}",
        ],
    ],
    german: Tongue {
        good: &[
            "Lässt sich schnell reinigen.",
            "Angenehm leise.",
            "Jeden Tag im Einsatz, nie ein Problem.",
            "Die Bedienung erklärt sich von selbst.",
        ],
        bad: &[
            "Sehr laut.",
            "{?capacity}Nach drei Monaten undicht.",
            "Die Reinigung ist mühsam.",
        ],
    },
    french: Tongue {
        good: &[
            "Facile à nettoyer.",
            "Silencieux et efficace.",
            "On l'utilise tous les jours.",
        ],
        bad: &[
            "Très bruyant.",
            "{?capacity}Il fuit depuis la deuxième semaine.",
        ],
    },
};

/// On food.
pub(crate) const FOOD: Voice = Voice {
    aspects: &[
        aspect(
            &[
                "Tastes like it used to.",
                "Not too sweet.",
                "The taste is full and clean.",
                "Gone in one evening.",
                "Even the children like it.",
                "You taste that nothing is added.",
            ],
            &[
                "Tastes of nothing.",
                "Far too sweet.",
                "A strange aftertaste.",
                "Tasted stale, although well within its date.",
            ],
        ),
        aspect(
            &[
                "{?pasta_shape}Stays firm even if you forget it for a minute.",
                "{?olive_variety}Fruity, with a little fire at the end.",
                "{?blossom}The {blossom} comes through clearly.",
                "{?cocoa_content}{cocoa_content} cocoa and still not bitter.",
                "{?biscuit_flavour}Crisp, buttery, dangerous.{biscuit_flavour!Lemon}",
                "{?nut_type}Fresh and crunchy, not a bitter one among them.",
                "{?cereal_flavour}Stays crunchy in milk.",
                "{?fruit}Tastes of {fruit}, not of sugar.",
                "{?hops}Pleasantly bitter, with a fine foam.",
            ],
            &[
                "{?pasta_shape}Turns to paste in a minute.",
                "{?olive_variety}Rancid from the start.",
                "{?cocoa_content}Crumbly and grey when it arrived.",
                "{?biscuit_flavour}Arrived as crumbs.",
                "{?nut_type}Several of them were rancid.",
                "{?cereal_flavour}More dust than flakes.",
                "{?fruit}More water than {fruit}.",
                "{?hops}Flat and thin.",
            ],
        ),
        aspect(
            &[
                "{+organic}Organic and still affordable.",
                "{+fair_trade}And fairly traded.",
                "The list of ingredients is short.",
            ],
            &[
                "Expensive for {net_weight}.",
                "Too expensive for every day.",
                "{+organic}Organic or not, the price is cheeky.",
            ],
        ),
        aspect(
            &[
                "Well packed, nothing was broken.",
                "The {packaging} closes again.{+resealable}",
                "Fresh, with a long date on the pack.",
            ],
            &[
                "The pack was open when it arrived.",
                "Too much packaging.",
                "Best before next week: that is not fresh.",
            ],
        ),
        aspect(
            &[
                "I order three at a time now.",
                "A nice little present.",
                "Our guests asked where it is from.",
            ],
            &["My guests left it standing."],
        ),
    ],
    titles: [
        &[
            "Delicious",
            "Our new favourite",
            "Simply good",
            "Very fresh",
            "Not too sweet",
            "Ordered again",
        ],
        &[
            "Tasteless",
            "Too sweet",
            "Arrived broken",
            "Not fresh",
            "Overpriced",
        ],
    ],
    german: Tongue {
        good: &[
            "Schmeckt hervorragend.",
            "Nicht zu süß, sehr fein.",
            "Gut verpackt und frisch.",
            "Bestellen wir immer wieder.",
        ],
        bad: &[
            "Schmeckt nach nichts.",
            "Viel zu süß.",
            "Die Packung war offen.",
        ],
    },
    french: Tongue {
        good: &[
            "Délicieux, pas trop sucré.",
            "Très frais et bien emballé.",
            "On en reprendra.",
        ],
        bad: &["Sans goût.", "Arrivé en miettes.", "Beaucoup trop cher."],
    },
};

/// On coffee and tea.
pub(crate) const DRINKS: Voice = Voice {
    aspects: &[
        aspect(
            &[
                "Round and full, hardly any acidity.",
                "The notes of {flavour_notes} are really there.",
                "Smells wonderful the moment you open the bag.",
                "Aromatic, and it never turns bitter.",
            ],
            &[
                "Bitter, whatever I do.",
                "Sour and thin.",
                "I cannot find any {flavour_notes} in it.",
                "Smells of cardboard.",
            ],
        ),
        aspect(
            &[
                "{coffee_type=Espresso Beans}A thick crema from my old machine.",
                "{coffee_type=Whole Bean Coffee}Freshly ground it is a different world.",
                "{coffee_type=Ground Coffee}The grind is right for my filter.",
                "{?brewing_time}{brewing_time} and it is perfect.",
                "{?tea_type}Good for a second infusion, too.",
            ],
            &[
                "{?coffee_type}Oily beans that clogged my grinder.{coffee_type!Ground Coffee}",
                "{coffee_type=Ground Coffee}Ground so finely that the filter blocks.",
                "{?tea_type}Mostly dust and stalks.",
            ],
        ),
        aspect(
            &[
                "The {roast_level} roast suits my stomach.",
                "The roast is even.{?roast_level}",
                "{=origin_region} as it should taste.",
            ],
            &[
                "For {an} {roast_level} roast it is surprisingly burnt.",
                "Roasted unevenly, pale beans among black ones.{?roast_level}",
            ],
        ),
        aspect(
            &[
                "{+fair_trade}Good to know that the growers get their share.",
                "{+organic}Organic, and you pay little more.",
                "{net_weight} last us three weeks.",
                "Roast date on the bag, which I like.{?roast_date}",
            ],
            &[
                "Too expensive for {net_weight}.",
                "The bag does not close.",
                "Four months old on arrival.{?roast_date}",
            ],
        ),
        aspect(
            &[
                "The whole office has switched to it.",
                "I have a standing order now.",
            ],
            &["Back to my old one.", "The office voted against it."],
        ),
    ],
    titles: [
        &[
            "Best cup of the day",
            "Full and round",
            "Smells wonderful",
            "Our office favourite",
            "Never bitter",
        ],
        &["Bitter", "Too acidic", "Weak", "Stale", "Not my taste"],
    ],
    german: Tongue {
        good: &[
            "Rund, kräftig und kaum Säure.",
            "Duftet herrlich.",
            "Wird nie bitter.",
            "Das ganze Büro trinkt ihn.",
        ],
        bad: &[
            "Leider sehr bitter.",
            "Zu sauer für meinen Geschmack.",
            "Schmeckt abgestanden.",
        ],
    },
    french: Tongue {
        good: &[
            "Rond et parfumé, sans amertume.",
            "Un arôme magnifique.",
            "Notre préféré au bureau.",
        ],
        bad: &["Trop amer.", "Pas frais à l'arrivée."],
    },
};

/// On furniture.
pub(crate) const FURNITURE: Voice = Voice {
    aspects: &[
        aspect(
            &[
                "{+assembly_required}Put together in an hour, alone.",
                "{+assembly_required}The instructions are clear and all screws were there.",
                "{-assembly_required}Arrived in one piece, unpacked, done.",
                "{?assembly_time}{assembly_time}, as stated.",
            ],
            &[
                "{+assembly_required}The holes do not line up.",
                "{+assembly_required}Three screws were missing.",
                "{?assembly_time}{assembly_time}? It took me an afternoon and a marriage.",
            ],
        ),
        aspect(
            &[
                "Sturdy; nothing wobbles.",
                "The {wood_type} has a lovely grain.",
                "The {upholstery} is easy to clean.",
                "Looks much more expensive.",
            ],
            &[
                "It wobbles on a level floor.",
                "The {wood_type} is thinner than it looks.",
                "The {upholstery} attracts every hair.",
                "Smelled of glue for two weeks.",
            ],
        ),
        aspect(
            &[
                "{?seats}Comfortable for a whole evening.",
                "{?lumbar_support}My back thanks me.",
                "{?shelves}The shelves do not bend, even with encyclopaedias.",
                "{?mattress_size}No creaking.",
                "{+height_adjustable}The height moves smoothly and quietly.",
            ],
            &[
                "{?seats}The seat is hard as a bench.",
                "{?lumbar_support}After two hours my back hurts.",
                "{?shelves}The shelves sag in the middle.",
                "{?mattress_size}It creaks at every turn.",
                "{+height_adjustable}The motor hums.",
            ],
        ),
        aspect(
            &[
                "{width} fit our wall to the centimetre.{?width}",
                "The {color} matches the pictures.",
                "Delivered on the day agreed, up to the third floor.",
            ],
            &[
                "The {color} is greyer than in the pictures.{color!Grey}",
                "Delivered three weeks late, to the pavement.",
                "One corner was damaged.",
            ],
        ),
    ],
    titles: [
        &[
            "Sturdy and beautiful",
            "Easy to assemble",
            "Comfortable",
            "Perfect size",
            "Makes the room",
        ],
        &[
            "Wobbles",
            "Missing screws",
            "Damaged corner",
            "Uncomfortable",
            "Late delivery",
        ],
    ],
    german: Tongue {
        good: &[
            "Aufbau in einer Stunde, alles vollständig.",
            "Sehr stabil, nichts wackelt.",
            "Sieht toll aus.",
            "Pünktlich geliefert.",
        ],
        bad: &[
            "Die Bohrungen passen nicht.",
            "Wackelt leider.",
            "Eine Ecke war beschädigt.",
        ],
    },
    french: Tongue {
        good: &[
            "Montage facile, tout y était.",
            "Solide et très beau.",
            "Livré à la date prévue.",
        ],
        bad: &["Il manquait des vis.", "Ça bouge dans tous les sens."],
    },
};

/// On plants.
pub(crate) const PLANTS: Voice = Voice {
    aspects: &[
        aspect(
            &[
                "Arrived healthy, with moist soil and no broken leaf.",
                "Very well packed; not a leaf was lost.",
                "Larger than I expected.",
            ],
            &[
                "Arrived with broken leaves.",
                "The pot had tipped over in the box.",
                "Half the size I had imagined.",
            ],
        ),
        aspect(
            &[
                "A new leaf already after two weeks.",
                "Grows like mad.",
                "Strong roots.",
                "It has doubled in a summer.",
            ],
            &[
                "Dropped all its leaves within a month.",
                "Small black flies came with it.",
                "It has not grown a millimetre.",
            ],
        ),
        aspect(
            &[
                "Really undemanding: water {watering}, that is all.",
                "Happy with {light_needs}.",
                "{+pet_safe}And safe for our cat.",
                "{?flowering_months}Flowered until October.",
            ],
            &[
                "Wants {light_needs}? Mine burnt its leaves.{light_needs=Full sun}",
                "More demanding than promised.",
                "{?flower_color}It flowers, but not in {flower_color}.",
            ],
        ),
        aspect(
            &[
                "{?foliage_color}The {foliage_color} is even more beautiful than in the picture.",
                "{+bee_friendly}Full of bees.",
                "Everybody asks what it is called.",
            ],
            &["Looks nothing like the picture."],
        ),
    ],
    titles: [
        &[
            "Healthy plant",
            "Well packed",
            "Grows and grows",
            "A beauty",
        ],
        &[
            "Broken leaves",
            "Died within a month",
            "Tiny",
            "Came with flies",
        ],
    ],
    german: Tongue {
        good: &[
            "Kam gesund und gut verpackt an.",
            "Wächst prächtig.",
            "Sehr pflegeleicht.",
        ],
        bad: &[
            "Die Blätter waren abgeknickt.",
            "Nach einem Monat eingegangen.",
        ],
    },
    french: Tongue {
        good: &[
            "Plante en pleine santé, bien emballée.",
            "Elle pousse très vite.",
        ],
        bad: &["Arrivée abîmée.", "Morte au bout d'un mois."],
    },
};

/// On instruments.
pub(crate) const INSTRUMENTS: Voice = Voice {
    aspects: &[
        aspect(
            &[
                "The tone is warm and carries well.",
                "Far more sound than the price suggests.",
                "{?top_wood}The {top_wood} sings.",
                "{?sounds}The piano sound is convincing.",
                "{?shell_material}The {shell_material} shell answers to every touch.",
            ],
            &[
                "Sounds like a shoe box.",
                "No sustain at all.",
                "{?sounds}{sounds} sounds, three of them usable.",
                "{?shell_material}Rings too long, whatever I do.",
            ],
        ),
        aspect(
            &[
                "{?frets}The action is low and nothing buzzes.",
                "{?frets}Frets are clean, no sharp edges.",
                "{?key_action}The {key_action} keys feel close to the real thing.",
                "Plays easily.",
            ],
            &[
                "{?frets}The frets buzz on the first string.",
                "{?frets}Needed a full setup before I could play it.",
                "{?key_action}The keys clack.",
            ],
        ),
        aspect(
            &[
                "Stays in tune.",
                "Beautifully finished.",
                "The {finish} finish is flawless.",
                "Ideal for {player_level} players.",
            ],
            &[
                "Out of tune after one song.",
                "Glue marks at the joints.",
                "There was a crack in the finish.",
                "Not for {player_level} players, whatever it says.",
            ],
        ),
        aspect(
            &[
                "{+bag_included}The bag is a real bag, padded.",
                "My teacher approves.",
                "{?output_power}Loud enough without an amplifier.",
            ],
            &[
                "{+bag_included}The bag tore on the first day.",
                "My teacher shook his head.",
            ],
        ),
    ],
    titles: [
        &[
            "Warm tone",
            "Plays like a dream",
            "Great for beginners",
            "Stays in tune",
            "A lot of sound for the money",
        ],
        &["Buzzes", "Out of tune", "Dull sound", "Poor finish"],
    ],
    german: Tongue {
        good: &[
            "Toller, warmer Klang.",
            "Lässt sich leicht spielen.",
            "Sauber verarbeitet.",
        ],
        bad: &[
            "Verstimmt sich ständig.",
            "Klingt flach.",
            "Kam mit einem Kratzer.",
        ],
    },
    french: Tongue {
        good: &["Une sonorité chaude.", "Très agréable à jouer."],
        bad: &["Se désaccorde tout le temps.", "Finition médiocre."],
    },
};
