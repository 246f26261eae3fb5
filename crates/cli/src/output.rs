//! What comes from standard input, and what goes to standard output and standard error: data on the
//! one, everything else on the other.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use toolcrib_app::{ExecError, Secrets, SetupError, SubmitError};
use toolcrib_core::{ErrorType, ToolError};

/// Why a command ends without its result.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Exit code.
    pub(crate) code: u8,
    /// What happened and what to do.
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { code: 2, message: message.into() }
    }

    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        Self { code: 3, message: message.into() }
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self { code: 4, message: message.into() }
    }

    pub(crate) fn run(message: impl Into<String>) -> Self {
        Self { code: 1, message: message.into() }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        // A reader that went away, such as `head`, is no failure of ours.
        let code = if error.kind() == io::ErrorKind::BrokenPipe { 0 } else { 1 };
        Self { code, message: error.to_string() }
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        let remedy = match &error {
            SetupError::Root(_) => " (--root DIR)",
            SetupError::State(_) => {
                "; make the folder writable, or set TOOLCRIB_HOME to a folder that you may write"
            }
            _ => "",
        };
        Self::configuration(format!("{error}{remedy}"))
    }
}

impl From<ExecError> for Failure {
    fn from(error: ExecError) -> Self {
        match &error {
            ExecError::Run(why) => {
                Self { code: why.error_type.exit_code(), message: error.to_string() }
            }
            ExecError::Key(why) => why.clone().into(),
            ExecError::UnknownFormat | ExecError::Parse(_) => Self::usage(error.to_string()),
        }
    }
}

impl From<SubmitError> for Failure {
    fn from(error: SubmitError) -> Self {
        let code = match &error {
            // HTTP 409 and 400: asked for in a way that cannot be answered.
            SubmitError::KeyReused(_) | SubmitError::BadKey | SubmitError::SecretKey => 2,
            SubmitError::OtherEnvironment(_) => 3,
            SubmitError::RunningElsewhere(_) | SubmitError::Store(_) => 1,
        };
        Self { code, message: error.to_string() }
    }
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        Self { code: error.error_type.exit_code(), message: error.message }
    }
}

/// Secrets that stand in nothing that is said on standard error.
static SECRETS: OnceLock<Secrets> = OnceLock::new();

/// Hides these from now on: errors of providers and of files may repeat what they were given.
pub(crate) fn set_secrets(secrets: &Secrets) {
    // The first ones stay; what is learned later is in them too.
    let _ = SECRETS.set(secrets.clone());
}

fn masked(text: &str) -> String {
    SECRETS.get().map_or_else(|| text.to_owned(), |secrets| secrets.mask(text.to_owned()))
}

/// Whether a text holds a secret that is hidden.
pub(crate) fn contains_secret(text: &str) -> bool {
    SECRETS.get().is_some_and(|secrets| secrets.occurs_in(text))
}

/// Says why a command failed.
pub(crate) fn print_failure(failure: &Failure, as_json: bool) {
    if failure.code == 0 {
        return;
    }
    if as_json {
        eprint_line(&json!({"error": failure.message, "exit_code": failure.code}).to_string());
    } else {
        eprint_line(&format!("toolcrib: {}", failure.message));
    }
}

/// Reads standard input to its end. A person who only typed the command would wait forever without
/// a message.
pub(crate) fn read_stdin() -> io::Result<Vec<u8>> {
    if io::stdin().is_terminal() {
        eprint_line("toolcrib: reading from the terminal; end the input with Ctrl-D");
    }
    let mut raw = Vec::new();
    io::stdin().lock().read_to_end(&mut raw)?;
    Ok(raw)
}

/// Prints data.
pub(crate) fn print_line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Prints data exactly as it is.
pub(crate) fn print_raw(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Prints a JSON document: indented for people, in one line for machines.
pub(crate) fn print_json(value: &Value, as_json: bool) -> io::Result<()> {
    let text = if as_json { value.to_string() } else { format!("{value:#}") };
    print_line(&text)
}

/// Says something beside the data. A reader of these words that went away, such as `head`, does not
/// stop the work.
pub(crate) fn eprint_line(text: &str) {
    let _ = writeln!(io::stderr(), "{}", masked(text));
}

/// Says what of a printed result was made harmless, and whether it reads like orders to a model.
pub(crate) fn eprint_sanitized(is_flagged: bool, changes: &[String]) {
    if is_flagged {
        eprint_line("toolcrib: this text contains what reads like instructions to a model");
    }
    changes.iter().for_each(|change| eprint_line(&format!("toolcrib: neutralised: {change}")));
}

/// Whether remarks are for machines.
static JSON_WARNINGS: AtomicBool = AtomicBool::new(false);

/// What was said already.
static WARNED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// From now on remarks are for machines.
pub(crate) fn set_json_warnings(json: bool) {
    JSON_WARNINGS.store(json, Ordering::Relaxed);
}

/// Says something beside the data that is found out more than once in a process, and said once.
pub(crate) fn warn_once(text: &str) {
    let mut said = WARNED.lock().unwrap_or_else(PoisonError::into_inner);
    if said.insert(text.to_owned()) {
        warn(text, JSON_WARNINGS.load(Ordering::Relaxed));
    }
}

/// Begins a line on stderr that a person ends by typing.
pub(crate) fn eprint_prompt(text: &str) {
    let mut err = io::stderr().lock();
    let _ = write!(err, "{text}").and_then(|()| err.flush());
}

/// Says something beside the data, for machines as one JSON object per line.
pub(crate) fn warn(text: &str, as_json: bool) {
    if as_json {
        eprint_line(&json!({"note": text}).to_string());
    } else {
        eprint_line(&format!("toolcrib: {text}"));
    }
}

/// The table of errors, one row per type.
pub(crate) fn error_table() -> Vec<Value> {
    ErrorType::ALL
        .iter()
        .map(|t| {
            json!({
                "error_type": t,
                "outcome": t.outcome(),
                "http_status": t.http_status(),
                "exit_code": t.exit_code(),
                "retried": t.is_transient(),
            })
        })
        .collect()
}
