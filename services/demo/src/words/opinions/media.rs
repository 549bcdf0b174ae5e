//! On books and films.

use super::aspect;
use crate::leaf::{Aspect, Tongue, Voice};

const MADE: Aspect = aspect(
    &[
        "The print is clear and the paper is pleasant to touch.",
        "A beautifully made book, too.",
        "{?translator}The translation by {=translator} reads as if there were no original.",
        "{+ribbon_marker}Even a ribbon to mark the page.",
    ],
    &[
        "The print is tiny.",
        "The binding broke on page ninety.",
        "{?translator}The translation limps.",
        "Full of misprints.",
    ],
);
const LENGTH: Aspect = aspect(
    &[
        "I read all {pages} pages in one weekend.",
        "{pages} pages, and I wished for more.",
        "I put it down only to sleep.",
    ],
    &[
        "{pages} pages, of which half would have been enough.",
        "I gave up after a hundred pages.",
        "The middle drags terribly.",
    ],
);

/// On novels.
pub(crate) const FICTION: Voice = Voice {
    aspects: &[
        aspect(
            &[
                "The plot is clever and fair: everything is there if you look.",
                "I did not see the end coming.",
                "Quiet at first, then you cannot stop.",
                "Every chapter ends in a way that makes you read one more.",
            ],
            &[
                "I guessed the end after fifty pages.",
                "The plot hangs on one coincidence too many.",
                "Nothing happens, and then it is over.",
            ],
        ),
        aspect(
            &[
                "The people in it are so alive that I miss them.",
                "Even the minor characters have a past.",
                "I have rarely liked a difficult heroine so much.",
            ],
            &[
                "I did not care for a single one of these people.",
                "The characters all talk alike.",
            ],
        ),
        aspect(
            &[
                "{=author} writes sentences you want to read aloud.",
                "The language is precise and never vain.",
                "Funny in places where you do not expect it.",
            ],
            &[
                "{=author} loves adjectives more than readers.",
                "The style is laboured.",
                "Too many metaphors, too little story.",
            ],
        ),
        aspect(
            &[
                "You can smell the place: {=setting}.",
                "{=setting} becomes a character of its own.",
                "The {era} is drawn without nostalgia.{era!Present day}",
            ],
            &[
                "I never believed in the setting.",
                "The {era} is only wallpaper here.{era!Present day}",
            ],
        ),
        LENGTH,
        MADE,
        aspect(
            &[
                "I hope there is another part of “{=series}” coming.",
                "Our book club talked about it for three hours.",
            ],
            &[
                "The weakest of “{=series}”.",
                "Our book club was divided, to put it kindly.",
            ],
        ),
    ],
    titles: [
        &[
            "Could not put it down",
            "What a novel",
            "Beautifully written",
            "{=author} at the top of the game",
            "Read in one night",
            "A book to give away",
            "Wonderful people",
        ],
        &[
            "Predictable",
            "Gave up halfway",
            "Overrated",
            "Too long",
            "Not for me",
        ],
    ],
    german: Tongue {
        good: &[
            "Spannend bis zur letzten Seite.",
            "Die Figuren sind mir ans Herz gewachsen.",
            "Sprachlich ein Genuss.",
            "An einem Wochenende verschlungen.",
            "Das Ende hat mich wirklich überrascht.",
        ],
        bad: &[
            "Zieht sich in der Mitte sehr.",
            "Das Ende war früh zu erraten.",
            "Die Figuren bleiben blass.",
        ],
    },
    french: Tongue {
        good: &[
            "Impossible de lâcher ce livre.",
            "Des personnages attachants.",
            "Une écriture précise et drôle.",
            "La fin m'a surprise.",
        ],
        bad: &[
            "Trop de longueurs.",
            "On devine la fin dès le début.",
            "Je n'ai pas accroché au style.",
        ],
    },
};

/// On books that teach.
pub(crate) const NON_FICTION: Voice = Voice {
    aspects: &[
        aspect(
            &[
                "I learnt something on every page.",
                "Thoroughly researched, lightly told.",
                "Explains without talking down.",
                "The sources are listed, and they are good.",
            ],
            &[
                "Little that is new if you have read one other book on it.",
                "Two errors in the first chapter alone.",
                "Claims a lot and shows little.",
            ],
        ),
        aspect(
            &[
                "{=author} tells it with warmth and wit.",
                "Reads like a novel.",
                "The anecdotes are worth the price alone.",
            ],
            &[
                "Dry as dust.",
                "{=author} talks mostly about {=author}.",
                "Repeats itself from chapter to chapter.",
            ],
        ),
        aspect(
            &[
                "{?illustrations_count}The illustrations are lovely.",
                "{?maps}The {maps} maps are clear and sit where you need them.",
                "{?recipes}I have cooked eleven of the {recipes} recipes, and all worked.",
                "{?recipes}The ingredients can be found in any shop.",
            ],
            &[
                "{?illustrations_count}The pictures are small and dark.",
                "{?maps}The maps are too small to read.",
                "{?recipes}The quantities cannot be right; my dough was soup.",
                "{?recipes}Half of the ingredients need a special shop.",
            ],
        ),
        LENGTH,
        MADE,
        aspect(
            &[
                "{+index_included}A proper index at the end.",
                "I have given it away three times already.",
                "I keep coming back to look things up.",
            ],
            &[
                "{-index_included}No index, so you never find anything again.",
                "Looks nicer on the shelf than in the hand.",
            ],
        ),
    ],
    titles: [
        &[
            "Learnt a lot",
            "Clever and funny",
            "A treasure",
            "Beautiful book",
            "For curious people",
            "A perfect present",
        ],
        &["Nothing new", "Dry", "Needs an editor", "Superficial"],
    ],
    german: Tongue {
        good: &[
            "Sehr gut recherchiert und leicht zu lesen.",
            "Auf jeder Seite etwas gelernt.",
            "Schön gestaltet, auch als Geschenk.",
        ],
        bad: &[
            "Wenig Neues.",
            "Wiederholt sich ständig.",
            "Die Bilder sind viel zu klein.",
        ],
    },
    french: Tongue {
        good: &[
            "Passionnant et bien documenté.",
            "Un très beau livre à offrir.",
            "On apprend quelque chose à chaque page.",
        ],
        bad: &["Trop superficiel.", "Beaucoup de répétitions."],
    },
};

/// On children's books.
pub(crate) const CHILDREN: Voice = Voice {
    aspects: &[
        aspect(
            &[
                "My daughter wants it every evening.",
                "Our son knows it by heart already.",
                "Read forty times, and it is still funny.",
                "The class loved it.",
            ],
            &[
                "My son lost interest after three pages.",
                "Too sad for bedtime.",
                "The joke wears off after one reading.",
            ],
        ),
        aspect(
            &[
                "The pictures have something new to find each time.",
                "The {illustration_style} pictures are a joy.",
                "{=illustrator} draws the funniest faces.",
            ],
            &[
                "The pictures are gloomy.",
                "The drawings do not match the text.",
            ],
        ),
        aspect(
            &[
                "Just the right length for one evening.",
                "Good to read aloud, it has rhythm.",
            ],
            &[
                "Far too much text for the age given.",
                "Hard to read aloud.",
            ],
        ),
        aspect(
            &[
                "{+washable}It has survived soup.",
                "Thick pages that small hands cannot tear.",
                "Well bound; ours has been through a lot.",
            ],
            &[
                "The pages came loose after a week.",
                "Smelled strongly of ink.",
            ],
        ),
    ],
    titles: [
        &[
            "A bedtime favourite",
            "Wonderful pictures",
            "Every evening again",
            "Loved by our four-year-old",
        ],
        &["Too much text", "Not for small children", "Fell apart"],
    ],
    german: Tongue {
        good: &[
            "Unsere Tochter will es jeden Abend hören.",
            "Wunderschöne Bilder.",
            "Genau die richtige Länge zum Vorlesen.",
        ],
        bad: &[
            "Zu viel Text für kleine Kinder.",
            "Die Seiten lösten sich nach einer Woche.",
        ],
    },
    french: Tongue {
        good: &[
            "Ma fille l'adore, on le lit tous les soirs.",
            "Des illustrations magnifiques.",
        ],
        bad: &["Trop de texte pour les petits.", "Les pages se détachent."],
    },
};

/// On films.
pub(crate) const FILM: Voice = Voice {
    aspects: &[
        aspect(
            &[
                "{=lead} is outstanding.",
                "The whole cast is a pleasure to watch.",
                "{=lead} says more with one look than others in a monologue.",
            ],
            &[
                "{=lead} seems bored throughout.",
                "Wooden acting.",
                "The dialogue sounds like nobody talks.",
            ],
        ),
        aspect(
            &[
                "{=director} trusts the audience, which is rare.",
                "Not a scene too many.",
                "The story takes its time and earns it.",
                "{runtime} that went by like forty minutes.",
            ],
            &[
                "{runtime}, and I felt each of them.",
                "The story falls apart in the last third.",
                "I looked at the clock three times.",
            ],
        ),
        aspect(
            &[
                "The pictures from {=filming_location} are breathtaking.",
                "Every frame could hang on a wall.",
                "The black and white suits it perfectly.{picture=Black and white}",
            ],
            &[
                "So dark that you see nothing.",
                "The camera never holds still.",
            ],
        ),
        aspect(
            &[
                "The music by {=composer} stays with you.",
                "The sound in {=sound_format} is superb.",
            ],
            &[
                "The music drowns the voices.",
                "The music tells you what to feel, all the time.",
            ],
        ),
        aspect(
            &[
                "{+restored}The restoration is first class.",
                "Good subtitles, well timed.",
                "{?bonus_material}The extras alone are worth it.",
            ],
            &[
                "The subtitles are full of mistakes.",
                "The disc stuttered in two places.{video_format!Stream}",
                "No extras at all.{-restored}",
            ],
        ),
    ],
    titles: [
        &[
            "A small masterpiece",
            "Great cast",
            "Watch it",
            "Stays with you",
            "Laughed and cried",
            "{=director} does it again",
        ],
        &[
            "Boring",
            "Too long",
            "Fell asleep",
            "Overrated",
            "Weak script",
        ],
    ],
    german: Tongue {
        good: &[
            "Großartig gespielt.",
            "Wunderbare Bilder und tolle Musik.",
            "Keine Minute zu lang.",
            "Hat uns noch tagelang beschäftigt.",
        ],
        bad: &[
            "Leider sehr langatmig.",
            "Die Handlung überzeugt nicht.",
            "Der Ton ist viel zu leise.",
        ],
    },
    french: Tongue {
        good: &[
            "Des acteurs formidables.",
            "De très belles images.",
            "Un film qui reste en tête.",
        ],
        bad: &["Trop long.", "Le scénario ne tient pas debout."],
    },
};
