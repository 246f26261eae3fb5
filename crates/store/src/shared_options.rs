//! Options that only matter to a database that several processes share.

/// Options of a shared database. The defaults are those of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedOptions {
    /// What people see of this process among the daemons of the database; `None` = it is a command,
    /// and is not listed.
    pub identity: Option<ProcessIdentity>,
    /// Identifies the installation of a process that runs once at a time, as a daemon does: its
    /// next process releases the claims of this one if it crashes
    /// ([`release_former`](toolcrib_core::CallStore::release_former)).
    pub instance: Option<String>,
    /// What happens to missing migrations when the database is opened.
    pub migrations: Migrations,
}

/// A daemon, as people know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// Name of its machine.
    pub host: String,
    /// Version of its Toolcrib.
    pub version: String,
}

/// What happens to missing migrations when a database is opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Migrations {
    /// They are applied.
    #[default]
    Apply,
    /// The database is refused: they are applied in a step of their own, under a role that may
    /// change tables.
    Refuse,
}
