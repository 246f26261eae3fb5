//! The log of a daemon: one line per event, on standard error and optionally in a file.
//!
//! A separate thread masks every line before it is written: a reader that does not read blocks only
//! the log, whose lines are then counted and dropped.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use toolcrib_app::Secrets;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::bootstrap;
use crate::clap_args::{LogArgs, LogFormat};
use crate::output::Failure;

/// Maximum number of lines that wait to be written; more are dropped.
const QUEUE_LINES: usize = 8_192;
/// Time for which lines are collected before they are written together. Meanwhile, no logging
/// thread has to wake the writer, which would cost each request more than its lines do.
const FLUSH_INTERVAL: Duration = Duration::from_millis(5);
/// Size in bytes at which a file is rotated.
const FILE_BYTES: u64 = 10 * 1024 * 1024;
/// Number of rotated files that are kept.
const KEPT_FILES: usize = 5;

/// The log of this process; dropping it ends the log.
pub(crate) struct Logs {
    lines: LineSender,
    secrets: Arc<OnceLock<Secrets>>,
}

impl Logs {
    /// Starts logging.
    ///
    /// # Errors
    /// Exit code 2 for an invalid level, 1 for a file that cannot be written.
    pub(crate) fn start(logging: &LogArgs) -> Result<Self, Failure> {
        let filter = EnvFilter::try_new(&logging.log_level).map_err(|error| {
            let what = format!(
                "\"{}\" is not a log level: {error}; use error, warn, info, debug, trace or off",
                logging.log_level
            );
            Failure::usage(what)
        })?;
        // At its info level, it logs every single request, which the access log describes in one
        // line.
        let filter = match "rmcp=warn".parse() {
            Ok(quiet) if !logging.log_level.contains("rmcp") => filter.add_directive(quiet),
            _ => filter,
        };
        let file = match &logging.log_file {
            None => None,
            Some(named) => {
                let path = named.clone().map_or_else(default_path, Ok)?;
                let failed = |error: io::Error| {
                    Failure::run(format!("the log {} cannot be written: {error}", path.display()))
                };
                Some(RotatingFile::open(&path).map_err(failed)?)
            }
        };
        let secrets = Arc::new(OnceLock::new());
        let lines =
            LineSender::spawn(Outputs { file, secrets: Arc::clone(&secrets), error: io::stderr() });
        let builder = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_ansi(false)
            .with_writer(lines.clone());
        let set = match logging.log_format {
            LogFormat::Text => builder.compact().try_init(),
            LogFormat::Json => builder.json().flatten_event(true).try_init(),
        };
        set.map_err(|error| Failure::run(format!("the log cannot be set up: {error}")))?;
        Ok(Self { lines, secrets })
    }

    /// Masks these secrets in every line from now on.
    pub(crate) fn register_secrets(&self, secrets: Secrets) {
        let _ = self.secrets.set(secrets);
    }
}

impl Drop for Logs {
    /// Writes the remaining lines.
    fn drop(&mut self) {
        let (done, waiting) = sync_channel(1);
        if self.lines.sender.send(Message::Flush(done)).is_ok() {
            let _ = waiting.recv_timeout(Duration::from_secs(2));
        }
    }
}

/// Returns `logs/toolcrib.log` in the state folder.
pub(crate) fn default_path() -> Result<PathBuf, Failure> {
    Ok(bootstrap::state_folder()?.join("logs").join("toolcrib.log"))
}

enum Message {
    Line(Vec<u8>),
    Flush(SyncSender<()>),
}

/// Sends lines to the writer. Clones share the channel.
#[derive(Clone)]
struct LineSender {
    sender: SyncSender<Message>,
    lost: Arc<AtomicU64>,
}

impl LineSender {
    fn spawn<W: Write + Send + 'static>(outputs: Outputs<W>) -> Self {
        let (sender, receiver) = sync_channel(QUEUE_LINES);
        let lost = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&lost);
        thread::spawn(move || write_all(&receiver, &counted, outputs));
        Self { sender, lost }
    }
}

impl<'a> MakeWriter<'a> for LineSender {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Write for LineSender {
    /// Writes a complete line, as its formatter passes it.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.sender.try_send(Message::Line(line.to_vec())).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The outputs of lines.
struct Outputs<W> {
    file: Option<RotatingFile>,
    secrets: Arc<OnceLock<Secrets>>,
    error: W,
}

impl<W: Write> Outputs<W> {
    fn line(&mut self, line: &[u8]) {
        let masked = self
            .secrets
            .get()
            .map(|secrets| secrets.mask(String::from_utf8_lossy(line).into_owned()).into_bytes());
        let line = masked.as_deref().unwrap_or(line);
        // A failure here cannot be reported.
        let _ = self.error.write_all(line);
        if let Some(file) = &mut self.file {
            let _ = file.write(line);
        }
    }
}

fn write_all<W: Write>(lines: &Receiver<Message>, lost: &AtomicU64, mut outputs: Outputs<W>) {
    while let Ok(first) = lines.recv() {
        if matches!(first, Message::Line(_)) {
            thread::sleep(FLUSH_INTERVAL);
        }
        for message in std::iter::once(first).chain(lines.try_iter().take(QUEUE_LINES)) {
            match message {
                Message::Line(line) => outputs.line(&line),
                Message::Flush(done) => drop(done.send(())),
            }
        }
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            outputs.line(
                format!("{lost} lines of the log were lost: its reader was too slow\n").as_bytes(),
            );
        }
    }
}

/// A file that is rotated when it is full: `toolcrib.log.1` is the previous one.
struct RotatingFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    most: u64,
}

impl RotatingFile {
    fn open(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let file = own(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, bytes, most: FILE_BYTES })
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.bytes > 0 && self.bytes + line.len() as u64 > self.most {
            self.replace()?;
        }
        self.bytes += line.len() as u64;
        self.file.write_all(line)
    }

    fn replace(&mut self) -> io::Result<()> {
        let before = |number: usize| PathBuf::from(format!("{}.{number}", self.path.display()));
        for number in (1..KEPT_FILES).rev() {
            let _ = fs::rename(before(number), before(number + 1));
        }
        fs::rename(&self.path, before(1))?;
        self.file = own(&self.path)?;
        self.bytes = 0;
        Ok(())
    }
}

/// Opens a file for its owner only, for appending.
fn own(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::Mutex;

    use super::*;

    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Vec<u8>>>);

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(json: bool, log: impl FnOnce()) -> String {
        let (memory, secrets) = (Memory::default(), Secrets::default());
        secrets.add(["hunter2-\"hunter2"]);
        let known = Arc::new(OnceLock::from(secrets));
        let lines =
            LineSender::spawn(Outputs { file: None, secrets: known, error: memory.clone() });
        let builder = tracing_subscriber::fmt().with_ansi(false).with_writer(lines.clone());
        if json {
            tracing::subscriber::with_default(builder.json().flatten_event(true).finish(), log);
        } else {
            tracing::subscriber::with_default(builder.compact().finish(), log);
        }
        drop(Logs { lines, secrets: Arc::default() });
        let bytes = memory.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    /// A secret is masked anywhere in a line: in messages, fields, and fields of a span.
    #[test]
    fn no_line_holds_a_secret() {
        for json in [false, true] {
            let text = logged(json, || {
                let _span = tracing::info_span!("request", id = "hunter2-\"hunter2").entered();
                tracing::info!(field = "a hunter2-\"hunter2 b", "words hunter2-\"hunter2");
                tracing::info!("another line");
            });
            assert_eq!(text.lines().count(), 2, "{text}");
            assert!(text.contains("words") && !text.contains("hunter2"), "{text}");
            assert!(
                !json
                    || text
                        .lines()
                        .all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok())
            );
        }
    }

    #[test]
    fn a_full_file_is_replaced_and_the_oldest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs/t.log");
        let mut file = RotatingFile { most: 10, ..RotatingFile::open(&path).unwrap() };
        for number in 0..20 {
            file.write(format!("line {number:03}\n").as_bytes()).unwrap();
        }
        let read = |name: &str| fs::read_to_string(folder.path().join("logs").join(name)).unwrap();
        assert_eq!(read("t.log"), "line 019\n");
        assert_eq!(read("t.log.5"), "line 014\n");
        assert_eq!(fs::read_dir(folder.path().join("logs")).unwrap().count(), 6);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        // The file continues at its end.
        let mut again = RotatingFile { most: 100, ..RotatingFile::open(&path).unwrap() };
        again.write(b"more\n").unwrap();
        assert_eq!(read("t.log"), "line 019\nmore\n");
    }

    /// A reader does not read: the daemon continues, and the number of lost lines is reported.
    #[test]
    fn unread_lines_are_counted() {
        let (sender, receiver) = sync_channel(2);
        let mut lines = LineSender { sender, lost: Arc::default() };
        for _ in 0..5 {
            lines.write_all(b"line\n").unwrap();
        }
        let lost = Arc::clone(&lines.lost);
        drop(lines);
        let memory = Memory::default();
        let outputs = Outputs { file: None, secrets: Arc::default(), error: memory.clone() };
        write_all(&receiver, &lost, outputs);
        let text = String::from_utf8(memory.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().filter(|line| *line == "line").count(), 2);
        assert!(text.contains("3 lines of the log were lost"), "{text}");
    }
}
