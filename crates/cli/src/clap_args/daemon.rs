//! The commands that contact a daemon.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::service::{SERVICE_HELP, ServiceCommand};
use crate::config::duration_and_money;

pub(crate) const STATUS_HELP: &str = "\
TOOLCRIB_DAEMON=https://HOST and TOOLCRIB_TOKEN select a daemon on another machine.

Exit codes: 0 the daemon is running, 8 it is not running or unreachable.";

pub(crate) const STOP_DAEMON_HELP: &str = "\
The daemon accepts no new calls, lets running calls finish for the time of `drain` in the section [server], and suspends runs at a step from \
which they resume. To stop tools instead of the daemon, use `toolcrib stop-tools`.

Exit codes: 0 the daemon has stopped, 1 it is still running, 8 no daemon is running.";

pub(crate) const OPEN_HELP: &str = "\
The address contains a code that signs a browser in once, within a minute. The page has the roles of the caller: owner on this machine; \
with TOOLCRIB_DAEMON, the roles of TOOLCRIB_TOKEN.

Exit codes: 0 done, 8 no daemon is running, or it listens on its socket only.";

const HEALTH_HELP: &str = "\
For containers and load balancers. Exit codes: 0 the daemon accepts calls, 8 it does not.";

pub(crate) const TOKEN_HELP: &str = "\
Examples:
  toolcrib token add ci --role caller --expires 90d
  toolcrib token add phone --role approver
  toolcrib token add metrics
  toolcrib token list
  toolcrib token revoke ci

A token is shown once, when it is created: only its hash is stored. Roles: viewer (reads), caller (calls tools that policy allows), approver \
(decides approvals), operator (manages tools, agents, rules and the kill switch), owner (everything). Every role can read.";

#[derive(Debug, Subcommand)]
pub(crate) enum DaemonCommand {
    /// Reload the daemon's configuration.
    Reload,
    /// Check whether the daemon accepts calls.
    #[command(after_help = HEALTH_HELP)]
    Healthcheck,
    /// Install the daemon as a service of the operating system.
    #[command(subcommand, after_help = SERVICE_HELP)]
    Service(ServiceCommand),
}

#[derive(Debug, Args)]
pub(crate) struct Open {
    /// Print the address instead, for a machine without a browser.
    #[arg(long)]
    pub(crate) print: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StopDaemon {
    /// Maximum time to wait until the daemon has stopped.
    #[arg(long, value_name = "TIME", value_parser = duration_and_money::parse_duration, default_value = "60s")]
    pub(crate) timeout: Duration,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// Create a token for a program, and print it.
    Add(TokenAdd),
    /// List tokens without their values.
    List,
    /// Revoke a token.
    Revoke {
        /// Id of the token, or its name if it is unique.
        token: String,
    },
    /// Print the owner's token of this machine.
    Show,
}

#[derive(Debug, Args)]
pub(crate) struct TokenAdd {
    /// Name of the token in records.
    pub(crate) name: String,
    /// Role: viewer (default), caller, approver, operator, owner; may be repeated.
    #[arg(long = "role", value_name = "ROLE", value_delimiter = ',')]
    pub(crate) roles: Vec<toolcrib_server::Role>,
    /// Tool that the token may call, by name or pattern; may be repeated. Default: all.
    #[arg(long = "tool", value_name = "TOOL", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,
    /// Lifetime, such as 90d. Default: unlimited.
    #[arg(long, value_name = "TIME", value_parser = duration_and_money::parse_days)]
    pub(crate) expires: Option<Duration>,
}
