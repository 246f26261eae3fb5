//! TLS for TCP, from PEM files, which can be read again while it works.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

use crate::daemon::StartError;

/// Time for a handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The certificate that is shown, and where it comes from.
pub(crate) struct Tls {
    chain: PathBuf,
    key: PathBuf,
    config: ArcSwap<ServerConfig>,
}

impl Tls {
    /// Reads a certificate chain and its key.
    pub(crate) fn read(chain: PathBuf, key: PathBuf) -> Result<Self, StartError> {
        let config = ArcSwap::from_pointee(config(&chain, &key)?);
        Ok(Self { chain, key, config })
    }

    /// Reads the files again; what cannot be used changes nothing.
    pub(crate) fn reload(&self) -> Result<(), StartError> {
        self.config.store(Arc::new(config(&self.chain, &self.key)?));
        Ok(())
    }

    /// Shakes hands; `None` = it came to nothing.
    pub(super) async fn accept<S>(&self, stream: S) -> Option<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let acceptor = TlsAcceptor::from(self.config.load_full());
        match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => Some(stream),
            Ok(Err(error)) => {
                tracing::debug!(%error, "a TLS handshake failed");
                None
            }
            Err(_) => None,
        }
    }
}

fn config(chain: &PathBuf, key: &PathBuf) -> Result<ServerConfig, StartError> {
    let failed = |path: &PathBuf, error: &dyn std::fmt::Display| {
        StartError::Listen(format!("{} cannot be used for TLS: {error}", path.display()))
    };
    let certificates = CertificateDer::pem_file_iter(chain)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| failed(chain, &error))?;
    if certificates.is_empty() {
        return Err(failed(chain, &"there is no certificate in it"));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| failed(key, &error))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(chain, &error))?
        .with_no_client_auth()
        .with_single_cert(certificates, private)
        .map_err(|error| failed(chain, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
