//! `toolcrib app`.

use clap::{Args, Subcommand};
use toolcrib_ops::apps::RiskName;

pub(super) const APP_HELP: &str = "\
Examples:
  toolcrib app pair                     # a code for one app, for 5 minutes
  toolcrib app confirm                  # see what the app asks for, and decide
  toolcrib app confirm --risk search=safe
  toolcrib app review office

Tools of an app are named if_APP__TOOL. The daemon takes claims and checks apps: `toolcrib serve`.";

#[derive(Debug, Subcommand)]
pub(crate) enum App {
    /// List paired apps.
    List,
    /// Create a pairing code for one app.
    Pair,
    /// Show an app with its tools.
    Show {
        /// Name or id of the app.
        app: String,
    },
    /// Confirm an app that has used a code, after showing what it asks for.
    Confirm(ConfirmApp),
    /// Refuse an app that has used a code, or end a code.
    Refuse {
        /// Id of the pairing.
        pairing: String,
    },
    /// Rename an app, and with it its tools.
    Rename {
        /// Name or id of the app.
        app: String,
        /// The new name: 1 to 24 of a-z, 0-9 and `_`.
        name: String,
    },
    /// Revoke an app: its tools are gone, and its key opens nothing.
    Revoke {
        /// Name or id of the app.
        app: String,
    },
    /// Show definitions that differ from the reviewed ones, and accept them.
    Review(ReviewApp),
    /// Ask an app for its health and its tools now.
    Test {
        /// Name or id of the app.
        app: String,
    },
}

/// The pairing to confirm.
#[derive(Debug, Args)]
pub(crate) struct ConfirmApp {
    /// Id of the pairing. Default: the only one that waits.
    pub(crate) pairing: Option<String>,
    /// The fingerprint that the app shows; confirms without asking.
    #[arg(long)]
    pub(crate) fingerprint: Option<String>,
    /// Risk of a tool: `safe`, `high` or `critical`; may be repeated. Default: high, or critical if
    /// the app says so.
    #[arg(long = "risk", value_name = "TOOL=RISK", value_parser = risk)]
    pub(crate) risks: Vec<(String, RiskName)>,
}

/// The app to review.
#[derive(Debug, Args)]
pub(crate) struct ReviewApp {
    /// Name or id of the app.
    pub(crate) app: String,
    /// Accept the definitions with this digest.
    #[arg(long, value_name = "DIGEST")]
    pub(crate) accept: Option<String>,
    /// With --accept: risk of a tool; may be repeated.
    #[arg(long = "risk", value_name = "TOOL=RISK", value_parser = risk, requires = "accept")]
    pub(crate) risks: Vec<(String, RiskName)>,
}

fn risk(text: &str) -> Result<(String, RiskName), String> {
    let (tool, risk) = text.split_once('=').ok_or("write it as TOOL=RISK, such as search=safe")?;
    let risk = match risk {
        "safe" => RiskName::Safe,
        "high" => RiskName::High,
        "critical" => RiskName::Critical,
        _ => return Err(format!("`{risk}` is not safe, high or critical")),
    };
    Ok((tool.to_owned(), risk))
}
