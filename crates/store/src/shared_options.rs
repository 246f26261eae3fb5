//! Options that only matter to a database that several processes share.

/// Options of a shared database. The defaults are those of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedOptions {
    /// Displayed identity of this process among the daemons of the database; `None` for a command,
    /// which is not listed.
    pub identity: Option<ProcessIdentity>,
    /// Identifies the installation of a process of which only one runs at a time, such as a daemon:
    /// its next process releases the claims of this one if it crashes
    /// ([`release_former`](toolcrib_core::CallStore::release_former)).
    pub instance: Option<String>,
    /// Handling of missing migrations when the database is opened.
    pub migrations: Migrations,
}

/// Displayed identity of a daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// Name of its machine.
    pub host: String,
    /// Version of its Toolcrib.
    pub version: String,
}

/// Handling of missing migrations when a database is opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Migrations {
    /// They are applied.
    #[default]
    Apply,
    /// The database is refused: migrations are applied in a separate step, under a role that may
    /// change tables.
    Refuse,
}
