//! The text of a review: an opening, remarks on aspects of the product and a closing, which agree
//! with the stars and with the facts of the product.

use crate::facts::Facts;
use crate::random::Random;
use crate::template::fill_any;
use crate::words::catalogue::Opinions;
use crate::words::reviews::{Essay, Language, Remarks};
use crate::words::words;

/// How many of a hundred remarks are praise, by stars; one star first.
const PRAISE_PERCENT: [u8; 5] = [4, 20, 50, 80, 97];
const ENGLISH: &str = "en";
/// How many sentences reviews have, and how many of a hundred reviews have that many.
const LENGTHS: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 9];
const LENGTH_WEIGHTS: [u32; 8] = [3, 16, 23, 22, 15, 10, 7, 4];
/// The highest number of sentences in languages other than English.
const MAX_FOREIGN_LENGTH: usize = 5;
/// Longer reviews have two remarks on each aspect.
const MAX_SINGLE_REMARKS: usize = 6;

/// The text of a review.
#[derive(Debug)]
pub(super) struct ReviewText {
    /// The title; may be empty.
    pub(super) title: String,
    /// The text; may be empty.
    pub(super) body: String,
    /// The language as an IETF tag.
    pub(super) language: &'static str,
}

/// Writes the text of one review.
struct TextWriter<'a> {
    opinions: &'static Opinions,
    facts: &'a Facts,
    /// The index of the stars: 0 is one star.
    stars: usize,
    random: &'a mut Random,
}

impl ReviewText {
    /// Writes a review that gives these stars, as an index.
    pub(super) fn write(
        opinions: &'static Opinions,
        facts: &mut Facts,
        stars: usize,
        random: &mut Random,
    ) -> Self {
        let language = language(random);
        if language.is_none() {
            facts.set_note("time", random.pick(&words().reviews.durations));
        }
        let mut writer = TextWriter {
            opinions,
            facts,
            stars,
            random,
        };
        match language {
            Some(language) => writer.foreign(language),
            None => writer.english(),
        }
    }

    /// Returns the text of an essay.
    pub(super) fn of_essay(essay: &Essay) -> Self {
        Self {
            title: essay.title.clone(),
            body: essay.body.clone(),
            language: ENGLISH,
        }
    }
}

/// Draws the language. `None` is English.
fn language(random: &mut Random) -> Option<&'static Language> {
    let languages = &words().reviews.languages;
    let others = languages.iter().map(|language| language.percent);
    let mut weights = vec![100 - others.clone().sum::<u32>()];
    weights.extend(others);
    let index = random.weighted(&weights).checked_sub(1)?;
    languages.get(index)
}

impl TextWriter<'_> {
    fn english(&mut self) -> ReviewText {
        let phrases = &words().reviews.english[self.stars];
        let title = self.english_title();
        let mut body = Body::default();
        let length = self.length();
        if self.has_opening(length) {
            let opening = fill_any(&phrases.openings, self.facts, self.random);
            body.add(opening.filter(|opening| opening.trim_end_matches('.') != title));
        }
        let has_closing = length > 2 && self.random.percent(55);
        let remarks = length.saturating_sub(body.count + usize::from(has_closing));
        self.add_remarks(remarks, &mut body);
        if has_closing {
            body.add(fill_any(&phrases.closings, self.facts, self.random));
        }
        ReviewText {
            title,
            body: body.text,
            language: ENGLISH,
        }
    }

    fn has_opening(&mut self, length: usize) -> bool {
        match length {
            0 => false,
            1 => self.random.percent(25),
            _ => self.random.percent(62),
        }
    }

    fn english_title(&mut self) -> String {
        if self.random.percent(14) {
            return String::new();
        }
        let titles = &self.opinions.titles;
        let of_family = match self.stars {
            0 | 1 => titles.criticism.as_slice(),
            3 | 4 => &titles.praise,
            _ => &[],
        };
        let of_family = if self.random.percent(55) {
            fill_any(of_family, self.facts, self.random)
        } else {
            None
        };
        let of_all = &words().reviews.english[self.stars].titles;
        of_family.unwrap_or_else(|| self.random.pick(of_all).clone())
    }

    /// Draws the number of sentences.
    fn length(&mut self) -> usize {
        LENGTHS[self.random.weighted(&LENGTH_WEIGHTS)]
    }

    /// Adds this many remarks on different aspects.
    fn add_remarks(&mut self, count: usize, body: &mut Body) {
        let mut aspects = self.opinions.aspects();
        self.random.shuffle(&mut aspects);
        let end = body.count + count;
        for aspect in aspects {
            if body.count >= end {
                return;
            }
            let is_praise = self.random.percent(PRAISE_PERCENT[self.stars]);
            let remarks = chosen(aspect, is_praise);
            let remark = fill_any(remarks, self.facts, self.random);
            body.add(remark.map(|remark| self.introduced(remark, is_praise)));
            if count > MAX_SINGLE_REMARKS {
                body.add(fill_any(remarks, self.facts, self.random));
            }
        }
    }

    /// Introduces a remark that goes against the tone of the review, mostly.
    fn introduced(&mut self, remark: String, is_praise: bool) -> String {
        let introductions = &words().reviews.introductions;
        let is_contrary = match self.stars {
            0 | 1 => is_praise,
            3 | 4 => !is_praise,
            _ => false,
        };
        if !is_contrary || self.random.percent(15) {
            return remark;
        }
        let introduction = self.random.pick(chosen(introductions, is_praise));
        format!("{introduction}{}", uncapitalised(remark))
    }

    fn foreign(&mut self, language: &'static Language) -> ReviewText {
        let phrases = &language.stars[self.stars];
        let remarks = &self.opinions.languages[&language.tag];
        let mut title = String::new();
        if !self.random.percent(15) {
            title.clone_from(self.random.pick(&phrases.titles));
        }
        let mut body = Body::default();
        let length = self.length().min(MAX_FOREIGN_LENGTH);
        if length > 1 && self.random.percent(60) {
            body.add_sentence(self.random.pick::<String>(&phrases.openings));
        }
        for _ in body.count..length.min(MAX_FOREIGN_LENGTH - 1) {
            let is_praise = self.random.percent(PRAISE_PERCENT[self.stars]);
            body.add(fill_any(
                chosen(remarks, is_praise),
                self.facts,
                self.random,
            ));
        }
        if length > 2 && self.random.percent(45) {
            body.add_sentence(self.random.pick::<String>(&phrases.closings));
        }
        ReviewText {
            title,
            body: body.text,
            language: &language.tag,
        }
    }
}

fn chosen(remarks: &Remarks, is_praise: bool) -> &[String] {
    if is_praise {
        &remarks.praise
    } else {
        &remarks.criticism
    }
}

/// Takes the capital from the first word if it is a common one.
fn uncapitalised(mut text: String) -> String {
    let first = text.split(' ').next().unwrap_or_default();
    let common = &words().reviews.common_first_words;
    if common.iter().any(|word| word == first) {
        text[..1].make_ascii_lowercase();
    }
    text
}

/// A text that grows by sentences. It holds each sentence once.
#[derive(Debug, Default)]
struct Body {
    text: String,
    count: usize,
}

impl Body {
    fn add(&mut self, sentence: Option<String>) {
        if let Some(sentence) = sentence {
            self.add_sentence(&sentence);
        }
    }

    fn add_sentence(&mut self, sentence: &str) {
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
    fn sentences_are_not_repeated() {
        let mut body = Body::default();
        body.add_sentence("Gut.");
        body.add_sentence("Gut.");
        body.add_sentence("Leise.");
        assert_eq!((body.text.as_str(), body.count), ("Gut. Leise.", 2));
    }
}
