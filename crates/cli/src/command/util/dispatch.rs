//! Chooses the command of `toolcrib util`.

use super::{completions_and_man, errors, openapi};
use crate::clap_args::Util;
use crate::output::Failure;

pub(in crate::command) fn run(command: Util, json: bool) -> Result<u8, Failure> {
    match command {
        Util::Openapi => openapi::run(json),
        Util::Errors => errors::run(json),
        Util::Completions { shell } => completions_and_man::completions(shell),
        Util::Man { folder, dir } => completions_and_man::man(folder.or(dir).as_deref()),
    }
}
