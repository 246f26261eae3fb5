//! `toolcrib db`.

use clap::{Args, Subcommand};

const MIGRATE_HELP: &str = "\
Examples:
  toolcrib db migrate --check
  toolcrib db migrate

The database is the one of TOOLCRIB_DATABASE_URL, else the file in the state folder. Every command that opens a database applies missing \
migrations by itself, unless TOOLCRIB_DATABASE_MIGRATIONS=refuse says that this command alone does so for a shared database.

Exit codes: 0 the database is up to date, 1 with --check: migrations are missing, 3 the database cannot be used.";

#[derive(Debug, Subcommand)]
pub(crate) enum Db {
    /// Apply the missing migrations of the database.
    #[command(after_help = MIGRATE_HELP)]
    Migrate(DbMigrate),
}

#[derive(Debug, Args)]
pub(crate) struct DbMigrate {
    /// Change nothing; say whether migrations are missing.
    #[arg(long)]
    pub(crate) check: bool,
}
