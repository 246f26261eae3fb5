//! Desktop notifications, through the desktop's own program.
//!
//! `notify-send` implements the Desktop Notifications Specification over D-Bus. Running it needs no
//! dependency; a D-Bus library would add a hundred crates for one message.

use std::process::Stdio;
use std::time::Duration;

use toolcrib_core::{Notification, Urgency};

use super::settings::DesktopProgram;

/// Time limit of the program, which ends as soon as the desktop has the message.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Reads title and message as arguments, so that neither is part of the script.
const MACOS_SCRIPT: &str =
    "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";

/// Shows a notification.
///
/// # Errors
/// Why it was not shown.
pub(super) async fn show(
    desktop: &DesktopProgram,
    notification: &Notification,
) -> Result<(), String> {
    let mut command = tokio::process::Command::new(&desktop.program);
    command
        .args(arguments(desktop, notification))
        .env_clear()
        .envs(desktop.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let name = desktop.program.display();
    let mut child = command.spawn().map_err(|error| format!("`{name}` cannot run: {error}"))?;
    match tokio::time::timeout(TIMEOUT, child.wait()).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(format!("`{name}` ended with {status}")),
        Ok(Err(error)) => Err(format!("`{name}` failed: {error}")),
        Err(_) => Err(format!("`{name}` did not end within {} s", TIMEOUT.as_secs())),
    }
}

fn arguments(desktop: &DesktopProgram, notification: &Notification) -> Vec<String> {
    let title = notification.title.clone();
    if desktop.program.file_name().is_some_and(|name| name == "osascript") {
        return vec!["-e".to_owned(), MACOS_SCRIPT.to_owned(), title, body(notification)];
    }
    let mut arguments = vec!["--app-name=Toolcrib".to_owned()];
    match notification.urgency {
        Urgency::Low => arguments.push("--urgency=low".to_owned()),
        Urgency::Normal => {}
        Urgency::High => arguments.push("--urgency=critical".to_owned()),
    }
    if let Some(tag) = &notification.tag {
        // Servers that know the hint replace the earlier notification with this tag.
        arguments.push(format!("--hint=string:x-canonical-private-synchronous:{tag}"));
    }
    // The body may contain markup, so its text is escaped; the title contains none.
    let body = body(notification).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    arguments.extend(["--".to_owned(), title, body]);
    arguments
}

fn body(notification: &Notification) -> String {
    match notification.web_link() {
        Some(link) => format!("{}\n{link}", notification.message),
        None => notification.message.clone(),
    }
}
