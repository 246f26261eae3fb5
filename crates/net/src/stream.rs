//! Connections for protocols other than HTTP: a checked TCP connection that can be secured
//! immediately or later (`STARTTLS`).

use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;

use crate::error::HttpError;
use crate::tls;
use crate::url_check::Target;

/// A connection with TLS.
pub type SecureStream = TlsStream<TcpStream>;

/// A connection to a checked address, not encrypted yet. It is not buffered, so that no data that
/// the peer sent before TLS is read as if it had been sent after it (RFC 3207, 6).
pub struct PlainStream {
    /// The connection.
    pub stream: TcpStream,
    target: Target,
    tls: Arc<ClientConfig>,
}

impl std::fmt::Debug for PlainStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlainStream").field("target", &self.target).finish_non_exhaustive()
    }
}

impl PlainStream {
    pub(crate) fn new(stream: TcpStream, target: Target, tls: Arc<ClientConfig>) -> Self {
        Self { stream, target, tls }
    }

    /// Runs the handshake. The certificate must be valid for the requested host. The caller limits
    /// the time.
    ///
    /// # Errors
    /// [`HttpError::Tls`].
    pub async fn secure(self) -> Result<SecureStream, HttpError> {
        let shaken = tls::handshake(self.tls, self.target.host(), self.stream).await;
        shaken.map_err(|detail| HttpError::Tls { host: self.target.authority(), detail })
    }
}
