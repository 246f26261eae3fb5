//! The file, found and read, and what is wrong with it in words for people. No value of the file is ever in them: it may be a key.
#![deny(clippy::indexing_slicing)]

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;
use toolcrib_app::core::near::slips;

use crate::config::Config;
use crate::config::env::Env;
use crate::output::Failure;

/// Largest file, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// Reads the configuration. A file that is not there is an empty one, unless `TOOLCRIB_CONFIG` names it.
///
/// # Errors
/// Exit code 3, with file and line.
pub(crate) fn load(env: &Env) -> Result<Config, Failure> {
    let named = env.path("TOOLCRIB_CONFIG");
    let Some(path) = named.clone().or_else(|| default_path(env)) else {
        return Ok(Config::default());
    };
    let text = match read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => String::new(),
        Err(error) => {
            let what = format!("the configuration {} cannot be read: {error}", path.display());
            return Err(Failure::configuration(what));
        }
        Ok(text) => text,
    };
    let mut config = parse(&path, &text)?;
    config.path = path;
    Ok(config)
}

/// Where the file is looked for: `$TOOLCRIB_HOME`, else the configuration folder of the XDG convention.
fn default_path(env: &Env) -> Option<PathBuf> {
    if let Some(home) = env.path("TOOLCRIB_HOME") {
        return Some(home.join("config.toml"));
    }
    let strategy = etcetera::base_strategy::choose_base_strategy().ok()?;
    Some(strategy.config_dir().join("toolcrib").join("config.toml"))
}

fn read(path: &Path) -> io::Result<String> {
    // Looked at before it is opened: a pipe would be waited for.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let file = File::open(path)?;
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it is larger than {MAX_BYTES} bytes")));
    }
    Ok(text)
}

/// Reads the text of a file.
pub(super) fn parse(path: &Path, text: &str) -> Result<Config, Failure> {
    let wrong = |start: usize, what: String| {
        let line = 1 + text.bytes().take(start).filter(|byte| *byte == b'\n').count();
        Failure::configuration(format!("{}:{line}: {what}", path.display()))
    };
    let config: Config = toml::from_str(text).map_err(|error| {
        wrong(error.span().map_or(0, |span| span.start), message(error.message()))
    })?;
    for (id, section) in &config.providers {
        section.get_ref().check(&id.0).map_err(|what| wrong(section.span().start, what))?;
    }
    Ok(config)
}

/// The parser's words without the values in them, and with the name that was probably meant.
fn message(said: &str) -> String {
    for (begin, what) in [("unknown field ", "key"), ("unknown variant ", "word")] {
        if let Some(names) = said.strip_prefix(begin) {
            return unknown_name(what, names);
        }
    }
    let wrong =
        said.strip_prefix("invalid type: ").or_else(|| said.strip_prefix("invalid value: "));
    let Some(wrong) = wrong else { return said.to_owned() };
    // The value stands between its kind and the last "expected".
    let kind = wrong.split(['"', '`', ',']).next().unwrap_or_default().trim();
    let expected = wrong.rsplit_once(", expected ").map_or("another value", |(_, what)| what);
    format!("expected {expected}, got {kind}")
}

/// "`wrong`, expected one of `a`, `b`" in words for people.
fn unknown_name(what: &str, names: &str) -> String {
    let mut quoted = names.split('`').skip(1).step_by(2);
    let wrong = quoted.next().unwrap_or_default();
    let known: Vec<&str> = quoted.collect();
    match slips(wrong, known.iter().copied()).first() {
        Some(near) => format!("unknown {what} `{wrong}`, did you mean `{near}`?"),
        None => format!("unknown {what} `{wrong}`; known are {}", known.join(", ")),
    }
}
