//! What reviewers say.

mod at_home;
mod media;
mod outside;
mod tech;
mod wear;

pub(crate) use at_home::{APPLIANCES, DRINKS, FOOD, FURNITURE, INSTRUMENTS, PLANTS};
pub(crate) use media::{CHILDREN, FICTION, FILM, NON_FICTION};
pub(crate) use outside::{BIKES, BUNDLES, CAMPING, DRONES};
pub(crate) use tech::{CAMERAS, COMPUTERS, PARTS, POCKET, SCREENS, SOUND};
pub(crate) use wear::{CLOTHES, SHOES};

use crate::leaf::Aspect;

const fn aspect(good: &'static [&'static str], bad: &'static [&'static str]) -> Aspect {
    Aspect { good, bad }
}

/// First sentences, by stars; one star first.
pub(crate) const OPENINGS: [&[&str]; 5] = [
    &[
        "I wanted to like {this} {thing} and could not.",
        "{?durable}Sent back after {time}.",
        "A disappointment from the first day.",
        "I do not know where all the good reviews come from.",
        "Save your money.",
        "Not what the description promises.",
        "{?durable}It took {time} until I gave up.",
        "{?maker}My second attempt with {=brand}, and my last.",
    ],
    &[
        "Not good, but not worthless either.",
        "{?maker}I expected more from {=brand}.",
        "{?durable}After {time} I am not convinced.",
        "A good idea, carelessly done.",
        "For this price I had hoped for more.",
        "It could have been so good.",
    ],
    &[
        "It is fine.",
        "I am of two minds about {this} {thing}.",
        "{?durable}After {time}: some light, some shadow.",
        "{?durable}Does the job, no more and no less.",
        "Average, with one or two good sides.",
        "Not bad, not special.",
        "My partner likes {them} more than I do.",
    ],
    &[
        "All in all a good buy.",
        "{?durable}After {time} I am quite happy.",
        "Good, and I am hard to please.",
        "I compared for a long time and chose {this} {thing}.",
        "{?durable}Bought {time} ago and in use almost every day since.",
        "Nearly perfect.",
        "{?maker}Solid work by {=brand}.",
        "Would buy {them} again.",
    ],
    &[
        "I could not be happier.",
        "{?durable}After {time} still as good as on the first day.",
        "Exactly what I was looking for.",
        "Bought on the advice of a friend, and she was right.",
        "I rarely write reviews, but {this} {thing} deserve{s} one.",
        "{?maker}Second time I buy from {=brand}, second time delighted.",
        "A present for my father, who now talks of nothing else.",
        "{?durable}We have had {them} for {time} and would not give {them} back.",
        "What a find.",
        "Ordered on Monday, arrived on Wednesday, in love since.",
        "{?durable}My old {one} gave up, and this is more than a replacement.",
        "I was sceptical at first.",
    ],
];

/// Last sentences, by stars; one star first.
pub(crate) const CLOSINGS: [&[&str]; 5] = [
    &[
        "Never again.",
        "I got my money back, at least.",
        "One star, because none is not possible.",
        "I cannot recommend {them} to anyone.",
        "The shop was kind about the return.",
    ],
    &[
        "Two stars for the idea.",
        "There are better ones for the same money.",
        "{?durable}I keep {them} only because I lost the box.",
        "Buy {them} on sale or not at all.",
    ],
    &[
        "For the price it is all right.",
        "I might choose differently next time.",
        "Three stars seem fair to me.",
        "Look at the alternatives first.",
    ],
    &[
        "Not quite five stars, but close.",
        "I would still buy {them} again.",
        "Recommended.",
        "Good value for money.",
        "Happy with {them}.",
    ],
    &[
        "Full marks.",
        "Clear recommendation.",
        "I tell everyone about {them}.",
        "Worth every cent.",
        "Buy {them}.",
        "{?maker}Thank you, {=brand}!",
        "{?durable}I hope they never change {them}.",
        "Five stars without hesitation.",
        "Highly recommended.",
    ],
];

/// How long reviewers have had the thing.
pub(crate) const TIMES: &[&str] = &[
    "two weeks",
    "a month",
    "three months",
    "half a year",
    "six weeks",
    "a year",
];

/// Titles, by stars; one star first.
pub(crate) const TITLES: [&[&str]; 5] = [
    &[
        "Disappointed",
        "Sent back",
        "Do not buy",
        "Not as described",
        "Waste of money",
        "Never again",
        "Very poor",
    ],
    &[
        "Expected more",
        "Rather not",
        "Below average",
        "Meh",
        "Too expensive for what you get",
        "Not convinced",
    ],
    &[
        "It is OK",
        "Average",
        "Mixed feelings",
        "Does the job",
        "So-so",
        "Neither good nor bad",
        "Fine, but",
    ],
    &[
        "Good value",
        "Very good with a small flaw",
        "Good buy",
        "Happy so far",
        "Solid",
        "Nearly perfect",
        "Recommended",
    ],
    &[
        "Excellent",
        "Love it",
        "Perfect",
        "Highly recommended",
        "Better than expected",
        "Top",
        "Great purchase",
        "Exactly right",
        "Five stars",
        "Wonderful",
        "Best I have had",
        "Happy customer",
    ],
];

/// Titles, first and last sentences in German, by stars; one star first.
pub(crate) const GERMAN: [[&[&str]; 3]; 5] = [
    [
        &["Enttäuscht", "Nie wieder", "Zurückgeschickt", "Finger weg"],
        &[
            "Leider ein Fehlkauf.",
            "Ich hatte mir deutlich mehr erhofft.",
            "Ging nach wenigen Tagen zurück.",
        ],
        &["Nie wieder.", "Schade ums Geld.", "Keine Empfehlung."],
    ],
    [
        &["Mehr erwartet", "Eher nicht", "Nicht überzeugt"],
        &[
            "Gute Idee, schwache Umsetzung.",
            "Für den Preis hatte ich mehr erwartet.",
        ],
        &[
            "Es gibt Besseres fürs gleiche Geld.",
            "Nur im Angebot kaufen.",
        ],
    ],
    [
        &["Geht so", "Durchschnitt", "Ganz okay"],
        &[
            "Ganz in Ordnung, mehr aber auch nicht.",
            "Licht und Schatten.",
        ],
        &["Drei Sterne finde ich fair.", "Kann man nehmen."],
    ],
    [
        &[
            "Gut",
            "Gerne wieder",
            "Gutes Preis-Leistungs-Verhältnis",
            "Fast perfekt",
        ],
        &[
            "Insgesamt bin ich zufrieden.",
            "Nach drei Monaten kann ich sagen: gut gekauft.",
        ],
        &[
            "Ein Stern Abzug, sonst eine Empfehlung.",
            "Würde ich wieder kaufen.",
        ],
    ],
    [
        &[
            "Klasse!",
            "Sehr zufrieden",
            "Absolute Empfehlung",
            "Besser geht es nicht",
            "Rundum gelungen",
        ],
        &[
            "Ich bin rundum begeistert.",
            "Genau das, was ich gesucht habe.",
            "Besser als erwartet.",
            "Ein Geschenk für meine Mutter, und sie strahlt.",
        ],
        &[
            "Klare Kaufempfehlung.",
            "Volle Punktzahl.",
            "Jederzeit wieder.",
        ],
    ],
];

/// The same in French.
pub(crate) const FRENCH: [[&[&str]; 3]; 5] = [
    [
        &["Déçue", "À éviter", "Retourné"],
        &["Grosse déception.", "Renvoyé au bout de trois jours."],
        &["Je ne recommande pas.", "Plus jamais."],
    ],
    [
        &["Bof", "J'attendais mieux"],
        &[
            "L'idée est bonne, la réalisation beaucoup moins.",
            "Pas vraiment convaincu.",
        ],
        &["Il y a mieux pour ce prix.", "Dommage."],
    ],
    [
        &["Correct", "Moyen", "Sans plus"],
        &["Correct, sans plus.", "Je suis partagé."],
        &["Trois étoiles me semblent justes.", "Ça dépanne."],
    ],
    [
        &["Bon achat", "Très bien", "Satisfaite"],
        &[
            "Dans l'ensemble, un bon achat.",
            "Très satisfaite après deux mois.",
        ],
        &["Je le rachèterais.", "Bon rapport qualité-prix."],
    ],
    [
        &["Parfait", "Un vrai bonheur", "Je recommande", "Excellent"],
        &[
            "Absolument ravie de mon achat.",
            "Exactement ce que je cherchais.",
            "Reçu en deux jours, adopté tout de suite.",
        ],
        &[
            "Je recommande vivement.",
            "Cinq étoiles bien méritées.",
            "Merci !",
        ],
    ],
];
