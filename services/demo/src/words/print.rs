//! Books and films.

use super::opinions;
use crate::facts::{Attr, measure, one, several, whole, yes};
use crate::leaf::{Family, Leaf};

const LANGUAGES: &[&str] = &["English", "English", "German", "French", "Spanish"];

const PRINT_FACTS: &[Attr] = &[
    one("language", 100, LANGUAGES),
    one(
        "edition",
        60,
        &["First edition", "Revised edition", "Anniversary edition"],
    ),
    measure("height", 80, [180, 260, 5], "mm", &["in", "cm"]),
    measure("width", 80, [115, 200, 5], "mm", &["in", "cm"]),
    measure("weight", 70, [180, 980, 20], "g", &["oz", "kg"]),
    yes("ribbon_marker", 25, 50),
    one("paper", 30, &["Wood-free", "Recycled", "Bible paper"]),
    yes("signed_copy", 8, 50),
];

const PUBLISHERS: &[&str] = &[
    "Lantern & Loom",
    "Quayside Press",
    "Edition Sandbank",
    "Pale Heron Books",
    "Corner House",
    "Ninth Wave Verlag",
    "Mulberry Row",
    "Éditions du Détour",
    "Saltmarsh",
    "Blue Thistle",
];

const fn fiction(words: [&'static [&'static str]; 2]) -> Family {
    Family {
        kind: "book",
        brands: PUBLISHERS,
        words,
        facts: PRINT_FACTS,
        about: &[
            &[
                "A novel by {=author}, set in {=setting}.",
                "{=author} tells it in {=pages} pages, most of which happen in {=setting}.",
                "The {era} is closer than you think in this novel by {=author}.",
            ],
            &[
                "Part {series_number} of “{=series}”; it can be read on its own.",
                "{?translator}Translated from the {=original_language} by {=translator}.",
                "{edition!First edition}{=edition}, with a new afterword by the author.",
            ],
        ],
        voice: &opinions::FICTION,
    }
}

const fn non_fiction(words: [&'static [&'static str]; 2]) -> Family {
    Family {
        kind: "book",
        brands: PUBLISHERS,
        words,
        facts: PRINT_FACTS,
        about: &[
            &[
                "{=author} writes for readers who like to know why.",
                "{=pages} pages by {=author}, the fruit of ten years of walking, asking and reading.",
                "A book by {=author} that starts at the kitchen table and ends far away.",
            ],
            &[
                "With {illustrations_count} illustrations.",
                "{?maps}With {maps} maps.",
                "{?translator}Translated from the {=original_language} by {=translator}.",
                "{=edition}.",
            ],
        ],
        voice: &opinions::NON_FICTION,
    }
}

const SETTINGS: &[&str] = &[
    "a harbour town in winter",
    "the last village before the pass",
    "Lisbon",
    "a provincial archive",
    "the Baltic ports",
    "a small ferry company",
    "Trieste",
    "Leipzig",
    "a house with too many clocks",
    "the Outer Isles",
    "Ghent",
    "a northern railway town",
];
const ERAS: &[&str] = &["Present day", "1920s", "1970s", "19th century", "1950s"];

const STORY: [Attr; 6] = [
    one("setting", 90, SETTINGS),
    one("era", 90, ERAS),
    one(
        "narrator",
        60,
        &["First person", "Third person", "Several voices"],
    ),
    one(
        "series",
        35,
        &[
            "Harbour Nights",
            "The Weighing Room",
            "North of the River",
            "Inspector Voll",
            "The Salt Road",
        ],
    ),
    yes("large_print", 20, 30),
    several(
        "mood",
        60,
        2,
        &["Dark", "Wry", "Tender", "Tense", "Melancholy"],
    ),
];

const CRIME: Family = fiction([
    &[
        "Cartographer",
        "Ferryman",
        "Archivist",
        "Beekeeper",
        "Clockmaker",
        "Notary",
        "Organist",
        "Lighthouse Keeper",
        "Glazier",
        "Widow",
        "Bookbinder",
        "Gardener",
        "Piano Tuner",
        "Surveyor",
        "Translator",
        "Watchman",
        "Fishmonger",
        "Locksmith",
        "Perfumer",
        "Printer",
        "Magistrate",
        "Ropemaker",
        "Chemist",
        "Undertaker",
        "Stranger",
    ],
    &[
        "Debt",
        "Silence",
        "Alibi",
        "Last Letter",
        "Nephew",
        "Ledger",
        "Confession",
        "Winter",
        "Second Key",
        "Mistake",
        "Shadow",
        "Promise",
        "Inheritance",
        "Witness",
        "Absence",
        "Appointment",
        "Vow",
        "Trade",
        "Errand",
        "Return",
        "Game",
        "Portrait",
    ],
]);
const LITERARY: Family = fiction([
    &[
        "Quiet",
        "Borrowed",
        "Distant",
        "Unfinished",
        "Ordinary",
        "Blue",
        "Patient",
        "Slow",
        "Second",
        "Northern",
        "Half-Remembered",
        "Empty",
        "Long",
        "Tender",
        "Salt",
    ],
    &[
        "Orchard",
        "Rooms",
        "Summer",
        "Weather",
        "Tide",
        "Garden",
        "Letters",
        "Afternoon",
        "Rivers",
        "Houses",
        "Music",
        "Country",
        "Season",
        "Light",
        "Stairs",
        "Table",
    ],
]);
const SPACE: Family = fiction([
    &[
        "Orbital",
        "Glass",
        "Silent",
        "Seventh",
        "Cold",
        "Drifting",
        "Binary",
        "Hollow",
        "Outermost",
        "Machine",
        "Iron",
        "Lost",
        "Quantum",
        "Paper",
    ],
    &[
        "Garden",
        "Colony",
        "Horizon",
        "Signal",
        "Ark",
        "Cathedral",
        "Winter",
        "Archive",
        "Engine",
        "Migration",
        "Sea",
        "Testament",
        "Harbour",
        "Orchard",
    ],
]);
const HISTORY_NOVEL: Family = fiction([
    &[
        "Weaver",
        "Falconer",
        "Midwife",
        "Saltmaker",
        "Painter",
        "Apothecary",
        "Shipwright",
        "Candlemaker",
        "Abbess",
        "Spice Trader",
        "Scribe",
        "Bellfounder",
        "Glassblower",
    ],
    &[
        "Road", "Wager", "Crown", "Winter", "Garden", "Voyage", "Promise", "Mirror", "Harvest",
        "Oath", "Map", "Feast", "Bell",
    ],
]);
const SMALL: Family = Family {
    voice: &opinions::CHILDREN,
    about: &[
        &[
            "Written by {=author} and illustrated by {=illustrator}.",
            "{=author} wrote it for one child; now it is for all of them.",
        ],
        &[
            "For readers from {reading_age}.",
            "{=pages} pages, round corners and a happy end.",
        ],
    ],
    ..fiction([
        &[
            "Badger",
            "Owl",
            "Little Bear",
            "Grandmother",
            "The Moon",
            "Hedgehog",
            "Otter",
            "Mole",
            "The Fox",
            "Snail",
            "The Whale",
            "Crow",
            "Mouse",
            "The Lighthouse",
        ],
        &[
            "Missed the Bus",
            "Cannot Sleep",
            "Bakes a Cake",
            "Finds a Hat",
            "Learns to Whistle",
            "Builds a Boat",
            "Loses a Button",
            "Counts the Stars",
            "Goes to School",
            "Says Goodnight",
            "Wants a Dog",
            "Is Not Afraid",
        ],
    ])
};
const PAST: Family = non_fiction([
    &[
        "Salt", "Paper", "Amber", "Glass", "Rope", "Tea", "Ink", "Wool", "Copper", "Sugar",
        "Timber", "Bread", "Silk", "Coal", "Honey", "Ice",
    ],
    &[
        "Towns", "Empires", "Traders", "Rivers", "Cities", "Roads", "Borders", "Harbours",
        "Families", "Winters",
    ],
]);
const WILD: Family = non_fiction([
    &[
        "Moss",
        "Eels",
        "Owls",
        "Lichen",
        "Swifts",
        "Beeches",
        "Bogs",
        "Foxes",
        "Tides",
        "Hedgerows",
        "Moths",
        "Glaciers",
        "Crows",
        "Rivers",
    ],
    &[
        "a Year in the Marsh",
        "What the Forest Keeps",
        "Notes from a Small Field",
        "the Patience of Wild Things",
        "a Field Guide for Beginners",
        "Living Beside Them",
        "a Natural History",
        "Forty Walks",
    ],
]);
const COOKING: Family = non_fiction([
    &[
        "Slow",
        "Simple",
        "Winter",
        "Sunday",
        "Market",
        "Green",
        "Smoky",
        "Everyday",
        "Coastal",
        "Grandmother's",
        "One-Pot",
        "Late-Night",
    ],
    &[
        "Kitchen",
        "Suppers",
        "Table",
        "Baking",
        "Soups",
        "Feasts",
        "Pickles",
        "Pasta",
        "Bread",
        "Vegetables",
    ],
]);
const AWAY: Family = non_fiction([
    &[
        "Lofoten",
        "Galicia",
        "the Danube",
        "Sardinia",
        "the Carpathians",
        "Brittany",
        "Anatolia",
        "the Hebrides",
        "Patagonia",
        "Hokkaido",
        "the Alps",
        "Bohemia",
    ],
    &[
        "on Foot",
        "by Slow Train",
        "Out of Season",
        "with a Bicycle",
        "in Thirty Meals",
        "after Dark",
        "from the Water",
    ],
]);

const TRUE_FACTS: [Attr; 4] = [
    whole("illustrations_count", 60, [12, 240, 4]),
    one(
        "subject",
        90,
        &["Trade", "Everyday life", "Technology", "Landscape", "Ideas"],
    ),
    yes("index_included", 70, 85),
    several(
        "suitable_for",
        50,
        2,
        &["Beginners", "Students", "Gifts", "Experts"],
    ),
];

const fn novel(
    family: &'static Family,
    leaf: &'static str,
    weight: u32,
    names: &'static [&'static str],
    facts: &'static [Attr],
    about: &'static [&'static str],
) -> Leaf {
    Leaf {
        family,
        path: ["Books", "Fiction", leaf],
        weight,
        thing: "book",
        plural: false,
        prices: (9, 28),
        names,
        facts,
        about,
    }
}

const fn knowledge(
    family: &'static Family,
    leaf: &'static str,
    weight: u32,
    names: &'static [&'static str],
    facts: &'static [Attr],
    about: &'static [&'static str],
) -> Leaf {
    Leaf {
        path: ["Books", "Non-fiction", leaf],
        prices: (14, 49),
        ..novel(family, leaf, weight, names, facts, about)
    }
}

/// The leaves of books.
pub(crate) const BOOKS: &[Leaf] = &[
    novel(
        &CRIME,
        "Crime",
        470,
        &["The {=a}'s {=b}"],
        &[
            several(
                "genre",
                100,
                2,
                &["Crime", "Thriller", "Police procedural", "Cosy mystery"],
            ),
            one(
                "detective",
                60,
                &["Amateur", "Police", "Journalist", "Nobody at all"],
            ),
            STORY[0],
            STORY[1],
            STORY[2],
            STORY[3],
            STORY[4],
            STORY[5],
        ],
        &[
            "Someone is lying about the night of the storm, and everyone has a reason to.",
            "A drowned man, an unpaid bill and a town that would rather not talk.",
            "The case was closed eleven years ago. Then the letter arrives.",
            "Nobody misses the dead woman, which is the first thing that is wrong.",
            "Three people saw it happen. Their stories agree too well.",
            "An inheritance, a locked workshop and a witness who only speaks in proverbs.",
            "It begins with a stolen bicycle and does not stay small.",
        ],
    ),
    novel(
        &LITERARY,
        "Literary fiction",
        70,
        &["The {=a} {=b}", "A {=a} Kind of {=b}"],
        &[
            several(
                "genre",
                100,
                2,
                &["Literary fiction", "Family saga", "Coming of age"],
            ),
            STORY[0],
            STORY[1],
            STORY[2],
            STORY[5],
        ],
        &[
            "Two sisters clear out a house and find that they remember different childhoods.",
            "A man stops answering letters, and his street begins to change.",
            "Over one summer a family learns to speak about what it lost.",
            "A love story told backwards, from the last cup of tea to the first.",
        ],
    ),
    novel(
        &SPACE,
        "Science fiction",
        58,
        &["The {=a} {=b}", "{=a} {=b}"],
        &[
            several(
                "genre",
                100,
                2,
                &[
                    "Science fiction",
                    "Space opera",
                    "Climate fiction",
                    "Dystopia",
                ],
            ),
            one(
                "setting",
                90,
                &[
                    "a generation ship",
                    "a drowned city",
                    "the moons of an ice giant",
                    "an orbital farm",
                ],
            ),
            one("era", 90, &["24th century", "Far future", "Near future"]),
            STORY[2],
            STORY[3],
            STORY[5],
        ],
        &[
            "The ship has been singing for three days, and only the botanist can hear it.",
            "When the relay goes silent, somebody has to go and knock.",
            "A colony votes on whether to remember Earth.",
        ],
    ),
    novel(
        &HISTORY_NOVEL,
        "Historical novels",
        52,
        &["The {=a}'s {=b}"],
        &[
            several(
                "genre",
                100,
                2,
                &["Historical novel", "Adventure", "Family saga"],
            ),
            one(
                "setting",
                90,
                &[
                    "Lübeck",
                    "Palermo",
                    "Bruges",
                    "a monastery by the sea",
                    "the salt road",
                    "Riga",
                ],
            ),
            one(
                "era",
                100,
                &[
                    "14th century",
                    "17th century",
                    "18th century",
                    "12th century",
                ],
            ),
            STORY[2],
            STORY[3],
            STORY[5],
        ],
        &[
            "A trade, a plague and a promise that outlives both.",
            "She is not allowed to sign her work, so she hides her name in it.",
            "A long road, a bad horse and a letter that must not be opened.",
        ],
    ),
    knowledge(
        &PAST,
        "History",
        46,
        &["{=a}: How It Made {=b}", "A History of {=a} and {=b}"],
        &[
            several("genre", 100, 1, &["History", "Economic history"]),
            TRUE_FACTS[0],
            TRUE_FACTS[1],
            TRUE_FACTS[2],
            TRUE_FACTS[3],
            whole("maps", 60, [4, 30, 2]),
        ],
        &[
            "What a single good can tell about a thousand years.",
            "A history from below: of those who carried, weighed, mixed and sold.",
        ],
    ),
    knowledge(
        &WILD,
        "Nature",
        40,
        &["{=a}: {^b}", "Of {=a}: {^b}"],
        &[
            several("genre", 100, 1, &["Nature", "Popular science"]),
            TRUE_FACTS[0],
            TRUE_FACTS[1],
            TRUE_FACTS[2],
            TRUE_FACTS[3],
        ],
        &[
            "A close look at what lives next to us and does not care.",
            "Patient, funny and exact: a book to take outside.",
        ],
    ),
    knowledge(
        &COOKING,
        "Cookery",
        42,
        &["{=a} {=b}", "The {=a} {=b} Book"],
        &[
            several("genre", 100, 1, &["Cookery"]),
            whole("recipes", 100, [60, 220, 5]),
            one(
                "cuisine",
                80,
                &[
                    "Mediterranean",
                    "Nordic",
                    "Levantine",
                    "Alpine",
                    "Home cooking",
                ],
            ),
            several(
                "diet",
                60,
                2,
                &["Vegetarian", "Vegan", "Everything", "Gluten-free"],
            ),
            TRUE_FACTS[0],
            TRUE_FACTS[3],
        ],
        &[
            "{recipes} recipes that work with what is in the cupboard.",
            "{=cuisine} cooking in {recipes} recipes, none with more than twelve ingredients.",
        ],
    ),
    knowledge(
        &AWAY,
        "Travel",
        34,
        &["{^a} {=b}"],
        &[
            several("genre", 100, 1, &["Travel", "Essays"]),
            whole("maps", 90, [3, 40, 1]),
            TRUE_FACTS[0],
            TRUE_FACTS[2],
            TRUE_FACTS[3],
        ],
        &[
            "A journey without a plan, told by someone who likes to be late.",
            "For those who travel to find out where they are.",
        ],
    ),
    Leaf {
        path: ["Books", "Children's books", "Picture books"],
        ..novel(
            &SMALL,
            "Picture books",
            44,
            &["{^a} {=b}"],
            &[
                several("genre", 100, 1, &["Picture book"]),
                measure("reading_age", 100, [2, 6, 1], "yr", &[]),
                whole("illustrations_count", 90, [16, 40, 2]),
                yes("washable", 40, 50),
                one(
                    "illustration_style",
                    80,
                    &["Watercolour", "Paper cut", "Pencil", "Linocut"],
                ),
            ],
            &[
                "A story for the lap, with {=illustration_style} pictures.",
                "A small adventure that ends in bed.",
            ],
        )
    },
];

const STUDIOS: &[&str] = &[
    "Paper Lantern Films",
    "Kestrel Row Pictures",
    "Atelier Nordlicht",
    "Tin Roof Studios",
    "Compagnie du Phare",
    "Second Reel",
];

const FILM_FACTS: &[Attr] = &[
    one(
        "original_language",
        100,
        &[
            "English", "French", "German", "Danish", "Italian", "Japanese",
        ],
    ),
    several(
        "audio_tracks",
        90,
        3,
        &["English", "German", "French", "Spanish"],
    ),
    several(
        "subtitles",
        90,
        4,
        &["English", "German", "French", "Spanish", "Italian", "Dutch"],
    ),
    one(
        "video_format",
        100,
        &["Blu-ray", "DVD", "4K disc", "Stream"],
    ),
    one("aspect_ratio", 80, &["2.39:1", "1.85:1", "16:9", "4:3"]),
    one("sound_format", 60, &["5.1", "Stereo", "7.1", "Mono"]),
    several(
        "country_of_production",
        90,
        2,
        &["GB", "FR", "DE", "DK", "US", "IT", "JP"],
    ),
    one(
        "filming_location",
        60,
        &[
            "Shetland",
            "Marseille",
            "the Harz mountains",
            "Gdańsk",
            "Sicily",
            "a studio in Bavaria",
        ],
    ),
    one("picture", 90, &["Colour", "Colour", "Black and white"]),
    yes("restored", 40, 35),
    whole("discs", 60, [1, 3, 1]),
    one(
        "bonus_material",
        20,
        &[
            "Audio commentary by the director, a documentary about the shoot, deleted scenes and the original trailer.",
            "A long conversation with the editor, three early short films by the director and a booklet of 32 pages.",
        ],
    ),
];

const fn film(words: [&'static [&'static str]; 2]) -> Family {
    Family {
        kind: "movie",
        brands: STUDIOS,
        words,
        facts: FILM_FACTS,
        about: &[
            &[
                "Directed by {=director}, with {=lead} in the leading part.",
                "{=director}'s film runs for {runtime} and feels half as long.",
                "With {=lead}; music by {=composer}.",
            ],
            &[
                "Shot in {=filming_location}.",
                "{+restored}Restored from the original negative.",
                "On {=video_format}, in {=original_language} with subtitles in {=subtitles}.",
            ],
        ],
        voice: &opinions::FILM,
    }
}

const DRAMA: Family = film([
    &[
        "The Last",
        "A Borrowed",
        "The Unsent",
        "An Early",
        "The Other",
        "A Patient",
        "Her Second",
        "The Long",
        "No Further",
        "The Slow",
    ],
    &[
        "Ferry", "Summer", "Letter", "Spring", "Shore", "Winter", "Piano", "Funeral", "Kitchen",
        "Train", "Harvest", "Farewell", "Guest",
    ],
]);
const COMEDY: Family = film([
    &[
        "My Uncle's",
        "Three Weddings and a",
        "The Wrong",
        "Never Buy a",
        "Somebody Else's",
        "The Incredible",
        "Half a",
    ],
    &[
        "Camper Van",
        "Goat",
        "Orchestra",
        "Ferret",
        "Divorce",
        "Castle",
        "Sourdough",
        "Honeymoon",
        "Parrot",
        "Allotment",
    ],
]);
const THRILLER: Family = film([
    &[
        "Dead", "Cold", "Broken", "Black", "Final", "Hidden", "Open", "Silent",
    ],
    &[
        "Channel",
        "Witness",
        "Harbour",
        "Frequency",
        "Account",
        "Meridian",
        "Contract",
        "Corridor",
        "Exchange",
        "Static",
    ],
]);
const FAR: Family = film([
    &[
        "Beyond the",
        "Children of the",
        "Return to",
        "The Fall of",
        "Dreams of",
        "Signal from",
    ],
    &[
        "Ninth Moon",
        "Glass Desert",
        "Outer Station",
        "Last Reactor",
        "Pale Garden",
        "Silent Fleet",
        "Drowned Sun",
    ],
]);
const REAL: Family = film([
    &[
        "The Secret Life of",
        "A Year with",
        "The Sound of",
        "The People of",
        "Saving",
        "In Search of",
    ],
    &[
        "Peat Bogs",
        "the Night Train",
        "Beekeepers",
        "Organ Builders",
        "the North Sea",
        "Sheepdogs",
        "Old Orchards",
        "Street Choirs",
    ],
]);
const FAMILY_FILM: Family = film([
    &[
        "Pip and the",
        "The Brave Little",
        "Captain",
        "Luna and the",
        "The Curious",
        "Grandpa's",
    ],
    &[
        "Paper Boat",
        "Tractor",
        "Hedgehog",
        "Cloud Factory",
        "Lighthouse",
        "Moon Balloon",
        "Wandering Tree",
        "Otter",
    ],
]);

const FILM_RATING: Attr = one("mood_rating", 50, &["Gentle", "Intense", "Thoughtful"]);

const fn movie(
    family: &'static Family,
    path: [&'static str; 3],
    weight: u32,
    facts: &'static [Attr],
    about: &'static [&'static str],
) -> Leaf {
    Leaf {
        family,
        path,
        weight,
        thing: "film",
        plural: false,
        prices: (7, 29),
        names: &["{=a} {=b}"],
        facts,
        about,
    }
}

/// The leaves of films.
pub(crate) const FILMS: &[Leaf] = &[
    movie(
        &DRAMA,
        ["Film", "Feature films", "Drama"],
        58,
        &[
            several("genre", 100, 2, &["Drama", "Romance", "Family saga"]),
            FILM_RATING,
        ],
        &[
            "A woman comes home for three days and stays for a year.",
            "Two brothers share a boat, a debt and as few words as possible.",
            "A pianist loses her hearing and finds her neighbours.",
        ],
    ),
    movie(
        &COMEDY,
        ["Film", "Feature films", "Comedy"],
        44,
        &[
            several("genre", 100, 2, &["Comedy", "Romance", "Satire"]),
            FILM_RATING,
        ],
        &[
            "Everything that can go wrong at a christening does, twice.",
            "A will, a caravan and seven relatives who cannot stand each other.",
            "He only wanted to return a casserole dish.",
        ],
    ),
    movie(
        &THRILLER,
        ["Film", "Feature films", "Thriller"],
        46,
        &[
            several("genre", 100, 2, &["Thriller", "Crime"]),
            FILM_RATING,
        ],
        &[
            "A radio operator hears a voice that has been dead for a week.",
            "One bank, one night and an honest man with the wrong key.",
            "She has until the tide turns to find out who followed her.",
        ],
    ),
    movie(
        &FAR,
        ["Film", "Feature films", "Science fiction"],
        30,
        &[
            several("genre", 100, 2, &["Science fiction", "Adventure"]),
            FILM_RATING,
        ],
        &[
            "The last crew wakes up early, and one of them is new.",
            "A repair mission at the edge of the system finds the lights on.",
        ],
    ),
    movie(
        &REAL,
        ["Film", "Documentary", "Nature & people"],
        32,
        &[
            several("genre", 100, 2, &["Documentary", "Nature"]),
            one("narration", 80, &["With narrator", "Without narrator"]),
        ],
        &[
            "Filmed over four seasons, with more patience than equipment.",
            "A portrait of people who know one thing very well.",
        ],
    ),
    movie(
        &FAMILY_FILM,
        ["Film", "Family", "Animation"],
        30,
        &[
            several("genre", 100, 2, &["Animation", "Family", "Adventure"]),
            one(
                "animation_technique",
                90,
                &["Hand-drawn", "Stop motion", "Computer"],
            ),
        ],
        &[
            "A journey of eleven streets and one whole night.",
            "Small heroes, a large problem and a song that will not leave your head.",
        ],
    ),
];
