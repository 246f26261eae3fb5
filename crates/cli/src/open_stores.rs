//! Opens the stores of this user: the file in the state folder, a database that several machines
//! share, or memory.

use toolcrib_app::Stores;
use toolcrib_store::{Migrations, ProcessIdentity, SharedOptions};

#[cfg(feature = "postgres")]
use crate::async_runtime::runtime;
use crate::config::Env;
use crate::folders::database_path;
#[cfg(feature = "postgres")]
use crate::folders::state_folder;
use crate::output::Failure;

/// Opens all stores of this person.
pub(crate) fn stores() -> Result<Stores, Failure> {
    open_stores(SharedIdentity::default())
}

/// Opens the stores for a daemon, which the other daemons of a shared database list. `instance`
/// identifies it across restarts.
pub(crate) fn daemon_stores(instance: Option<String>) -> Result<Stores, Failure> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let process = ProcessIdentity { host, version: env!("CARGO_PKG_VERSION").to_owned() };
    open_stores(SharedIdentity { process: Some(process), instance })
}

fn open_stores(identity: SharedIdentity) -> Result<Stores, Failure> {
    match StoreKind::from_env()? {
        StoreKind::Shared(url) => open_shared_stores(url, true, shared_options(identity)?),
        StoreKind::InMemory => Ok(Stores::memory()),
        StoreKind::InFile => Stores::open(Some(&database_path()?))
            .map_err(|error| Failure::configuration(error.to_string())),
    }
}

/// Opens the stores without the key of the audit, for verification: closing them signs no
/// checkpoint.
pub(crate) fn unsigned_stores() -> Result<Stores, Failure> {
    match StoreKind::from_env()? {
        StoreKind::Shared(url) => {
            open_shared_stores(url, false, shared_options(SharedIdentity::default())?)
        }
        StoreKind::InMemory => Ok(Stores::memory()),
        StoreKind::InFile => Stores::unsigned(&database_path()?)
            .map_err(|error| Failure::configuration(error.to_string())),
    }
}

/// Returns whether the stores are in a database that several machines share.
pub(crate) fn is_shared() -> Result<bool, Failure> {
    Ok(matches!(StoreKind::from_env()?, StoreKind::Shared(_)))
}

/// The kind of the stores.
pub(crate) enum StoreKind {
    /// The file in the state folder.
    InFile,
    /// Memory, which is lost with the process.
    InMemory,
    /// The database at this address.
    Shared(String),
}

impl StoreKind {
    /// Returns the kind that the environment selects.
    ///
    /// # Errors
    /// Exit code 3 if the variable is not UTF-8.
    pub(crate) fn from_env() -> Result<Self, Failure> {
        Ok(match Env::from_process().text(DATABASE_URL)? {
            None => Self::InFile,
            Some(url) if url == IN_MEMORY => Self::InMemory,
            Some(url) => Self::Shared(url),
        })
    }

    /// Returns its name as one word.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::InFile => "sqlite",
            Self::InMemory => "memory",
            Self::Shared(_) => "postgres",
        }
    }
}

/// Variable with the address of a database that several machines share, or [`IN_MEMORY`], instead
/// of the file in the state folder. It may contain a password, so it is not an option.
const DATABASE_URL: &str = "TOOLCRIB_DATABASE_URL";
/// No data outlives the process.
const IN_MEMORY: &str = "memory:";

/// The identity of this process in a shared database; a command has none.
#[derive(Default)]
struct SharedIdentity {
    process: Option<ProcessIdentity>,
    instance: Option<String>,
}

/// Variable for the handling of pending migrations of a shared database: `apply` (default) or
/// `refuse`.
const DATABASE_MIGRATIONS: &str = "TOOLCRIB_DATABASE_MIGRATIONS";

fn shared_options(identity: SharedIdentity) -> Result<SharedOptions, Failure> {
    let migrations = match Env::from_process().text(DATABASE_MIGRATIONS)?.as_deref() {
        None | Some("apply") => Migrations::Apply,
        Some("refuse") => Migrations::Refuse,
        Some(_) => {
            let words = format!("{DATABASE_MIGRATIONS} must be `apply` or `refuse`");
            return Err(Failure::configuration(words));
        }
    };
    let SharedIdentity { process, instance } = identity;
    Ok(SharedOptions { identity: process, instance, migrations })
}

/// Connects on a separate thread, because callers may already be async.
#[cfg(feature = "postgres")]
fn open_shared_stores(url: String, signs: bool, shared: SharedOptions) -> Result<Stores, Failure> {
    let state = state_folder()?;
    let connecting = std::thread::spawn(move || {
        let runtime = runtime()?;
        let stores = runtime.block_on(async {
            if signs {
                Stores::connect(&url, &state, shared).await
            } else {
                Stores::connect_unsigned(&url, shared).await
            }
        });
        stores.map_err(|error| Failure::configuration(error.to_string()))
    });
    let failed = |_| Failure::run("connecting to the database broke off");
    connecting.join().map_err(failed)?
}

#[cfg(not(feature = "postgres"))]
fn open_shared_stores(_: String, _: bool, _: SharedOptions) -> Result<Stores, Failure> {
    Err(without_postgres())
}

#[cfg(not(feature = "postgres"))]
pub(crate) fn without_postgres() -> Failure {
    Failure::configuration(format!(
        "{DATABASE_URL} is set, and this binary was built without Postgres; build it with `--features postgres`, or unset the variable"
    ))
}
