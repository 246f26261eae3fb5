//! `toolcrib audit verify`: verifies the audit, and lists findings.
//!
//! The database is opened without the key: closing it with the key would sign the records that are
//! being verified.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use serde_json::json;
use toolcrib_app::ANCHORS_FILE;
use toolcrib_audit::{ChainReport, Evidence, verify_export};
use toolcrib_ops::OpError;
use toolcrib_ops::audit::{self, EvidenceRequest, VerifyReply, VerifyRequest};

use super::verify_bundle;
use crate::clap_args::AuditVerifyArgs;
use crate::output::{self, Failure};
use crate::{bootstrap, op_context};

pub(super) fn run(command: &AuditVerifyArgs, json: bool) -> Result<u8, Failure> {
    if let Some(bundle) = &command.bundle {
        return verify_bundle::run(command, bundle, json);
    }
    let proof = match &command.file {
        Some(export) => verify_exported_file(command, export)?,
        None => bootstrap::block_on(verify_database(command, json))?,
    };
    if json {
        output::print_json(&json!(proof), true)?;
    } else {
        output::print_line(&to_text(&proof))?;
    }
    Ok(u8::from(!proof.sound))
}

pub(super) fn unreadable(error: impl std::fmt::Display) -> Failure {
    Failure::configuration(error.to_string())
}

fn verify_exported_file(command: &AuditVerifyArgs, export: &Path) -> Result<VerifyReply, Failure> {
    let request = EvidenceRequest {
        key_folder: Some(super::audit_folder()?),
        key_file: command.key.clone(),
        anchor_file: command.anchors.clone(),
        ..EvidenceRequest::default()
    };
    let found = request.read()?;
    if found.keys.is_none() {
        // The keys in an export prove nothing about it, so a trusted key is required.
        return Err(missing_key_failure("there is no public key to verify the export"));
    }
    let evidence = Evidence::from(found);
    let chains = if export == Path::new("-") {
        verify_export(io::stdin().lock(), &evidence)
    } else {
        let file = File::open(export)
            .map_err(|error| unreadable(format!("cannot read {}: {error}", export.display())))?;
        verify_export(BufReader::new(file), &evidence)
    };
    let chains = chains.map_err(unreadable)?;
    Ok(VerifyReply::of_chains(chains, &evidence))
}

async fn verify_database(command: &AuditVerifyArgs, json: bool) -> Result<VerifyReply, Failure> {
    let folder = super::audit_folder()?;
    let own = EvidenceRequest::of_folder(&folder);
    let request = EvidenceRequest {
        key_file: command.key.clone(),
        anchor_file: command.anchors.clone().or(own.anchor_file),
        ..own
    };
    let evidence = request.read()?;
    // A missing database counts as a chain without records if anchors show that there were some.
    let stores = bootstrap::unsigned_stores()?;
    let request = VerifyRequest { evidence, rows: command.calls };
    let reply = audit::verify(&op_context::for_stores(&stores), request).await;
    let reply = reply.map_err(|error| match error {
        OpError::Unreadable(why) => missing_key_failure(&why),
        error => unreadable(error),
    })?;
    let signed = reply.chains.iter().any(|chain| chain.checkpoints > 0);
    if signed && reply.evidence.anchors.is_none() {
        let usual = folder.join(ANCHORS_FILE);
        output::warn(
            &format!("there is no anchor file {}: anchors are not compared", usual.display()),
            json,
        );
    }
    Ok(reply)
}

fn missing_key_failure(why: &str) -> Failure {
    unreadable(format!("{why}; pass its file with --key"))
}

fn to_text(reply: &VerifyReply) -> String {
    let mut text = String::new();
    for chain in &reply.chains {
        text += &chain_text(chain);
    }
    if reply.chains.is_empty() {
        text += "no records yet\n";
    }
    if let Some(calls) = &reply.calls {
        text += &format!("calls: {} looked at, {} records\n", calls.calls, calls.records);
        for finding in &calls.findings {
            text += &format!("  ! {finding}\n");
        }
        text += &further_text(calls.further);
    }
    if let Some(decided) = &reply.decisions {
        text += &format!(
            "decisions: {} questions ({} decided), {} grants, {} switches checked, {} records\n",
            decided.questions, decided.decisions, decided.grants, decided.switches, decided.records
        );
        for finding in &decided.findings {
            text += &format!("  ! {finding}\n");
        }
        text += &further_text(decided.further);
    }
    for remark in &reply.remarks {
        text += &format!("  - {remark}\n");
    }
    text += if reply.sound { "sound\n" } else { "NOT SOUND; see docs/audit.md\n" };
    text
}

pub(super) fn chain_text(chain: &ChainReport) -> String {
    let mut text = format!(
        "chain {}: {} records, {} checkpoints, signed up to {}\n",
        chain.chain, chain.records, chain.checkpoints, chain.signed
    );
    for finding in &chain.findings {
        text += &format!("  ! {finding}\n");
    }
    text += &further_text(chain.further);
    for remark in &chain.remarks {
        text += &format!("  - {remark}\n");
    }
    text
}

fn further_text(count: u64) -> String {
    if count == 0 { String::new() } else { format!("  ! and {count} more\n") }
}
