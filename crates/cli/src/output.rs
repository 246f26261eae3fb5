//! Standard input, and output: data goes to standard output, everything else to standard error.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use toolcrib_app::{ExecError, Secrets, SetupError, SubmitError};
use toolcrib_core::{ErrorType, StoreError, ToolError};

/// The reason why a command ends without its result.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Exit code.
    pub(crate) code: u8,
    /// The error, with advice.
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
        // A closed reader, such as `head`, is not a failure of this program.
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

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::run(error.to_string())
    }
}

impl From<SubmitError> for Failure {
    fn from(error: SubmitError) -> Self {
        let code = match &error {
            // As HTTP 409 and 400: the request itself cannot be answered.
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

/// Secrets that are masked in every text on standard error.
static SECRETS: OnceLock<Secrets> = OnceLock::new();

/// Masks these secrets from now on: errors of providers and of files may repeat their input.
pub(crate) fn set_secrets(secrets: &Secrets) {
    // The first value stays; it shares secrets that are added later.
    let _ = SECRETS.set(secrets.clone());
}

fn masked(text: &str) -> String {
    SECRETS.get().map_or_else(|| text.to_owned(), |secrets| secrets.mask(text.to_owned()))
}

/// Returns whether a text contains a masked secret.
pub(crate) fn contains_secret(text: &str) -> bool {
    SECRETS.get().is_some_and(|secrets| secrets.occurs_in(text))
}

/// Prints the reason why a command failed.
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

/// Reads standard input to its end. Prints a hint at a terminal, because a person who only typed
/// the command would wait without knowing for what.
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

/// Prints data unchanged.
pub(crate) fn print_raw(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Prints a JSON document: indented for people, on one line for machines.
pub(crate) fn print_json(value: &Value, as_json: bool) -> io::Result<()> {
    let text = if as_json { value.to_string() } else { format!("{value:#}") };
    print_line(&text)
}

/// Prints a line to standard error. A closed reader, such as `head`, does not stop the work.
pub(crate) fn eprint_line(text: &str) {
    let _ = writeln!(io::stderr(), "{}", masked(text));
}

/// Prints the changes of the sanitizer in a printed result, and whether the result reads like
/// instructions to a model.
pub(crate) fn eprint_sanitized(is_flagged: bool, changes: &[String]) {
    if is_flagged {
        eprint_line("toolcrib: this text contains what reads like instructions to a model");
    }
    changes.iter().for_each(|change| eprint_line(&format!("toolcrib: neutralised: {change}")));
}

/// Whether warnings are for machines.
static JSON_WARNINGS: AtomicBool = AtomicBool::new(false);

/// The warnings that were already printed.
static WARNED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Sets whether warnings are for machines.
pub(crate) fn set_json_warnings(json: bool) {
    JSON_WARNINGS.store(json, Ordering::Relaxed);
}

/// Prints a warning once, even if it occurs several times in a process.
pub(crate) fn warn_once(text: &str) {
    let mut said = WARNED.lock().unwrap_or_else(PoisonError::into_inner);
    if said.insert(text.to_owned()) {
        warn(text, JSON_WARNINGS.load(Ordering::Relaxed));
    }
}

/// Prints the start of a line on standard error that a person ends by typing.
pub(crate) fn eprint_prompt(text: &str) {
    let mut err = io::stderr().lock();
    let _ = write!(err, "{text}").and_then(|()| err.flush());
}

/// Prints a warning to standard error, for machines as one JSON object per line.
pub(crate) fn warn(text: &str, as_json: bool) {
    if as_json {
        eprint_line(&json!({"note": text}).to_string());
    } else {
        eprint_line(&format!("toolcrib: {text}"));
    }
}

/// Returns the table of errors, one row per type.
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
