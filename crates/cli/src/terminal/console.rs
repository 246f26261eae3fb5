//! The terminal of a process: finished text at the top, live rows below it, and at most one prompt
//! in front of both.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::OwnedMutexGuard;

use super::keyboard::{Keyboard, Keys};
use super::modal::Modal;
use super::style::{Styler, is_dumb_terminal};
use super::text_wrap;

/// Time after a key press for which a person counts as typing: the next keys are then not meant for
/// a new prompt.
const TYPING_PAUSE: Duration = Duration::from_millis(1000);
/// Size of a terminal that does not report it.
const SIZE: (usize, usize) = (80, 24);

/// The terminal of this process. Clones share their state.
#[derive(Clone)]
pub(crate) struct Console {
    inner: Arc<Inner>,
}

struct Inner {
    screen: Mutex<Screen>,
    keyboard: Keyboard,
    seat: Arc<tokio::sync::Mutex<()>>,
    typed: Mutex<Option<Instant>>,
    paint: Styler,
}

/// The content of the terminal.
struct Screen {
    out: ConsoleOutput,
    /// Rows below the finished text, which are redrawn.
    live: Vec<String>,
    /// Number of live rows that are currently drawn.
    drawn: usize,
    /// Whether a prompt is open; other output waits until it closes.
    is_modal_open: bool,
    waiting: String,
}

/// Destination of the output.
enum ConsoleOutput {
    /// A chat: all output goes to the terminal on standard output.
    Chat(Box<dyn Write + Send>),
    /// Other commands: remarks go to standard error, prompts to the terminal itself.
    Command,
}

impl Default for Console {
    fn default() -> Self {
        Self::new(
            ConsoleOutput::Command,
            Styler { colour: io::stderr().is_terminal() && Styler::from_env().colour },
        )
    }
}

impl Console {
    /// Creates the terminal of a chat.
    pub(crate) fn chat() -> Self {
        Self::new(ConsoleOutput::Chat(Box::new(io::stdout())), Styler::from_env())
    }

    fn new(out: ConsoleOutput, paint: Styler) -> Self {
        let screen = Screen {
            out,
            live: Vec::new(),
            drawn: 0,
            is_modal_open: false,
            waiting: String::new(),
        };
        Self {
            inner: Arc::new(Inner {
                screen: Mutex::new(screen),
                keyboard: Keyboard::default(),
                seat: Arc::default(),
                typed: Mutex::default(),
                paint,
            }),
        }
    }

    pub(crate) fn paint(&self) -> Styler {
        self.inner.paint
    }

    fn screen(&self) -> MutexGuard<'_, Screen> {
        self.inner.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether it belongs to a chat.
    pub(crate) fn is_chat(&self) -> bool {
        matches!(self.screen().out, ConsoleOutput::Chat(_))
    }

    /// Returns whether a person can see and answer a prompt.
    pub(crate) fn has_person(&self) -> bool {
        self.is_chat() || io::stderr().is_terminal()
    }

    /// Prints finished lines.
    pub(crate) fn print(&self, text: &str) {
        let mut screen = self.screen();
        if screen.is_modal_open {
            screen.waiting.push_str(text);
        } else {
            screen.print_above(text);
        }
    }

    /// Prints one finished line.
    pub(crate) fn print_line(&self, text: &str) {
        self.print(&format!("{text}\n"));
    }

    /// Sets the live rows below the finished text.
    pub(crate) fn set_live_rows(&self, rows: Vec<String>) {
        let mut screen = self.screen();
        if screen.live == rows && (screen.drawn > 0 || rows.is_empty()) {
            return;
        }
        screen.live = rows;
        if !screen.is_modal_open {
            screen.print_above("");
        }
    }

    /// Starts listening for keys that are typed while work runs.
    pub(crate) fn listen(&self) -> io::Result<Keys> {
        self.inner.keyboard.listen()
    }

    /// Records that a key was just pressed.
    pub(crate) fn record_keypress(&self) {
        *self.inner.typed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Waits until no other prompt is open.
    pub(crate) async fn lock_modal(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.inner.seat).lock_owned().await
    }

    /// Opens the terminal for a prompt; the caller must hold the [lock](Self::lock_modal).
    pub(crate) fn open_modal(&self) -> io::Result<Modal> {
        let keys = self.inner.keyboard.listen()?;
        let mut screen = self.screen();
        let out: Box<dyn Write + Send + Sync> = match &screen.out {
            ConsoleOutput::Chat(_) => Box::new(io::stdout()),
            ConsoleOutput::Command => Box::new(File::options().write(true).open("/dev/tty")?),
        };
        screen.erase();
        screen.is_modal_open = true;
        drop(screen);
        let typed = self.inner.typed.lock().unwrap_or_else(PoisonError::into_inner).take();
        let is_typing = typed.is_some_and(|at| at.elapsed() < TYPING_PAUSE);
        Ok(Modal::new(self.clone(), keys, out, is_typing))
    }
}

impl Console {
    /// Closes the prompt and writes the waiting output.
    pub(super) fn close_modal(&self) {
        let mut screen = self.screen();
        screen.is_modal_open = false;
        let waiting = std::mem::take(&mut screen.waiting);
        screen.print_above(&waiting);
    }
}

/// Returns columns and rows of the terminal.
pub(crate) fn terminal_size() -> (usize, usize) {
    let told = rustix::termios::tcgetwinsize(io::stdout());
    let told = told.or_else(|_| rustix::termios::tcgetwinsize(io::stderr())).ok();
    let told = told.filter(|size| size.ws_col > 0 && size.ws_row > 0);
    told.map_or(SIZE, |size| (size.ws_col.into(), size.ws_row.into()))
}

impl Screen {
    fn write(&mut self, text: &str) {
        // A closed terminal does not stop the work.
        let _ = match &mut self.out {
            ConsoleOutput::Chat(out) => out.write_all(text.as_bytes()).and_then(|()| out.flush()),
            ConsoleOutput::Command => io::stderr().write_all(text.as_bytes()),
        };
    }

    /// Writes finished lines above the live rows, in one write, to avoid flicker.
    fn print_above(&mut self, text: &str) {
        let mut all = self.erasure();
        all.push_str(text);
        if matches!(self.out, ConsoleOutput::Chat(_)) && !is_dumb_terminal() {
            let (columns, rows) = terminal_size();
            // Rows beyond the height of the terminal would scroll, and could not be erased.
            let from = self.live.len().saturating_sub(rows.saturating_sub(1));
            let live = self.live.get(from..).unwrap_or_default();
            self.drawn = live.len();
            for row in live {
                all.push_str(&clip(row, columns.saturating_sub(1)));
                all.push('\n');
            }
        }
        if !all.is_empty() {
            self.write(&all);
        }
    }

    fn erase(&mut self) {
        let erasure = self.erasure();
        if !erasure.is_empty() {
            self.write(&erasure);
        }
    }

    /// Returns the sequence that erases the live rows; the cursor is below them.
    fn erasure(&mut self) -> String {
        match std::mem::take(&mut self.drawn) {
            0 => String::new(),
            rows => format!("\u{1b}[{rows}A\r\u{1b}[J"),
        }
    }
}

/// Cuts a row to the width; styles in it have no width, and are closed.
fn clip(row: &str, columns: usize) -> String {
    // The width of a tab depends on the terminal.
    let row = row.replace('\t', "    ");
    let mut clipped = String::new();
    let (mut used, mut rest) = (0, row.as_str());
    while let Some(c) = rest.chars().next() {
        let length = match rest.strip_prefix("\u{1b}[") {
            Some(codes) => codes.find('m').map_or(rest.len(), |at| at + 3),
            None => {
                used += text_wrap::width(rest.get(..c.len_utf8()).unwrap_or_default());
                if used > columns {
                    if clipped.contains('\u{1b}') {
                        clipped.push_str("\u{1b}[0m");
                    }
                    break;
                }
                c.len_utf8()
            }
        };
        let (head, tail) = rest.split_at(length);
        clipped.push_str(head);
        rest = tail;
    }
    clipped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_clipped_without_counting_styles() {
        assert_eq!(clip("\u{1b}[1mab\u{1b}[0mcd", 3), "\u{1b}[1mab\u{1b}[0mc\u{1b}[0m");
        assert_eq!(clip("abc", 3), "abc");
        assert_eq!(clip("a\tb", 3), "a  ");
    }

    /// Returns the content of a terminal of 80 columns after these bytes, without styles.
    fn shown(bytes: &[u8]) -> String {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let mut lines: Vec<String> = vec![String::new()];
        let mut rest = text.as_str();
        while let Some(c) = rest.chars().next() {
            if let Some(codes) = rest.strip_prefix("\u{1b}[") {
                let end = codes.find(|c: char| c.is_ascii_alphabetic()).unwrap();
                if &codes[end..=end] == "A" {
                    lines.truncate(lines.len() - codes[..end].parse::<usize>().unwrap());
                    lines.last_mut().unwrap().clear();
                }
                rest = &codes[end + 1..];
                continue;
            }
            match c {
                '\n' => lines.push(String::new()),
                '\r' => lines.last_mut().unwrap().clear(),
                c => lines.last_mut().unwrap().push(c),
            }
            rest = &rest[c.len_utf8()..];
        }
        lines.join("\n")
    }

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn finished_text_goes_above_what_moves() {
        let paper = Paper::default();
        let console =
            Console::new(ConsoleOutput::Chat(Box::new(paper.clone())), Styler { colour: false });
        console.print_line("one");
        console.set_live_rows(vec!["Working… 1 s".to_owned()]);
        console.set_live_rows(vec!["Working… 2 s".to_owned(), "› typed".to_owned()]);
        console.print_line("two");
        console.screen().is_modal_open = true;
        console.print_line("three");
        console.screen().is_modal_open = false;
        console.screen().waiting.clear();
        console.set_live_rows(Vec::new());
        let bytes = paper.0.lock().unwrap().clone();
        if is_dumb_terminal() {
            assert_eq!(shown(&bytes), "one\ntwo\n");
        } else {
            assert_eq!(shown(&bytes), "one\ntwo\n");
            assert!(String::from_utf8(bytes).unwrap().contains("Working… 2 s"));
        }
    }
}
