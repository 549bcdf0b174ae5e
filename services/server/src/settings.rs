//! Settings: flags with environment variables behind them, and defaults that run.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{
    ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
};
use vitrine_domain::reviewing::Moderation;
use vitrine_model::money::Currency;

/// A product catalogue and review service over GraphQL, on MongoDB.
///
/// Without a command: everything on this machine. A MongoDB is found or fetched and started, a
/// made-up catalogue is loaded, and the API is served.
#[derive(Debug, Parser)]
#[command(name = "vitrine", version, args_conflicts_with_subcommands = false)]
pub struct Cli {
    /// What to do; `dev` when absent.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Where the data is and how much to say.
    #[command(flatten)]
    pub common: Common,
    /// What `dev` does.
    #[command(flatten)]
    pub dev: Dev,
}

impl Cli {
    /// Reads a command line.
    ///
    /// # Errors
    /// What is wrong with it; also a flag that would do nothing. Environment variables may be shared
    /// by several roles.
    pub fn read(
        arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    ) -> Result<Self, clap::Error> {
        let mut command = Self::command();
        let matches = command.try_get_matches_from_mut(arguments)?;
        if let Some(reason) = idle_flag(&matches) {
            return Err(command.error(ErrorKind::ArgumentConflict, reason));
        }
        Self::from_arg_matches(&matches)
    }
}

/// A flag that the role has no use for, and for which it is.
fn idle_flag(matches: &ArgMatches) -> Option<String> {
    let (role, given) = matches.subcommand().unwrap_or(("dev", matches));
    let flags = [
        ("listen", "dev and serve", ["dev", "serve"].as_slice()),
        ("review_moderation", "dev and serve", &["dev", "serve"]),
        ("catalogue", "dev", &["dev"]),
        ("reset", "dev", &["dev"]),
        ("seed", "dev", &["dev"]),
    ];
    flags.iter().find_map(|(flag, purpose, roles)| {
        let idle =
            given.value_source(flag) == Some(ValueSource::CommandLine) && !roles.contains(&role);
        let flag = flag.replace('_', "-");
        idle.then(|| format!("--{flag} is for {purpose}; it does nothing for {role}"))
    })
}

/// Settings that every command knows.
#[derive(Clone, Debug, Args)]
pub struct Common {
    /// A MongoDB to use: a replica set or a sharded cluster. Without it, one is run on this machine.
    #[arg(
        long,
        global = true,
        env = "VITRINE_MONGODB_URI",
        hide_env_values = true
    )]
    pub mongodb_uri: Option<String>,
    /// The name of the database.
    #[arg(
        long,
        global = true,
        env = "VITRINE_DATABASE",
        default_value = "vitrine"
    )]
    pub database: String,
    /// The mongod to run on this machine. Without it: one on PATH, or one fetched once.
    #[arg(long, global = true, env = "VITRINE_MONGOD")]
    pub mongod: Option<PathBuf>,
    /// Where a MongoDB on this machine keeps its data. [default: vitrine in the user's data
    /// directory]
    #[arg(long, global = true, env = "VITRINE_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
    /// The currency that prices are filtered and sorted in. Decided once per database.
    #[arg(long, global = true, env = "VITRINE_CURRENCY", default_value = "EUR", value_parser = Currency::parse)]
    pub currency: Currency,
    /// What cursors are signed with: the same for all processes of a service, 16 characters or more.
    /// A database on this machine makes its own.
    #[arg(
        long,
        global = true,
        env = "VITRINE_CURSOR_SECRET",
        hide_env_values = true
    )]
    pub cursor_secret: Option<String>,
    /// What tokens are signed with (HS256), 32 characters or more. A database on this machine makes
    /// its own.
    #[arg(
        long,
        global = true,
        env = "VITRINE_TOKEN_SECRET",
        hide_env_values = true
    )]
    pub token_secret: Option<String>,
    /// What to log: a level, or levels by module.
    #[arg(
        long,
        global = true,
        env = "VITRINE_LOG",
        default_value = "warn,vitrine=info"
    )]
    pub log: String,
    /// How log lines look.
    #[arg(
        long,
        global = true,
        env = "VITRINE_LOG_FORMAT",
        default_value = "text"
    )]
    pub log_format: LogFormat,
    #[arg(skip)]
    pub(crate) surroundings: Surroundings,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// What `dev` does.
#[derive(Clone, Debug, Args)]
pub struct Dev {
    /// The address to serve on.
    #[arg(
        long,
        global = true,
        env = "VITRINE_LISTEN",
        default_value = "127.0.0.1:8080"
    )]
    pub listen: SocketAddr,
    /// Remove all data of the local database first.
    #[arg(long, global = true)]
    pub reset: bool,
    /// What to load into an empty database.
    #[arg(long, global = true, env = "VITRINE_CATALOGUE", default_value = "demo")]
    pub catalogue: StartCatalogue,
    /// Which of the made-up catalogues: the same number gives the same catalogue.
    #[arg(long, global = true, env = "VITRINE_SEED", default_value_t = 7)]
    pub seed: u64,
    /// Whether reviews are seen at once, and moderated when somebody reports them, or only after a
    /// moderator has published them. For dev and serve.
    #[arg(
        long,
        global = true,
        env = "VITRINE_REVIEW_MODERATION",
        default_value = "after"
    )]
    pub review_moderation: ReviewModeration,
}

/// Whether reviews are seen before a moderator looked at them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReviewModeration {
    /// They are seen at once.
    After,
    /// They are seen when a moderator has published them.
    Before,
}

impl From<ReviewModeration> for Moderation {
    fn from(setting: ReviewModeration) -> Self {
        match setting {
            ReviewModeration::After => Self::After,
            ReviewModeration::Before => Self::Before,
        }
    }
}

/// What to load into an empty database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StartCatalogue {
    /// A made-up catalogue.
    Demo,
    /// Nothing.
    Empty,
}

/// What background workers need beside a database.
#[derive(Clone, Debug, Default, Args)]
pub struct Work {
    /// An address to show health and counters at: /health/live, /health/ready and /metrics.
    /// Without it nothing listens.
    #[arg(long, env = "VITRINE_MONITOR_LISTEN")]
    pub monitor_listen: Option<SocketAddr>,
}

/// The roles of the binary.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Everything on this machine (the default).
    Dev,
    /// Serve the API from a migrated database.
    Serve,
    /// Run the background workers.
    Work(Work),
    /// Bring the database up to this release, or say where it is.
    #[command(subcommand)]
    Migrate(Migrate),
    /// Read products and reviews from files of other systems.
    Import(Import),
    /// Compare everything computed or copied with where it comes from.
    Audit(Audit),
    /// Print the GraphQL schema.
    Schema,
    /// Make a development token.
    Token(Token),
}

/// What to do about the state of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub enum Migrate {
    /// Make what this release needs and the database lacks.
    Up {
        /// Only say what would be done.
        #[arg(long)]
        dry_run: bool,
        /// Also drop indexes that this release does not need. Processes of an earlier release that
        /// still run may need them.
        #[arg(long)]
        drop_indexes: bool,
    },
    /// Say what the database has and what it lacks.
    Status,
    /// Print the commands that spread the collections over the shards of a cluster, for mongosh.
    /// Nothing is sent to any database.
    PlanShards,
}

/// What to import.
#[derive(Clone, Debug, Args)]
pub struct Import {
    /// JSON Lines or CSV, plain or gzipped.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// A mapping file, or the name of one that is built in.
    #[arg(long)]
    pub mapping: String,
    /// Write nothing; say what would happen.
    #[arg(long)]
    pub dry_run: bool,
    /// Where to write what was refused. [default: the first file's name with .rejects.jsonl, in the
    /// current directory]
    #[arg(long)]
    pub rejects: Option<PathBuf>,
}

/// What to do about what an audit finds.
#[derive(Clone, Copy, Debug, Args)]
pub struct Audit {
    /// Make the numbers of products what their reviews say, and audit again.
    #[arg(long)]
    pub repair: bool,
}

/// Which token to make.
#[derive(Clone, Debug, Args)]
pub struct Token {
    /// Who the token speaks for.
    #[arg(long, default_value = "developer")]
    pub subject: String,
    /// What the token allows: shopper, moderator, admin, service. May be repeated.
    #[arg(long = "role", default_value = "admin")]
    pub roles: Vec<String>,
    /// How long it holds, in hours.
    #[arg(long, default_value_t = 12)]
    pub hours: u32,
}

/// What the operating system tells about this machine and user.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    pub(crate) path: Option<OsString>,
    home: Option<PathBuf>,
    data_home: Option<PathBuf>,
    cache_home: Option<PathBuf>,
}

impl Default for Surroundings {
    #[expect(
        clippy::disallowed_methods,
        reason = "settings are read here and nowhere else"
    )]
    fn default() -> Self {
        let path = |name| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        Self {
            path: std::env::var_os("PATH"),
            home: path("HOME"),
            data_home: path("XDG_DATA_HOME"),
            cache_home: path("XDG_CACHE_HOME"),
        }
    }
}

impl Common {
    /// Where a MongoDB on this machine keeps its data.
    pub(crate) fn data_dir(&self) -> anyhow::Result<PathBuf> {
        let usual = || {
            let here = &self.surroundings;
            let share = || here.home.as_ref().map(|home| home.join(".local/share"));
            here.data_home
                .clone()
                .or_else(share)
                .map(|share| share.join("vitrine"))
        };
        let found = self.data_dir.clone().or_else(usual);
        found.ok_or_else(|| {
            anyhow::anyhow!("there is no home directory to keep data in: set VITRINE_DATA_DIR")
        })
    }

    /// Where a fetched mongod is kept.
    pub(crate) fn cache_dir(&self) -> anyhow::Result<PathBuf> {
        let here = &self.surroundings;
        let usual =
            vitrine_mongod::default_cache_dir(here.cache_home.as_deref(), here.home.as_deref());
        usual.map_or_else(|| Ok(self.data_dir()?.join("cache")), Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn unknown_settings_are_refused() {
        assert!(Cli::try_parse_from(["vitrine", "--listn", "x"]).is_err());
        assert!(Cli::try_parse_from(["vitrine", "--currency", "XXQ"]).is_err());
        assert!(Cli::try_parse_from(["vitrine", "--review-moderation", "never"]).is_err());
        assert!(Cli::try_parse_from(["vitrine", "--repair"]).is_err());
        assert!(Cli::try_parse_from(["vitrine", "audit", "--repair"]).is_ok());
        assert!(Cli::try_parse_from(["vitrine", "migrate", "up", "--dry-run"]).is_ok());
        assert!(Cli::try_parse_from(["vitrine", "migrate", "status", "--dry-run"]).is_err());
        assert!(Cli::try_parse_from(["vitrine", "serve", "--listen", "127.0.0.1:1"]).is_ok());
        assert!(Cli::try_parse_from(["vitrine", "--reset", "--seed", "3"]).is_ok());
    }

    #[test]
    fn flags_that_do_nothing_are_refused() {
        let refused = |line: &str| {
            let read = Cli::read(["vitrine"].into_iter().chain(line.split(' ')));
            read.err().map(|error| error.to_string())
        };
        for (line, flag) in [
            ("work --listen 127.0.0.1:1", "--listen is for dev and serve"),
            ("--listen 127.0.0.1:1 work", "--listen is for dev and serve"),
            ("serve --catalogue empty", "--catalogue is for dev"),
            ("serve --reset", "--reset is for dev"),
            ("migrate up --seed 3", "--seed is for dev"),
            (
                "audit --review-moderation before",
                "--review-moderation is for dev and serve",
            ),
        ] {
            let told = refused(line).expect(line);
            assert!(told.contains(flag), "{line}: {told}");
        }
        for line in [
            "--reset --seed 3 --catalogue empty",
            "dev --listen 127.0.0.1:1",
            "serve --listen 127.0.0.1:1 --review-moderation before",
            "work --data-dir x",
        ] {
            assert_eq!(refused(line), None, "{line}");
        }
    }
}
