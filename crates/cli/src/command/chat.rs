//! `toolcrib chat`: turn by turn.

use crate::cli::Chat;
use crate::output::Failure;
use crate::{chat, world};

pub(crate) fn run(command: &Chat, json: bool) -> Result<u8, Failure> {
    world::block_on(chat::talk(command, json))
}
