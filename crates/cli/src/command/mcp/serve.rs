//! `toolcrib mcp serve`: our tools for one client, over standard input and output.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe;
use toolcrib_app::core::ViewRequest;
use toolcrib_app::mcp::server::Mode;
use toolcrib_app::mcp::{self, ToolcribDoor};

use crate::cli::{Brain, McpServe};
use crate::output::{self, Failure};
use crate::session::{Ground, Setup};
use crate::world;

pub(super) fn run(command: &McpServe) -> Result<u8, Failure> {
    world::block_on(serve(command))
}

async fn serve(command: &McpServe) -> Result<u8, Failure> {
    let setup = Setup::new(&Brain::default(), &command.world)?;
    let config = world::configured(&setup.world())?;
    let settings = world::settings(&setup.world(), &config)?;
    // Nobody sits here: the person at the client is asked by the client.
    let ground = Ground::lay(setup, settings, &config, world::stores()?, None).await?;
    for warning in &ground.warnings {
        output::note(&format!("toolcrib: {warning}"));
    }
    let mode = if command.lean { Mode::Lean } else { Mode::Direct };
    let door = ToolcribDoor::new(ground.toolcrib.clone(), ViewRequest::default());
    let (input, output) = streams().map_err(|error| Failure::run(error.to_string()))?;
    let server = mcp::serve(&ground.toolcrib, Arc::new(door), mode);
    let served = server.over(input, output).await;
    for problem in ground.toolcrib.settle().await {
        output::note(&format!("toolcrib: {problem}"));
    }
    served.map_err(Failure::run)?;
    Ok(0)
}

type Input = Box<dyn AsyncRead + Send + Unpin>;
type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Standard input and output. Clients give us pipes, which need no thread to be read; files and terminals do.
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
