//! The files of agents in the owner's folder: written and removed whole, if the caller has read the
//! current version.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use axum::http::{HeaderMap, HeaderValue, header};
use serde_json::{Value, json};
use toolcrib_app::agent::library::{
    Agent, AgentPreset, DEFAULT_ROLE, Folder, Rounds, Scope, agent_template,
};

use super::Form;
use crate::api::{etag, etag_matches};
use crate::problem::{Code, Problem};
use crate::state::DaemonState;

/// One change at a time in this process, so that what was compared is what is replaced.
static WRITE_LOCK: Mutex<()> = Mutex::new(());

/// The version of a file that the caller has read.
pub(super) enum ExpectedVersion {
    /// Nothing was said.
    Unsaid,
    /// There is no such file.
    Nothing,
    /// One of these tags.
    Tag(HeaderValue),
}

impl ExpectedVersion {
    /// Out of the headers of a request.
    pub(super) fn from_headers(headers: &HeaderMap) -> Self {
        if headers.get(header::IF_NONE_MATCH).is_some_and(|value| value == "*") {
            return Self::Nothing;
        }
        headers.get(header::IF_MATCH).map_or(Self::Unsaid, |tag| Self::Tag(tag.clone()))
    }

    /// Whether what is there is what was seen.
    fn check(&self, name: &str, text: Option<&str>) -> Result<(), Problem> {
        match (self, text) {
            (Self::Unsaid | Self::Nothing, None) => Ok(()),
            (Self::Nothing, Some(_)) => {
                Err(Problem::conflict(format!("there is an agent {name} already")))
            }
            (Self::Unsaid, Some(_)) => Err(Problem::new(
                Code::NeedsMatch,
                format!(
                    "the agent {name} is there: send the ETag of what you have read as If-Match"
                ),
            )),
            (Self::Tag(given), Some(text)) if etag_matches(Some(given), &etag(text)) => Ok(()),
            (Self::Tag(_), _) => Err(Problem::new(
                Code::Stale,
                format!("the agent {name} is not what you have read any more; read it again"),
            )),
        }
    }
}

/// Whether an agent's file lies in the folder that is written here.
pub(super) fn is_user_file(daemon: &DaemonState, agent: &Agent) -> bool {
    let folder = daemon.host().agents_folder();
    agent.location.path().is_some_and(|path| path.parent() == Some(&*folder))
}

/// The text of an agent's file; `None` = it is built in.
pub(super) fn text_of(agent: &Agent) -> Result<Option<String>, Problem> {
    agent
        .location
        .path()
        .map(|path| fs::read_to_string(path).map_err(|error| failed(path, &error)))
        .transpose()
}

fn failed(path: &Path, error: &std::io::Error) -> Problem {
    tracing::error!(path = %path.display(), %error, "a file of an agent cannot be used");
    Problem::new(Code::Internal, format!("the file of the agent cannot be used: {error}"))
}

/// The file of this name that is there, whether an agent can be read from it or not.
fn read_existing(daemon: &DaemonState, name: &str) -> Result<Option<(PathBuf, String)>, Problem> {
    agent_template(name).map_err(Problem::invalid)?;
    let folder = daemon.host().agents_folder();
    for ending in ["md", "toml"] {
        let path = folder.join(format!("{name}.{ending}"));
        match fs::read_to_string(&path) {
            Ok(text) => return Ok(Some((path, text))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(&path, &error)),
        }
    }
    Ok(None)
}

/// Writes the file of an agent, all of it or nothing; `true` = it is new.
pub(super) fn write(
    daemon: &DaemonState,
    name: &str,
    text: &str,
    form: Option<Form>,
    expected: ExpectedVersion,
) -> Result<bool, Problem> {
    let _one = WRITE_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let known = read_existing(daemon, name)?;
    expected.check(name, known.as_ref().map(|(_, text)| text.as_str()))?;
    let folder = daemon.host().agents_folder();
    let path = match (&known, form) {
        (Some((path, _)), None) => path.clone(),
        (_, Some(Form::Toml)) => folder.join(format!("{name}.toml")),
        (_, Some(Form::Markdown)) | (None, None) => folder.join(format!("{name}.md")),
    };
    write_file(daemon, &folder, &path, text)?;
    // Written in another form, the old file would clash with the new one.
    if let Some((old, _)) = known.as_ref().filter(|(old, _)| *old != path) {
        fs::remove_file(old).map_err(|error| failed(old, &error))?;
    }
    daemon.runner().reload();
    Ok(known.is_none())
}

/// Removes the file of an agent.
pub(super) fn remove(
    daemon: &DaemonState,
    name: &str,
    expected: ExpectedVersion,
) -> Result<(), Problem> {
    let _one = WRITE_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((path, text)) = read_existing(daemon, name)? else {
        let library = daemon.runner().library();
        return Err(match library.agent(name) {
            Ok(agent) => Problem::conflict(format!(
                "the agent {name} is not in your own folder ({}) and cannot be removed here",
                agent.location
            )),
            Err(error) => super::unknown(&error),
        });
    };
    expected.check(name, Some(&text))?;
    fs::remove_file(&path).map_err(|error| failed(&path, &error))?;
    daemon.runner().reload();
    Ok(())
}

/// Reads it from a hidden folder beside its place first, as a run would, and moves it there only
/// when nothing is wrong with it.
fn write_file(daemon: &DaemonState, folder: &Path, path: &Path, text: &str) -> Result<(), Problem> {
    let name = path.file_name().unwrap_or_default();
    let staging = folder.join(format!(".new-{:08x}", fastrand::u32(..)));
    fs::create_dir_all(&staging).map_err(|error| failed(&staging, &error))?;
    let staged = staging.join(name);
    let done = (|| {
        fs::write(&staged, text).map_err(|error| failed(&staged, &error))?;
        if let Ok(meta) = fs::metadata(path) {
            fs::set_permissions(&staged, meta.permissions())
                .map_err(|error| failed(&staged, &error))?;
        }
        let read =
            daemon.runner().library_with(Folder { scope: Scope::User, path: staging.clone() });
        if let Some(problem) = read.problems.iter().find(|problem| problem.path == staged) {
            return Err(Problem::invalid(format!("the agent cannot be read: {}", problem.message)));
        }
        fs::rename(&staged, path).map_err(|error| failed(path, &error))
    })();
    // The remainder is of no use.
    let _ = fs::remove_dir_all(&staging);
    done
}

/// An agent as a file `NAME.md`: what differs from the defaults, then its prompt.
pub(super) fn to_markdown(agent: &Agent) -> String {
    let mut text = "---\n".to_owned();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() {
            // JSON is YAML.
            text += &format!("{key}: {value}\n");
        }
    };
    put("title", json!(agent.title));
    put("description", json!(Some(&agent.description).filter(|text| !text.is_empty())));
    put("model", json!(agent.model.as_ref().map(ToString::to_string)));
    put("tools", json!(agent.tools));
    put("skills", json!(Some(&agent.skills).filter(|skills| !skills.is_empty())));
    put("role", json!(Some(&agent.role).filter(|role| *role != DEFAULT_ROLE)));
    put("mode", json!(agent.preset.map(AgentPreset::as_str)));
    put("temperature", json!(agent.temperature));
    put("max_output", json!(agent.max_output));
    let limits = &agent.limits;
    let rounds = limits.rounds.map(|rounds| match rounds {
        Rounds::AtMost(rounds) => json!(rounds),
        Rounds::Unlimited => json!("unlimited"),
    });
    let mut members = json!({
        "rounds": rounds,
        "calls": limits.calls,
        "tokens": limits.tokens,
        "time": limits.time.map(|time| time.as_secs()),
        "cost": limits.cost,
    });
    if let Value::Object(members) = &mut members {
        members.retain(|_, value| !value.is_null());
    }
    put("limits", Some(members).filter(|members| *members != json!({})).unwrap_or_default());
    text + "---\n\n" + agent.prompt.trim() + "\n"
}
