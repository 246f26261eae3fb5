//! The daemon as a service of the system: a unit of systemd for one user, an agent of launchd.

mod launchd;
mod service_command;
mod systemd;

use std::path::PathBuf;

use crate::output::Failure;

/// Name of the service.
pub(crate) const SERVICE_NAME: &str = "toolcrib";

/// What the service starts.
#[derive(Debug, Clone)]
pub(crate) struct Service {
    /// The program.
    pub(crate) program: PathBuf,
    /// Where its tools work.
    pub(crate) workspace: PathBuf,
    /// `TOOLCRIB_HOME`, where it is set: the service has to find the same state.
    pub(crate) home: Option<PathBuf>,
    /// Folders that it writes.
    pub(crate) writes: Vec<PathBuf>,
}

/// What starts services here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServiceManager {
    /// Of Linux.
    Systemd,
    /// Of macOS.
    Launchd,
}

impl ServiceManager {
    /// That of this system.
    pub(crate) fn detect() -> Self {
        if cfg!(target_os = "macos") { Self::Launchd } else { Self::Systemd }
    }

    /// The file that describes the service.
    pub(crate) fn definition(self, service: &Service) -> Result<String, Failure> {
        match self {
            Self::Systemd => systemd::unit(service),
            Self::Launchd => launchd::plist(service),
        }
    }

    /// Where it is.
    pub(crate) fn path(self) -> Result<PathBuf, Failure> {
        match self {
            Self::Systemd => systemd::path(),
            Self::Launchd => launchd::path(),
        }
    }

    /// Whether what starts services can be talked with; launchd always runs.
    ///
    /// # Errors
    /// Why not, and what to do.
    pub(crate) fn check_reachable(self) -> Result<(), Failure> {
        match self {
            Self::Systemd => systemd::check_reachable(),
            Self::Launchd => Ok(()),
        }
    }

    /// Lets it be started with the user's session, and now.
    pub(crate) fn install(self) -> Result<(), Failure> {
        match self {
            Self::Systemd => systemd::install(),
            Self::Launchd => launchd::load(),
        }
    }

    /// The opposite.
    pub(crate) fn uninstall(self) -> Result<(), Failure> {
        match self {
            Self::Systemd => systemd::uninstall(),
            Self::Launchd => launchd::unload(),
        }
    }

    pub(crate) fn start(self) -> Result<(), Failure> {
        match self {
            Self::Systemd => systemd::start(),
            Self::Launchd => launchd::load(),
        }
    }

    pub(crate) fn stop(self) -> Result<(), Failure> {
        match self {
            Self::Systemd => systemd::stop(),
            Self::Launchd => launchd::unload(),
        }
    }

    /// What it says of the service, and of its output so many lines; the exit code.
    pub(crate) fn status(self) -> Result<u8, Failure> {
        match self {
            Self::Systemd => systemd::status(),
            Self::Launchd => launchd::status(),
        }
    }

    pub(crate) fn logs(self, lines: u32, follow: bool) -> Result<u8, Failure> {
        match self {
            Self::Systemd => systemd::logs(lines, follow),
            Self::Launchd => launchd::logs(lines, follow),
        }
    }
}
