//! Reads the value of a secret: typed at the terminal without echo, or from standard input.

use std::io::{self, IsTerminal as _, Read as _};

use toolcrib_store::vault::{MAX_SECRET_BYTES, Secret, SecretName};

use crate::bootstrap;
use crate::output::{self, Failure};
use crate::terminal::{Console, Key, apply_key};

/// Exit code of an interrupted command: 128 + SIGINT.
const EXIT_INTERRUPTED: u8 = 130;

/// Reads the value.
pub(super) fn read(name: &SecretName) -> Result<Secret, Failure> {
    let bytes = read_bytes(&format!("Value of {name}"))?;
    Secret::from_bytes(bytes).map_err(|error| Failure::usage(error.to_string()))
}

/// Reads the password of an account.
pub(crate) fn read_password(account: &str) -> Result<String, Failure> {
    let bytes = read_bytes(&format!("Password of {account}"))?;
    let text = String::from_utf8(bytes).map_err(|_| Failure::usage("a password is text"))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

/// Reads the token of an account at a chat service.
pub(crate) fn read_token(service: &str) -> Result<String, Failure> {
    let bytes = read_bytes(&format!("Token of {service}"))?;
    let text = String::from_utf8(bytes).map_err(|_| Failure::usage("a token is text"))?;
    Ok(text.trim().to_owned())
}

fn read_bytes(what: &str) -> Result<Vec<u8>, Failure> {
    if io::stdin().is_terminal() { from_terminal(what) } else { from_stdin() }
}

fn from_stdin() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    // A line break at the end is not a part of the value, and a longer value is refused by its
    // length.
    io::stdin().lock().take(MAX_SECRET_BYTES as u64 + 3).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn from_terminal(what: &str) -> Result<Vec<u8>, Failure> {
    bootstrap::block_on(async {
        let mut keys = Console::default().listen()?;
        output::eprint_prompt(&format!("{what} (not shown): "));
        let mut text = String::new();
        let ended = loop {
            match keys.next().await {
                Some(Key::Enter) => break true,
                Some(Key::Interrupt | Key::End | Key::Escape) | None => break false,
                Some(key) => apply_key(&mut text, key),
            }
        };
        // Further input from the same paste is neither part of the value nor a command for the
        // shell.
        let rest = keys.take_pending();
        output::eprint_line("");
        if !ended {
            return Err(Failure {
                code: EXIT_INTERRUPTED,
                message: "nothing was stored".to_owned(),
            });
        }
        if !rest.is_empty() {
            return Err(Failure::usage(
                "a typed value has one line; pass a value of several lines on standard input: `toolcrib secret set NAME < FILE`",
            ));
        }
        Ok(text.into_bytes())
    })
}
