//! `toolcrib mcp serve`: serves Toolcrib's tools to one client, over standard input and output.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe;
use toolcrib_app::mcp::server::ToolListMode;
use toolcrib_app::mcp::{self, ToolcribBackend};
use toolcrib_core::ViewRequest;

use crate::bootstrap;
use crate::clap_args::{McpServe, ModelArgs};
use crate::output::{self, Failure};
use crate::session::{RunEnvironment, RunSetup};

pub(super) fn run(command: &McpServe) -> Result<u8, Failure> {
    bootstrap::block_on(serve(command))
}

async fn serve(command: &McpServe) -> Result<u8, Failure> {
    let setup = RunSetup::new(&ModelArgs::default(), &command.workspace_args)?;
    let config = bootstrap::load_config(&setup.workspace_args())?;
    let settings = bootstrap::settings(&setup.workspace_args(), &config)?;
    // There is no person at this terminal: the client asks its own user.
    let ground =
        RunEnvironment::build(setup, settings, &config, bootstrap::stores()?, None).await?;
    for warning in &ground.warnings {
        output::eprint_line(&format!("toolcrib: {warning}"));
    }
    let mode = if command.lean { ToolListMode::Lean } else { ToolListMode::Direct };
    let backend = ToolcribBackend::new(ground.toolcrib.clone(), ViewRequest::default());
    let (input, output) = streams().map_err(|error| Failure::run(error.to_string()))?;
    let server = mcp::serve(&ground.toolcrib, Arc::new(backend), mode);
    let server = server.map_err(|error| Failure::run(error.to_string()))?;
    let served = server.serve_transport(input, output).await;
    for problem in ground.toolcrib.flush_hooks().await {
        output::eprint_line(&format!("toolcrib: {problem}"));
    }
    served.map_err(Failure::run)?;
    Ok(0)
}

type Input = Box<dyn AsyncRead + Send + Unpin>;
type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Returns standard input and output. Clients pass pipes, which need no thread for reading; files
/// and terminals do.
fn streams() -> io::Result<(Input, Output)> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    let (again, anew) = (input.try_clone()?, output.try_clone()?);
    let input: Input = match pipe::Receiver::from_owned_fd(input) {
        Ok(pipe) => Box::new(pipe),
        Err(_) => Box::new(tokio::fs::File::from_std(File::from(again))),
    };
    let output: Output = match pipe::Sender::from_owned_fd(output) {
        Ok(pipe) => Box::new(pipe),
        Err(_) => Box::new(tokio::fs::File::from_std(File::from(anew))),
    };
    Ok((input, output))
}
