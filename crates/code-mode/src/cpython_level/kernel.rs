//! A kernel: a CPython process in the sandbox that runs pieces of code one after another and
//! preserves its variables.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::time::{Instant, sleep_until, timeout};
use toolcrib_core::{CancellationToken, ToolError};
use toolcrib_sandbox::{
    Backend, Duplex, Job, JobResult, Level, LimitHit, Network, Output, Policy, Process, Resources,
};

use crate::captured_output::CapturedOutput;
use crate::cpython_level::python_discovery::Interpreter;
use crate::cpython_level::scratch_dir::ScratchDir;
use crate::framing;
use crate::render_result;
use crate::start_error::{not_ready, start_error};
use crate::worker_process::{Death, MarkedOutput, Worker, WorkerEnd, WorkerRun, wait_end};
use crate::worker_protocol::{CreatedFile, PROTOCOL, Run, WorkerCommand, WorkerMessage};

/// The Python program of a kernel.
const PROGRAM: &str = concat!(include_str!("kernel.py"), include_str!("bridge.py"));

/// Timeout of a start: an interpreter whose files are not in the page cache, on a busy machine.
const START: Duration = Duration::from_secs(30);

/// Time before the limit at which code is interrupted, so that its variables are preserved; at most
/// a tenth of the limit.
const ASKED_BEFORE: Duration = Duration::from_millis(500);

/// Maximum time for which code may continue after it was interrupted because the call was
/// cancelled.
const GRACE: Duration = Duration::from_millis(500);

/// Maximum number of processes and threads of a kernel: enough for one or two worker pools.
const PROCESSES: u32 = 64;

/// Maximum number of bytes that a kernel may write to disk.
const DISK: u64 = 1 << 30;

/// Read buffer for output, in bytes.
const PIECE: usize = 64 << 10;

const SIGINT: i32 = 2;
const SIGCONT: i32 = 18;
const SIGSTOP: i32 = 19;

/// Configuration of a kernel.
pub(crate) struct KernelConfig<'a> {
    pub(crate) backend: &'a Arc<dyn Backend>,
    pub(crate) interpreter: &'a Interpreter,
    /// Parent of the scratch folders.
    pub(crate) scratch: &'a Path,
    /// Paths that no code may read.
    pub(crate) denied: &'a [PathBuf],
    /// Paths that appear empty.
    pub(crate) masked: Vec<PathBuf>,
    pub(crate) minimum: Level,
    /// Memory limit in bytes.
    pub(crate) memory: u64,
}

/// A kernel that waits for code. Dropping it terminates all its processes and removes its folder.
pub(crate) struct Kernel {
    process: Process,
    bridge: Box<dyn Duplex>,
    output: Output,
    files: KernelFiles,
    engine: String,
    runs: u64,
    has_packages: bool,
    /// Whether it can run more code.
    alive: bool,
}

/// The scratch folder of a kernel, with access to its files. Removed on drop.
pub(crate) struct KernelFiles {
    backend: Arc<dyn Backend>,
    policy: Policy,
    folder: ScratchDir,
}

impl KernelFiles {
    /// Reads the created files; the result contains the bytes of those that are stored.
    pub(crate) async fn read_created(
        &self,
        made: &[CreatedFile],
    ) -> Vec<(CreatedFile, Option<Vec<u8>>)> {
        let mut files = Vec::new();
        for (place, made) in made.iter().enumerate() {
            let bytes = match render_result::is_within_limits(place, made) {
                true => {
                    let path = self.folder.path().join(&made.path);
                    self.backend.get(&self.policy, &path, render_result::FILE_BYTES).await.ok()
                }
                false => None,
            };
            files.push((made.clone(), bytes));
        }
        files
    }
}

/// Reads the output of one call, up to the mark at its end.
pub(crate) struct MarkScanner {
    mark: Vec<u8>,
    /// Bytes that may be the beginning of the mark.
    held: Vec<u8>,
    ended: bool,
}

impl MarkScanner {
    pub(crate) fn new(mark: &str) -> Self {
        Self { mark: mark.as_bytes().to_vec(), held: Vec::new(), ended: false }
    }

    pub(crate) fn push(&mut self, bytes: &[u8], printed: &mut CapturedOutput<'_>) {
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

    /// Reads the remaining output up to the mark, for a short time.
    pub(crate) async fn rest(mut self, from: &mut Output, printed: &mut CapturedOutput<'_>) {
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

    /// Releases held bytes if the mark does not arrive.
    fn give_up(self, printed: &mut CapturedOutput<'_>) {
        if !self.ended {
            printed.push(&self.held);
        }
    }
}

/// Result of sending code.
struct KernelReply {
    /// The kernel's message; `None` if the time limit is reached.
    said: Option<std::io::Result<Option<WorkerMessage>>>,
    /// Whether the code was interrupted because its time limit was near.
    late: bool,
    /// Whether the code was interrupted because the call was cancelled.
    stopped: bool,
}

impl Kernel {
    /// Starts a kernel.
    ///
    /// # Errors
    /// A [`ToolError`]: no code has run.
    pub(crate) async fn start(making: &KernelConfig<'_>) -> Result<Self, ToolError> {
        let folder = folder(making).map_err(|error| {
            ToolError::execution(
                "A folder for the files of the code could not be made, so nothing was run. Tell the user.",
            )
            .with_detail(error.to_string())
        })?;
        let (job, policy) = job(making, folder.path());
        let mut process = making.backend.start(&job).await.map_err(|error| start_error(&error))?;
        let output = std::mem::replace(&mut process.stdout, Box::new(tokio::io::empty()));
        let Some(bridge) = process.bridge.take() else {
            return Err(not_ready("Python", "no bridge"));
        };
        let mut kernel = Self {
            process,
            bridge,
            output,
            files: KernelFiles { backend: Arc::clone(making.backend), policy, folder },
            engine: String::new(),
            runs: 0,
            has_packages: making.interpreter.has_packages,
            alive: true,
        };
        match timeout(START, framing::receive(&mut kernel.bridge)).await {
            Ok(Ok(Some(WorkerMessage::Ready { protocol: PROTOCOL, engine }))) => {
                kernel.engine = engine.chars().take(60).collect();
                Ok(kernel)
            }
            Ok(Ok(None)) => Err(not_ready("Python", kernel.last_stderr().await)),
            said => Err(not_ready("Python", format!("{said:?}"))),
        }
    }

    /// Runs code with a time limit. Collects its output in `printed`. The kernel remains usable
    /// only after [`WorkerEnd::Done`], or after a [`WorkerEnd::TimedOut`] or
    /// [`WorkerEnd::Cancelled`] that preserved the variables: see [`Self::is_alive`].
    pub(crate) async fn run(
        &mut self,
        code: &str,
        limit: Duration,
        cancel: &CancellationToken,
        printed: &mut CapturedOutput<'_>,
    ) -> WorkerRun {
        self.process.signal(SIGCONT);
        let end = self.watch(code, limit, cancel, printed).await;
        if self.is_alive() {
            // Background work of the code, such as a thread, is paused until the next call.
            self.process.signal(SIGSTOP);
        }
        WorkerRun { end, level: self.process.level, engine: self.engine.clone() }
    }

    /// Converts the kernel to the worker of one script, and returns its files separately. Bind the
    /// files first, so that they are dropped last.
    pub(crate) fn into_script_worker(self) -> (KernelFiles, Worker) {
        let (from, to) = tokio::io::split(self.bridge);
        let mark = format!("\0{}\0", toolcrib_core::CallId::fresh());
        let worker = Worker {
            process: self.process,
            to: Box::new(to),
            from: Box::new(tokio::io::BufReader::new(from)),
            engine: self.engine,
            output: Some(MarkedOutput { from: self.output, mark }),
        };
        (self.files, worker)
    }

    /// Returns whether it can run more code.
    pub(crate) fn is_alive(&self) -> bool {
        self.alive
    }

    /// Returns whether it has the packages of the managed environment.
    pub(crate) fn has_packages(&self) -> bool {
        self.has_packages
    }

    /// Reads the files that the code created.
    pub(crate) async fn files(
        &mut self,
        made: &[CreatedFile],
    ) -> Vec<(CreatedFile, Option<Vec<u8>>)> {
        self.files.read_created(made).await
    }

    async fn watch(
        &mut self,
        code: &str,
        limit: Duration,
        cancel: &CancellationToken,
        printed: &mut CapturedOutput<'_>,
    ) -> WorkerEnd {
        self.runs += 1;
        let mark = format!("\0{}\0", toolcrib_core::CallId::fresh());
        let mut output = MarkScanner::new(&mark);
        let heard =
            self.exchange(code, &mark, limit, cancel, |piece| output.push(piece, printed)).await;
        let KernelReply { said, late, stopped } = heard;
        match said {
            None => {
                self.kill().await;
                if stopped { WorkerEnd::Cancelled } else { WorkerEnd::TimedOut { kept: false } }
            }
            Some(Ok(Some(WorkerMessage::Done(done)))) if done.id == self.runs => {
                self.rest_of_output(output, printed).await;
                let interrupted =
                    done.raised.as_ref().is_some_and(|raised| raised.kind == "KeyboardInterrupt");
                match (stopped, late && interrupted) {
                    (true, _) => WorkerEnd::Cancelled,
                    (_, true) => WorkerEnd::TimedOut { kept: true },
                    _ => WorkerEnd::Done(done),
                }
            }
            Some(Ok(None)) => {
                self.rest_of_output(output, printed).await;
                WorkerEnd::Died(self.death().await)
            }
            Some(said) => {
                self.kill().await;
                WorkerEnd::Died(Death::Other(format!("the kernel said {said:?}")))
            }
        }
    }

    /// Sends code and waits for the answer, reading output meanwhile.
    async fn exchange(
        &mut self,
        code: &str,
        mark: &str,
        limit: Duration,
        cancel: &CancellationToken,
        mut print: impl FnMut(&[u8]),
    ) -> KernelReply {
        let time_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let run =
            Run { id: self.runs, code: code.to_owned(), time_ms, memory: 0, mark: mark.to_owned() };
        let bridge = &mut self.bridge;
        let talking = async {
            framing::send(bridge, &WorkerCommand::Run(run)).await?;
            framing::receive::<WorkerMessage>(bridge).await
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
        KernelReply { said, late, stopped }
    }

    /// Reads the output before the answer, up to the mark. Code that closed its output has no mark.
    async fn rest_of_output(&mut self, output: MarkScanner, printed: &mut CapturedOutput<'_>) {
        output.rest(&mut self.output, printed).await;
    }

    async fn kill(&mut self) {
        self.alive = false;
        self.process.kill();
        // This process killed it, so the status does not matter.
        let _ = self.process.wait().await;
    }

    async fn death(&mut self) -> Death {
        self.alive = false;
        let Some(ended) = wait_end(&mut self.process, GRACE).await else {
            return Death::Other("it closed the bridge".to_owned());
        };
        match ended {
            Ok(JobResult { stopped: Some(LimitHit::Memory), .. }) => Death::Memory,
            Ok(JobResult { stopped: Some(stop), .. }) => Death::Limit(stop),
            Ok(JobResult { status, .. }) => Death::Other(format!("{status:?}")),
            Err(error) => Death::Other(error.to_string()),
        }
    }

    async fn last_stderr(&mut self) -> String {
        let mut words = Vec::new();
        let reading = async {
            let stdout = (&mut self.output).take(2048).read_to_end(&mut words).await;
            stdout.and((&mut self.process.stderr).take(2048).read_to_end(&mut words).await)
        };
        let _ = timeout(GRACE, reading).await;
        String::from_utf8_lossy(&words).trim().to_owned()
    }
}

/// Creates a new scratch folder, with matplotlib's font cache from the installation.
fn folder(making: &KernelConfig<'_>) -> std::io::Result<ScratchDir> {
    let folder = ScratchDir::new(making.scratch)?;
    let settings = folder.path().join(SETTINGS);
    std::fs::create_dir(&settings)?;
    for file in &making.interpreter.fonts {
        if let Some(name) = file.file_name() {
            std::fs::copy(file, settings.join(name))?;
        }
    }
    Ok(folder)
}

/// matplotlib's configuration folder, inside the scratch folder.
const SETTINGS: &str = ".matplotlib";

fn job(making: &KernelConfig<'_>, folder: &Path) -> (Job, Policy) {
    let policy = Policy {
        readable: making.interpreter.readable.clone(),
        writable: vec![folder.to_owned()],
        read_only: Vec::new(),
        denied: making.denied.to_vec(),
        masked: making.masked.clone(),
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
        // Isolated mode: no environment variables, no user site packages, no imports from the
        // current folder. UTF-8 mode.
        .args(["-I", "-X", "utf8", "-c", PROGRAM])
        .folder(folder)
        .env("MPLBACKEND", "Agg")
        .env("MPLCONFIGDIR", folder.join(SETTINGS));
    // Each thread of a linear algebra library takes additional memory, and many calls may run at
    // the same time.
    for name in ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"] {
        job = job.env(name, "1");
    }
    job.bridge = true;
    (job, policy)
}
