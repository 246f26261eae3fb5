//! The composition root: builds the services of a daemon, and starts and stops its listeners and
//! background tasks. [`DaemonState`] contains the state that handlers share.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::{Extension, Router};
use tokio::sync::oneshot;
use toolcrib_app::mcp::server::Service;
use toolcrib_app::runner::Runner;
use toolcrib_app::{SwitchEvent, Toolcrib};
use toolcrib_builtins::terminal::Terminals;
use toolcrib_core::CancellationToken;

use crate::active_requests::CallRunner;
use crate::admission::{Admission, ClientRateLimits};
use crate::daemon_host::DaemonHost;
use crate::folder_watcher::{FolderWatcher, watch_state};
use crate::listen::{self, ListenContext, Tls};
use crate::middleware::{self, MiddlewareState};
use crate::run_supervisor::{self, RunSupervisor, SupervisorSettings};
use crate::settings::DaemonSettings;
use crate::start_error::StartError;
use crate::state::{DaemonState, StateParts};
use crate::{
    channels, conversation_purge, draft_feed, notification_feed, pursuit, routes, scheduler,
    telemetry,
};

/// Maximum number of signals and messages per minute of one app.
const APP_REQUESTS_PER_MINUTE: u32 = 100;
/// Maximum number of pairing claims per minute.
const CLAIMS_PER_MINUTE: u32 = 60;
/// Maximum number of requests per minute to one webhook.
const HOOK_CALLS_PER_MINUTE: u32 = 30;

/// The daemon. Clones share their state.
#[derive(Clone)]
pub struct Daemon {
    state: DaemonState,
    admission: Arc<Admission>,
    middleware: Arc<MiddlewareState>,
    tls: Option<Arc<Tls>>,
    mcp: Service,
}

impl Daemon {
    /// Creates a daemon over a Toolcrib that was built for agents. It does not listen yet.
    ///
    /// # Errors
    /// [`StartError`] if the store or a file of the daemon cannot be used.
    pub async fn new(
        toolcrib: Toolcrib,
        runner: Runner,
        host: Arc<dyn DaemonHost>,
        settings: DaemonSettings,
    ) -> Result<Self, StartError> {
        let shutdown = CancellationToken::new();
        let batch_concurrency = toolcrib.engine().settings().batch_concurrency;
        let admission = Arc::new(Admission::new(&settings, batch_concurrency, shutdown.clone()));
        let middleware =
            Arc::new(MiddlewareState::load(&toolcrib, &settings, Arc::clone(&admission)).await?);
        let tls = settings.listen.tls.clone();
        let tls = tls.map(|(chain, key)| Tls::read(chain, key)).transpose()?.map(Arc::new);
        let run_supervisor = RunSupervisor::new(
            toolcrib.clone(),
            runner.clone(),
            Arc::clone(&host),
            settings.telemetry.clone(),
            supervisor_settings(&settings),
            shutdown.clone(),
        );
        let calls = CallRunner::new(
            toolcrib.clone(),
            settings.telemetry.clone(),
            Arc::clone(&admission),
            run_supervisor.clone(),
        );
        let state = DaemonState::new(StateParts {
            toolcrib,
            runner,
            host,
            settings,
            middleware: Arc::clone(&middleware),
            calls,
            run_supervisor,
            terminals: Terminals::default(),
            shutdown,
            started_at: Instant::now(),
            hook_limits: ClientRateLimits::per_minute(HOOK_CALLS_PER_MINUTE),
            app_limits: ClientRateLimits::per_minute(APP_REQUESTS_PER_MINUTE),
            claim_limits: ClientRateLimits::per_minute(CLAIMS_PER_MINUTE),
            mcp_logins: toolcrib_ops::mcp_servers::McpLogins::default(),
            userland_work: toolcrib_ops::userland::UserlandWork::default(),
        });
        let mcp = routes::mcp_endpoint::endpoint(&state)?;
        Ok(Self { state, admission, middleware, tls, mcp })
    }

    /// Listens and answers until [`stop`](Self::stop) is called and all work has drained. Calls
    /// `ready` with the TCP address when the daemon answers.
    ///
    /// # Errors
    /// [`StartError`] if it cannot listen.
    pub async fn serve(
        &self,
        ready: impl FnOnce(Option<SocketAddr>) + Send,
    ) -> Result<(), StartError> {
        let (listens, is_listening) = oneshot::channel();
        let mut background = std::pin::pin!(async {
            // A daemon that cannot listen must not take over runs from those that can.
            is_listening.await.ok()?;
            self.run_background_tasks().await;
            Some(())
        });
        let mut listening =
            std::pin::pin!(listen::serve(self.listen_context(), self.router(), |address| {
                let _ = listens.send(());
                ready(address);
            }));
        tokio::select! {
            ended = &mut listening => {
                ended?;
                background.await;
                Ok(())
            }
            _until_it_ends = &mut background => listening.await,
        }
    }

    /// Recovers and supervises runs, watches switches, and drains calls when the daemon stops.
    async fn run_background_tasks(&self) {
        let state = &self.state;
        let toolcrib = state.toolcrib();
        let database = toolcrib.stores().monitor.database_file();
        let watcher = database.and_then(|database| watch_state(&database, &toolcrib.state_files()));
        let changes = || watcher.as_ref().map(FolderWatcher::changes).unwrap_or_default();
        let _switches = toolcrib.watch_switches(changes(), log_switch_event);
        let supervisor = state.run_supervisor();
        let runs = run_supervisor::run_recovery_loop(supervisor, changes());
        let scheduler = scheduler::run_scheduler(supervisor, changes());
        let file_changes = scheduler::run_change_watcher(supervisor, changes());
        let mail = scheduler::run_mail_watcher(supervisor, changes());
        let sms = scheduler::run_sms_watcher(supervisor);
        let apps = scheduler::run_app_watcher(supervisor, changes());
        let notifications = notification_feed::run_feed(supervisor, changes());
        let drafts = draft_feed::run_feed(supervisor, changes());
        // Another process may have left documents whose reading it started. /health reports an
        // error of the store.
        let documents = state.toolcrib().documents().clone();
        tokio::spawn(async move { documents.finish().await });
        let pursuits = pursuit::run_pursuits(supervisor, changes());
        let purge = conversation_purge::run_purge(supervisor);
        let channels = channels::run_channels(supervisor, changes(), state.settings().four_eyes);
        tokio::join!(
            runs,
            scheduler,
            file_changes,
            mail,
            sms,
            apps,
            notifications,
            drafts,
            pursuits,
            purge,
            channels,
            async {
                state.shutdown_token().cancelled().await;
                state.calls().drain(state.settings().drain).await;
            }
        );
    }

    /// Tells the daemon to stop: it accepts no new work, lets active work end within the drain
    /// time, and stores the rest.
    pub fn stop(&self) {
        self.state.shutdown_token().cancel();
        run_supervisor::pause_all(self.state.run_supervisor());
    }

    /// Reloads the certificate and its key, for new connections.
    ///
    /// # Errors
    /// [`StartError`] if they cannot be used; the old ones then stay in use.
    pub fn reload_certificates(&self) -> Result<(), StartError> {
        self.tls.as_ref().map_or(Ok(()), |tls| tls.reload())
    }

    /// Returns the number of subscribers to the event streams of runs.
    #[must_use]
    pub fn run_subscribers(&self) -> usize {
        self.state.run_supervisor().subscriber_count()
    }

    /// Returns the number of runs that this daemon drives.
    #[must_use]
    pub fn active_runs(&self) -> usize {
        self.state.run_supervisor().active_count()
    }

    fn listen_context(&self) -> ListenContext {
        ListenContext {
            settings: self.state.settings().clone(),
            toolcrib: self.state.toolcrib().clone(),
            admission: Arc::clone(&self.admission),
            tls: self.tls.clone(),
            shutdown: self.state.shutdown_token().clone(),
        }
    }

    /// Builds the router: the routes behind the middleware.
    fn router(&self) -> Router {
        let (router, _) = routes::all().finish();
        // The endpoint owns a clone of the state. It is a layer of the router rather than a part of
        // the state, which would create a cycle of reference counts.
        let router = router.layer(Extension(self.mcp.clone()));
        let router = middleware::wrap(&self.middleware, router.with_state(self.state.clone()));
        telemetry::wrap(self.state.telemetry(), router)
    }
}

fn supervisor_settings(settings: &DaemonSettings) -> SupervisorSettings {
    SupervisorSettings {
        max_runs: settings.runs_at_once,
        max_runs_per_client: settings.runs_of_client,
        recovery_interval: settings.recovery_interval,
        drain: settings.drain,
    }
}

fn log_switch_event(event: SwitchEvent) {
    match event {
        SwitchEvent::Stopped(calls) => {
            tracing::warn!(calls = calls.len(), "the kill switch stopped calls");
        }
        SwitchEvent::Unreadable(error) => {
            tracing::error!(%error, "switches cannot be read; no call starts until they can be");
        }
    }
}
