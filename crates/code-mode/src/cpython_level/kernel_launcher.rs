//! Starts kernels with the Python of this machine, which is searched once.

use std::sync::Arc;

use tokio::sync::Mutex;
use toolcrib_core::{ErrorType, PathDenials, ToolError};

use crate::cpython_level::kernel::{Kernel, KernelConfig};
use crate::cpython_level::python_discovery::{Interpreter, InterpreterError};
use crate::cpython_level::virtual_env::VirtualEnvState;
use crate::setup::Setup;

/// Starts kernels.
pub(crate) struct KernelLauncher {
    setup: Setup,
    /// The Python that was found, and the state of the managed environment at that time.
    found: Mutex<Option<(VirtualEnvState, Interpreter)>>,
}

impl KernelLauncher {
    pub(crate) fn new(setup: Setup) -> Arc<Self> {
        Arc::new(Self { setup, found: Mutex::default() })
    }

    /// Starts a kernel; paths that rules deny appear empty to it.
    ///
    /// # Errors
    /// A [`ToolError`]: no code has run.
    pub(crate) async fn start(&self, denials: &Arc<dyn PathDenials>) -> Result<Kernel, ToolError> {
        let masked = self.setup.masks.masked(denials).await?;
        let interpreter = &self.interpreter().await.map_err(|error| no_python(&error))?;
        let Setup { backend, scratch, denied, minimum, memory, .. } = &self.setup;
        let (minimum, memory) = (*minimum, *memory);
        let denied = denied.as_slice();
        let config =
            KernelConfig { backend, interpreter, scratch, denied, masked, minimum, memory };
        Kernel::start(&config).await
    }

    /// Returns the Python for a new kernel, after a new search if the state of the managed
    /// environment has changed.
    async fn interpreter(&self) -> Result<Interpreter, InterpreterError> {
        let Setup { program, env, environment, .. } = &self.setup;
        let mut found = self.found.lock().await;
        let state = environment.state();
        if let Some((then, interpreter)) = &*found
            && *then == state
        {
            return Ok(interpreter.clone());
        }
        let interpreter = match program {
            Some(program) => Interpreter::inspect(program, env).await?,
            None => match environment.interpreter(env).await {
                Some(interpreter) => interpreter?,
                None => Interpreter::find(env).await?,
            },
        };
        *found = Some((state, interpreter.clone()));
        Ok(interpreter)
    }
}

fn no_python(error: &InterpreterError) -> ToolError {
    let text = match error {
        InterpreterError::NotFound => {
            "There is no Python on this machine, which the level full needs. Use the level expression, or tell the user to install Python 3.10 or newer, or to name one as `python.program` in the configuration."
        }
        InterpreterError::TooOld { .. } => {
            "The Python of this machine is too old for the level full. Use the level expression, or tell the user to install Python 3.10 or newer, or to name one as `python.program` in the configuration."
        }
        InterpreterError::Broken { .. } => {
            "The Python of this machine does not work. Use the level expression, or tell the user that `toolcrib python status` says what is wrong."
        }
    };
    ToolError::new(ErrorType::NotConfigured, text).with_detail(error.to_string())
}
