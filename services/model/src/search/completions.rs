//! Completions of a search query.

use std::collections::BTreeMap;

use super::{Piece, SearchQuery, clean, pieces};

/// Returns completions of a query, taken from the names of products that match it; the most
/// frequent first. Each is the text before the last word, followed by a word of a name that starts
/// with the last one, or by that word and the next one if at least two names have both. The query
/// itself is returned only if there is no other completion.
#[must_use]
pub fn completions<'a>(query: &SearchQuery, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let Some(last) = pieces(&query.folded).last() else {
        return Vec::new();
    };
    let at = query.folded.rfind(last.0).unwrap_or(0);
    let completer = Completer {
        earlier: &query.folded[..at],
        earlier_words: pieces(&query.folded[..at]).map(Piece::joined).collect(),
        last: last.joined(),
        open: query.open,
    };
    let mut counts: BTreeMap<String, (usize, bool)> = BTreeMap::new();
    for name in names {
        for (phrase, is_pair) in completer.phrases(name) {
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

/// The query to complete, split before its last word.
struct Completer<'q> {
    earlier: &'q str,
    earlier_words: Vec<String>,
    last: String,
    open: bool,
}

impl Completer<'_> {
    /// The distinct completions from one name, each with whether it is a pair of words.
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

    /// The completion of the last word from this piece: the whole piece if it starts with that
    /// word, otherwise the first of its parts that does.
    fn completed<'p>(&self, piece: Piece<'p>) -> Option<&'p str> {
        let matches = |word: &str| {
            if self.open {
                word.starts_with(&self.last)
            } else {
                word == self.last
            }
        };
        if !self.is_new(piece) {
            return None;
        }
        if matches(&piece.joined()) {
            return Some(piece.0);
        }
        piece.parts().find(|part| matches(part))
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
        assert_eq!(
            complete("shovel"),
            ["shovel"],
            "there is no other completion"
        );
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
