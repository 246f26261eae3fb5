//! Connects over the socket of a daemon on this machine. Only its owner can open it, so no token is
//! sent.

use std::fmt;
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Request, Response, header};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;

use super::{ApiRequest, Reply, unreachable};
use crate::output::Failure;

/// A socket that belongs to this user.
#[derive(Debug)]
pub(super) struct DaemonSocket(PathBuf);

impl DaemonSocket {
    /// Opens the socket at a path; returns `None` if it does not exist.
    pub(super) fn open_if_present(path: &Path) -> Result<Option<Self>, Failure> {
        let metadata = match std::fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let what = format!("the socket {} cannot be used: {error}", path.display());
                return Err(unreachable(&what));
            }
        };
        if !metadata.file_type().is_socket() {
            return Err(unreachable(&format!("{} is not a socket", path.display())));
        }
        // The owner of the socket could read every request.
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(unreachable(&format!(
                "the daemon at {} is another user's; ask them for a token and set {} and TOOLCRIB_TOKEN",
                path.display(),
                super::DAEMON_VARIABLE
            )));
        }
        Ok(Some(Self(path.to_owned())))
    }

    /// Sends a request and waits for the complete response.
    pub(super) async fn send(&self, ask: &ApiRequest<'_>) -> Result<Reply, Failure> {
        let (head, body) = self.send_request(ask).await?.into_parts();
        let body = body.collect().await.map_err(|error| self.connection_failed(&error))?;
        Ok(Reply { status: head.status.as_u16(), body: body.to_bytes().to_vec() })
    }

    /// Sends a request; returns its status, and its streamed response.
    pub(super) async fn open(&self, ask: &ApiRequest<'_>) -> Result<(u16, ByteStream), Failure> {
        let response = self.send_request(ask).await?;
        let (status, place) = (response.status().as_u16(), self.to_string());
        Ok((status, ByteStream { body: response.into_body(), place }))
    }

    async fn send_request(&self, ask: &ApiRequest<'_>) -> Result<Response<Incoming>, Failure> {
        let stream =
            UnixStream::connect(&self.0).await.map_err(|error| self.connection_failed(&error))?;
        let connected = http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = connected.map_err(|error| self.connection_failed(&error))?;
        // The task ends with its request, which reports its errors.
        tokio::spawn(connection);
        let mut request = Request::builder()
            .method(ask.method.clone())
            .uri(ask.path)
            .header(header::HOST, "localhost");
        for (name, value) in &ask.headers {
            request = request.header(*name, value);
        }
        let mut bytes = Bytes::new();
        if let Some((kind, body)) = &ask.body {
            request = request.header(header::CONTENT_TYPE, *kind);
            bytes = body.clone().into();
        }
        let request = request.body(Full::new(bytes));
        let request = request.map_err(|error| Failure::usage(error.to_string()))?;
        sender.send_request(request).await.map_err(|error| self.connection_failed(&error))
    }

    fn connection_failed(&self, error: &dyn fmt::Display) -> Failure {
        unreachable(&format!("the daemon at {self} does not answer: {error}"))
    }
}

impl fmt::Display for DaemonSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

/// A streamed response.
pub(crate) struct ByteStream {
    body: Incoming,
    place: String,
}

impl ByteStream {
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        loop {
            let broke = |error: hyper::Error| {
                unreachable(&format!("the daemon at {} broke off: {error}", self.place))
            };
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            if let Ok(data) = frame.map_err(broke)?.into_data() {
                return Ok(Some(data.to_vec()));
            }
        }
    }
}
