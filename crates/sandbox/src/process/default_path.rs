//! Default search path for programs.

/// Default search path: the system's usual folders, none of the user's.
#[cfg(not(target_os = "macos"))]
pub const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Default search path: the system's usual folders, none of the user's.
#[cfg(target_os = "macos")]
pub const DEFAULT_PATH: &str =
    "/opt/homebrew/bin:/usr/local/bin:/usr/local/sbin:/usr/bin:/bin:/usr/sbin:/sbin";
