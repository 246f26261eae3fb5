//! The state that all handlers share.

use std::sync::Arc;
use std::time::Instant;

use toolcrib_app::runner::Runner;
use toolcrib_app::{Stores, Toolcrib};
use toolcrib_builtins::terminal::Terminals;
use toolcrib_core::CancellationToken;
use toolcrib_ops::mcp_servers::McpLogins;
use toolcrib_ops::userland::UserlandWork;

use crate::active_requests::{ActiveCallTable, CallRunner};
use crate::admin_audit::AdminAudit;
use crate::admission::{ClientRateLimits, FairQueue};
use crate::daemon_host::DaemonHost;
use crate::middleware::MiddlewareState;
use crate::run_supervisor::RunSupervisor;
use crate::settings::DaemonSettings;
use crate::telemetry::Telemetry;

/// The state that all handlers share. Clones refer to the same state.
#[derive(Clone)]
pub(crate) struct DaemonState {
    parts: Arc<StateParts>,
}

/// The parts of the state; [`crate::Daemon`] builds them.
pub(crate) struct StateParts {
    pub(crate) toolcrib: Toolcrib,
    pub(crate) runner: Runner,
    pub(crate) host: Arc<dyn DaemonHost>,
    pub(crate) settings: DaemonSettings,
    pub(crate) middleware: Arc<MiddlewareState>,
    pub(crate) calls: CallRunner,
    pub(crate) run_supervisor: RunSupervisor,
    pub(crate) terminals: Terminals,
    pub(crate) shutdown: CancellationToken,
    pub(crate) started_at: Instant,
    pub(crate) hook_limits: ClientRateLimits,
    pub(crate) app_limits: ClientRateLimits,
    pub(crate) claim_limits: ClientRateLimits,
    pub(crate) mcp_logins: McpLogins,
    pub(crate) userland_work: UserlandWork,
}

impl DaemonState {
    pub(crate) fn new(parts: StateParts) -> Self {
        Self { parts: Arc::new(parts) }
    }

    /// Returns the tools and the engine that runs them.
    pub(crate) fn toolcrib(&self) -> &Toolcrib {
        &self.parts.toolcrib
    }

    /// Returns the stores.
    pub(crate) fn stores(&self) -> &Stores {
        self.parts.toolcrib.stores()
    }

    /// Returns the runner of agents; the routes of agents and skills read its library.
    pub(crate) fn runner(&self) -> &Runner {
        &self.parts.runner
    }

    /// Returns the program around the daemon.
    pub(crate) fn host(&self) -> &dyn DaemonHost {
        &*self.parts.host
    }

    /// Returns the settings of the daemon.
    pub(crate) fn settings(&self) -> &DaemonSettings {
        &self.parts.settings
    }

    /// Returns tokens and browser sessions.
    pub(crate) fn middleware(&self) -> &MiddlewareState {
        &self.parts.middleware
    }

    /// Returns the component that runs the calls of requests.
    pub(crate) fn calls(&self) -> &CallRunner {
        &self.parts.calls
    }

    /// Returns the calls of requests that have not ended.
    pub(crate) fn active_requests(&self) -> &ActiveCallTable {
        self.parts.calls.active()
    }

    /// Returns the queue in front of calls, for its statistics.
    pub(crate) fn call_queue(&self) -> &FairQueue {
        self.parts.calls.queue()
    }

    /// Returns the supervisor of the daemon's runs.
    pub(crate) fn run_supervisor(&self) -> &RunSupervisor {
        &self.parts.run_supervisor
    }

    /// Returns the terminals of people.
    pub(crate) fn terminals(&self) -> &Terminals {
        &self.parts.terminals
    }

    /// Returns the recorder of administrative actions.
    pub(crate) fn admin_audit(&self) -> AdminAudit<'_> {
        AdminAudit::new(self)
    }

    /// Returns metrics and spans.
    pub(crate) fn telemetry(&self) -> &Telemetry {
        &self.parts.settings.telemetry
    }

    /// Returns a token that is cancelled when the daemon is told to stop.
    pub(crate) fn shutdown_token(&self) -> &CancellationToken {
        &self.parts.shutdown
    }

    /// Returns the rate limits of webhooks.
    pub(crate) fn hook_limits(&self) -> &ClientRateLimits {
        &self.parts.hook_limits
    }

    /// Returns the rate limits of the requests of apps.
    pub(crate) fn app_limits(&self) -> &ClientRateLimits {
        &self.parts.app_limits
    }

    /// Returns the rate limit of pairing claims.
    pub(crate) fn claim_limits(&self) -> &ClientRateLimits {
        &self.parts.claim_limits
    }

    /// Returns the logins to MCP servers that browsers finish.
    pub(crate) fn mcp_logins(&self) -> &McpLogins {
        &self.parts.mcp_logins
    }

    /// Returns the current operation on the Linux userland.
    pub(crate) fn userland_work(&self) -> &UserlandWork {
        &self.parts.userland_work
    }

    /// Returns the time at which the daemon was built.
    pub(crate) fn started_at(&self) -> Instant {
        self.parts.started_at
    }
}
