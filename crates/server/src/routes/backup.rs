//! A backup of all stored data of the owner, without keys.

use std::fs::File;
use std::io::Read as _;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use tokio::sync::mpsc;
use toolcrib_ops::OpError;

use super::audit::download::{Download, download};
use crate::api::{Api, Operation, run_blocking};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// Media type of a compressed tar archive.
const MEDIA_TYPE: &str = "application/gzip";
/// Bytes that are read at a time.
const PIECE: usize = 64 * 1024;

pub(super) fn routes(api: &mut Api) {
    let take = Operation::get("/backup", Role::Owner, "Takes a backup and streams its file.")
        .description("Database, results, rules, agents, skills and configuration of one moment, read again before the first byte is sent. Keys and tokens are left out: `toolcrib backup --with-keys` keeps them. `toolcrib restore` puts it back.");
    api.add(take.returns_media(MEDIA_TYPE, "The file."), take_backup);
}

async fn take_backup(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Response, Problem> {
    let host = daemon.clone();
    let file = run_blocking::<_, Problem>(move || Ok(host.host().backup()?)).await?;
    daemon.admin_audit().record(&principal, "backup.take", String::new()).await?;
    let what = Download { media_type: MEDIA_TYPE, file: "toolcrib.tar.gz" };
    download(what, |to| async move { send(file, &to).await }).await
}

async fn send(file: File, to: &mpsc::Sender<Result<Bytes, OpError>>) -> Result<(), OpError> {
    let mut file = file;
    loop {
        let read = tokio::task::spawn_blocking(move || {
            let mut piece = Vec::with_capacity(PIECE);
            let read = (&mut file).take(PIECE as u64).read_to_end(&mut piece);
            (file, read.map(|_| piece))
        });
        let (rest, piece) = read.await.map_err(|error| OpError::Internal(error.to_string()))?;
        file = rest;
        let piece = piece.map_err(|error| OpError::Internal(error.to_string()))?;
        if piece.is_empty() || to.send(Ok(piece.into())).await.is_err() {
            return Ok(());
        }
    }
}
