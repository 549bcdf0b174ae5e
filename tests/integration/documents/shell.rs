//! The command lines of `sh` blocks.

use std::iter::Peekable;
use std::str::Chars;

/// Commands that are no roles of the binary.
const KNOWN: [&str; 9] = [
    "cargo test",
    "cargo test --locked",
    "cargo build --profile image",
    "cargo build --release",
    "cargo fmt --all",
    "cargo lint",
    "UPDATE_EXPECT=1 cargo test",
    ".ci/run",
    "docker compose -f docker/compose.yaml up --build",
];

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CommandLine {
    /// The binary with these arguments, as `vitrine …` or `cargo run -- …`.
    Vitrine(Vec<String>),
    /// The same, and what it prints is kept as the token that follows.
    Token(Vec<String>),
    /// `curl` with these arguments.
    Curl(Vec<String>),
    /// Sets environment variables with these names.
    Export(Vec<String>),
    /// One of [`KNOWN`].
    Known,
}

/// The commands of a block; comments and line ends behind a backslash are left out.
pub(super) fn commands(block: &str) -> Result<Vec<CommandLine>, String> {
    let joined = block.replace("\\\n", " ");
    let lines = joined.lines().filter(|line| !words(line).is_empty());
    lines.map(command).collect()
}

fn command(line: &str) -> Result<CommandLine, String> {
    let token = line.strip_prefix("TOKEN=$(");
    if let Some(inner) = token.and_then(|rest| rest.strip_suffix(')')) {
        return vitrine(&words(inner))
            .map(CommandLine::Token)
            .ok_or_else(|| format!("no token: {line}"));
    }
    let words = words(line);
    if let Some(arguments) = vitrine(&words) {
        return Ok(CommandLine::Vitrine(arguments));
    }
    match words[0].as_str() {
        "curl" => Ok(CommandLine::Curl(words[1..].to_vec())),
        "export" => Ok(CommandLine::Export(names(&words[1..]))),
        _ if KNOWN.contains(&words.join(" ").as_str()) => Ok(CommandLine::Known),
        _ => Err(format!("an unknown command: {line}")),
    }
}

/// The arguments for the binary.
fn vitrine(words: &[String]) -> Option<Vec<String>> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let arguments = match &words[..] {
        ["cargo", "run"] => &[][..],
        ["vitrine", arguments @ ..]
        | ["cargo", "run", "--", arguments @ ..]
        | ["cargo", "run", "-q", "--", arguments @ ..] => arguments,
        _ => return None,
    };
    Some(arguments.iter().map(|&word| word.to_owned()).collect())
}

fn names(assignments: &[String]) -> Vec<String> {
    let name = |word: &String| word.split('=').next().unwrap_or_default().to_owned();
    assignments.iter().map(name).collect()
}

/// The words of a line, as a shell splits them, up to a comment.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.chars().peekable();
    while let Some(&next) = rest.peek() {
        match next {
            '#' => break,
            _ if next.is_whitespace() => {
                rest.next();
            }
            _ => words.push(word(&mut rest)),
        }
    }
    words
}

fn word(rest: &mut Peekable<Chars>) -> String {
    let (mut word, mut quote) = (String::new(), None);
    while let Some(&next) = rest.peek() {
        match quote {
            None if next.is_whitespace() => break,
            None if matches!(next, '\'' | '"') => quote = Some(next),
            Some(open) if open == next => quote = None,
            _ => word.push(next),
        }
        rest.next();
    }
    word
}

#[test]
fn a_line_is_split_as_a_shell_does() {
    assert_eq!(
        words(r#"curl -H "a: $B" -d '{ "c": 1 }'  # asks"#),
        ["curl", "-H", "a: $B", "-d", r#"{ "c": 1 }"#]
    );
    let all = commands("cargo run -- token \\\n  --hours 1\nexport A=… B=…\n# why\n").unwrap();
    let arguments = ["token", "--hours", "1"].map(str::to_owned).to_vec();
    let names = ["A", "B"].map(str::to_owned).to_vec();
    assert_eq!(
        all,
        [CommandLine::Vitrine(arguments), CommandLine::Export(names)]
    );
    assert!(commands("rm -rf /").is_err());
}
