//! What a review says: an opening, a few aspects of the thing, a closing, all in accord with the
//! stars and with the facts of the product.

use crate::facts::Facts;
use crate::random::Random;
use crate::template::fill_any;
use crate::words::catalogue::{Leaf, Opinions};
use crate::words::reviews::{Essay, Language};
use crate::words::words;

/// How many of a hundred remarks are praise, by stars; one star first.
const PRAISE: [u8; 5] = [4, 20, 50, 80, 97];

/// The words of a review.
#[derive(Debug)]
pub(super) struct Words {
    /// The title; may be empty.
    pub(super) title: String,
    /// The text; may be empty.
    pub(super) body: String,
    /// The language as an IETF tag.
    pub(super) language: &'static str,
}

/// Writes a review of so many stars (0 is one star).
pub(super) fn write(leaf: &Leaf, facts: &mut Facts, stars: usize, random: &mut Random) -> Words {
    let opinions = &leaf.family().opinions;
    let languages = &words().reviews.languages;
    let others = languages.iter().map(|language| language.percent);
    let mut shares = vec![100 - others.clone().sum::<u32>()];
    shares.extend(others);
    match random.weighted(&shares).checked_sub(1) {
        Some(other) => foreign(&languages[other], opinions, facts, stars, random),
        None => english(opinions, facts, stars, random),
    }
}

impl Words {
    /// A review that somebody took a long time over.
    pub(super) fn of(essay: &Essay) -> Self {
        Self {
            title: essay.title.clone(),
            body: essay.body.clone(),
            language: "en",
        }
    }
}

fn english(opinions: &Opinions, facts: &mut Facts, stars: usize, random: &mut Random) -> Words {
    let phrases = &words().reviews.english[stars];
    facts.note_anew("time", random.pick(&words().reviews.durations).as_str());
    let title = english_title(opinions, facts, stars, random);
    let mut body = Sentences::default();
    let wanted = length(random);
    if wanted > 1 && random.percent(62) || wanted == 1 && random.percent(25) {
        let opening = fill_any(&phrases.openings, facts, random);
        body.push(opening.filter(|opening| opening.trim_end_matches('.') != title));
    }
    let closing = wanted > 2 && random.percent(55);
    let remarks = wanted.saturating_sub(body.count + usize::from(closing));
    remark(opinions, facts, stars, remarks, &mut body, random);
    if closing {
        body.push(fill_any(&phrases.closings, facts, random));
    }
    Words {
        title,
        body: body.text,
        language: "en",
    }
}

fn english_title(opinions: &Opinions, facts: &Facts, stars: usize, random: &mut Random) -> String {
    if random.percent(14) {
        return String::new();
    }
    let own = match stars {
        0 | 1 => opinions.titles.criticism.as_slice(),
        3 | 4 => &opinions.titles.praise,
        _ => &[],
    };
    let own = if random.percent(55) { own } else { &[] };
    let title = fill_any(own, facts, random);
    title.unwrap_or_else(|| random.pick(&words().reviews.english[stars].titles).clone())
}

/// How many sentences: most write two to four, some none, a few a great many.
fn length(random: &mut Random) -> usize {
    [0, 1, 2, 3, 4, 5, 6, 9][random.weighted(&[3, 16, 23, 22, 15, 10, 7, 4])]
}

/// Remarks on different aspects; of a long review two on some of them.
fn remark(
    opinions: &Opinions,
    facts: &Facts,
    stars: usize,
    wanted: usize,
    body: &mut Sentences,
    random: &mut Random,
) {
    let aspects = opinions.aspects();
    let mut order: Vec<usize> = (0..aspects.len()).collect();
    random.shuffle(&mut order);
    let end = body.count + wanted;
    for aspect in order.iter().map(|at| aspects[*at]) {
        if body.count >= end {
            return;
        }
        let praise = random.percent(PRAISE[stars]);
        let templates = if praise {
            &aspect.praise
        } else {
            &aspect.criticism
        };
        let said = fill_any(templates, facts, random);
        body.push(said.map(|said| turned(said, praise, stars, random)));
        if wanted > 6 {
            body.push(fill_any(templates, facts, random));
        }
    }
}

/// A remark against the tone of the rest is introduced as one, at times.
fn turned(said: String, praise: bool, stars: usize, random: &mut Random) -> String {
    let introductions = &words().reviews.introductions;
    let introductions = match (praise, stars) {
        (false, 3 | 4) => &introductions.criticism,
        (true, 0 | 1) => &introductions.praise,
        _ => return said,
    };
    if random.percent(15) {
        return said;
    }
    format!("{}{}", random.pick(introductions), uncapitalised(said))
}

/// Takes the capital from the first word, unless it needs it.
fn uncapitalised(mut said: String) -> String {
    let first = said.split(' ').next().unwrap_or_default();
    let common = &words().reviews.common_first_words;
    if common.iter().any(|word| word == first) {
        said[..1].make_ascii_lowercase();
    }
    said
}

fn foreign(
    language: &'static Language,
    opinions: &Opinions,
    facts: &Facts,
    stars: usize,
    random: &mut Random,
) -> Words {
    let phrases = &language.stars[stars];
    let remarks = &opinions.languages[&language.tag];
    let title = if random.percent(15) {
        ""
    } else {
        random.pick(&phrases.titles)
    };
    let mut body = Sentences::default();
    let wanted = length(random).min(5);
    if wanted > 1 && random.percent(60) {
        body.say(random.pick(&phrases.openings).as_str());
    }
    for _ in body.count..wanted.min(4) {
        let praise = random.percent(PRAISE[stars]);
        let of = if praise {
            &remarks.praise
        } else {
            &remarks.criticism
        };
        body.push(fill_any(of, facts, random));
    }
    if wanted > 2 && random.percent(45) {
        body.say(random.pick(&phrases.closings).as_str());
    }
    Words {
        title: title.to_owned(),
        body: body.text,
        language: &language.tag,
    }
}

/// A text that grows by sentences, each of which it holds once.
#[derive(Debug, Default)]
struct Sentences {
    text: String,
    count: usize,
}

impl Sentences {
    fn push(&mut self, sentence: Option<String>) {
        if let Some(sentence) = sentence {
            self.say(&sentence);
        }
    }

    fn say(&mut self, sentence: &str) {
        if self.text.contains(sentence) {
            return;
        }
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(sentence);
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_common_words_lose_their_capital() {
        let lower = |text: &str| uncapitalised(text.to_owned());
        assert_eq!(lower("The lid leaks."), "the lid leaks.");
        assert_eq!(lower("Veltro TV is slow."), "Veltro TV is slow.");
    }

    #[test]
    fn a_sentence_is_said_once() {
        let mut body = Sentences::default();
        body.say("Gut.");
        body.say("Gut.");
        body.say("Leise.");
        assert_eq!((body.text.as_str(), body.count), ("Gut. Leise.", 2));
    }
}
