//! `toolcrib chat`: turn by turn.

use crate::clap_args::Chat;
use crate::output::Failure;
use crate::{bootstrap, chat};

pub(crate) fn run(command: &Chat, json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(chat::run(command, json))
}
