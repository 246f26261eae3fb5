//! `toolcrib app`: programs that are paired with Toolcrib and offer their own tools.

use std::io::{IsTerminal as _, Write as _};

use serde_json::json;
use toolcrib_app::Toolcrib;
use toolcrib_ops::OpContext;
use toolcrib_ops::apps::{
    self, AcceptAppReviewRequest, AppReply, AppReview, CapabilityReply, ClaimedAppReply,
    ConfirmPairingRequest, HeldAppTool, NewPairingReply, PairingReply, RenameAppRequest,
    RevokeAppRequest, RiskName,
};

use super::library_snapshot;
use crate::clap_args::{App, ConfirmApp, ReviewApp, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::terminal::{escape_controls, escape_to_line};
use crate::{bootstrap, op_context, time_format};

/// Exit code if tools are held.
const EXIT_TOOLS_HELD: u8 = 5;

pub(crate) fn run(command: App, json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let toolcrib: Toolcrib = bootstrap::build_with_stores(&WorkspaceArgs::default()).await?;
        let ctx = op_context::for_toolcrib(&toolcrib, None);
        match command {
            App::List => print_list(&apps::list(&ctx).await?, json),
            App::Pair => print_code(&apps::pair(&ctx).await?, json),
            App::Show { app } => print_app(&apps::show(&ctx, &app).await?, json),
            App::Confirm(request) => confirm(&ctx, request, json).await,
            App::Refuse { pairing } => {
                let refused = apps::refuse(&ctx, &pairing).await?;
                print_done(&json!(refused), &format!("{} is refused", refused.pairing), json)
            }
            App::Rename { app, name } => {
                let renamed = apps::rename(&ctx, RenameAppRequest { app, name }).await?;
                let text = format!("the tools of the app are if_{}__… now", renamed.app);
                print_done(&json!(renamed), &text, json)
            }
            App::Revoke { app } => {
                let revoked = apps::revoke(&ctx, RevokeAppRequest { app }).await?;
                let text = format!("{} is revoked: its tools are gone", revoked.app);
                print_done(&json!(revoked), &text, json)
            }
            App::Review(request) => review(&ctx, request, json).await,
            App::Test { app } => test(&ctx, &app, json).await,
        }
    })
}

async fn confirm(ctx: &OpContext<'_>, request: ConfirmApp, json: bool) -> Result<u8, Failure> {
    let ConfirmApp { pairing, fingerprint, risks } = request;
    let pairing = match pairing {
        Some(pairing) => apps::pairing(ctx, &pairing).await?,
        None => only_waiting(apps::pairings(ctx).await?)?,
    };
    let fingerprint = match (fingerprint, &pairing.claim) {
        (Some(fingerprint), _) => fingerprint,
        (None, Some(claim)) if pairing.state == "claimed" => agreed(claim, &risks)?,
        // The operation says why it cannot be confirmed.
        (None, _) => String::new(),
    };
    let risks = risks.into_iter().collect();
    let request = ConfirmPairingRequest { pairing: pairing.pairing, fingerprint, risks };
    print_app(&apps::confirm(ctx, request).await?, json)
}

/// Returns the only pairing that waits for a decision.
fn only_waiting(all: Vec<PairingReply>) -> Result<PairingReply, Failure> {
    let mut waiting: Vec<PairingReply> =
        all.into_iter().filter(|pairing| pairing.state == "claimed").collect();
    match waiting.len() {
        1 => Ok(waiting.remove(0)),
        0 => Err(Failure {
            code: 4,
            message: "no app waits; `toolcrib app pair` creates a code for one, and a daemon takes its claim"
                .to_owned(),
        }),
        _ => {
            let rows: Vec<String> = waiting.iter().map(waiting_line).collect();
            Err(Failure::usage(format!(
                "several apps wait; name the pairing:\n{}",
                rows.join("\n")
            )))
        }
    }
}

fn waiting_line(pairing: &PairingReply) -> String {
    let claim = pairing.claim.as_ref();
    let (app, address) = claim.map_or(("", ""), |claim| (&*claim.app, &*claim.address));
    format!("  {}  {} at {}", pairing.pairing, escape_to_line(app), escape_to_line(address))
}

/// Shows what an app asks for, and asks; returns the fingerprint that was shown.
fn agreed(claim: &ClaimedAppReply, risks: &[(String, RiskName)]) -> Result<String, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage(format!(
            "there is no terminal to ask at; {}\nCompare the fingerprint with the one that the app shows, and pass `--fingerprint {}`",
            claim_text(claim, risks),
            claim.fingerprint
        )));
    }
    let mut shown = std::io::stderr().lock();
    write!(
        shown,
        "{}\n\nDoes the app show this fingerprint, and may it have these tools? [y/N] ",
        claim_text(claim, risks)
    )?;
    shown.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    if !matches!(answer.trim(), "y" | "Y" | "yes") {
        return Err(Failure::usage("the app was not confirmed".to_owned()));
    }
    Ok(claim.fingerprint.clone())
}

fn claim_text(claim: &ClaimedAppReply, risks: &[(String, RiskName)]) -> String {
    let mut text = format!(
        "the app {} at {} asks to be paired.\nFingerprint: {}\nTools, in the words of the app:",
        escape_to_line(&claim.app),
        escape_to_line(&claim.address),
        claim.fingerprint
    );
    for tool in &claim.tools {
        text += &capability_text(tool, risks);
    }
    if !claim.signals.is_empty() {
        text += &format!("\nSignals: {}", escape_to_line(&claim.signals.join(", ")));
    }
    text
}

fn capability_text(tool: &CapabilityReply, risks: &[(String, RiskName)]) -> String {
    let chosen = risks.iter().find(|(name, _)| *name == tool.tool).map(|(_, risk)| *risk);
    let risk = chosen.unwrap_or(tool.risk).as_str();
    let about: String = escape_to_line(&tool.description).chars().take(160).collect();
    let mut text = format!("\n  {} (risk {risk}", tool.id);
    if tool.proposed.as_str() != risk {
        text += &format!("; the app proposes {}", tool.proposed.as_str());
    }
    text += &format!(")\n    {about}");
    for finding in &tool.findings {
        text += &format!("\n    ! {}", escape_to_line(finding));
    }
    text
}

async fn review(ctx: &OpContext<'_>, request: ReviewApp, json: bool) -> Result<u8, Failure> {
    let ReviewApp { app, accept, risks } = request;
    if let Some(digest) = accept {
        let risks = risks.into_iter().collect();
        let request = AcceptAppReviewRequest { app, digest, risks };
        return print_app(&apps::accept_review(ctx, request).await?, json);
    }
    let AppReview { app, digest, held } = apps::review(ctx, &app).await?;
    let code = if held.is_empty() { 0 } else { EXIT_TOOLS_HELD };
    if json {
        output::print_json(&json!({"app": app, "digest": digest, "held": held}), true)?;
        return Ok(code);
    }
    if held.is_empty() {
        output::eprint_line(&format!("toolcrib: nothing of {app} differs from what was reviewed"));
        return Ok(code);
    }
    for one in &held {
        output::print_line(&held_text(one))?;
    }
    output::eprint_line(&format!(
        "toolcrib: `toolcrib app review {app} --accept {digest}` accepts these definitions"
    ));
    Ok(code)
}

fn held_text(held: &HeldAppTool) -> String {
    let change = match json!(held.change).as_str() {
        Some("new") => "is new",
        Some("gone") => "is gone",
        _ => "has changed",
    };
    let line = |finding: &String| format!("  ! {}\n", escape_to_line(finding));
    let findings: String = held.findings.iter().map(line).collect();
    format!("{} {change}:\n{findings}{}", escape_to_line(&held.tool), escape_controls(&held.diff))
}

async fn test(ctx: &OpContext<'_>, app: &str, json: bool) -> Result<u8, Failure> {
    let tested = apps::test(ctx, app).await?;
    let code = if tested.held.is_empty() { 0 } else { EXIT_TOOLS_HELD };
    if json {
        output::print_json(&json!(tested), true)?;
        return Ok(code);
    }
    let version = escape_to_line(&tested.version);
    let (name, tools, took) = (&tested.app.app, tested.app.tools.len(), tested.took_ms);
    output::print_line(&format!("{name} {version} works: {tools} tools, {took} ms"))?;
    if !tested.held.is_empty() {
        output::eprint_line(&format!(
            "toolcrib: {} tools differ from what was reviewed and are held; see `toolcrib app review {name}`",
            tested.held.len()
        ));
    }
    Ok(code)
}

fn print_code(new: &NewPairingReply, json: bool) -> Result<u8, Failure> {
    if json {
        output::print_json(&json!(new), true)?;
        return Ok(0);
    }
    output::print_line(&new.code)?;
    output::eprint_line(&format!(
        "toolcrib: give this code to one app before {}; then `toolcrib app confirm {}` shows what it asks for",
        time_format::format_local(new.pairing.expires_at),
        new.pairing.pairing
    ));
    Ok(0)
}

fn print_done(document: &serde_json::Value, text: &str, json: bool) -> Result<u8, Failure> {
    if json {
        output::print_json(document, true)?;
    } else {
        output::print_line(text)?;
    }
    Ok(0)
}

fn print_app(app: &AppReply, json: bool) -> Result<u8, Failure> {
    if json {
        output::print_json(&json!(app), true)?;
        return Ok(0);
    }
    let mut text = format!(
        "{} at {}, {}\nFingerprint: {}\nPaired: {} by {}",
        app.app,
        app.address,
        state_text(app),
        app.fingerprint,
        time_format::format_local(app.paired_at),
        escape_to_line(&app.paired_by)
    );
    for tool in &app.tools {
        let held = if tool.held.is_some() { ", held for review" } else { "" };
        text += &format!("\n  {} (risk {}{held})", tool.id, tool.risk.as_str());
    }
    if !app.signals.is_empty() {
        text += &format!("\nSignals: {}", app.signals.join(", "));
    }
    output::print_line(&text)?;
    Ok(0)
}

fn state_text(app: &AppReply) -> String {
    match &app.last_error {
        Some(error) => format!("{}: {}", app.status, escape_to_line(error)),
        None => app.status.clone(),
    }
}

fn print_list(all: &[AppReply], json: bool) -> Result<u8, Failure> {
    if json {
        output::print_json(&json!(all), true)?;
        return Ok(0);
    }
    if all.is_empty() {
        output::eprint_line("toolcrib: no apps; `toolcrib app pair` creates a code for one");
        return Ok(0);
    }
    let head = ["APP", "STATUS", "TOOLS", "HELD", "ADDRESS"].map(str::to_owned).to_vec();
    let row = |app: &AppReply| {
        let held = app.tools.iter().filter(|tool| tool.held.is_some()).count();
        vec![
            app.app.clone(),
            app.status.clone(),
            app.tools.len().to_string(),
            held.to_string(),
            app.address.clone(),
        ]
    };
    let rows: Vec<_> = std::iter::once(head).chain(all.iter().map(row)).collect();
    output::print_line(&library_snapshot::table(&rows))?;
    Ok(0)
}
