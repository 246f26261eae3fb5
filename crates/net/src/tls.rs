//! TLS of the client: rustls with ring, HTTP/1.1 by ALPN, the system's root certificates.

use std::sync::{Arc, OnceLock};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, Error, RootCertStore};

use crate::url_check::Host;

/// The process-wide configuration with the system's roots; loaded at the first https request, which
/// takes a few milliseconds.
static SYSTEM: OnceLock<Arc<ClientConfig>> = OnceLock::new();

/// Returns the configuration with the roots of the operating system or of `SSL_CERT_FILE` and
/// `SSL_CERT_DIR` if set, and with the compiled-in Mozilla list if neither has any.
pub(crate) fn system_config() -> Result<Arc<ClientConfig>, Error> {
    if let Some(config) = SYSTEM.get() {
        return Ok(Arc::clone(config));
    }
    let config = config_with(system_roots())?;
    Ok(Arc::clone(SYSTEM.get_or_init(|| config)))
}

fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}

/// Returns the configuration for protocols other than HTTP: the same roots, and no protocol by
/// ALPN. A server that supports ALPN refuses a client that offers only `http/1.1` (RFC 7301, 3.2).
pub(crate) fn without_alpn(config: &ClientConfig) -> Arc<ClientConfig> {
    let mut config = config.clone();
    config.alpn_protocols = Vec::new();
    Arc::new(config)
}

/// Creates a configuration that trusts exactly these roots.
pub(crate) fn config_with(roots: RootCertStore) -> Result<Arc<ClientConfig>, Error> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Runs the handshake on a connected stream. The certificate must be valid for `host`: the
/// requested name or the literal address.
pub(crate) async fn handshake<S>(
    config: Arc<ClientConfig>,
    host: &Host,
    stream: S,
) -> Result<TlsStream<S>, String>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let name = match host {
        Host::Name(name) => {
            ServerName::try_from(name.clone()).map_err(|error| error.to_string())?
        }
        Host::Addr(ip) => ServerName::IpAddress((*ip).into()),
    };
    let connecting = TlsConnector::from(config).connect(name, stream);
    connecting.await.map_err(|error| error.to_string())
}
