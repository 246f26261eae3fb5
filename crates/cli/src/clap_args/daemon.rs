//! The commands that ask a daemon.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::service::{SERVICE_HELP, ServiceCommand};
use crate::config::duration_and_money;

pub(crate) const STATUS_HELP: &str = "\
TOOLCRIB_DAEMON=https://HOST and TOOLCRIB_TOKEN ask one elsewhere.

Exit codes: 0 it runs, 8 it does not, or cannot be talked with.";

pub(crate) const STOP_DAEMON_HELP: &str = "\
It takes nothing new, calls get the time of `drain` in the section [server] to end, runs are left at a step where they are taken up again. To \
stop the tools instead of the daemon: `toolcrib stop-tools`.

Exit codes: 0 it has ended, 1 it works still, 8 there is none.";

pub(crate) const OPEN_HELP: &str = "\
The address has a code that signs the browser in once, within a minute. The page then has the roles of who made it: the owner on this machine, \
with TOOLCRIB_DAEMON those of TOOLCRIB_TOKEN.

Exit codes: 0 done, 8 there is no daemon, or it listens on its socket only.";

const HEALTH_HELP: &str = "\
For containers and load balancers. Exit codes: 0 it takes calls, 8 it does not.";

pub(crate) const TOKEN_HELP: &str = "\
Examples:
  toolcrib token add ci --role caller --expires 90d
  toolcrib token add phone --role approver
  toolcrib token add metrics
  toolcrib token list
  toolcrib token revoke ci

A token is shown once, when it is made: only its hash is kept. Roles: viewer (looks), caller (runs what policy allows), approver (decides), \
operator (tools, agents, rules, the kill switch), owner (everything). Every role looks too.";

#[derive(Debug, Subcommand)]
pub(crate) enum DaemonCommand {
    /// Make the daemon read its configuration again.
    Reload,
    /// Say whether the daemon takes calls.
    #[command(after_help = HEALTH_HELP)]
    Healthcheck,
    /// Let the system start the daemon.
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
    /// How long to wait for its end.
    #[arg(long, value_name = "TIME", value_parser = duration_and_money::parse_duration, default_value = "60s")]
    pub(crate) timeout: Duration,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// Make a token for a program, and print it.
    Add(TokenAdd),
    /// List tokens, without what they are.
    List,
    /// Take a token back: it holds nowhere any more.
    Revoke {
        /// Its id, or its name when only one has it.
        token: String,
    },
    /// Print the token of this machine, which is its owner's.
    Show,
}

#[derive(Debug, Args)]
pub(crate) struct TokenAdd {
    /// What it is called in records.
    pub(crate) name: String,
    /// What it may do: viewer (default), caller, approver, operator, owner; may be repeated.
    #[arg(long = "role", value_name = "ROLE", value_delimiter = ',')]
    pub(crate) roles: Vec<toolcrib_server::Role>,
    /// Tools that it may call, by name or pattern; may be repeated. Default: all.
    #[arg(long = "tool", value_name = "TOOL", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,
    /// When it ends, from now on, such as 90d. Default: never.
    #[arg(long, value_name = "TIME", value_parser = duration_and_money::parse_days)]
    pub(crate) expires: Option<Duration>,
}
