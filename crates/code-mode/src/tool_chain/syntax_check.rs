//! Syntax check of a script before it is saved: its own interpreter compiles it in the sandbox,
//! without running it.

use std::time::Duration;

use tokio::time::timeout;
use toolcrib_core::NoPathDenials;
use toolcrib_sandbox::{Input, Output};

use super::chain_files::ChainError;
use super::saved_chains;
use super::tool::ChainLevel;
use crate::cpython_level::kernel_launcher::KernelLauncher;
use crate::expression_level::worker_pool::SharedWorkerPool;
use crate::framing;
use crate::setup::Setup;
use crate::worker_protocol::{
    MissingFeature, PythonException, Script, WorkerCommand, WorkerMessage,
};

/// Time limit of compiling.
const TIME: Duration = Duration::from_secs(10);
/// Memory limit of compiling, in bytes.
const MEMORY: u64 = 256 << 20;

/// Checks that the script compiles at its level.
///
/// # Errors
/// [`ChainError::Definition`] with line and column; [`ChainError::Unchecked`] if the check could
/// not run.
pub async fn check_syntax(setup: &Setup, code: &str) -> Result<(), ChainError> {
    let wants = saved_chains::header_level(code).map_err(ChainError::Definition)?;
    let raised = match wants {
        ChainLevel::Full => check_with_cpython(setup, code).await?,
        ChainLevel::Expression => check_with_interpreter(setup, code).await?,
        ChainLevel::Auto => match check_with_interpreter(setup, code).await? {
            Some(PythonException { lacks: Some(MissingFeature::Syntax), .. }) if setup.full => {
                check_with_cpython(setup, code).await?
            }
            raised => raised,
        },
    };
    match raised {
        None => Ok(()),
        Some(raised) => Err(ChainError::Definition(message(raised, wants))),
    }
}

/// Returns the error message, with advice.
fn message(raised: PythonException, wants: ChainLevel) -> String {
    let PythonException { trace, message, lacks, .. } = raised;
    let trace = if trace.is_empty() { message } else { trace };
    match (lacks, wants) {
        (Some(MissingFeature::Syntax), ChainLevel::Expression) => {
            format!("{trace}\n(A line `# level: full` runs it in all of Python.)")
        }
        _ => trace,
    }
}

async fn check_with_interpreter(
    setup: &Setup,
    code: &str,
) -> Result<Option<PythonException>, ChainError> {
    let pool = SharedWorkerPool::get_or_start(setup);
    let taken = pool.take().await;
    let mut worker = taken.map_err(|error| ChainError::Unchecked(error.message))?;
    let raised = ask(&mut worker.to, &mut worker.from, code).await;
    pool.end(worker);
    raised
}

async fn check_with_cpython(
    setup: &Setup,
    code: &str,
) -> Result<Option<PythonException>, ChainError> {
    if !setup.full {
        return Err(ChainError::Definition("the level full is switched off here".to_owned()));
    }
    let started = KernelLauncher::new(setup.clone()).start(&NoPathDenials::shared()).await;
    let kernel = started.map_err(|error| ChainError::Unchecked(error.message))?;
    let (_files, mut worker) = kernel.into_script_worker();
    let raised = ask(&mut worker.to, &mut worker.from, code).await;
    worker.stop();
    raised
}

async fn ask(
    to: &mut Input,
    from: &mut Output,
    code: &str,
) -> Result<Option<PythonException>, ChainError> {
    let order = WorkerCommand::Script(Script {
        code: code.to_owned(),
        time_ms: u64::try_from(TIME.as_millis()).unwrap_or(u64::MAX),
        memory: MEMORY,
        names: Vec::new(),
        args: Some(serde_json::Value::Null),
        mark: String::new(),
        check: true,
    });
    let asked = async {
        framing::send(to, &order).await?;
        framing::receive::<WorkerMessage>(from).await
    };
    match timeout(TIME, asked).await {
        Ok(Ok(Some(WorkerMessage::Done(done)))) => Ok(done.raised),
        // A script that is nested too deeply or too large ends the compiling process.
        _ => Err(ChainError::Definition(
            "compiling it took too much time, memory or depth; make it smaller".to_owned(),
        )),
    }
}
