//! `toolcrib audit verify`: verifies the audit, and lists findings.
//!
//! The database is opened without the key: closing it with the key would sign the records that are
//! being verified.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use serde_json::json;
use toolcrib_app::ANCHORS_FILE;
use toolcrib_audit::{AnchorFile, ChainReport, Evidence, Start, TrustedKeys, verify_export};
use toolcrib_core::audit::LOCAL_CHAIN;
use toolcrib_core::{AuditStore, StoreError};
use toolcrib_ops::audit::{self, VerifyReply, VerifyRequest};

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
    let anchors = command.anchors.as_deref().map(anchors).transpose()?;
    // The keys in an export prove nothing about it, so a trusted key is required.
    let keys = trusted_keys(command)?.ok_or_else(|| missing_key_failure(command))?;
    let evidence = Evidence { keys, anchors, start: Start::Genesis };
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
    let usual = super::audit_folder()?.join(ANCHORS_FILE);
    // Read the anchors before the records: records that are appended meanwhile would otherwise be
    // ahead of them.
    let anchors = match &command.anchors {
        Some(path) => Some(anchors(path)?),
        None if usual.exists() => Some(anchors(&usual)?),
        None => None,
    };
    // A missing database counts as a chain without records if anchors show that there were some.
    let stores = bootstrap::unsigned_stores()?;
    let keys = trusted_keys(command)?;
    let anchored = anchors.as_ref().is_some_and(|anchors| !anchors.checkpoints.is_empty());
    let signed = anchored || has_checkpoints(&*stores.audit).await.map_err(unreadable)?;
    if signed && keys.is_none() {
        return Err(missing_key_failure(command));
    }
    if signed && anchors.is_none() {
        output::warn(
            &format!("there is no anchor file {}: anchors are not compared", usual.display()),
            json,
        );
    }
    let keys = keys.unwrap_or_default();
    let evidence = Evidence { keys, anchors, start: Start::Genesis };
    let request = VerifyRequest { evidence, rows: command.calls };
    audit::verify(&op_context::for_stores(&stores), request).await.map_err(unreadable)
}

/// Returns whether any chain was ever signed. A database without its records may still have its
/// checkpoints.
async fn has_checkpoints(audit: &dyn AuditStore) -> Result<bool, StoreError> {
    let chains = audit.chains().await?.into_iter().map(|(chain, _)| chain);
    for chain in chains.chain([LOCAL_CHAIN]) {
        if !audit.checkpoints(chain).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn anchors(path: &Path) -> Result<AnchorFile, Failure> {
    AnchorFile::read(path)
        .map_err(|error| unreadable(format!("cannot read the anchors {}: {error}", path.display())))
}

/// Returns the trusted keys; `None` if none was named, and the audit folder has none.
pub(super) fn trusted_keys(command: &AuditVerifyArgs) -> Result<Option<TrustedKeys>, Failure> {
    let keys = match &command.key {
        Some(path) => TrustedKeys::read(path).map(Some),
        None => TrustedKeys::in_folder(&super::audit_folder()?),
    };
    keys.map_err(unreadable)
}

fn missing_key_failure(command: &AuditVerifyArgs) -> Failure {
    let what = if command.file.is_some() { "the export" } else { "the checkpoints" };
    unreadable(format!("there is no public key to verify {what}; pass its file with --key"))
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
