//! Files from mirrors, gone on with where they broke off.
#![deny(clippy::indexing_slicing)]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use toolcrib_net::{HttpClient, HttpError, Limits, Request, Streaming};

/// Most bytes of an archive. Alpine's smallest system has 4 MB, with Python 25 MB (seed 000).
pub(super) const MOST_BYTES: u64 = 256 << 20;

/// Time for a whole archive, on slow lines too, and the longest silence in it.
const WHOLE_TIME: Duration = Duration::from_secs(30 * 60);
/// See [`WHOLE_TIME`].
const SILENCE: Duration = Duration::from_secs(30);

/// How often a download that broke off is gone on with, as long as something comes.
const MOST_PIECES: usize = 20;

/// Why a file did not come.
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
    /// Whether the next mirror cannot do any better.
    pub(super) fn is_of_this_machine(&self) -> bool {
        matches!(self, Self::Disk(_))
    }
}

/// Fetches a file into another one, after what that one has already. How much there is, is told.
pub(super) async fn download(
    client: &HttpClient,
    url: &str,
    part: &Path,
    told: &(dyn Fn(u64, Option<u64>) + Send + Sync),
) -> Result<(), FetchError> {
    let mut last = None;
    for _ in 0..MOST_PIECES {
        let before = length(part);
        match piece(client, url, part, before, told).await {
            // Broken off on the way: what came is kept.
            Err(FetchError::Http(error)) if length(part) > before => last = Some(error),
            // Whatever is there is no beginning of this file.
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

/// Fetches what follows so many bytes, up to the end or a break.
async fn piece(
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
    let Streaming { head, mut body } = client.send(&request, &limits).await?;
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
    if body.cut().is_some() {
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

/// Fetches a small file whole.
pub(super) async fn small(
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

/// A request for the bytes as they are on the mirror.
fn plain(url: &str) -> Request {
    let mut request = Request::get(url);
    request.headers.push(("Accept-Encoding".into(), "identity".into()));
    request
}
