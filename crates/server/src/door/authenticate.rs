//! Who is it? The owner by the token of this machine.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use axum::extract::Request;
use axum::http::header;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom as _, SystemRandom};
use sha2::{Digest as _, Sha256};

use crate::daemon::{Daemon, StartError};
use crate::listen::Peer;
use crate::problem::{Code, Problem};
use crate::role::{Principal, Role, Roles};

/// The token of this machine: 256 bits from the system, in a file for its owner alone.
pub(crate) struct OwnerToken {
    hash: [u8; 32],
}

impl OwnerToken {
    /// Reads it from the file `token` in this folder, or makes one.
    pub(crate) fn of_folder(folder: &Path) -> Result<Self, StartError> {
        let failed = |error: &dyn std::fmt::Display| {
            StartError::Listen(format!("the token file in {} cannot be used: {error}", folder.display()))
        };
        fs::create_dir_all(folder).map_err(|error| failed(&error))?;
        let path = folder.join("token");
        let text = match fs::read_to_string(&path) {
            Ok(text) if !text.trim().is_empty() => text.trim().to_owned(),
            _ => {
                let mut bytes = [0; 32];
                SystemRandom::new().fill(&mut bytes).map_err(|error| failed(&error))?;
                let text = format!("tcb_{}", URL_SAFE_NO_PAD.encode(bytes));
                let mut options = fs::OpenOptions::new();
                let file = options.write(true).create(true).truncate(true).mode(0o600).open(&path);
                file.and_then(|mut file| file.write_all(text.as_bytes()))
                    .map_err(|error| failed(&error))?;
                text
            }
        };
        Ok(Self { hash: Sha256::digest(text.as_bytes()).into() })
    }

    fn is(&self, token: &str) -> bool {
        let given: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        // Of hashes, so that time says nothing about the token.
        given == self.hash
    }
}

/// Whoever sends this; `None` = there is no token.
pub(super) fn principal(daemon: &Daemon, request: &Request) -> Result<Option<Principal>, Problem> {
    if let Some(Peer::Unix { .. }) = request.extensions().get::<Peer>() {
        return Ok(Some(owner("owner@socket")));
    }
    let Some(given) = request.headers().get(header::AUTHORIZATION) else { return Ok(None) };
    let token = given.to_str().ok().and_then(|given| given.strip_prefix("Bearer "));
    match token {
        Some(token) if daemon.door().owner.is(token.trim()) => Ok(Some(owner("owner"))),
        _ => Err(Problem::new(Code::Unauthorized, "the token does not hold")),
    }
}

fn owner(name: &str) -> Principal {
    Principal {
        name: name.to_owned(),
        owner: String::new(),
        roles: Roles::of(&[Role::Owner]),
        client: name.to_owned(),
        tools: None,
    }
}
