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

/// The state that all handlers share. Clones are the same state.
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
    pub(crate) mcp_logins: McpLogins,
    pub(crate) userland_work: UserlandWork,
}

impl DaemonState {
    pub(crate) fn new(parts: StateParts) -> Self {
        Self { parts: Arc::new(parts) }
    }

    /// The tools, and the engine that runs them.
    pub(crate) fn toolcrib(&self) -> &Toolcrib {
        &self.parts.toolcrib
    }

    /// The stores.
    pub(crate) fn stores(&self) -> &Stores {
        self.parts.toolcrib.stores()
    }

    /// Runs agents; its library is read by the routes of agents and skills.
    pub(crate) fn runner(&self) -> &Runner {
        &self.parts.runner
    }

    /// The program around the daemon.
    pub(crate) fn host(&self) -> &dyn DaemonHost {
        &*self.parts.host
    }

    /// The settings of the daemon.
    pub(crate) fn settings(&self) -> &DaemonSettings {
        &self.parts.settings
    }

    /// Tokens and browser sessions.
    pub(crate) fn middleware(&self) -> &MiddlewareState {
        &self.parts.middleware
    }

    /// Runs the calls of requests.
    pub(crate) fn calls(&self) -> &CallRunner {
        &self.parts.calls
    }

    /// The calls of requests that have not ended.
    pub(crate) fn active_requests(&self) -> &ActiveCallTable {
        self.parts.calls.active()
    }

    /// The queue in front of calls, for its statistics.
    pub(crate) fn call_queue(&self) -> &FairQueue {
        self.parts.calls.queue()
    }

    /// The runs of this daemon.
    pub(crate) fn run_supervisor(&self) -> &RunSupervisor {
        &self.parts.run_supervisor
    }

    /// The terminals of people.
    pub(crate) fn terminals(&self) -> &Terminals {
        &self.parts.terminals
    }

    /// Records administrative actions.
    pub(crate) fn admin_audit(&self) -> AdminAudit<'_> {
        AdminAudit::new(self)
    }

    /// Metrics and spans.
    pub(crate) fn telemetry(&self) -> &Telemetry {
        &self.parts.settings.telemetry
    }

    /// Cancelled when the daemon is told to stop.
    pub(crate) fn shutdown_token(&self) -> &CancellationToken {
        &self.parts.shutdown
    }

    /// How often each webhook may be called.
    pub(crate) fn hook_limits(&self) -> &ClientRateLimits {
        &self.parts.hook_limits
    }

    /// Logins to MCP servers that browsers finish.
    pub(crate) fn mcp_logins(&self) -> &McpLogins {
        &self.parts.mcp_logins
    }

    /// What is being done to the Linux userland.
    pub(crate) fn userland_work(&self) -> &UserlandWork {
        &self.parts.userland_work
    }

    /// When the daemon was built.
    pub(crate) fn started_at(&self) -> Instant {
        self.parts.started_at
    }
}
