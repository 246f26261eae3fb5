//! The source of the tools that run Python.

use std::sync::Arc;

use toolcrib_core::entry::FixedSource;
use toolcrib_core::{Entry, Handler, TypedHandler};

use crate::code_exec::CodeExec;
use crate::cpython_level::kernel_pool::KernelPool;
use crate::setup::Setup;
use crate::tool_chain::ToolChain;

/// Id of the source.
const SOURCE: &str = "python";

/// Creates the source of `code_exec` and `tool_chain`.
#[must_use]
pub fn source(setup: Setup) -> FixedSource {
    source_with(setup, Arc::default())
}

/// Creates the source with these kernels, for a caller that ends them together with their runs.
#[must_use]
pub fn source_with(setup: Setup, kernels: Arc<KernelPool>) -> FixedSource {
    let chain: Arc<dyn Handler> = Arc::new(ToolChain::new(&setup));
    let code = TypedHandler::handler(CodeExec::new(setup, kernels));
    FixedSource::new(SOURCE, vec![Entry::Local(code), Entry::Local(chain)])
}
