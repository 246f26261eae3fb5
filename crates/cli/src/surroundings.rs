//! Reads information on the person and the desktop from the environment.

use std::env;
use std::path::PathBuf;

use toolcrib_app::Opener;
use toolcrib_assistant::notify::DesktopProgram;
use toolcrib_core::Surroundings;

/// Returns the variables for access to the person's desktop, as far as they are set.
fn desktop_env() -> Vec<(String, String)> {
    /// Variables for access to a desktop, and those that its programs expect.
    const NAMES: [&str; 12] = [
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "XAUTHORITY",
        "XDG_RUNTIME_DIR",
        "XDG_CURRENT_DESKTOP",
        "XDG_DATA_DIRS",
        "XDG_CONFIG_DIRS",
        "DBUS_SESSION_BUS_ADDRESS",
        "HOME",
        "PATH",
        "LANG",
        "BROWSER",
    ];
    NAMES.iter().filter_map(|name| Some(((*name).to_owned(), env::var(name).ok()?))).collect()
}

/// Returns the program that opens files on the person's desktop; `None` if there is no desktop.
pub(crate) fn desktop_opener() -> Option<Opener> {
    let env = desktop_env();
    let has = |name: &str| env.iter().any(|(own, value)| own == name && !value.is_empty());
    let program = match env::consts::OS {
        "macos" => "open",
        "linux" if has("DISPLAY") || has("WAYLAND_DISPLAY") => "xdg-open",
        _ => return None,
    };
    Some(Opener { program: program.into(), env })
}

/// Returns the program that shows notifications on the person's desktop; `None` if there is no
/// desktop.
pub(crate) fn desktop_notifier() -> Option<DesktopProgram> {
    let env = desktop_env();
    let value = |name: &str| env.iter().find(|(own, _)| own == name).map(|(_, value)| value);
    let program = match env::consts::OS {
        "macos" => "osascript",
        "linux" if value("DBUS_SESSION_BUS_ADDRESS").is_some_and(|bus| !bus.is_empty()) => {
            "notify-send"
        }
        _ => return None,
    };
    let is_there = |folder: PathBuf| folder.join(program).is_file();
    let is_installed = env::split_paths(value("PATH")?).any(is_there);
    is_installed.then(|| DesktopProgram { program: program.into(), env })
}

/// Returns the information of the environment about the person at this terminal.
pub(crate) fn surroundings() -> Surroundings {
    let zone = jiff::tz::TimeZone::system();
    let said = Surroundings {
        locale: locale().unwrap_or_default(),
        time_zone: zone.iana_name().unwrap_or_default().to_owned(),
        device: "terminal".to_owned(),
        ..Surroundings::default()
    };
    // A locale such as `en_US@nonsense` may have any form.
    if said.check().is_ok() { said } else { Surroundings::default() }
}

/// Returns the person's locale from the environment: `de_AT.UTF-8` becomes `de-AT`.
pub(crate) fn locale() -> Option<String> {
    let value = ["LC_ALL", "LC_MESSAGES", "LANG"]
        .into_iter()
        .find_map(|name| env::var(name).ok().filter(|value| !value.is_empty()))?;
    let language = value.split(['.', '@']).next()?.replace('_', "-");
    (!matches!(language.as_str(), "C" | "POSIX" | "")).then_some(language)
}
