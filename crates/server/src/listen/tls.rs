//! TLS for TCP, from PEM files that can be reloaded.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
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

use crate::start_error::StartError;

/// Interval for checking whether the files have changed.
pub(super) const RELOAD_INTERVAL: Duration = Duration::from_secs(5);
/// Timeout of a handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// The certificate in use, and its files.
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

    /// Reads the files again. If they cannot be used, the old certificate stays in use.
    pub(crate) fn reload(&self) -> Result<(), StartError> {
        self.config.store(Arc::new(config(&self.chain, &self.key)?));
        Ok(())
    }

    /// Checks the files at this interval, forever, and reloads them after a change. While only one
    /// of chain and key is renewed, reloading fails and is tried again after the next change.
    pub(super) async fn watch_files(&self, interval: Duration) {
        let stamps = || [&self.chain, &self.key].map(|path| stamp(path));
        let mut before = stamps();
        loop {
            tokio::time::sleep(interval).await;
            let now = stamps();
            if now == before {
                continue;
            }
            before = now;
            match self.reload() {
                Ok(()) => tracing::info!("the certificate was reloaded"),
                Err(error) => tracing::error!(%error, "the old certificate stays in use"),
            }
        }
    }

    /// Performs the handshake; returns `None` if it failed.
    pub(super) async fn accept<S>(&self, stream: S) -> Option<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let acceptor = TlsAcceptor::from(self.config.load_full());
        match tokio::time::timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => Some(stream),
            Ok(Err(error)) => {
                tracing::debug!(%error, "a TLS handshake failed");
                None
            }
            Err(_) => None,
        }
    }
}

/// Returns the values that change when a file is replaced: inode, length and modification time.
fn stamp(path: &Path) -> Option<(u64, u64, i64, i64)> {
    let about = std::fs::metadata(path).ok()?;
    Some((about.ino(), about.len(), about.mtime(), about.mtime_nsec()))
}

fn config(chain: &Path, key: &Path) -> Result<ServerConfig, StartError> {
    let failed = |path: &Path, error: &dyn std::fmt::Display| {
        StartError::Listen(format!("{} cannot be used for TLS: {error}", path.display()))
    };
    let certificates = CertificateDer::pem_file_iter(chain)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| failed(chain, &error))?;
    if certificates.is_empty() {
        return Err(failed(chain, &"it contains no certificate"));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn pem(name: &str) -> Vec<u8> {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../net/src/tests/fixtures");
        std::fs::read(fixtures.join(name)).unwrap()
    }

    /// Tools that renew certificates replace the files one after the other, without a signal.
    #[tokio::test]
    async fn renewed_files_are_loaded_and_half_written_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let [chain, key] = ["chain.pem", "key.pem"].map(|name| folder.path().join(name));
        std::fs::write(&chain, pem("leaf.pem")).unwrap();
        std::fs::write(&key, pem("leaf.key.pem")).unwrap();
        let tls = Arc::new(Tls::read(chain.clone(), key.clone()).unwrap());
        let first = tls.config.load_full();
        let watching = tokio::spawn({
            let tls = Arc::clone(&tls);
            async move { tls.watch_files(Duration::from_millis(5)).await }
        });
        let renewed = async || {
            let before = tls.config.load_full();
            while Arc::ptr_eq(&before, &tls.config.load_full()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        // The first poll records the state of the files.
        tokio::task::yield_now().await;
        std::fs::write(&chain, [pem("leaf.pem"), pem("ca.pem")].concat()).unwrap();
        renewed().await;
        let second = tls.config.load_full();
        std::fs::write(&key, "half of a k").unwrap();
        assert!(tls.reload().is_err());
        assert!(Arc::ptr_eq(&second, &tls.config.load_full()) && !Arc::ptr_eq(&first, &second));
        std::fs::write(&key, pem("leaf.key.pem")).unwrap();
        renewed().await;
        watching.abort();
    }
}
