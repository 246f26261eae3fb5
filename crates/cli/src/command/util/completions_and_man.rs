//! `toolcrib util completions` and `toolcrib util man`.

use std::io;
use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::Shell;
use clap_complete::env::Shells;

use crate::clap_args::Cli;
use crate::completion::VARIABLE;
use crate::output::{self, Failure};

pub(crate) fn completions(shell: Shell) -> Result<u8, Failure> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let Some(completer) = shells.completer(&shell.to_string()) else {
        return Err(Failure::usage(format!("there are no completions for {shell}")));
    };
    completer.write_registration(VARIABLE, "toolcrib", "toolcrib", "toolcrib", &mut script)?;
    output::print_raw(&String::from_utf8_lossy(&script))?;
    Ok(0)
}

pub(crate) fn man(dir: Option<&Path>) -> Result<u8, Failure> {
    let Some(dir) = dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Cli::command()).render(&mut page)?;
        output::print_raw(&String::from_utf8_lossy(&page))?;
        return Ok(0);
    };
    std::fs::create_dir_all(dir)?;
    clap_mangen::generate_to(Cli::command(), dir).map_err(io::Error::other)?;
    Ok(0)
}
