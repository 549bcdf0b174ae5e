//! Documents: the blocks, headings, links and tables of the Markdown files of the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::environment::workspace_dir;

/// Directories without documents of ours.
const SKIPPED: [&str; 3] = ["target", ".git", "node_modules"];

/// A Markdown file.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its path, from the root of the repository.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// A fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The line of its fence, from 1 on.
    pub line: usize,
    /// What stands behind the fence: `json`, `json event`.
    pub info: String,
    /// What is in it.
    pub text: String,
}

/// A link to somewhere in the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The line it is in, from 1 on.
    pub line: usize,
    /// The file, from the root of the repository; the document itself when the link has none.
    pub file: PathBuf,
    /// The anchor within it.
    pub anchor: Option<String>,
}

impl Document {
    /// A document by its path from the root of the repository.
    ///
    /// # Panics
    /// When it cannot be read.
    #[must_use]
    pub fn read(path: &str) -> Self {
        let text = fs::read_to_string(workspace_dir().join(path));
        Self {
            path: path.to_owned(),
            text: text.unwrap_or_else(|error| panic!("{path}: {error}")),
        }
    }

    /// All documents of the repository, by path.
    ///
    /// # Panics
    /// When a directory or a document cannot be read.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let (root, mut found) = (workspace_dir(), Vec::new());
        let mut directories = vec![root.clone()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).expect("a directory of ours") {
                let path = entry.expect("an entry of it").path();
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                if path.is_dir() && !SKIPPED.contains(&&*name) {
                    directories.push(path);
                } else if path.extension().is_some_and(|ending| ending == "md") {
                    let relative = path.strip_prefix(&root).expect("it is below the root");
                    found.push(relative.to_string_lossy().into_owned());
                }
            }
        }
        found.sort();
        found.iter().map(|path| Self::read(path)).collect()
    }

    /// The fenced blocks, from the top down.
    #[must_use]
    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut open = false;
        for (at, line) in self.text.lines().enumerate() {
            match fence(line) {
                Some(info) if !open => {
                    open = true;
                    blocks.push(Block {
                        line: at + 1,
                        info: info.to_owned(),
                        text: String::new(),
                    });
                }
                Some(_) => open = false,
                None if open => {
                    let block = blocks.last_mut().expect("one was opened");
                    block.text.push_str(line);
                    block.text.push('\n');
                }
                None => {}
            }
        }
        blocks
    }

    /// The lines outside blocks, with their numbers from 1 on.
    pub fn prose(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut open = false;
        self.text.lines().enumerate().filter_map(move |(at, line)| {
            let fenced = fence(line).is_some();
            open ^= fenced;
            (!open && !fenced).then_some((at + 1, line))
        })
    }

    /// What links can point at: the anchors that headings get on code hosts.
    #[must_use]
    pub fn anchors(&self) -> BTreeSet<String> {
        let mut taken: BTreeMap<String, usize> = BTreeMap::new();
        let headings = self.prose().filter_map(|(_, line)| heading(line));
        let anchor = |heading| {
            let anchor = slug(heading);
            let times = taken.entry(anchor.clone()).or_default();
            *times += 1;
            match *times {
                1 => anchor,
                times => format!("{anchor}-{}", times - 1),
            }
        };
        headings.map(anchor).collect()
    }

    /// The links to somewhere in the repository.
    #[must_use]
    pub fn links(&self) -> Vec<Link> {
        let mut links = Vec::new();
        for (line, text) in self.prose() {
            let text = without_code(text);
            let targets = text.split("](").skip(1);
            let targets = targets.filter_map(|rest| Some(rest.split_once(')')?.0));
            for target in targets.filter(|target| !target.contains("://")) {
                let (file, anchor) = match target.split_once('#') {
                    Some((file, anchor)) => (file, Some(anchor.to_owned())),
                    None => (target, None),
                };
                let file = self.beside(file);
                links.push(Link { line, file, anchor });
            }
        }
        links
    }

    /// A path that is relative to this document, from the root of the repository.
    fn beside(&self, file: &str) -> PathBuf {
        if file.is_empty() {
            return PathBuf::from(&self.path);
        }
        let mut path = Path::new(&self.path)
            .parent()
            .unwrap_or(Path::new(""))
            .to_owned();
        for step in file.split('/').filter(|step| !matches!(*step, "" | ".")) {
            if step == ".." {
                path.pop();
            } else {
                path.push(step);
            }
        }
        path
    }

    /// The rows of the tables below a heading, up to the next one, cell by cell, headers left out.
    #[must_use]
    pub fn rows(&self, below: &str) -> Vec<Vec<String>> {
        let mut here = false;
        let (mut rows, mut before) = (Vec::new(), None);
        for (_, line) in self.prose() {
            if let Some(heading) = heading(line) {
                here = heading == below;
            }
            let row = (here && line.starts_with('|')).then(|| cells(line));
            match &row {
                // What stands above such a line is a header.
                Some(cells) if cells.iter().all(|cell| is_rule(cell)) => before = None,
                _ => rows.extend(std::mem::replace(&mut before, row)),
            }
        }
        rows.extend(before);
        rows
    }
}

/// What stands behind a fence; `None` when the line is none.
fn fence(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("```").map(str::trim)
}

/// The text of a heading.
fn heading(line: &str) -> Option<&str> {
    let text = line.strip_prefix('#')?.trim_start_matches('#');
    text.strip_prefix(' ').map(str::trim)
}

fn slug(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|sign| sign.is_alphanumeric() || matches!(sign, ' ' | '-' | '_'));
    let dashed = kept.map(|sign| if sign == ' ' { '-' } else { sign });
    dashed.flat_map(char::to_lowercase).collect()
}

/// The line without what stands between backticks.
fn without_code(line: &str) -> String {
    let parts = line.split('`').enumerate();
    let prose = parts.filter(|(at, _)| at % 2 == 0);
    prose.map(|(_, part)| part).collect()
}

fn cells(row: &str) -> Vec<String> {
    let row = row.trim().trim_start_matches('|').trim_end_matches('|');
    row.split('|').map(|cell| cell.trim().to_owned()).collect()
}

fn is_rule(cell: &str) -> bool {
    !cell.is_empty() && cell.chars().all(|sign| matches!(sign, '-' | ':'))
}
