//! Operations on the Linux userland: looking at it, installing it anew, removing it, its packages.
//!
//! Installing takes minutes, so a daemon does it in the background: [`UserlandWork`] has what is
//! being done, with its log.

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
