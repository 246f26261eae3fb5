//! The daemon as a service of the system: a unit of systemd for one user, or an agent of launchd.

mod launchd;
mod service_command;
mod systemd;

use std::path::PathBuf;

use crate::output::Failure;

/// Name of the service.
pub(crate) const SERVICE_NAME: &str = "toolcrib";

/// The definition of the service.
#[derive(Debug, Clone)]
pub(crate) struct Service {
    /// The program.
    pub(crate) program: PathBuf,
    /// Workspace of the daemon.
    pub(crate) workspace: PathBuf,
    /// `TOOLCRIB_HOME`, if it is set: the service has to find the same state.
    pub(crate) home: Option<PathBuf>,
    /// Folders that the service may write.
    pub(crate) writes: Vec<PathBuf>,
}

/// The service manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServiceManager {
    /// systemd on Linux.
    Systemd,
    /// launchd on macOS.
    Launchd,
}

impl ServiceManager {
    /// Returns the service manager of this system.
    pub(crate) fn detect() -> Self {
        if cfg!(target_os = "macos") { Self::Launchd } else { Self::Systemd }
    }

    /// Returns the content of the service's file.
    pub(crate) fn definition(self, service: &Service) -> Result<String, Failure> {
        match self {
            Self::Systemd => systemd::unit(service),
            Self::Launchd => launchd::plist(service),
        }
    }

    /// Returns the path of the service's file.
    pub(crate) fn path(self) -> Result<PathBuf, Failure> {
        match self {
            Self::Systemd => systemd::path(),
            Self::Launchd => launchd::path(),
        }
    }

    /// Checks that the service manager can be reached; launchd always runs.
    ///
    /// # Errors
    /// The reason, with advice.
    pub(crate) fn check_reachable(self) -> Result<(), Failure> {
        match self {
            Self::Systemd => systemd::check_reachable(),
            Self::Launchd => Ok(()),
        }
    }

    /// Starts the service now, and at every login of the user.
    pub(crate) fn install(self) -> Result<(), Failure> {
        match self {
            Self::Systemd => systemd::install(),
            Self::Launchd => launchd::load(),
        }
    }

    /// Stops the service, and removes it from logins.
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

    /// Prints the state of the service with this many lines of its log; returns the exit code.
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
