//! Operations on the Linux userland: showing, installing and removing it, and its packages.
//!
//! An installation takes minutes, so a daemon runs it in the background: [`UserlandWork`] holds the
//! current work with its log.

mod change;
mod packages;
mod place;
mod progress;
mod show;
mod work;

pub use change::{InstallUserlandRequest, UninstallUserlandRequest, install, uninstall};
pub use packages::{
    ChangePackagesRequest, ListPackagesRequest, PackageChange, PackageReply, change_packages,
    list_packages,
};
pub use place::UserlandPlace;
pub use progress::ProgressText;
pub use show::{UserlandReply, show};
pub use work::{UserlandWork, UserlandWorkReply};
