//! Whether the syntax of a script is right, before it is kept: asked of what would run it, in its sandbox, and nothing of the script runs.

use std::time::Duration;

use tokio::time::timeout;
use toolcrib_sandbox::{Input, Output};

use super::folder::ChainError;
use super::saved;
use super::tool::Wants;
use crate::frame;
use crate::pool::Workers;
use crate::protocol::{Lack, Order, Raised, Said, Script};
use crate::pythons::Pythons;
use crate::setup::Setup;

/// How long compiling may take.
const TIME: Duration = Duration::from_secs(10);
/// Bytes of memory of it.
const MEMORY: u64 = 256 << 20;

/// Whether this script, which is to be kept, could begin.
///
/// # Errors
/// [`ChainError::Definition`] with the line and the place in it; [`ChainError::Unchecked`] where nobody could tell.
pub async fn check(setup: &Setup, code: &str) -> Result<(), ChainError> {
    let wants = saved::level(code).map_err(ChainError::Definition)?;
    let raised = match wants {
        Wants::Full => of_python(setup, code).await?,
        Wants::Expression => of_ours(setup, code).await?,
        Wants::Auto => match of_ours(setup, code).await? {
            Some(Raised { lacks: Some(Lack::Syntax), .. }) if setup.full => {
                of_python(setup, code).await?
            }
            raised => raised,
        },
    };
    match raised {
        None => Ok(()),
        Some(raised) => Err(ChainError::Definition(words(raised, wants))),
    }
}

/// The words of an error, and what helps.
fn words(raised: Raised, wants: Wants) -> String {
    let Raised { trace, message, lacks, .. } = raised;
    let trace = if trace.is_empty() { message } else { trace };
    match (lacks, wants) {
        (Some(Lack::Syntax), Wants::Expression) => {
            format!("{trace}\n(A line `# level: full` runs it in all of Python.)")
        }
        _ => trace,
    }
}

async fn of_ours(setup: &Setup, code: &str) -> Result<Option<Raised>, ChainError> {
    let pool = Workers::of(setup);
    let taken = pool.take().await;
    let mut worker = taken.map_err(|error| ChainError::Unchecked(error.message))?;
    let raised = ask(&mut worker.to, &mut worker.from, code).await;
    pool.end(worker);
    raised
}

async fn of_python(setup: &Setup, code: &str) -> Result<Option<Raised>, ChainError> {
    if !setup.full {
        return Err(ChainError::Definition("the level full is switched off here".to_owned()));
    }
    let started = Pythons::new(setup.clone()).start().await;
    let kernel = started.map_err(|error| ChainError::Unchecked(error.message))?;
    let (_files, mut worker) = kernel.for_script();
    let raised = ask(&mut worker.to, &mut worker.from, code).await;
    worker.stop();
    raised
}

async fn ask(to: &mut Input, from: &mut Output, code: &str) -> Result<Option<Raised>, ChainError> {
    let order = Order::Script(Script {
        code: code.to_owned(),
        time_ms: u64::try_from(TIME.as_millis()).unwrap_or(u64::MAX),
        memory: MEMORY,
        names: Vec::new(),
        args: Some(serde_json::Value::Null),
        mark: String::new(),
        check: true,
    });
    let asked = async {
        frame::send(to, &order).await?;
        frame::receive::<Said>(from).await
    };
    match timeout(TIME, asked).await {
        Ok(Ok(Some(Said::Done(done)))) => Ok(done.raised),
        // What cannot even be compiled ends the process: too deep, too large.
        _ => Err(ChainError::Definition(
            "compiling it took too much time, memory or depth; make it smaller".to_owned(),
        )),
    }
}
