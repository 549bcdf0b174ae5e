//! Search: each word of the text is a word that products have, the beginning of one, or a word one
//! letter away.
//!
//! The work is bounded for any text: at most eight words with at most 200 characters in all, and at
//! most eight parts of joined words that nothing has; for each a few counts with a limit, at most
//! one lookup of similar words, of which the four most common are used, and at most 96 words for a
//! long prefix. At most as many products are read as for any other request, the most popular ones.
//! Texts are compared with keywords as they are; they never become patterns.

use std::cmp::Reverse;
use std::collections::HashSet;

use futures_util::future::{join_all, try_join, try_join_all};
use vitrine_model::derived::name_key;
use vitrine_model::filter::{Condition, Direction, ProductSort, ProductSortKey, Words};
use vitrine_model::search::{
    MAX_QUERY_WORDS, SearchQuery, completions, name_keyword, other_keyword, prefix_keywords,
    within_one,
};
use vitrine_storage::keyset::{Boundary as PageFrom, PageRequest};
use vitrine_storage::products::{ProductList, Ranking};

use crate::products::{ListedProducts, ProductFields, Visibility};
use crate::{Catalog, DomainError};

/// The limit for counting the products that have a word, to know how common it is.
const MAX_COUNTED: u64 = 1_000;
/// Suggestions and "did you mean" read this many times fewer products.
const SUGGESTION_DIVISOR: u32 = 10;
/// The minimum length of a word that is corrected.
const MIN_CORRECTED: usize = 4;
/// The maximum number of candidates for a correction.
const MAX_CANDIDATES: usize = 16;
/// The maximum number of corrections used for one word.
const MAX_CORRECTIONS: usize = 4;
/// The limit for counting the products of a candidate.
const MAX_CANDIDATE_COUNT: u64 = 1_000;
/// The minimum length of a prefix that is looked up in the vocabulary.
const MIN_LOOKED_UP: usize = 3;
/// The maximum number of words for a prefix.
const MAX_CONTINUATIONS: u32 = 96;
/// The maximum number of words compared for "did you mean".
const MAX_COMPARED: u32 = 500;
/// The maximum number of texts tried for "did you mean".
const MAX_PROPOSALS: usize = 3;
/// The number of popular products that suggestions are made from.
const MAX_SUGGESTING: usize = 50;
/// The maximum number of suggestions.
pub const MAX_SUGGESTIONS: usize = 50;

/// How a search text was interpreted.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct SearchReading {
    /// The text with blanks collapsed.
    pub text: String,
    /// The words with their interpretation.
    pub words: Vec<SearchWord>,
    /// Words after the eighth, which were ignored.
    pub ignored: Vec<String>,
    /// When every word is very common: the number of products that were searched, the most popular
    /// of those with one of the words.
    pub looked_through: Option<u32>,
    /// A similar text that has results, when this one has none.
    pub did_you_mean: Option<String>,
}

/// One word of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchWord {
    /// The word as typed, folded.
    pub typed: String,
    /// How it was interpreted.
    pub reading: WordReading,
    /// The words that were searched instead, when it was corrected.
    pub corrected: Vec<String>,
}

/// The interpretation of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WordReading {
    /// A word that products have.
    Word,
    /// The beginning of words.
    Prefix,
    /// Another word, one letter away.
    Corrected,
    /// No product has it.
    Unknown,
}

/// A parsed search.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    query: SearchQuery,
    words: Vec<ResolvedWord>,
    /// The sort value of the name whose products come first.
    name: String,
}

/// A word with the keywords that represent it.
#[derive(Clone, Debug)]
struct ResolvedWord {
    typed: String,
    reading: WordReading,
    corrected: Vec<String>,
    /// Keywords of which products need any.
    anywhere: Vec<String>,
    /// Keywords of which any means that name or brand has the word.
    in_name: Vec<String>,
    /// The number of products that have it, counted up to [`MAX_COUNTED`].
    products: u64,
}

impl ResolvedWord {
    /// Whether products have the word, or a word that begins with it.
    const fn is_found(&self) -> bool {
        matches!(self.reading, WordReading::Word | WordReading::Prefix)
    }
}

impl Search {
    /// Replaces words by their parts. A part that is another word too is left out; words beyond the
    /// maximum number are ignored.
    fn new(
        mut query: SearchQuery,
        words: Vec<ResolvedWord>,
        parts: Vec<Vec<ResolvedWord>>,
    ) -> Self {
        if parts.iter().all(Vec::is_empty) {
            let name = name_key(&query.text);
            return Self { query, words, name };
        }
        let mut known: HashSet<String> = HashSet::new();
        for (word, parts) in words.iter().zip(&parts) {
            if parts.is_empty() {
                known.insert(word.typed.clone());
            }
        }
        let mut all = Vec::with_capacity(words.len());
        for (word, mut parts) in words.into_iter().zip(parts) {
            if parts.is_empty() {
                all.push(word);
                continue;
            }
            parts.retain(|part| known.insert(part.typed.clone()));
            all.append(&mut parts);
        }
        let beyond = all.split_off(all.len().min(MAX_QUERY_WORDS));
        let beyond = beyond.into_iter().map(|word| word.typed);
        query.ignored.splice(..0, beyond);
        let typed: Vec<&str> = all.iter().map(|word| word.typed.as_str()).collect();
        // A search that finds nothing does not propose itself.
        query.folded = typed.join(" ");
        let name = name_key(&query.folded);
        Self {
            query,
            words: all,
            name,
        }
    }

    /// The condition that products must match.
    pub(crate) fn condition(&self) -> Condition {
        let words = self.rarest_first().into_iter();
        words_condition(words.map(|word| word.anywhere.clone()).collect())
    }

    pub(crate) fn ranking(&self) -> Ranking {
        let words = self.rarest_first().into_iter();
        Ranking {
            name: self.name.clone(),
            words: words.map(|word| word.in_name.clone()).collect(),
        }
    }

    /// Whether even the rarest word reached the counting limit.
    pub(crate) fn is_common(&self) -> bool {
        self.words.iter().all(|word| word.products >= MAX_COUNTED)
    }

    /// Whether it has a single word; the index of words then has the sort order of a search.
    pub(crate) const fn is_single(&self) -> bool {
        self.words.len() == 1
    }

    /// The first word determines what is read.
    fn rarest_first(&self) -> Vec<&ResolvedWord> {
        let mut words: Vec<&ResolvedWord> = self.words.iter().collect();
        words.sort_by_key(|word| word.products);
        words
    }

    fn reading(&self) -> SearchReading {
        let word = |word: &ResolvedWord| SearchWord {
            typed: word.typed.clone(),
            reading: word.reading,
            corrected: word.corrected.clone(),
        };
        SearchReading {
            text: self.query.text.clone(),
            words: self.words.iter().map(word).collect(),
            ignored: self.query.ignored.clone(),
            looked_through: None,
            did_you_mean: None,
        }
    }
}

fn words_condition(each: Vec<Vec<String>>) -> Condition {
    Condition::Words(Words::new(each))
}

/// Whether to search by the parts of a joined word instead of by the word, which no product has. Typing
/// mistakes in parts are corrected, but not in parts of a code.
fn are_better(parts: &[ResolvedWord], joined: &ResolvedWord) -> bool {
    let may_be_code = joined.typed.contains(char::is_numeric);
    let may_be_mistyped = joined.reading == WordReading::Unknown && !may_be_code;
    may_be_mistyped || parts.iter().all(ResolvedWord::is_found)
}

/// The keywords of a word in any field.
fn anywhere(word: &str) -> Vec<String> {
    vec![name_keyword(word), other_keyword(word)]
}

impl Catalog {
    /// Parses a search text.
    pub(crate) async fn parse_search(
        &self,
        text: Option<&str>,
        visibility: Visibility,
    ) -> Result<Option<Search>, DomainError> {
        // An empty search box is no search.
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
            return Ok(None);
        };
        let query = SearchQuery::parse(text)
            .map_err(|wrong| DomainError::invalid("search", wrong.to_string()))?;
        let words = query.words.iter().enumerate();
        let last = query.words.len() - 1;
        let words = words.map(|(at, word)| self.word(word, query.open && at == last, visibility));
        let words = try_join_all(words).await?;
        let parts = self.parts(&query, &words, visibility).await?;
        Ok(Some(Search::new(query, words, parts)))
    }

    /// Interprets the parts of joined words that no product has: `karst-strata` has the parts
    /// `karst` and `strata`. Returns the parts of each word; none of those that stay joined.
    async fn parts(
        &self,
        query: &SearchQuery,
        words: &[ResolvedWord],
        visibility: Visibility,
    ) -> Result<Vec<Vec<ResolvedWord>>, DomainError> {
        let mut room = MAX_QUERY_WORDS;
        let all = words.iter().zip(&query.parts).enumerate();
        let all = all.map(|(at, (word, parts))| {
            let is_looked_up = !word.is_found() && parts.len() <= room;
            let parts: &[String] = if is_looked_up { parts } else { &[] };
            room -= parts.len();
            let open = query.open && at + 1 == words.len();
            let each = parts.iter().enumerate();
            let each = each.map(move |(at, part)| {
                let is_last = at + 1 == parts.len();
                self.word(part, open && is_last, visibility)
            });
            async move {
                let parts = try_join_all(each).await?;
                let are_better = !parts.is_empty() && are_better(&parts, word);
                Ok(if are_better { parts } else { Vec::new() })
            }
        });
        try_join_all(all.collect::<Vec<_>>()).await
    }

    /// How the search of a list was interpreted; `None` without one. Looks for a similar text only
    /// when the whole list is empty.
    pub async fn search_reading(
        &self,
        page: &ListedProducts,
    ) -> Result<Option<SearchReading>, DomainError> {
        let Some(search) = &page.search else {
            return Ok(None);
        };
        let mut reading = search.reading();
        reading.looked_through = page.looked_through;
        let arguments = &page.query.page;
        if page.rows.is_empty() && arguments.after.is_none() && arguments.before.is_none() {
            reading.did_you_mean = self.did_you_mean(page, search).await?;
        }
        Ok(Some(reading))
    }

    /// Completions of a search text, those of popular products first.
    ///
    /// # Errors
    /// [`DomainError::Invalid`] when the text is too long or `first` is out of range.
    pub async fn search_suggestions(
        &self,
        prefix: &str,
        first: usize,
    ) -> Result<Vec<String>, DomainError> {
        if !(1..=MAX_SUGGESTIONS).contains(&first) {
            let reason = format!("must be 1 to {MAX_SUGGESTIONS}, not {first}");
            return Err(DomainError::invalid("first", reason));
        }
        let query = match SearchQuery::parse(prefix) {
            Ok(query) => query,
            Err(vitrine_model::search::SearchError::NoWords) => return Ok(Vec::new()),
            Err(wrong) => return Err(DomainError::invalid("prefix", wrong.to_string())),
        };
        let mut suggestions = self.complete(&query).await?;
        if suggestions.is_empty()
            && let Some(apart) = query.apart()
        {
            suggestions = self.complete(&apart).await?;
        }
        suggestions.truncate(first);
        Ok(suggestions)
    }

    /// The completions of a query.
    async fn complete(&self, query: &SearchQuery) -> Result<Vec<String>, DomainError> {
        let (last, before) = query.words.split_last().expect("a query has a word");
        let mut clauses: Vec<Vec<String>> = before.iter().map(|word| anywhere(word)).collect();
        let mut last_word = vec![name_keyword(last)];
        last_word.extend(self.continuations(last).await?);
        clauses.push(last_word);
        let is_single = clauses.len() == 1;
        let mut condition = Condition::All(vec![
            Condition::Status(Visibility::Public.states().to_vec()),
            words_condition(clauses),
        ]);
        // Matches of a single word are already sorted.
        if !is_single {
            condition = self.limited_for_suggestions(condition).await?;
        }
        let names = self.popular_names(condition).await?;
        Ok(completions(query, names.iter().map(String::as_str)))
    }

    async fn popular_names(&self, condition: Condition) -> Result<Vec<String>, DomainError> {
        let list = ProductList {
            condition,
            sort: ProductSort {
                key: ProductSortKey::Popularity,
                direction: Direction::Descending,
            },
            fields: ProductFields::WithoutTopReviews,
            by_spec: None,
            ranking: None,
            partial: false,
            scan_sort_index: false,
            looks_through: None,
        };
        let request = PageRequest {
            size: MAX_SUGGESTING,
            from: PageFrom::After(None),
        };
        let page = self.page_of_products(&list, &request, Visibility::Public);
        let page = page.await?;
        let name = |row: vitrine_storage::keyset::Row<crate::products::ProductView>| {
            row.value.name().map(str::to_owned)
        };
        Ok(page.rows.into_iter().map(name).collect::<Result<_, _>>()?)
    }

    /// Interprets one word.
    async fn word(
        &self,
        word: &str,
        open: bool,
        visibility: Visibility,
    ) -> Result<ResolvedWord, DomainError> {
        let exact = self.products_with(anywhere(word), visibility, MAX_COUNTED);
        let (exact, beginning) = if open {
            let beginning = async {
                let keywords = self.continuations(word).await?;
                let products = self.products_with(keywords.clone(), visibility, MAX_COUNTED);
                Ok((keywords, products.await?))
            };
            try_join(exact, beginning).await?
        } else {
            (exact.await?, (Vec::new(), 0))
        };
        let (continuations, continued) = beginning;
        let mut resolved = ResolvedWord {
            typed: word.to_owned(),
            reading: WordReading::Unknown,
            corrected: Vec::new(),
            anywhere: Vec::new(),
            in_name: vec![name_keyword(word)],
            products: exact.max(continued),
        };
        if exact > 0 || continued > 0 {
            resolved.reading = if exact > 0 {
                WordReading::Word
            } else {
                WordReading::Prefix
            };
            resolved.anywhere = anywhere(word);
            resolved.anywhere.extend(continuations);
            return Ok(resolved);
        }
        let corrections = self.corrections(word, visibility).await?;
        if let Some((_, products)) = corrections.first() {
            let words: Vec<String> = corrections.iter().map(|(word, _)| word.clone()).collect();
            resolved.reading = WordReading::Corrected;
            resolved.products = *products;
            resolved.in_name = words.iter().map(|word| name_keyword(word)).collect();
            resolved.anywhere = words.iter().flat_map(|word| anywhere(word)).collect();
            resolved.corrected = words;
        }
        Ok(resolved)
    }

    /// Returns the condition with its words in the cheapest order. If more than `max` products
    /// would be read, only the most popular are; their number is returned.
    pub(crate) async fn looked_through(
        &self,
        condition: Condition,
        max: u32,
    ) -> Result<(Condition, Option<u32>), DomainError> {
        self.read(|store| async move {
            let bound = store.bound(&condition, max).await?;
            let through = bound.is_exceeded().then(|| bound.looked_through());
            Ok((bound.lead(condition), through))
        })
        .await
    }

    /// The condition for suggestions.
    async fn limited_for_suggestions(
        &self,
        condition: Condition,
    ) -> Result<Condition, DomainError> {
        let max = self.max_searched() / SUGGESTION_DIVISOR;
        let (condition, _) = self.looked_through(condition, max).await?;
        Ok(condition)
    }

    /// The keywords of words with this prefix. In names, a keyword exists for short prefixes; other
    /// words are looked up in the vocabulary from the third letter on.
    async fn continuations(&self, beginning: &str) -> Result<Vec<String>, DomainError> {
        let mut keywords = prefix_keywords(beginning);
        if beginning.chars().count() < MIN_LOOKED_UP {
            return Ok(keywords);
        }
        let of_names = keywords.is_empty();
        let typed = beginning.to_owned();
        let words = self
            .read(
                |store| async move { store.find_words_by_prefix(&typed, MAX_CONTINUATIONS).await },
            )
            .await?;
        for word in words.iter().filter(|word| *word != beginning) {
            keywords.push(other_keyword(word));
            if of_names {
                keywords.push(name_keyword(word));
            }
        }
        Ok(keywords)
    }

    /// The words one letter away, most common first. Words with digits are not corrected: they may
    /// be codes.
    async fn corrections(
        &self,
        word: &str,
        visibility: Visibility,
    ) -> Result<Vec<(String, u64)>, DomainError> {
        if word.chars().count() < MIN_CORRECTED || word.contains(char::is_numeric) {
            return Ok(Vec::new());
        }
        let typed = word.to_owned();
        let near = self
            .read(|store| async move { store.find_similar_words(&typed, MAX_CONTINUATIONS).await })
            .await?;
        let near = near.into_iter().filter(|found| within_one(found, word));
        let near: Vec<String> = near.take(MAX_CANDIDATES).collect();
        let mut counted = self.count_words(near, visibility).await?;
        counted.truncate(MAX_CORRECTIONS);
        Ok(counted)
    }

    /// Words with the number of products that have them, most common first, without unused ones.
    async fn count_words(
        &self,
        words: Vec<String>,
        visibility: Visibility,
    ) -> Result<Vec<(String, u64)>, DomainError> {
        let counts = words
            .iter()
            .map(|word| self.products_with(anywhere(word), visibility, MAX_CANDIDATE_COUNT));
        let counts = join_all(counts).await;
        let mut counted = Vec::with_capacity(words.len());
        for (word, count) in words.into_iter().zip(counts) {
            counted.push((word, count?));
        }
        counted.retain(|(_, products)| *products > 0);
        counted.sort_by(|a, b| (Reverse(a.1), &a.0).cmp(&(Reverse(b.1), &b.0)));
        Ok(counted)
    }

    /// The number of products that have one of these keywords, counted up to `max`. Covered by an
    /// index.
    async fn products_with(
        &self,
        keywords: Vec<String>,
        visibility: Visibility,
        max: u64,
    ) -> Result<u64, DomainError> {
        let condition = Condition::All(vec![
            Condition::Status(visibility.states().to_vec()),
            words_condition(vec![keywords]),
        ]);
        if condition.is_nothing() {
            return Ok(0);
        }
        self.read(|store| async move { store.count_products(&condition, max).await })
            .await
    }

    /// A similar text that has results under the same filter.
    async fn did_you_mean(
        &self,
        page: &ListedProducts,
        search: &Search,
    ) -> Result<Option<String>, DomainError> {
        let mut words = Vec::with_capacity(search.words.len());
        for word in &search.words {
            let near = match word.reading {
                WordReading::Unknown => self.nearest(&word.typed, page.query.visibility).await?,
                WordReading::Corrected => word.corrected.first().cloned(),
                WordReading::Word | WordReading::Prefix => Some(word.typed.clone()),
            };
            words.extend(near.map(|near| (near, word.products)));
        }
        // First with all words, each corrected; then without the rarest.
        for _ in 0..MAX_PROPOSALS {
            if words.is_empty() {
                break;
            }
            let texts: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
            let text = texts.join(" ");
            if text != search.query.folded && self.finds(&text, page).await? {
                return Ok(Some(text));
            }
            let rarest = words.iter().enumerate().min_by_key(|(_, (_, n))| *n);
            let rarest = rarest.map_or(0, |(at, _)| at);
            words.remove(rarest);
        }
        Ok(None)
    }

    /// The word most similar to an unknown one: the same first two letters, at most two typing
    /// mistakes.
    async fn nearest(
        &self,
        word: &str,
        visibility: Visibility,
    ) -> Result<Option<String>, DomainError> {
        let beginning: String = word.chars().take(2).collect();
        if word.chars().count() < MIN_CORRECTED {
            return Ok(None);
        }
        let alike = self
            .read(|store| async move { store.find_words_by_prefix(&beginning, MAX_COMPARED).await })
            .await?;
        let distance = |found: &String| strsim::osa_distance(found, word);
        let near = alike.into_iter().map(|found| (distance(&found), found));
        let mut near: Vec<(usize, String)> = near.filter(|(d, _)| *d <= 2).collect();
        near.sort();
        let best = near.first().map(|(distance, _)| *distance);
        let near = near.into_iter().filter(|(d, _)| Some(*d) == best);
        let near = near.take(MAX_CANDIDATES).map(|(_, found)| found);
        let counted = self.count_words(near.collect(), visibility).await?;
        Ok(counted.into_iter().next().map(|(word, _)| word))
    }

    /// Whether a text has results under the filter of a list.
    async fn finds(&self, text: &str, page: &ListedProducts) -> Result<bool, DomainError> {
        let visibility = page.query.visibility;
        let (_, filter) = self
            .product_condition(&page.query.filter, visibility)
            .await?;
        // The blank marks the last word as complete.
        let Some(search) = self
            .parse_search(Some(&format!("{text} ")), visibility)
            .await?
        else {
            return Ok(false);
        };
        let condition = Condition::All(vec![filter, search.condition()]);
        if condition.is_nothing() {
            return Ok(false);
        }
        let condition = self.limited_for_suggestions(condition).await?;
        let found = self
            .read(|store| async move { store.count_products(&condition, 1).await })
            .await?;
        Ok(found > 0)
    }
}
