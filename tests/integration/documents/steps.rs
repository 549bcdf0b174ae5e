//! The blocks of a document as steps: what is asked, run and compared, one after the other.

use serde_json::{Map, Value};
use vitrine_api::graphql::{Role, Viewer};
use vitrine_harness::documents::{Block, Document};
use vitrine_server::{Cli, Command};

use super::shell::{CommandLine, commands};
use super::{checked, none};

/// A step.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A query and its answer.
    Ask(Example),
    /// A subscription.
    Follow { document: String },
    /// What the subscription delivers next.
    Event { line: usize, shown: Value },
    /// Commands, and what they print.
    Run {
        line: usize,
        commands: Vec<CommandLine>,
        output: Option<String>,
    },
    /// A file that commands find.
    File { name: String, text: String },
    /// A file of `migrations`.
    NumberedFile { text: String },
    /// A file of `schema/mongodb`.
    SchemaFile { shown: Value },
}

/// A query with its answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Example {
    pub(super) line: usize,
    pub(super) viewer: Viewer,
    pub(super) document: String,
    pub(super) variables: Map<String, Value>,
    pub(super) answer: Value,
}

impl Step {
    /// What a document shows, step by step.
    pub(super) fn all(document: &Document) -> Result<Vec<Self>, Vec<String>> {
        let mut reader = Reader::default();
        for block in document.blocks() {
            if let Err(mistake) = reader.take(&block) {
                let mistake = format!("{}:{}: {mistake}", document.path, block.line);
                reader.mistakes.push(mistake);
            }
        }
        if let Some(asked) = reader.asked {
            let mistake = format!("{}:{}: no answer is shown", document.path, asked.line);
            reader.mistakes.push(mistake);
        }
        if reader.mistakes.is_empty() {
            Ok(reader.steps)
        } else {
            Err(reader.mistakes)
        }
    }
}

/// Reads blocks in their order.
#[derive(Default)]
struct Reader {
    steps: Vec<Step>,
    mistakes: Vec<String>,
    /// A query whose answer is still to come.
    asked: Option<Example>,
    /// Whom the token speaks for that commands use.
    token: Viewer,
}

impl Reader {
    fn take(&mut self, block: &Block) -> Result<(), String> {
        if self.asked.is_some() && !block.info.starts_with("json") {
            return Err("the query above has no answer".to_owned());
        }
        let (line, text) = (block.line, block.text.clone());
        match block.info.as_str() {
            "graphql" => return self.query(block),
            "json variables" => {
                let asked = self
                    .asked
                    .as_mut()
                    .ok_or("no query takes these variables")?;
                asked.variables = serde_json::from_str(&text).map_err(|e| e.to_string())?;
            }
            "json" => {
                let mut asked = self.asked.take().ok_or("no query has this answer")?;
                asked.answer = json(&text)?;
                self.steps.push(Step::Ask(asked));
            }
            "json event" => {
                let shown = json(&text)?;
                self.steps.push(Step::Event { line, shown });
            }
            "text events" => {
                let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
                for data in data {
                    let shown = json(data)?;
                    self.steps.push(Step::Event { line, shown });
                }
            }
            "json numbered-file" => self.steps.push(Step::NumberedFile { text }),
            "json schema-file" => {
                let shown = json(&text)?;
                self.steps.push(Step::SchemaFile { shown });
            }
            "sh" => return self.shell(block),
            "text" => match self.steps.last_mut() {
                Some(Step::Run { output, .. }) if output.is_none() => *output = Some(text),
                _ => return Err("no command prints this".to_owned()),
            },
            info => match info.split_once(' ') {
                Some(("toml" | "jsonl" | "xml", name)) => {
                    let name = name.to_owned();
                    self.steps.push(Step::File { name, text });
                }
                _ => return Err(format!("nobody checks a block of the kind {info:?}")),
            },
        }
        Ok(())
    }

    fn query(&mut self, block: &Block) -> Result<(), String> {
        let first = block.text.lines().next().unwrap_or_default();
        let viewer = first
            .strip_prefix("# ")
            .map_or(Ok(Viewer::default()), viewer)?;
        let document = block.text.clone();
        if document
            .lines()
            .any(|line| line.starts_with("subscription"))
        {
            self.steps.push(Step::Follow { document });
        } else {
            self.asked = Some(Example {
                line: block.line,
                viewer,
                document,
                ..Example::default()
            });
        }
        Ok(())
    }

    fn shell(&mut self, block: &Block) -> Result<(), String> {
        let commands = commands(&block.text)?;
        for command in &commands {
            match command {
                CommandLine::Token(arguments) => self.token = token(arguments)?,
                CommandLine::Curl(arguments) => {
                    let example = self.curl(block, arguments)?;
                    if example.document.starts_with("subscription") {
                        let document = example.document;
                        self.steps.push(Step::Follow { document });
                    } else {
                        self.asked = Some(example);
                    }
                }
                _ => {}
            }
        }
        self.steps.push(Step::Run {
            line: block.line,
            commands,
            output: None,
        });
        Ok(())
    }

    /// A query that is sent with `curl`, as its arguments have it.
    fn curl(&self, block: &Block, arguments: &[String]) -> Result<Example, String> {
        let here = Cli::read(["vitrine"]).unwrap().dev.listen;
        let (mut document, mut viewer) = (None, Viewer::default());
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(argument) = rest.next() {
            match argument {
                "-s" | "-sN" => {}
                "-H" => match rest.next() {
                    Some("content-type: application/json" | "accept: text/event-stream") => {}
                    Some("authorization: Bearer $TOKEN") => viewer = self.token.clone(),
                    other => return Err(format!("an unknown header: {other:?}")),
                },
                "-d" => document = Some(json(rest.next().unwrap_or_default())?),
                address if *address == format!("http://{here}/graphql") => {}
                other => return Err(format!("curl is not known to take {other}")),
            }
        }
        let body = document.ok_or("curl sends nothing")?;
        let document = body["query"].as_str().ok_or("no query is sent")?.to_owned();
        Ok(Example {
            line: block.line,
            viewer,
            document,
            ..Example::default()
        })
    }
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Whom a line names: `ada, shopper`.
fn viewer(line: &str) -> Result<Viewer, String> {
    let named = line.split_once(", ");
    let named = named.and_then(|(subject, role)| Some((subject, Role::named(role)?)));
    let (subject, role) = named.ok_or_else(|| format!("no subject and role: {line}"))?;
    Ok(Viewer {
        subject: Some(subject.to_owned()),
        roles: vec![role],
    })
}

/// Whom a token speaks for that is made with these arguments.
fn token(arguments: &[String]) -> Result<Viewer, String> {
    let line = ["vitrine".to_owned()].into_iter().chain(arguments.to_vec());
    let settings = Cli::read(line).map_err(|error| error.to_string())?;
    let Some(Command::Token(made)) = settings.command else {
        return Err(format!("no token is made by {arguments:?}"));
    };
    let roles = made.roles.iter().filter_map(|role| Role::named(role));
    Ok(Viewer {
        subject: Some(made.subject),
        roles: roles.collect(),
    })
}

#[test]
fn every_block_is_of_a_kind_that_is_checked() {
    let mistakes: Vec<String> = checked()
        .iter()
        .filter_map(|document| Step::all(document).err())
        .flatten()
        .collect();
    none(&mistakes);
}
