//! The daemons as processes: started, killed, stopped, paused, and asked for.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fastrand::Rng;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::Mutex as Turn;

use super::daemon_process::{DaemonConfig, own_folder};
use super::findings::{Finding, Findings};
use super::http_client::DaemonAddress;
use crate::error::Result;

/// Time that a daemon has to answer after its start, and to end after it was told to.
const PATIENCE: Duration = Duration::from_secs(60);

/// All daemons, with their numbers from 0.
pub(super) struct Cluster {
    program: PathBuf,
    folder: PathBuf,
    url: String,
    ledger: PathBuf,
    nodes: Vec<Turn<Option<Child>>>,
    /// Variables of each daemon's process.
    variables: Vec<Vec<(&'static str, PathBuf)>>,
    /// Where they answered last.
    addresses: Mutex<Vec<Option<DaemonAddress>>>,
    incarnations: AtomicU32,
}

impl Cluster {
    pub(super) fn new(daemons: u32, folder: &Path, url: &str, ledger: &Path) -> Result<Self> {
        Ok(Self {
            program: std::env::current_exe()?,
            folder: folder.to_owned(),
            url: url.to_owned(),
            ledger: ledger.to_owned(),
            nodes: (0..daemons).map(|_| Turn::new(None)).collect(),
            addresses: Mutex::new(vec![None; daemons as usize]),
            incarnations: AtomicU32::new(0),
            variables: Vec::new(),
        })
    }

    /// The same, with variables for each daemon's process.
    pub(super) fn with_variables(self, variables: Vec<Vec<(&'static str, PathBuf)>>) -> Self {
        Self { variables, ..self }
    }

    pub(super) fn count(&self) -> usize {
        self.nodes.len()
    }

    fn state(&self, node: usize) -> PathBuf {
        self.folder.join(format!("daemon-{node}"))
    }

    /// Where any of them may be asked, dead or alive, as clients do who do not know.
    pub(super) fn random_daemon(&self, rng: &mut Rng) -> Result<DaemonAddress> {
        let node = rng.usize(..self.count());
        self.daemon(node).ok_or_else(|| "a daemon was never there".into())
    }

    pub(super) fn daemon(&self, node: usize) -> Option<DaemonAddress> {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner).get(node)?.clone()
    }

    pub(super) async fn start_all(&self, tally: &Findings) -> Result<()> {
        for node in 0..self.count() {
            self.start(node, tally).await?;
        }
        Ok(())
    }

    /// Starts one that is not there, and waits until it answers.
    pub(super) async fn start(&self, node: usize, tally: &Findings) -> Result<()> {
        let mut place = self.nodes.get(node).ok_or("no such daemon")?.lock().await;
        let begun = Instant::now();
        let orders = DaemonConfig {
            url: self.url.clone(),
            state: self.state(node),
            ledger: self.ledger.clone(),
            incarnation: self.incarnations.fetch_add(1, Ordering::Relaxed),
        };
        std::fs::create_dir_all(&orders.state)?;
        let variables = self.variables.get(node).cloned().unwrap_or_default();
        let mut child = Command::new(&self.program)
            .envs(variables)
            .arg("node")
            .arg(serde_json::to_string(&orders)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let out = child.stdout.take().ok_or("no pipe")?;
        let mut lines = BufReader::new(out).lines();
        let line = tokio::time::timeout(PATIENCE, lines.next_line()).await??;
        let address = line.as_deref().and_then(|line| line.strip_prefix("ready "));
        let address = address.ok_or("a daemon ended before it answered")?.parse()?;
        let token = std::fs::read_to_string(own_folder(&orders.state).join("token"))?;
        let daemon = DaemonAddress { address, token: token.trim().to_owned() };
        if let Some(known) =
            self.addresses.lock().unwrap_or_else(PoisonError::into_inner).get_mut(node)
        {
            *known = Some(daemon);
        }
        tally.count("starts");
        tally.longest("longest_start_ms", begun.elapsed());
        *place = Some(child);
        Ok(())
    }

    /// Kills one at once; its process.
    pub(super) async fn kill(&self, node: usize) -> Result<Option<u32>> {
        let mut place = self.nodes.get(node).ok_or("no such daemon")?.lock().await;
        let Some(mut child) = place.take() else { return Ok(None) };
        let process = child.id();
        child.kill().await?;
        Ok(process)
    }

    /// Lets one end by itself.
    pub(super) async fn stop(&self, node: usize, tally: &Findings) -> Result<()> {
        let mut place = self.nodes.get(node).ok_or("no such daemon")?.lock().await;
        let Some(mut child) = place.take() else { return Ok(()) };
        let begun = Instant::now();
        drop(child.stdin.take());
        match tokio::time::timeout(PATIENCE, child.wait()).await {
            Ok(ended) => {
                let ended = ended?;
                if !ended.success() {
                    tally.add_finding(
                        Finding::Contradiction,
                        &format!("a daemon stopped with {ended}"),
                    );
                }
            }
            Err(_) => tally.add_finding(Finding::Stuck, "a daemon did not stop"),
        }
        tally.longest("longest_stop_ms", begun.elapsed());
        Ok(())
    }

    pub(super) async fn stop_all(&self, tally: &Findings) {
        for node in 0..self.count() {
            if let Err(error) = self.stop(node, tally).await {
                tally.add_finding(
                    Finding::Contradiction,
                    &format!("a daemon cannot be stopped: {error}"),
                );
            }
        }
    }

    /// Sends a daemon a signal without waiting; returns its process.
    pub(super) async fn signal(&self, node: usize, signal: Signal) -> Result<Option<u32>> {
        let place = self.nodes.get(node).ok_or("no such daemon")?.lock().await;
        let Some(process) = place.as_ref().and_then(Child::id) else { return Ok(None) };
        let pid = i32::try_from(process).ok().and_then(Pid::from_raw).ok_or("no process")?;
        kill_process(pid, signal)?;
        Ok(Some(process))
    }
}
