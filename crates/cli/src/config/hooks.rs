//! `[[hooks]]`: programs that decide about calls, or observe them.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use toolcrib_app::hooks::{CommandHook, GUARD_TIME, HookEvent, OBSERVER_TIME, ToolMatcher};

use crate::config::deserialize;
use crate::config::environment::Env;
use crate::config::file_paths::{folder_of, resolve_in_folder};
use crate::config::layer::Layer;

/// Variables of Toolcrib that a program gets, if they are set.
const INHERITED_VARIABLES: [&str; 9] =
    ["PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "XDG_RUNTIME_DIR"];

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "HookFields")]
pub(crate) struct HookSection {
    pub(crate) event: HookEvent,
    pub(crate) matcher: ToolMatcher,
    pub(crate) command: Vec<String>,
    name: Option<String>,
    timeout: Option<Duration>,
    /// Position of the entry.
    pub(crate) origin: String,
    /// Layer of the entry.
    pub(crate) layer: Layer,
}

/// An entry as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HookFields {
    event: String,
    matcher: Option<String>,
    command: Command,
    name: Option<String>,
    #[serde(default, deserialize_with = "deserialize::duration")]
    timeout: Option<Duration>,
}

/// A program with its arguments, or a line for the shell.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected [\"PROGRAM\", \"ARGUMENT\"…] or a line for the shell")]
enum Command {
    Words(Vec<String>),
    Line(String),
}

impl TryFrom<HookFields> for HookSection {
    type Error = String;

    fn try_from(written: HookFields) -> Result<Self, String> {
        let HookFields { event, matcher, command, name, timeout } = written;
        let event: HookEvent = event.parse()?;
        let matcher = matcher.map(|matcher| matcher.parse()).transpose()?.unwrap_or_default();
        let longest = max_timeout(event);
        if timeout.is_some_and(|time| time > longest || time.is_zero()) {
            return Err(format!(
                "a hook of {event} has at most {} s; write `timeout` accordingly",
                longest.as_secs()
            ));
        }
        let command = match command {
            Command::Words(words) => words,
            Command::Line(line) if line.trim().is_empty() => Vec::new(),
            Command::Line(line) => vec!["/bin/sh".to_owned(), "-c".to_owned(), line],
        };
        if command.first().is_none_or(|program| program.trim().is_empty()) {
            return Err("`command` names no program".to_owned());
        }
        if name.as_ref().is_some_and(|name| !is_name(name)) {
            return Err("`name` has 1 to 60 letters, digits, blanks, `-`, `_` and `.`".to_owned());
        }
        let (origin, layer) = (String::new(), Layer::Default);
        Ok(Self { event, matcher, command, name, timeout, origin, layer })
    }
}

/// Returns whether the text is a valid name; models read it.
fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.');
    !name.trim().is_empty() && name.chars().count() <= 60 && name.chars().all(fits)
}

fn max_timeout(event: HookEvent) -> Duration {
    match event {
        HookEvent::Guard => GUARD_TIME,
        HookEvent::On(_) => OBSERVER_TIME,
    }
}

impl HookSection {
    /// Returns the name of the hook: the author's, else its program.
    pub(crate) fn display_name(&self) -> String {
        let program = || match self.command.as_slice() {
            [shell, option, line] if shell == "/bin/sh" && option == "-c" => {
                line.split_whitespace().next().unwrap_or_default().to_owned()
            }
            [program, ..] => program.clone(),
            [] => String::new(),
        };
        let file = |program: String| {
            let name = Path::new(&program).file_name().map(|name| name.to_string_lossy());
            name.map_or_else(|| program.clone(), |name| name.into_owned())
        };
        self.name.clone().unwrap_or_else(|| file(program()))
    }

    /// Converts the entry to a hook. A program with a relative path is resolved beside the file, so
    /// that no workspace can replace it.
    pub(crate) fn to_command_hook(&self, env: &Env) -> CommandHook {
        let mut command = self.command.clone();
        if let Some(program) = command.first_mut().filter(|program| program.contains('/')) {
            let file = self.origin.rsplit_once(':').map_or("", |(path, _)| path);
            let folder = std::path::absolute(folder_of(Path::new(file))).unwrap_or_default();
            *program =
                resolve_in_folder(Path::new(program.as_str()), &folder, env).display().to_string();
        }
        let variable = |name: &str| Some((OsString::from(name), env.path(name)?.into_os_string()));
        CommandHook {
            name: self.display_name(),
            origin: self.origin.clone(),
            event: self.event,
            matcher: self.matcher.clone(),
            command,
            time: self.timeout.unwrap_or_else(|| max_timeout(self.event)),
            env: INHERITED_VARIABLES.into_iter().filter_map(variable).collect(),
        }
    }
}
