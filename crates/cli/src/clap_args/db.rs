//! `toolcrib db`.

use clap::{Args, Subcommand};

const MIGRATE_HELP: &str = "\
Examples:
  toolcrib db migrate --check
  toolcrib db migrate

The database is that of TOOLCRIB_DATABASE_URL, otherwise the file in the state folder. Every command applies pending migrations when it \
opens the database. With TOOLCRIB_DATABASE_MIGRATIONS=refuse, for a shared database, only this command applies them.

Exit codes: 0 the database is up to date, 1 with --check: migrations are pending, 3 the database cannot be used.";

#[derive(Debug, Subcommand)]
pub(crate) enum Db {
    /// Apply pending migrations of the database.
    #[command(after_help = MIGRATE_HELP)]
    Migrate(DbMigrate),
}

#[derive(Debug, Args)]
pub(crate) struct DbMigrate {
    /// Change nothing; report whether migrations are pending.
    #[arg(long)]
    pub(crate) check: bool,
}
