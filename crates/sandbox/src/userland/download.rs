//! Resumable downloads from mirrors.
#![deny(clippy::indexing_slicing)]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use toolcrib_net::{HttpClient, HttpError, Limits, Request, StreamingResponse};

/// Maximum bytes of an archive. Alpine's minimal system has 4 MB, with Python 25 MB.
pub(super) const MOST_BYTES: u64 = 256 << 20;

/// Timeout of a whole archive, even on slow connections, and the longest accepted silence.
const WHOLE_TIME: Duration = Duration::from_secs(30 * 60);
/// See [`WHOLE_TIME`].
const SILENCE: Duration = Duration::from_secs(30);

/// Maximum number of resumed transfers, as long as each one makes progress.
const MOST_PIECES: usize = 20;

/// Why a download failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error("{0}")]
    Http(#[from] HttpError),
    #[error("it answered {0}")]
    Status(u16),
    #[error("it sent the file in another encoding")]
    Encoded,
    #[error("the file has more than {0} bytes")]
    TooLong(u64),
    #[error("the answer begins elsewhere in the file")]
    OtherPiece,
    #[error("{0}")]
    Disk(io::Error),
}

impl FetchError {
    /// Returns whether the cause is on this machine, so that another mirror cannot help.
    pub(super) fn is_of_this_machine(&self) -> bool {
        matches!(self, Self::Disk(_))
    }
}

/// Downloads a file, appending to the part that exists. Progress is reported.
pub(super) async fn download(
    client: &HttpClient,
    url: &str,
    part: &Path,
    told: &(dyn Fn(u64, Option<u64>) + Send + Sync),
) -> Result<(), FetchError> {
    let mut last = None;
    for _ in 0..MOST_PIECES {
        let before = length(part);
        match download_part(client, url, part, before, told).await {
            // The connection broke: the received part is kept.
            Err(FetchError::Http(error)) if length(part) > before => last = Some(error),
            // The existing part does not belong to this file.
            Err(FetchError::OtherPiece | FetchError::Status(416)) if before > 0 => {
                fs::remove_file(part).map_err(FetchError::Disk)?;
            }
            result => return result,
        }
    }
    Err(last.map_or(FetchError::OtherPiece, FetchError::Http))
}

fn length(part: &Path) -> u64 {
    part.metadata().map_or(0, |meta| meta.len())
}

/// Downloads the rest after an offset, until the end or an interruption.
async fn download_part(
    client: &HttpClient,
    url: &str,
    part: &Path,
    from: u64,
    told: &(dyn Fn(u64, Option<u64>) + Send + Sync),
) -> Result<(), FetchError> {
    let mut request = plain(url);
    if from > 0 {
        request.headers.push(("Range".into(), format!("bytes={from}-")));
    }
    let room = usize::try_from(MOST_BYTES.saturating_sub(from)).unwrap_or(usize::MAX);
    let limits = Limits {
        total: WHOLE_TIME,
        idle: Some(SILENCE),
        max_wire_bytes: room,
        max_inflated_bytes: room,
        ..Limits::default()
    };
    let StreamingResponse { head, mut body } = client.send(&request, &limits).await?;
    if head.header("content-encoding").is_some_and(|encoding| encoding != "identity") {
        return Err(FetchError::Encoded);
    }
    let from = match head.status {
        200 => 0,
        206 => {
            let range = head.header("content-range").unwrap_or_default();
            if from == 0 || !range.starts_with(&format!("bytes {from}-")) {
                return Err(FetchError::OtherPiece);
            }
            from
        }
        status => return Err(FetchError::Status(status)),
    };
    let mut file = begin(part, from).map_err(FetchError::Disk)?;
    let whole = head.content_length.map(|rest| from.saturating_add(rest));
    let mut there = from;
    while let Some(bytes) = body.chunk().await? {
        file.write_all(&bytes).map_err(FetchError::Disk)?;
        there = there.saturating_add(bytes.len() as u64);
        told(there, whole);
    }
    if body.truncation().is_some() {
        return Err(FetchError::TooLong(MOST_BYTES));
    }
    file.sync_all().map_err(FetchError::Disk)
}

fn begin(part: &Path, from: u64) -> io::Result<File> {
    let file = OpenOptions::new().create(true).append(true).open(part)?;
    if from == 0 {
        file.set_len(0)?;
    }
    Ok(file)
}

/// Downloads a small file.
pub(super) async fn download_small(
    client: &HttpClient,
    url: &str,
    most: usize,
) -> Result<Vec<u8>, FetchError> {
    let limits = Limits { max_wire_bytes: most, max_inflated_bytes: most, ..Limits::default() };
    let response = client.fetch(&plain(url), &limits).await?;
    match response.head.status {
        200 if response.truncated() => Err(FetchError::TooLong(most as u64)),
        200 => Ok(response.body),
        status => Err(FetchError::Status(status)),
    }
}

/// Creates a request for the bytes as stored on the mirror, without compression.
fn plain(url: &str) -> Request {
    let mut request = Request::get(url);
    request.headers.push(("Accept-Encoding".into(), "identity".into()));
    request
}
