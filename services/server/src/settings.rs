//! Settings: command-line flags, the environment variables that replace them, and their defaults.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{
    ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
};
use vitrine_domain::product_memory::ProductMemoryOptions;
use vitrine_domain::reviewing::Moderation;
use vitrine_model::money::Currency;

mod clients;
mod connections;
mod environment;
mod export;
mod limits;
mod login;
mod memory;
mod pictures;
mod telemetry;
mod tokens;

pub(crate) use clients::ClientSettings;
pub(crate) use connections::ConnectionSettings;
use environment::{naming_the_variable, secret_file, without_empty_variables};
pub(crate) use export::{Export, ExportFormat, FeedAvailability, FeedCondition};
pub(crate) use limits::LimitSettings;
pub(crate) use login::LoginSettings;
pub(crate) use memory::MemorySettings;
pub(crate) use pictures::PictureSettings;
pub(crate) use telemetry::{OtlpEndpoint, TelemetrySettings};
pub(crate) use tokens::{Secret, TokenSettings};

/// A product catalogue and review service over GraphQL, on MongoDB.
///
/// Without a command, everything runs on this machine: a MongoDB is found or downloaded and
/// started, a demo catalogue is loaded, and the API is served.
#[derive(Debug, Parser)]
#[command(name = "vitrine", version, args_conflicts_with_subcommands = false)]
pub struct Cli {
    /// The command to run; `dev` if omitted.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Settings shared by all commands.
    #[command(flatten)]
    pub common: Common,
    /// Settings of `dev`, some of which `serve` shares.
    #[command(flatten)]
    pub dev: Dev,
    /// What callers may ask for.
    #[command(flatten)]
    pub limits: LimitSettings,
    /// What is kept in memory.
    #[command(flatten)]
    pub memory: MemorySettings,
    /// Where uploaded pictures are kept.
    #[command(flatten)]
    pub pictures: PictureSettings,
    /// Connections.
    #[command(flatten)]
    pub connections: ConnectionSettings,
    /// What clients may rely on.
    #[command(flatten)]
    pub clients: ClientSettings,
    /// How visitors of the pages sign in.
    #[command(flatten)]
    pub login: LoginSettings,
    /// What operators learn about requests.
    #[command(flatten)]
    pub telemetry: TelemetrySettings,
}

/// How the catalogue is opened for callers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Serving {
    pub(crate) moderation: Moderation,
    pub(crate) product_memory: Option<ProductMemoryOptions>,
}

impl Cli {
    /// Returns how the catalogue is opened for callers.
    pub(crate) fn serving(&self) -> Serving {
        Serving {
            moderation: self.dev.review_moderation.into(),
            product_memory: self.memory.products(),
        }
    }

    /// Reads a command line.
    ///
    /// # Errors
    /// Invalid arguments, and flags that have no effect for the command. Environment variables are
    /// not checked for the latter, since several processes may share them.
    pub fn read(
        arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    ) -> Result<Self, clap::Error> {
        let mut command = without_empty_variables(Self::command());
        let matches = command
            .try_get_matches_from_mut(arguments)
            .map_err(|error| naming_the_variable(error, &command))?;
        if let Some(reason) = flag_without_effect(&matches) {
            return Err(command.error(ErrorKind::ArgumentConflict, reason));
        }
        let mut cli = Self::from_arg_matches(&matches)?;
        let read = cli.read_secret_files();
        read.map_err(|reason| command.error(ErrorKind::Io, reason))?;
        Ok(cli)
    }

    /// Takes the secrets that are not set from the files that variables name.
    fn read_secret_files(&mut self) -> Result<(), String> {
        let (common, pictures) = (&mut self.common, &mut self.pictures);
        for (secret, variable) in [
            (&mut common.mongodb_uri, "VITRINE_MONGODB_URI"),
            (&mut common.cursor_secret, "VITRINE_CURSOR_SECRET"),
            (&mut common.tokens.token_secret, "VITRINE_TOKEN_SECRET"),
            (
                &mut common.tokens.previous_token_secret,
                "VITRINE_PREVIOUS_TOKEN_SECRET",
            ),
            (
                &mut pictures.s3_secret_access_key,
                "VITRINE_S3_SECRET_ACCESS_KEY",
            ),
        ] {
            if secret.is_none() {
                *secret = secret_file(variable)?;
            }
        }
        Ok(())
    }

    /// Turns huge pages of memory off for `serve` and `work`, unless much is kept in memory. If a mongod runs on this machine,
    /// it would inherit that, and they stay.
    pub fn limit_huge_pages(&self) {
        if self.needs_no_huge_pages() {
            turn_huge_pages_off();
        }
    }

    fn needs_no_huge_pages(&self) -> bool {
        let is_long_and_small = match self.command {
            Some(Command::Serve) => !self.memory.needs_huge_pages(),
            Some(Command::Work) => true,
            _ => false,
        };
        is_long_and_small && self.common.mongodb_uri.is_some()
    }
}

#[cfg(target_os = "linux")]
fn turn_huge_pages_off() {
    // Sandboxes may forbid it; the process then only uses more memory.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

#[cfg(not(target_os = "linux"))]
const fn turn_huge_pages_off() {}

/// The commands that keep or delete pictures.
const PICTURES: &str = "dev, serve and work";

/// Returns an error text if a flag has no effect for the command.
fn flag_without_effect(matches: &ArgMatches) -> Option<String> {
    let (role, command_matches) = matches.subcommand().unwrap_or(("dev", matches));
    let flags = [
        ("listen", "dev and serve", ["dev", "serve"].as_slice()),
        ("review_moderation", "dev and serve", &["dev", "serve"]),
        ("cost_limit", "dev and serve", &["dev", "serve"]),
        ("staff_cost_limit", "dev and serve", &["dev", "serve"]),
        ("cost_per_second", "serve", &["serve"]),
        ("product_memory", "dev and serve", &["dev", "serve"]),
        ("product_memory_age", "dev and serve", &["dev", "serve"]),
        ("trusted_proxy", "dev and serve", &["dev", "serve"]),
        ("allowed_origin", "dev and serve", &["dev", "serve"]),
        ("cache_max_age", "dev and serve", &["dev", "serve"]),
        ("trusted_documents", "dev and serve", &["dev", "serve"]),
        ("public_introspection", "serve", &["serve"]),
        ("graphiql", "serve", &["serve"]),
        ("console", "serve", &["serve"]),
        ("storefront", "serve", &["serve"]),
        ("storefront_origin", "serve", &["serve"]),
        ("login_client_id", "serve", &["serve"]),
        ("login_scope", "serve", &["serve"]),
        ("login_resource", "serve", &["serve"]),
        ("pictures", PICTURES, &["dev", "serve", "work"]),
        ("pictures_address", "dev and serve", &["dev", "serve"]),
        ("s3_endpoint", PICTURES, &["dev", "serve", "work"]),
        ("s3_region", PICTURES, &["dev", "serve", "work"]),
        ("s3_access_key_id", PICTURES, &["dev", "serve", "work"]),
        ("s3_secret_access_key", PICTURES, &["dev", "serve", "work"]),
        ("monitor_listen", "serve and work", &["serve", "work"]),
        ("public_metrics", "serve", &["serve"]),
        ("tls_certificate", "serve", &["serve"]),
        ("tls_key", "serve", &["serve"]),
        ("connection_limit", "serve", &["serve"]),
        ("connection_limit_per_address", "serve", &["serve"]),
        ("socket_limit_per_client", "serve", &["serve"]),
        ("subscription_limit_per_client", "serve", &["serve"]),
        (
            "federation",
            "dev, serve and schema",
            &["dev", "serve", "schema"],
        ),
        ("slow_operation", "dev and serve", &["dev", "serve"]),
        ("otlp_endpoint", "dev and serve", &["dev", "serve"]),
        ("catalogue", "dev", &["dev"]),
        ("reset", "dev", &["dev"]),
        ("seed", "dev", &["dev"]),
    ];
    flags.iter().find_map(|(flag, purpose, roles)| {
        let has_no_effect = command_matches.value_source(flag) == Some(ValueSource::CommandLine)
            && !roles.contains(&role);
        let flag = flag.replace('_', "-");
        has_no_effect.then(|| format!("--{flag} is for {purpose}; it has no effect for {role}"))
    })
}

/// Settings shared by all commands.
#[derive(Clone, Debug, Args)]
pub struct Common {
    /// The connection string of a MongoDB replica set or sharded cluster. Without it, a mongod is
    /// run on this machine.
    #[arg(
        long,
        global = true,
        env = "VITRINE_MONGODB_URI",
        hide_env_values = true
    )]
    pub mongodb_uri: Option<Secret>,
    /// The name of the database.
    #[arg(
        long,
        global = true,
        env = "VITRINE_DATABASE",
        default_value = "vitrine"
    )]
    pub database: String,
    /// The mongod to run on this machine. Without it, one on PATH is used, or one that is
    /// downloaded once.
    #[arg(long, global = true, env = "VITRINE_MONGOD")]
    pub mongod: Option<PathBuf>,
    /// The directory for the data of a MongoDB on this machine. [default: vitrine in the user's
    /// data directory]
    #[arg(long, global = true, env = "VITRINE_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
    /// The currency that prices are filtered and sorted in. It cannot be changed once the database
    /// exists.
    #[arg(long, global = true, env = "VITRINE_CURRENCY", default_value = "EUR", value_parser = Currency::parse)]
    pub currency: Currency,
    /// The secret that signs cursors: the same for all processes of a service, at least 16
    /// characters. Generated for a database on this machine.
    #[arg(
        long,
        global = true,
        env = "VITRINE_CURSOR_SECRET",
        hide_env_values = true
    )]
    pub cursor_secret: Option<Secret>,
    /// Which tokens are accepted.
    #[command(flatten)]
    pub tokens: TokenSettings,
    /// What to log: a level (error, warn, info, debug, trace), or levels by module.
    #[arg(
        long,
        global = true,
        env = "VITRINE_LOG",
        default_value = "warn,vitrine=info"
    )]
    pub log: String,
    /// The format of log lines.
    #[arg(
        long,
        global = true,
        env = "VITRINE_LOG_FORMAT",
        default_value = "text"
    )]
    pub log_format: LogFormat,
    #[arg(skip)]
    pub(crate) environment: Environment,
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Plain text, for people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Settings of `dev`, some of which `serve` shares.
#[derive(Clone, Debug, Args)]
pub struct Dev {
    /// The address to serve the API on. For dev and serve.
    #[arg(
        long,
        global = true,
        env = "VITRINE_LISTEN",
        default_value = "127.0.0.1:8080"
    )]
    pub listen: SocketAddr,
    /// Delete all data of the local database, and the pictures in its data directory, first. For dev.
    #[arg(long, global = true)]
    pub reset: bool,
    /// What to load into an empty database. For dev.
    #[arg(long, global = true, env = "VITRINE_CATALOGUE", default_value = "demo")]
    pub catalogue: StartCatalogue,
    /// The seed of the demo catalogue: the same number generates the same catalogue. For dev.
    #[arg(long, global = true, env = "VITRINE_SEED", default_value_t = 7)]
    pub seed: u64,
    /// Whether reviews are published at once and moderated after they are reported, or published
    /// only by a moderator. For dev and serve.
    #[arg(
        long,
        global = true,
        env = "VITRINE_REVIEW_MODERATION",
        default_value = "after"
    )]
    pub review_moderation: ReviewModeration,
}

/// Whether reviews are moderated before or after they are published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReviewModeration {
    /// Reviews are published at once.
    After,
    /// Reviews are published by a moderator.
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

/// What to load into an empty database. For dev.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StartCatalogue {
    /// The demo catalogue, which is generated.
    Demo,
    /// Nothing.
    Empty,
}

/// The commands of the binary.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Run everything on this machine (the default).
    Dev,
    /// Serve the API from a migrated database.
    Serve,
    /// Run the background workers.
    Work,
    /// Bring the database to the schema of this release, or compare them.
    #[command(subcommand)]
    Migrate(Migrate),
    /// Import products and reviews from files of other systems, or what `export` has written.
    Import(Import),
    /// Write the catalogue to files: JSON Lines, tables for people, feeds for Google.
    Export(Export),
    /// Write, check and describe mapping files. Needs no database.
    #[command(subcommand)]
    Mapping(Mapping),
    /// Print the built-in units, which mappings and specs can use. Needs no database.
    Units,
    /// Compare all computed and copied data with its sources. Exits with 1 if there are
    /// differences.
    Audit(Audit),
    /// Print the GraphQL schema; with --federation, as routers read it.
    Schema,
    /// Issue a token.
    Token(Token),
}

/// The subcommands of `migrate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub enum Migrate {
    /// Create the collections and indexes that are missing, and apply migrations.
    Up {
        /// Only print what would be done.
        #[arg(long)]
        dry_run: bool,
        /// Also drop indexes that this release does not need. Running processes of an earlier
        /// release may still need them.
        #[arg(long)]
        drop_indexes: bool,
    },
    /// Print the schema version, the migrations, and what is missing or not needed.
    Status,
    /// Print the mongosh commands that shard the collections on a cluster. Does not connect to a
    /// database.
    PlanShards,
}

/// The subcommands of `mapping`.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum Mapping {
    /// Print a first mapping for a feed, with guesses and what is unsure about them.
    Init {
        /// The feed: a file, a folder, an http or https address, or - for standard input.
        file: PathBuf,
        /// The sheet of a spreadsheet. Without it, the one that says the most of products or reviews.
        #[arg(long)]
        sheet: Option<String>,
    },
    /// Print everything that is wrong with a mapping. Exits with 1 if something is.
    Check {
        /// A mapping file, or the name of a built-in mapping.
        mapping: String,
    },
    /// Print the JSON Schema of mapping files, for editors.
    Schema,
}

/// Settings of `import`.
#[derive(Clone, Debug, Args)]
pub struct Import {
    /// The feeds to import: files, folders, http and https addresses, and - for standard input.
    /// JSON Lines, JSON, CSV, TSV, XML, Excel and Parquet, also in gzip, Zstandard and zip.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// A mapping file, or the name of a built-in mapping. Files of `export` need none.
    #[arg(long)]
    pub mapping: Option<String>,
    /// The name of the source system, instead of the mapping's: two shops with the same export format must
    /// not share ids.
    #[arg(long, requires = "mapping")]
    pub system: Option<String>,
    /// Write nothing; print what would be imported.
    #[arg(long)]
    pub dry_run: bool,
    /// Print the first rows, this many of each file, beside what becomes of them, value by value.
    /// Needs no database.
    #[arg(long, value_name = "ROWS", conflicts_with = "dry_run")]
    pub sample: Option<usize>,
    /// The file for rejected lines. [default: the first file's name with .rejects.jsonl, in the
    /// current directory]
    #[arg(long)]
    pub rejects: Option<PathBuf>,
    /// How many days the record of the run and of what it rejected is kept.
    #[arg(long, value_name = "DAYS", default_value_t = 90, value_parser = clap::value_parser!(u16).range(1..=3_650))]
    pub history_days: u16,
}

/// Settings of `audit`.
#[derive(Clone, Copy, Debug, Args)]
pub struct Audit {
    /// Recompute wrong ratings and counts from the reviews and products, and audit again.
    #[arg(long)]
    pub repair: bool,
}

/// Settings of `token`.
#[derive(Clone, Debug, Args)]
pub struct Token {
    /// The subject of the token: the caller's id.
    #[arg(long, default_value = "developer")]
    pub subject: String,
    /// A role of the caller: shopper, moderator, admin or service. May be repeated.
    #[arg(long = "role", default_value = "admin")]
    pub roles: Vec<String>,
    /// The validity in hours.
    #[arg(long, default_value_t = 12)]
    pub hours: u32,
}

/// The environment variables of the operating system that the settings depend on.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    pub(crate) path: Option<OsString>,
    home: Option<PathBuf>,
    data_home: Option<PathBuf>,
    cache_home: Option<PathBuf>,
}

impl Default for Environment {
    #[expect(
        clippy::disallowed_methods,
        reason = "settings are read environment and nowhere else"
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
    /// The directory for the data of a MongoDB on this machine.
    pub(crate) fn data_dir(&self) -> anyhow::Result<PathBuf> {
        let default = || {
            let environment = &self.environment;
            let share = || {
                environment
                    .home
                    .as_ref()
                    .map(|home| home.join(".local/share"))
            };
            environment
                .data_home
                .clone()
                .or_else(share)
                .map(|share| share.join("vitrine"))
        };
        let dir = self.data_dir.clone().or_else(default);
        dir.ok_or_else(|| {
            anyhow::anyhow!("there is no home directory for the data: set VITRINE_DATA_DIR")
        })
    }

    /// The directory for a downloaded mongod.
    pub(crate) fn cache_dir(&self) -> anyhow::Result<PathBuf> {
        let environment = &self.environment;
        let default = vitrine_mongod::default_cache_dir(
            environment.cache_home.as_deref(),
            environment.home.as_deref(),
        );
        default.map_or_else(|| Ok(self.data_dir()?.join("cache")), Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn invalid_settings_are_refused() {
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
    fn small_processes_beside_their_database_need_no_huge_pages() {
        let needs_none = |arguments: &str| {
            let arguments = ["vitrine"].into_iter().chain(arguments.split(' '));
            Cli::try_parse_from(arguments)
                .unwrap()
                .needs_no_huge_pages()
        };
        for small in [
            "serve --mongodb-uri mongodb://db",
            "serve --mongodb-uri mongodb://db --product-memory 0",
            "serve --mongodb-uri mongodb://db --product-memory 255",
            "work --mongodb-uri mongodb://db",
        ] {
            assert!(needs_none(small), "{small}");
        }
        for other in [
            "serve --mongodb-uri mongodb://db --product-memory 256",
            "serve",
            "work",
            "dev --mongodb-uri mongodb://db",
            "schema",
        ] {
            assert!(!needs_none(other), "{other}");
        }
    }

    #[test]
    fn flags_without_effect_are_refused() {
        let error_of = |line: &str| {
            let read = Cli::read(["vitrine"].into_iter().chain(line.split(' ')));
            read.err().map(|error| error.to_string())
        };
        for (line, flag) in [
            ("work --listen 127.0.0.1:1", "--listen is for dev and serve"),
            ("--listen 127.0.0.1:1 work", "--listen is for dev and serve"),
            ("serve --catalogue empty", "--catalogue is for dev"),
            ("serve --reset", "--reset is for dev"),
            (
                "--monitor-listen 127.0.0.1:1",
                "--monitor-listen is for serve and work",
            ),
            ("work --public-metrics", "--public-metrics is for serve"),
            (
                "dev --connection-limit 7",
                "--connection-limit is for serve",
            ),
            ("migrate up --seed 3", "--seed is for dev"),
            (
                "work --slow-operation 5",
                "--slow-operation is for dev and serve",
            ),
            (
                "audit --otlp-endpoint http://127.0.0.1:4318",
                "--otlp-endpoint is for dev and serve",
            ),
            (
                "work --federation",
                "--federation is for dev, serve and schema",
            ),
            (
                "audit --review-moderation before",
                "--review-moderation is for dev and serve",
            ),
        ] {
            let message = error_of(line).expect(line);
            assert!(message.contains(flag), "{line}: {message}");
        }
        for line in [
            "--reset --seed 3 --catalogue empty",
            "dev --listen 127.0.0.1:1",
            "serve --listen 127.0.0.1:1 --review-moderation before",
            "work --data-dir x --monitor-listen 127.0.0.1:1",
            "serve --monitor-listen 127.0.0.1:1 --connection-limit 7",
            "work --data-dir x",
            "schema --federation",
        ] {
            assert_eq!(error_of(line), None, "{line}");
        }
    }
}
