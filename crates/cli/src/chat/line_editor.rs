//! The prompt: line editing, history and completion of commands, by rustyline.

use std::fs;
use std::path::PathBuf;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Context, Editor, Helper};

use crate::bootstrap;
use crate::output::Failure;

const PROMPT: &str = "› ";
/// Maximum number of lines in the history.
const HISTORY: usize = 1000;

/// The input at the prompt.
pub(super) enum LineInput {
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D.
    End,
}

/// Reads lines.
pub(super) struct LineEditor {
    /// `None` while a thread reads with it.
    editor: Option<Editor<CommandCompleter, FileHistory>>,
    history: PathBuf,
}

impl LineEditor {
    pub(super) fn new(names: Vec<String>) -> Result<Self, Failure> {
        let failed =
            |error: ReadlineError| Failure::run(format!("the terminal cannot be read: {error}"));
        let config = Config::builder()
            .max_history_size(HISTORY)
            .map_err(failed)?
            .history_ignore_space(true)
            .build();
        let history = FileHistory::with_config(&config);
        let mut editor = Editor::with_history(config, history).map_err(failed)?;
        editor.set_helper(Some(CommandCompleter { names }));
        let folder = bootstrap::state_folder()?;
        fs::create_dir_all(&folder)?;
        let history = folder.join("history");
        // The file does not exist at first; an unreadable one is replaced.
        let _ = editor.load_history(&history);
        Ok(Self { editor: Some(editor), history })
    }

    /// Sets the names to which a slash is completed.
    pub(super) fn set_completions(&mut self, names: Vec<String>) {
        if let Some(editor) = &mut self.editor {
            editor.set_helper(Some(CommandCompleter { names }));
        }
    }

    /// Reads a line that starts with `initial`.
    pub(super) async fn read(&mut self, initial: String) -> Result<LineInput, Failure> {
        let gone = || Failure::run("the terminal cannot be read any more");
        let mut editor = self.editor.take().ok_or_else(gone)?;
        // Reading blocks; other tasks, such as connections of providers, must not wait for the
        // person.
        let reading = tokio::task::spawn_blocking(move || {
            let line = editor.readline_with_initial(PROMPT, (&initial, ""));
            (editor, line)
        });
        let (mut editor, line) = reading.await.map_err(|_| gone())?;
        let typed = match line {
            Ok(line) => {
                let line = line.replace("\\\n", "\n");
                // A typed secret is not saved in the history.
                let is_kept = !line.trim().is_empty() && !crate::output::contains_secret(&line);
                if is_kept && editor.add_history_entry(&line).unwrap_or(false) {
                    // If the history cannot be written, the chat continues.
                    let _ = editor.append_history(&self.history);
                }
                Ok(LineInput::Line(line))
            }
            Err(ReadlineError::Interrupted) => Ok(LineInput::Interrupted),
            Err(ReadlineError::Eof) => Ok(LineInput::End),
            Err(error) => Err(Failure::run(format!("the terminal cannot be read: {error}"))),
        };
        self.editor = Some(editor);
        typed
    }
}

/// Completes commands, and continues lines that end in a backslash.
struct CommandCompleter {
    names: Vec<String>,
}

impl Helper for CommandCompleter {}
impl Highlighter for CommandCompleter {}

impl Hinter for CommandCompleter {
    type Hint = String;
}

impl Completer for CommandCompleter {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let typed = line.get(..at).unwrap_or_default();
        if !typed.starts_with('/') || typed.contains(char::is_whitespace) {
            return Ok((at, Vec::new()));
        }
        let names = self.names.iter().map(|name| format!("/{name}"));
        Ok((0, names.filter(|name| name.starts_with(typed)).collect()))
    }
}

impl Validator for CommandCompleter {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match context.input().ends_with('\\') {
            true => ValidationResult::Incomplete,
            false => ValidationResult::Valid(None),
        })
    }
}
