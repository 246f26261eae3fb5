//! The terminal while one prompt is open: text output, key input.

use std::io::{self, Write};
use std::time::Duration;

use super::console::{Console, terminal_size};
use super::escape_to_line;
use super::key_decoder::Key;
use super::keyboard::Keys;
use super::style::Styler;
use super::text_wrap;

/// Pause that ends typing which began before the prompt opened.
const QUIET_TIME: Duration = Duration::from_millis(400);
/// An Enter this soon after a key belongs to that key.
const ENTER_TIME: Duration = Duration::from_millis(30);

/// The terminal of an open prompt. Dropping it releases the terminal at any time.
pub(crate) struct Modal {
    console: Console,
    keys: Keys,
    out: Box<dyn Write + Send + Sync>,
    is_typing: bool,
    is_answered: bool,
}

impl Modal {
    pub(super) fn new(
        console: Console,
        keys: Keys,
        out: Box<dyn Write + Send + Sync>,
        is_typing: bool,
    ) -> Self {
        Self { console, keys, out, is_typing, is_answered: false }
    }

    /// Closes the prompt after its answer.
    pub(crate) fn finish(mut self) {
        self.is_answered = true;
    }

    pub(crate) fn paint(&self) -> Styler {
        self.console.paint()
    }

    pub(crate) fn write(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Returns the next key.
    ///
    /// # Errors
    /// A closed terminal.
    pub(crate) async fn read_key(&mut self) -> io::Result<Key> {
        // Text that was being typed is not a decision.
        while std::mem::take(&mut self.is_typing) {
            let key = tokio::time::timeout(QUIET_TIME, self.keys.next()).await;
            self.is_typing = matches!(key, Ok(Some(_)));
        }
        self.keys.next().await.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Skips an Enter directly after a decision, because people type it by habit.
    pub(crate) async fn skip_enter(&mut self) -> Option<Key> {
        let key = tokio::time::timeout(ENTER_TIME, self.keys.next()).await.ok().flatten();
        key.filter(|key| *key != Key::Enter)
    }

    /// Reads one line of text; returns `None` for Escape or Ctrl-D.
    ///
    /// # Errors
    /// A closed terminal.
    pub(crate) async fn read_line(
        &mut self,
        prompt: &str,
        mut text: String,
        mut first: Option<Key>,
    ) -> io::Result<Option<String>> {
        loop {
            let (columns, _) = terminal_size();
            let room = columns.saturating_sub(text_wrap::width(prompt) + 1).max(8);
            let shown = escape_to_line(&text);
            self.write(&format!("\r\u{1b}[K{prompt}{}", text_wrap::tail_of_width(&shown, room)))?;
            let key = match first.take() {
                Some(key) => key,
                None => self.read_key().await?,
            };
            if let Key::Escape | Key::End = key {
                self.write("\n")?;
                return Ok(None);
            }
            if key == Key::Enter {
                self.write("\n")?;
                return Ok(Some(text));
            }
            apply_key(&mut text, key);
        }
    }

    /// Releases the whole terminal to another program until this returns.
    pub(crate) async fn suspend_during<T>(&self, work: impl Future<Output = T>) -> T {
        self.keys.suspend_during(work).await
    }
}

/// Applies a key to the end of a text.
pub(crate) fn apply_key(text: &mut String, key: Key) {
    match key {
        Key::Char(c) => text.push(c),
        Key::Backspace => {
            text.pop();
        }
        Key::KillLine => text.clear(),
        Key::KillWord => {
            let words = text.trim_end().rfind(char::is_whitespace).map_or(0, |at| at + 1);
            text.truncate(words);
        }
        Key::Enter | Key::Escape | Key::Interrupt | Key::End => {}
    }
}

impl Drop for Modal {
    fn drop(&mut self) {
        if !self.is_answered {
            let words = self.paint().dim("(not asked any more)");
            let _ = self.write(&format!("\r\u{1b}[K{words}\n"));
        }
        self.console.close_modal();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_typed_and_taken_back() {
        let mut text = String::from("one two");
        apply_key(&mut text, Key::KillWord);
        assert_eq!(text, "one ");
        apply_key(&mut text, Key::Char('x'));
        apply_key(&mut text, Key::Backspace);
        apply_key(&mut text, Key::Backspace);
        assert_eq!(text, "one");
        apply_key(&mut text, Key::KillLine);
        assert_eq!(text, "");
    }
}
