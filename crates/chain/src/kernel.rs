//! A kernel: CPython in the sandbox, which runs one piece of code after another and keeps its variables.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::time::{Instant, sleep_until, timeout};
use toolcrib_core::{CancellationToken, ToolError};
use toolcrib_sandbox::{
    Backend, Duplex, Ended, Job, Level, Network, Output, Policy, Process, Resources, Stop,
};

use crate::answer;
use crate::expression::{Death, End, Marked, Ran, Worker, ended};
use crate::frame;
use crate::interpreter::Interpreter;
use crate::printed::Printed;
use crate::protocol::{Made, Order, PROTOCOL, Run, Said};
use crate::refusal::{not_ready, refusal};
use crate::scratch::Scratch;

/// The program of a kernel.
const PROGRAM: &str = concat!(include_str!("kernel.py"), include_str!("bridge.py"));

/// How long a start may take: an interpreter whose files nobody has read for long, on a busy machine.
const START: Duration = Duration::from_secs(30);

/// How long before its time is over code is asked to end, so that its variables stay; at most a tenth of its time.
const ASKED_BEFORE: Duration = Duration::from_millis(500);

/// How long code may go on that was asked to end because the call was stopped.
const GRACE: Duration = Duration::from_millis(500);

/// Processes and threads of a kernel: a pool of workers or two, and no more.
const PROCESSES: u32 = 64;

/// Bytes that a kernel may write to the disk.
const DISK: u64 = 1 << 30;

/// Bytes of output that are read at once.
const PIECE: usize = 64 << 10;

const SIGINT: i32 = 2;
const SIGCONT: i32 = 18;
const SIGSTOP: i32 = 19;

/// What a kernel is made with.
pub(crate) struct Making<'a> {
    pub(crate) backend: &'a Arc<dyn Backend>,
    pub(crate) interpreter: &'a Interpreter,
    /// Where folders for files are made.
    pub(crate) scratch: &'a Path,
    /// What no code may see.
    pub(crate) denied: &'a [PathBuf],
    pub(crate) minimum: Level,
    /// Bytes of memory.
    pub(crate) memory: u64,
}

/// A kernel that waits for code. Dropped, it ends with all that it started, and its folder is gone.
pub(crate) struct Kernel {
    process: Process,
    bridge: Box<dyn Duplex>,
    output: Output,
    files: Files,
    engine: String,
    runs: u64,
    has_packages: bool,
    /// Whether it can run more.
    alive: bool,
}

/// The folder of a kernel, and how it is looked into. Dropped, it is gone.
pub(crate) struct Files {
    backend: Arc<dyn Backend>,
    policy: Policy,
    folder: Scratch,
}

impl Files {
    /// These files of it, with their bytes where they are kept.
    pub(crate) async fn of(&self, made: &[Made]) -> Vec<(Made, Option<Vec<u8>>)> {
        let mut files = Vec::new();
        for (place, made) in made.iter().enumerate() {
            let bytes = match answer::is_kept(place, made) {
                true => {
                    let path = self.folder.path().join(&made.path);
                    self.backend.get(&self.policy, &path, answer::FILE_BYTES).await.ok()
                }
                false => None,
            };
            files.push((made.clone(), bytes));
        }
        files
    }
}

/// The output of one call, up to the mark that ends it.
pub(crate) struct UpToMark {
    mark: Vec<u8>,
    /// What may be the beginning of the mark.
    held: Vec<u8>,
    ended: bool,
}

impl UpToMark {
    pub(crate) fn new(mark: &str) -> Self {
        Self { mark: mark.as_bytes().to_vec(), held: Vec::new(), ended: false }
    }

    pub(crate) fn push(&mut self, bytes: &[u8], printed: &mut Printed<'_>) {
        if self.ended {
            return;
        }
        self.held.extend_from_slice(bytes);
        let found = self.held.windows(self.mark.len()).position(|part| part == self.mark);
        self.ended = found.is_some();
        let certain = found.unwrap_or_else(|| self.held.len().saturating_sub(self.mark.len()));
        printed.push(self.held.get(..certain).unwrap_or_default());
        self.held.drain(..certain);
    }

    /// Takes what is left up to the mark, for a short time.
    pub(crate) async fn rest(mut self, from: &mut Output, printed: &mut Printed<'_>) {
        let mut piece = vec![0; PIECE];
        let reading = async {
            while !self.ended {
                match from.read(&mut piece).await {
                    Ok(count @ 1..) => self.push(piece.get(..count).unwrap_or_default(), printed),
                    _ => return,
                }
            }
        };
        let _ = timeout(GRACE, reading).await;
        self.give_up(printed);
    }

    /// What was held, where no mark comes any more.
    fn give_up(self, printed: &mut Printed<'_>) {
        if !self.ended {
            printed.push(&self.held);
        }
    }
}

/// What came of giving it code.
struct Heard {
    /// Its answer; `None` = its time is over.
    said: Option<std::io::Result<Option<Said>>>,
    /// Whether it was asked to end because its time was nearly over.
    late: bool,
    /// Whether it was asked to end because the call was stopped.
    stopped: bool,
}

impl Kernel {
    /// Starts one.
    ///
    /// # Errors
    /// A [`ToolError`]: nothing of the code has run.
    pub(crate) async fn start(making: &Making<'_>) -> Result<Self, ToolError> {
        let folder = folder(making).map_err(|error| {
            ToolError::execution(
                "A folder for the files of the code could not be made, so nothing was run. Tell the user.",
            )
            .with_detail(error.to_string())
        })?;
        let (job, policy) = job(making, folder.path());
        let mut process = making.backend.start(&job).await.map_err(|error| refusal(&error))?;
        let output = std::mem::replace(&mut process.stdout, Box::new(tokio::io::empty()));
        let Some(bridge) = process.bridge.take() else {
            return Err(not_ready("Python", "no bridge"));
        };
        let mut kernel = Self {
            process,
            bridge,
            output,
            files: Files { backend: Arc::clone(making.backend), policy, folder },
            engine: String::new(),
            runs: 0,
            has_packages: making.interpreter.has_packages,
            alive: true,
        };
        match timeout(START, frame::receive(&mut kernel.bridge)).await {
            Ok(Ok(Some(Said::Ready { protocol: PROTOCOL, engine }))) => {
                kernel.engine = engine.chars().take(60).collect();
                Ok(kernel)
            }
            Ok(Ok(None)) => Err(not_ready("Python", kernel.last_words().await)),
            said => Err(not_ready("Python", format!("{said:?}"))),
        }
    }

    /// Runs code for so long. What it prints is gathered in `printed`. Only after [`End::Done`] and a [`End::TimedOut`] or
    /// [`End::Cancelled`] that kept the variables it is still there: see [`Self::is_there`].
    pub(crate) async fn run(
        &mut self,
        code: &str,
        limit: Duration,
        cancel: &CancellationToken,
        printed: &mut Printed<'_>,
    ) -> Ran {
        self.process.signal(SIGCONT);
        let end = self.watch(code, limit, cancel, printed).await;
        if self.is_there() {
            // What the code left at work, such as a thread, sleeps until the next call.
            self.process.signal(SIGSTOP);
        }
        Ran { end, level: self.process.level, engine: self.engine.clone() }
    }

    /// The same as the worker of one script, whose files go with what comes beside it: bound first, that is dropped last.
    pub(crate) fn for_script(self) -> (Files, Worker) {
        let (from, to) = tokio::io::split(self.bridge);
        let mark = format!("\0{}\0", toolcrib_core::CallId::fresh());
        let worker = Worker {
            process: self.process,
            to: Box::new(to),
            from: Box::new(tokio::io::BufReader::new(from)),
            engine: self.engine,
            output: Some(Marked { from: self.output, mark }),
        };
        (self.files, worker)
    }

    /// Whether it can run more.
    pub(crate) fn is_there(&self) -> bool {
        self.alive
    }

    /// Whether it has the packages of the managed environment.
    pub(crate) fn has_packages(&self) -> bool {
        self.has_packages
    }

    /// The files that the code made.
    pub(crate) async fn files(&mut self, made: &[Made]) -> Vec<(Made, Option<Vec<u8>>)> {
        self.files.of(made).await
    }

    async fn watch(
        &mut self,
        code: &str,
        limit: Duration,
        cancel: &CancellationToken,
        printed: &mut Printed<'_>,
    ) -> End {
        self.runs += 1;
        let mark = format!("\0{}\0", toolcrib_core::CallId::fresh());
        let mut output = UpToMark::new(&mark);
        let heard =
            self.talk(code, &mark, limit, cancel, |piece| output.push(piece, printed)).await;
        let Heard { said, late, stopped } = heard;
        match said {
            None => {
                self.kill().await;
                if stopped { End::Cancelled } else { End::TimedOut { kept: false } }
            }
            Some(Ok(Some(Said::Done(done)))) if done.id == self.runs => {
                self.rest_of_output(output, printed).await;
                let interrupted =
                    done.raised.as_ref().is_some_and(|raised| raised.kind == "KeyboardInterrupt");
                match (stopped, late && interrupted) {
                    (true, _) => End::Cancelled,
                    (_, true) => End::TimedOut { kept: true },
                    _ => End::Done(done),
                }
            }
            Some(Ok(None)) => {
                self.rest_of_output(output, printed).await;
                End::Died(self.death().await)
            }
            Some(said) => {
                self.kill().await;
                End::Died(Death::Other(format!("the kernel said {said:?}")))
            }
        }
    }

    /// Gives it code and waits for its answer, reading what is printed meanwhile.
    async fn talk(
        &mut self,
        code: &str,
        mark: &str,
        limit: Duration,
        cancel: &CancellationToken,
        mut print: impl FnMut(&[u8]),
    ) -> Heard {
        let time_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let run =
            Run { id: self.runs, code: code.to_owned(), time_ms, memory: 0, mark: mark.to_owned() };
        let bridge = &mut self.bridge;
        let talking = async {
            frame::send(bridge, &Order::Run(run)).await?;
            frame::receive::<Said>(bridge).await
        };
        let end = Instant::now() + limit;
        let asking = sleep_until(end - ASKED_BEFORE.min(limit / 10));
        let killing = sleep_until(end);
        tokio::pin!(talking, asking, killing);
        let (mut late, mut stopped, mut open) = (false, false, true);
        let mut piece = vec![0; PIECE];
        let said = loop {
            tokio::select! {
                biased;
                () = &mut killing => break None,
                () = cancel.cancelled(), if !stopped => {
                    stopped = true;
                    self.process.signal(SIGINT);
                    killing.as_mut().reset(end.min(Instant::now() + GRACE));
                }
                () = &mut asking, if !late => {
                    late = true;
                    self.process.signal(SIGINT);
                }
                said = &mut talking => break Some(said),
                read = self.output.read(&mut piece), if open => match read {
                    Ok(count @ 1..) => print(piece.get(..count).unwrap_or_default()),
                    _ => open = false,
                },
            }
        };
        Heard { said, late, stopped }
    }

    /// Takes what was printed before the answer was given, to the mark after it. Code that closed its output has none.
    async fn rest_of_output(&mut self, output: UpToMark, printed: &mut Printed<'_>) {
        output.rest(&mut self.output, printed).await;
    }

    async fn kill(&mut self) {
        self.alive = false;
        self.process.kill();
        // How it ended is known: by us.
        let _ = self.process.wait().await;
    }

    async fn death(&mut self) -> Death {
        self.alive = false;
        let Some(ended) = ended(&mut self.process, GRACE).await else {
            return Death::Other("it closed the bridge".to_owned());
        };
        match ended {
            Ok(Ended { stopped: Some(Stop::Memory), .. }) => Death::Memory,
            Ok(Ended { stopped: Some(stop), .. }) => Death::Limit(stop),
            Ok(Ended { status, .. }) => Death::Other(format!("{status:?}")),
            Err(error) => Death::Other(error.to_string()),
        }
    }

    async fn last_words(&mut self) -> String {
        let mut words = Vec::new();
        let reading = async {
            let stdout = (&mut self.output).take(2048).read_to_end(&mut words).await;
            stdout.and((&mut self.process.stderr).take(2048).read_to_end(&mut words).await)
        };
        let _ = timeout(GRACE, reading).await;
        String::from_utf8_lossy(&words).trim().to_owned()
    }
}

/// A folder of its own, with what matplotlib found out about fonts when it was installed.
fn folder(making: &Making<'_>) -> std::io::Result<Scratch> {
    let folder = Scratch::new(making.scratch)?;
    let settings = folder.path().join(SETTINGS);
    std::fs::create_dir(&settings)?;
    for file in &making.interpreter.fonts {
        if let Some(name) = file.file_name() {
            std::fs::copy(file, settings.join(name))?;
        }
    }
    Ok(folder)
}

/// The folder that matplotlib takes for its own, in the scratch folder.
const SETTINGS: &str = ".matplotlib";

fn job(making: &Making<'_>, folder: &Path) -> (Job, Policy) {
    let policy = Policy {
        readable: making.interpreter.readable.clone(),
        writable: vec![folder.to_owned()],
        kept: Vec::new(),
        denied: making.denied.to_vec(),
        network: Network::None,
        resources: Resources {
            memory: Some(making.memory),
            processes: Some(PROCESSES),
            disk: Some(DISK),
            cpu: None,
            file_size: None,
            wall: None,
        },
        minimum: making.minimum,
    };
    let mut job = Job::new(&making.interpreter.program, policy.clone())
        // Isolated: no variables, no folders of the user, nothing imported from the current folder by accident. Text is UTF-8.
        .args(["-I", "-X", "utf8", "-c", PROGRAM])
        .folder(folder)
        .env("MPLBACKEND", "Agg")
        .env("MPLCONFIGDIR", folder.join(SETTINGS));
    // Each thread of a library for linear algebra takes room of its own, and a call is one among many.
    for name in ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"] {
        job = job.env(name, "1");
    }
    job.bridge = true;
    (job, policy)
}
