//! How a search may go on.

use std::collections::BTreeMap;

use super::{Piece, SearchQuery, clean, pieces};

/// How a search may go on, judged by the names of products that match it; the ways that most
/// names have come first. Each is what was typed before the last word, and then a word of a name
/// that begins like the last one, or that word and the next one where two names have them. The
/// search itself is only among them when there is no other.
#[must_use]
pub fn completions<'a>(query: &SearchQuery, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let Some(last) = pieces(&query.folded).last() else {
        return Vec::new();
    };
    let at = query.folded.rfind(last.0).unwrap_or(0);
    let wanted = Wanted {
        earlier: &query.folded[..at],
        earlier_words: pieces(&query.folded[..at]).map(Piece::joined).collect(),
        last: last.joined(),
        open: query.open,
    };
    let mut counts: BTreeMap<String, (usize, bool)> = BTreeMap::new();
    for name in names {
        for (phrase, is_pair) in wanted.phrases(name) {
            counts.entry(phrase).or_insert((0, is_pair)).0 += 1;
        }
    }
    counts.retain(|_, (count, is_pair)| !*is_pair || *count >= 2);
    if counts.len() > 1 {
        counts.remove(query.folded.as_str());
    }
    let mut ranked: Vec<(String, usize)> = counts.into_iter().map(|(p, (n, _))| (p, n)).collect();
    ranked.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    ranked.into_iter().map(|(phrase, _)| phrase).collect()
}

/// What completions are looked for.
struct Wanted<'q> {
    earlier: &'q str,
    earlier_words: Vec<String>,
    last: String,
    open: bool,
}

impl Wanted<'_> {
    /// The phrases that one name suggests, each once, and whether they are pairs of words.
    fn phrases(&self, name: &str) -> BTreeMap<String, bool> {
        let name = clean(name);
        let pieces: Vec<Piece<'_>> = pieces(&name).collect();
        let mut phrases = BTreeMap::new();
        for (at, piece) in pieces.iter().enumerate() {
            let Some(word) = self.completed(*piece) else {
                continue;
            };
            phrases.insert(format!("{}{word}", self.earlier), false);
            if let Some(next) = pieces.get(at + 1).filter(|next| self.is_new(**next)) {
                let pair = format!("{}{word} {}", self.earlier, next.0);
                phrases.entry(pair).or_insert(true);
            }
        }
        phrases
    }

    /// The word of this piece that begins like the last one; the whole piece where that does.
    fn completed<'p>(&self, piece: Piece<'p>) -> Option<&'p str> {
        let fits = |word: &str| {
            if self.open {
                word.starts_with(&self.last)
            } else {
                word == self.last
            }
        };
        if !self.is_new(piece) {
            return None;
        }
        if fits(&piece.joined()) {
            return Some(piece.0);
        }
        piece.parts().find(|part| fits(part))
    }

    fn is_new(&self, piece: Piece<'_>) -> bool {
        !self.earlier_words.contains(&piece.joined())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> SearchQuery {
        SearchQuery::parse(text).unwrap()
    }

    #[test]
    fn completions_are_ranked_by_names() {
        let names = [
            "Red Running Shoes for Men",
            "Running Shorts, red",
            "Red Running Shoes for Women",
            "Shovel",
        ];
        let complete = |typed: &str| completions(&parse(typed), names.into_iter());
        assert_eq!(complete("sho"), ["shoes", "shoes for", "shorts", "shovel"]);
        assert_eq!(
            complete("Red SHO"),
            ["red shoes", "red shoes for", "red shorts", "red shovel"]
        );
        assert_eq!(complete("red r"), ["red running", "red running shoes"]);
        assert_eq!(complete("running "), ["running shoes"]);
        assert_eq!(complete("shovel"), ["shovel"], "there is nothing else");
        assert_eq!(complete("shoes"), ["shoes for"]);
        assert_eq!(complete("xyz"), [""; 0]);
    }

    #[test]
    fn completions_keep_codes_as_written() {
        let names = ["Gigabyte GV-N3080 OC", "GIGABYTE GV-N3090"];
        let complete = |typed: &str| completions(&parse(typed), names.into_iter());
        assert_eq!(complete("gvn"), ["gv-n3080", "gv-n3090"]);
        assert_eq!(complete("gv-n309"), ["gv-n3090"]);
        assert_eq!(complete("n308"), ["n3080"]);
    }
}
