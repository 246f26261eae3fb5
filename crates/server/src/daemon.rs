//! The daemon: what all requests share, how it starts and how it ends.

use std::net::SocketAddr;
use std::num::NonZero;
use std::sync::Arc;
use std::time::Instant;

use axum::{Extension, Router};
use tokio::sync::oneshot;
use toolcrib_app::core::CancellationToken;
use toolcrib_app::runner::Runner;
use toolcrib_app::{Found, Stores, Toolcrib};

use crate::door::Door;
use crate::host::Host;
use crate::listen::{Reception, Tls};
use crate::live::LiveRuns;
use crate::observe::Observe;
use crate::settings::DaemonSettings;
use crate::turnstile::Turnstile;
use crate::work::Work;
use crate::{door, listen, live, observe, routes};

/// Why a daemon cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address, a socket or a file of it cannot be used; the words say what to do.
    #[error("{0}")]
    Listen(String),
    /// The store does not answer.
    #[error("the store cannot be used: {0}")]
    Store(#[from] toolcrib_app::core::StoreError),
}

/// The daemon. Clones are the same one.
#[derive(Clone)]
pub struct Daemon {
    shared: Arc<Shared>,
}

/// What all requests share.
struct Shared {
    runner: Runner,
    toolcrib: Toolcrib,
    host: Arc<dyn Host>,
    settings: DaemonSettings,
    door: Door,
    tls: Option<Tls>,
    live: LiveRuns,
    reception: Reception,
    turnstile: Turnstile,
    work: Work,
    stop: CancellationToken,
    begun: Instant,
}

impl Daemon {
    /// A daemon over a Toolcrib that was built for agents. Nothing listens yet.
    ///
    /// # Errors
    /// [`StartError`] when the store or a file of the daemon cannot be used.
    pub async fn new(
        toolcrib: Toolcrib,
        runner: Runner,
        host: Arc<dyn Host>,
        settings: DaemonSettings,
    ) -> Result<Self, StartError> {
        let door = Door::open(&toolcrib, &settings).await?;
        let tls = settings.listen.tls.clone();
        let tls = tls.map(|(chain, key)| Tls::read(chain, key)).transpose()?;
        let turnstile = Turnstile::new(settings.calls_at_once, at_work(), settings.calls_waiting);
        let shared = Shared {
            runner,
            toolcrib,
            host,
            door,
            tls,
            settings,
            live: LiveRuns::default(),
            reception: Reception::new(at_work()),
            turnstile,
            work: Work::default(),
            stop: CancellationToken::new(),
            begun: Instant::now(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Listens, and answers until [`stop`](Self::stop) is called and everything has drained. `ready` is told the TCP address once it answers.
    ///
    /// # Errors
    /// [`StartError`] when it cannot listen.
    pub async fn serve(
        &self,
        ready: impl FnOnce(Option<SocketAddr>) + Send,
    ) -> Result<(), StartError> {
        let (begin, begun) = oneshot::channel();
        let mut drained = std::pin::pin!(async {
            // One that cannot listen takes over nothing from those that work.
            begun.await.ok()?;
            let watching = self.toolcrib().watch(found);
            tokio::join!(live::tend(self), async {
                self.stopping().cancelled().await;
                self.drain_calls().await;
            });
            Some(watching)
        });
        let mut listening = std::pin::pin!(listen::serve(self, |address| {
            let _ = begin.send(());
            ready(address);
        }));
        tokio::select! {
            ended = &mut listening => {
                ended?;
                drained.await;
                Ok(())
            }
            _until_it_ends = &mut drained => listening.await,
        }
    }

    /// Tells it to stop: it takes nothing new, lets what runs end for as long as the settings say, stores the rest.
    pub fn stop(&self) {
        self.shared.stop.cancel();
        live::leave(self);
    }

    /// Reads the certificate and its key again; connections that come in from now on are shown the new one.
    ///
    /// # Errors
    /// [`StartError`] when they cannot be used; then the old ones stay.
    pub fn reload_certificates(&self) -> Result<(), StartError> {
        self.shared.tls.as_ref().map_or(Ok(()), Tls::reload)
    }

    pub(crate) fn tls(&self) -> Option<&Tls> {
        self.shared.tls.as_ref()
    }

    /// The routes with the checks in front of them.
    pub(crate) fn router(&self) -> Router {
        let (router, _) = routes::all().finish();
        // It holds this daemon, so the daemon must not hold it.
        let router = router.layer(Extension(routes::mcp::endpoint(self)));
        observe::around(self, door::in_front(self, router.with_state(self.clone())))
    }

    pub(crate) fn toolcrib(&self) -> &Toolcrib {
        &self.shared.toolcrib
    }

    pub(crate) fn stores(&self) -> &Stores {
        self.shared.toolcrib.stores()
    }

    pub(crate) fn runner(&self) -> &Runner {
        &self.shared.runner
    }

    pub(crate) fn host(&self) -> &dyn Host {
        &*self.shared.host
    }

    pub(crate) fn settings(&self) -> &DaemonSettings {
        &self.shared.settings
    }

    pub(crate) fn door(&self) -> &Door {
        &self.shared.door
    }

    pub(crate) fn live(&self) -> &LiveRuns {
        &self.shared.live
    }

    pub(crate) fn reception(&self) -> &Reception {
        &self.shared.reception
    }

    pub(crate) fn turnstile(&self) -> &Turnstile {
        &self.shared.turnstile
    }

    pub(crate) fn work(&self) -> &Work {
        &self.shared.work
    }

    pub(crate) fn observe(&self) -> &Observe {
        &self.shared.settings.observe
    }

    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.shared.stop
    }

    pub(crate) fn begun(&self) -> Instant {
        self.shared.begun
    }
}

/// How many of one client keep the processors busy: enough for that, and so few that nobody else stands behind many.
fn at_work() -> usize {
    2 * std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Says in the log what the watch over the switches found.
fn found(found: Found) {
    match found {
        Found::Stopped(calls) => {
            tracing::warn!(calls = calls.len(), "the kill switch stopped calls");
        }
        Found::Unreadable(error) => {
            tracing::error!(%error, "switches cannot be read; no call starts until they can be");
        }
    }
}
