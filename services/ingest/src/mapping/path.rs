//! Paths into a row: `a.b`, `images[].url`, `offers[0].price`, `prices[type=net].amount`, `"key.with.dots".x`, `.` for the row
//! itself. Inside lists, `^` is the whole row of the line, `^offers.price` a value of the item around
//! of the list `offers`, `^line` the number of the line and `^item` that of the item.

use std::fmt;

use serde_json::Value;
use vitrine_formats::push_key;
use vitrine_model::clock::Timestamp;

#[cfg(test)]
mod tests;

/// What paths start from: a row, or an item of a list in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'v> {
    /// The row, or the item.
    pub(crate) here: &'v Value,
    /// The whole row of the line.
    whole: &'v Value,
    /// The number of the line in its file, from 1.
    line: &'v Value,
    /// The number of the item, from 1; null outside of lists.
    item: &'v Value,
    /// The items that this is in, or is: one for each list of a path, from the outermost.
    around: &'v [&'v Value],
    /// Whether each value is traced.
    pub(crate) traced: bool,
    /// The time at which the row is read, if there is a clock.
    pub(crate) now: Option<Timestamp>,
}

static NULL: Value = Value::Null;

impl<'v> Row<'v> {
    /// Returns the row of a line. `line` is the number of the line.
    pub(crate) fn new(whole: &'v Value, line: &'v Value) -> Self {
        Self {
            here: whole,
            whole,
            line,
            item: &NULL,
            around: &[],
            traced: false,
            now: None,
        }
    }

    /// Returns the row as it is read at this time.
    pub(crate) fn read_at(self, now: Option<Timestamp>) -> Self {
        Self { now, ..self }
    }

    /// Returns the row with tracing switched on.
    pub(crate) fn traced(self) -> Self {
        Self {
            traced: true,
            ..self
        }
    }

    /// Returns the start for the paths of a value inside the row.
    pub(crate) fn at(self, here: &'v Value) -> Self {
        Self { here, ..self }
    }

    /// Returns the start for the paths of an item with this number. `around` are the items that it
    /// is in, and itself.
    pub(crate) fn item(self, here: &'v Value, item: &'v Value, around: &'v [&'v Value]) -> Self {
        Self {
            here,
            item,
            around,
            ..self
        }
    }
}

#[cfg(test)]
impl<'v> From<&'v Value> for Row<'v> {
    fn from(row: &'v Value) -> Self {
        Self::new(row, &NULL)
    }
}

/// The place of a value in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    start: Start,
    steps: Vec<PathStep>,
}

/// Where a path starts.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Start {
    /// At the row or the item.
    Here,
    /// At the whole row of the line, `^`.
    Whole,
    /// At the item around of the list of this name, `^name`: by its place in [`Row::around`].
    Around(String, usize),
    /// It is the number of the line, `^line`.
    Line,
    /// It is the number of the item, `^item`.
    Item,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathStep {
    /// Into the value of a key.
    Key(String),
    /// Into every item of a list.
    Each,
    /// Into one item of a list, counted from 0.
    At(usize),
    /// Into the first item of a list that has this value at this key.
    With(String, String),
    /// Any one step, `*`; only in the paths of rules and of rows.
    Any,
    /// Any number of steps, `**`; only in the paths of rules.
    AnyDeep,
}

impl Path {
    /// The path of the row itself.
    pub(crate) const HERE: Self = Self {
        start: Start::Here,
        steps: Vec::new(),
    };

    /// Parses a path to values.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Self::parse_inside(text, &[])
    }

    /// Parses a path to values that starts at an item inside of lists with these names, from the
    /// outermost.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub(crate) fn parse_inside(text: &str, lists: &[String]) -> Result<Self, String> {
        let path = Self::parse_any(text, lists)?;
        let wild = |step| matches!(step, &PathStep::Any | &PathStep::AnyDeep);
        if path.steps.iter().any(wild) {
            return Err(format!(
                "{text:?}: * and ** are wildcards only in rows, include, exclude and the paths of rules; \
                 a key of that name is written '\"*\"'"
            ));
        }
        Ok(path)
    }

    /// Parses a path that may have wildcards.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub(crate) fn parse_with_wildcards(text: &str) -> Result<Self, String> {
        Self::parse_any(text, &[])
    }

    fn parse_any(text: &str, lists: &[String]) -> Result<Self, String> {
        if text == "." {
            return Ok(Self::HERE);
        }
        let (start, rest) = match text.strip_prefix('^') {
            None => (Start::Here, text),
            Some("line") => (Start::Line, ""),
            Some("item") => (Start::Item, ""),
            Some("") => (Start::Whole, ""),
            Some(rest) if rest.starts_with('[') => (Start::Whole, rest),
            Some(rest) => match rest.strip_prefix('.') {
                Some(rest) => (Start::Whole, rest),
                None => around(text, rest, lists)?,
            },
        };
        let steps = if rest.is_empty() && start != Start::Here {
            Vec::new()
        } else {
            steps(rest)?
        };
        Ok(Self { start, steps })
    }

    /// The steps.
    pub(crate) fn steps(&self) -> &[PathStep] {
        &self.steps
    }

    /// Returns true if the path starts at the row or item, not at the whole row of the line.
    pub(crate) fn is_relative(&self) -> bool {
        self.start == Start::Here
    }

    /// Returns true if the path may lead to several values.
    pub(crate) fn has_items(&self) -> bool {
        self.steps.contains(&PathStep::Each)
    }

    /// The value at the path; the first one if the path contains lists.
    pub(crate) fn first<'v>(&self, row: Row<'v>) -> Option<&'v Value> {
        first(&self.steps, self.start(row))
    }

    /// All values at the path, in the order of the row. If the path ends at a list, its items are
    /// returned.
    pub(crate) fn all<'v>(&self, row: Row<'v>) -> Vec<&'v Value> {
        let mut values = Vec::new();
        all(&self.steps, self.start(row), &mut values);
        values
    }

    /// The names of the lists that the path goes into, and of the one that it ends at, from the
    /// outermost.
    pub(crate) fn lists(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut name = String::new();
        for step in &self.steps {
            match step {
                PathStep::Key(key) => name.clone_from(key),
                PathStep::Each => names.push(std::mem::take(&mut name)),
                _ => {}
            }
        }
        if !matches!(self.steps.last(), Some(PathStep::Each)) {
            names.push(name);
        }
        names
    }

    /// Visits all values that [`Path::all`] returns, each with the items around it, which are as
    /// many as [`Path::lists`], and their indexes.
    pub(crate) fn visit<'v>(&self, row: Row<'v>, visit: Visit<'_, 'v>) {
        let mut visitor = Visitor {
            around: Vec::new(),
            indexes: Vec::new(),
            visit,
        };
        visitor.steps(&self.steps, self.start(row), true);
    }

    /// The path of a visited value, `producers[0].wines[2]`, by the indexes of the items around it.
    pub(crate) fn place(&self, indexes: &[usize]) -> String {
        let mut indexes = indexes.iter().copied().map(PathStep::At);
        let mut place = Self {
            start: self.start.clone(),
            steps: Vec::new(),
        };
        for step in &self.steps {
            place.steps.extend(match step {
                PathStep::Each => indexes.next(),
                other => Some(other.clone()),
            });
        }
        place.steps.extend(indexes);
        place.to_string()
    }

    fn start<'v>(&self, row: Row<'v>) -> &'v Value {
        match &self.start {
            Start::Here => row.here,
            Start::Whole => row.whole,
            Start::Around(_, at) => row.around.get(*at).copied().unwrap_or(&NULL),
            Start::Line => row.line,
            Start::Item => row.item,
        }
    }
}

/// Is given a value, the items around it, and their indexes.
pub(crate) type Visit<'a, 'v> = &'a mut dyn FnMut(&'v Value, &[&'v Value], &[usize]);

/// Visits the values at a path with the items around them.
struct Visitor<'a, 'v> {
    around: Vec<&'v Value>,
    indexes: Vec<usize>,
    visit: Visit<'a, 'v>,
}

impl<'v> Visitor<'_, 'v> {
    /// Takes the steps from a value. `list` is true if the value may be the list that a path ends
    /// at.
    fn steps(&mut self, steps: &[PathStep], value: &'v Value, list: bool) {
        let Some((step, rest)) = steps.split_first() else {
            if list || value.is_array() {
                self.items(value, Self::here);
            } else if !value.is_null() {
                self.here(value);
            }
            return;
        };
        if *step == PathStep::Each {
            self.items(value, |visitor, item| visitor.steps(rest, item, false));
        } else if let Some(inside) = one(step, value) {
            self.steps(rest, inside, true);
        }
    }

    fn here(&mut self, value: &'v Value) {
        (self.visit)(value, &self.around, &self.indexes);
    }

    fn items(&mut self, list: &'v Value, take: impl Fn(&mut Self, &'v Value)) {
        for (at, item) in items(list).iter().enumerate() {
            self.around.push(item);
            self.indexes.push(at);
            take(self, item);
            self.around.pop();
            self.indexes.pop();
        }
    }
}

/// Parses the name after `^`; returns the start that it names and the steps after it.
fn around<'t>(text: &str, rest: &'t str, lists: &[String]) -> Result<(Start, &'t str), String> {
    let mut name = Vec::new();
    let rest = key(rest, &mut name)?;
    let named = match name.as_slice() {
        [PathStep::Key(name)] => lists
            .iter()
            .rposition(|list| list == name)
            .map(|at| (name, at)),
        _ => None,
    };
    let Some((name, at)) = named else {
        let lists: Vec<&str> = lists
            .iter()
            .map(String::as_str)
            .filter(|name| !name.is_empty())
            .collect();
        let around = if lists.is_empty() {
            String::new()
        } else {
            format!("; lists around: {}", lists.join(", "))
        };
        return Err(format!(
            "{text:?}: ^ is the whole row of the line and ^.key a value of it, ^name the item around of \
             the list with that name, ^line the number of the line, ^item that of the item{around}"
        ));
    };
    let start = Start::Around(name.clone(), at);
    match rest.strip_prefix('.') {
        Some(rest) => Ok((start, rest)),
        None => Ok((start, rest)),
    }
}

fn steps(text: &str) -> Result<Vec<PathStep>, String> {
    let mut steps = Vec::new();
    let mut rest = text;
    loop {
        rest = key(rest, &mut steps)?;
        rest = indexes(rest, &mut steps)?;
        match rest.strip_prefix('.') {
            Some(more) => rest = more,
            None if rest.is_empty() => return Ok(steps),
            None => {
                return Err(format!(
                    "{rest:?} cannot follow an index; a step starts with ."
                ));
            }
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for step in &self.steps {
            step.push_to(&mut text);
        }
        match &self.start {
            Start::Here if text.is_empty() => f.write_str("."),
            Start::Here => f.write_str(&text),
            Start::Whole if text.is_empty() || text.starts_with('[') => write!(f, "^{text}"),
            Start::Whole => write!(f, "^.{text}"),
            Start::Around(name, _) => {
                let mut start = String::new();
                push_key(&mut start, name);
                let dot = if text.is_empty() || text.starts_with('[') {
                    ""
                } else {
                    "."
                };
                write!(f, "^{start}{dot}{text}")
            }
            Start::Line => f.write_str("^line"),
            Start::Item => f.write_str("^item"),
        }
    }
}

impl PathStep {
    /// Appends the step to the text of a path.
    pub(crate) fn push_to(&self, path: &mut String) {
        match self {
            Self::Key(key) => push_key(path, key),
            Self::Each => path.push_str("[]"),
            Self::At(index) => {
                path.push('[');
                path.push_str(&index.to_string());
                path.push(']');
            }
            Self::With(key, value) => {
                path.push('[');
                push_part(path, key);
                path.push('=');
                push_part(path, value);
                path.push(']');
            }
            Self::Any => push_wildcard(path, "*"),
            Self::AnyDeep => push_wildcard(path, "**"),
        }
    }
}

/// Appends the key or the value of a condition, quoted if it would be ambiguous otherwise.
fn push_part(path: &mut String, part: &str) {
    let plain = !part.is_empty() && part.trim() == part && !part.contains(['=', ']', '"', '\\']);
    if plain {
        path.push_str(part);
    } else {
        path.push('"');
        path.push_str(&part.replace('\\', "\\\\").replace('"', "\\\""));
        path.push('"');
    }
}

fn push_wildcard(path: &mut String, wildcard: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(wildcard);
}

/// Parses a key at the start of the text; returns the rest.
fn key<'t>(text: &'t str, steps: &mut Vec<PathStep>) -> Result<&'t str, String> {
    if text.starts_with('[') && steps.is_empty() {
        return Ok(text);
    }
    if let Some(quoted) = text.strip_prefix('"') {
        return quoted_key(quoted, steps);
    }
    let end = text.find(['.', '[']).unwrap_or(text.len());
    if end == 0 {
        return Err("a step is empty; an empty key is written \"\"".to_owned());
    }
    steps.push(match &text[..end] {
        "*" => PathStep::Any,
        "**" => PathStep::AnyDeep,
        key => PathStep::Key(key.to_owned()),
    });
    Ok(&text[end..])
}

fn quoted_key<'t>(text: &'t str, steps: &mut Vec<PathStep>) -> Result<&'t str, String> {
    let (key, rest) = quoted(text)?;
    steps.push(PathStep::Key(key));
    Ok(rest)
}

/// Parses the rest of a text in quotation marks; returns it and what follows.
fn quoted(text: &str) -> Result<(String, &str), String> {
    let mut key = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Ok((key, &text[at + 1..])),
            '\\' => key.extend(letters.next().map(|(_, escaped)| escaped)),
            _ => key.push(letter),
        }
    }
    Err("a quotation mark is not closed".to_owned())
}

/// Parses `[]`, `[3]` and `[key=value]` at the start of the text; returns the rest.
fn indexes<'t>(mut text: &'t str, steps: &mut Vec<PathStep>) -> Result<&'t str, String> {
    while let Some(inside) = text.strip_prefix('[') {
        let (step, rest) = match condition(inside)? {
            Some(condition) => condition,
            None => index(inside)?,
        };
        steps.push(step);
        text = rest;
    }
    Ok(text)
}

/// Parses the inside of `[]` and `[3]`; returns what follows.
fn index(inside: &str) -> Result<(PathStep, &str), String> {
    let (index, rest) = inside.split_once(']').ok_or("a [ is not closed")?;
    if index.is_empty() {
        return Ok((PathStep::Each, rest));
    }
    let number = index
        .parse()
        .map_err(|_| format!("[{index}] is neither an index nor a condition such as [type=net]"))?;
    Ok((PathStep::At(number), rest))
}

/// Parses the inside of `[key=value]`; returns what follows. `None` if it is no condition.
fn condition(inside: &str) -> Result<Option<(PathStep, &str)>, String> {
    let (key, rest) = part(inside, '=')?;
    let Some(rest) = rest.strip_prefix('=') else {
        return Ok(None);
    };
    let (value, rest) = part(rest, ']')?;
    let rest = rest.strip_prefix(']').ok_or("a [ is not closed")?;
    if key.is_empty() {
        return Err("a condition such as [type=net] begins with a key".to_owned());
    }
    Ok(Some((PathStep::With(key, value), rest)))
}

/// Parses a key or a value of a condition, quoted or up to a sign or the end of the condition.
fn part(text: &str, end: char) -> Result<(String, &str), String> {
    if let Some(text) = text.strip_prefix('"') {
        return quoted(text);
    }
    let end = text.find([end, ']']).unwrap_or(text.len());
    Ok((text[..end].trim().to_owned(), &text[end..]))
}

/// The value of a key. The text of an element of XML that has nothing but text is the element.
fn inside<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    match value {
        Value::String(_) if key == "#text" => Some(value),
        other => other.get(key),
    }
}

/// The items of a list. A value that is none is a list of itself: XML knows no lists of one.
fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        Value::Null => &[],
        one => std::slice::from_ref(one),
    }
}

/// The first item of a list that has a value at a key; also the number that the text shows.
fn item_with<'v>(list: &'v Value, key: &str, wanted: &str) -> Option<&'v Value> {
    let is_wanted = |value: &Value| match value {
        Value::String(text) => text.trim() == wanted,
        Value::Number(number) => number.to_string() == wanted,
        Value::Bool(flag) => wanted == if *flag { "true" } else { "false" },
        _ => false,
    };
    let mut items = items(list).iter();
    items.find(|item| inside(item, key).is_some_and(is_wanted))
}

fn first<'v>(steps: &[PathStep], value: &'v Value) -> Option<&'v Value> {
    let Some((step, rest)) = steps.split_first() else {
        return Some(value);
    };
    match step {
        PathStep::Each => items(value).iter().find_map(|item| first(rest, item)),
        step => first(rest, one(step, value)?),
    }
}

/// The value that a step leads to, if it is one into a single value.
fn one<'v>(step: &PathStep, value: &'v Value) -> Option<&'v Value> {
    match step {
        PathStep::Key(key) => inside(value, key),
        PathStep::At(index) => items(value).get(*index),
        PathStep::With(key, wanted) => item_with(value, key, wanted),
        PathStep::Each | PathStep::Any | PathStep::AnyDeep => None,
    }
}

fn all<'v>(steps: &[PathStep], value: &'v Value, values: &mut Vec<&'v Value>) {
    let Some((step, rest)) = steps.split_first() else {
        match value {
            Value::Array(items) => values.extend(items),
            Value::Null => {}
            one => values.push(one),
        }
        return;
    };
    let inside: &[Value] = match step {
        PathStep::Each => items(value),
        step => one(step, value).map_or(&[], std::slice::from_ref),
    };
    for value in inside {
        all(rest, value, values);
    }
}
