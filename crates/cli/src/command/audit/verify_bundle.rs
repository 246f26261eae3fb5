//! `toolcrib audit verify --bundle FILE`: verifies a bundle, as the verify.py in it does.

use std::fs::File;
use std::path::Path;

use serde_json::json;
use toolcrib_audit::{BundleEvidence, BundleReport, verify_bundle};
use toolcrib_ops::audit::{EvidenceRequest, FoundEvidence};

use super::verify::{chain_text, unreadable};
use crate::clap_args::AuditVerifyArgs;
use crate::output::{self, Failure};
use crate::terminal;

pub(super) fn run(command: &AuditVerifyArgs, bundle: &Path, json: bool) -> Result<u8, Failure> {
    let failed = |error: std::io::Error| {
        unreadable(format!("cannot read the bundle {}: {error}", bundle.display()))
    };
    // Without --key, the keys of this machine prove nothing about a bundle of another one.
    let request = EvidenceRequest {
        key_file: command.key.clone(),
        anchor_file: command.anchors.clone(),
        ..EvidenceRequest::default()
    };
    let FoundEvidence { keys, anchors } = request.read()?;
    let evidence = BundleEvidence { keys, anchors };
    let has_own_keys = evidence.keys.is_none();
    let file = File::open(bundle).map_err(failed)?;
    let report = verify_bundle(file, evidence).map_err(failed)?;
    if json {
        let row = json!({
            "sound": report.is_sound(),
            "trusts_keys_of_bundle": has_own_keys,
            "bundle": report,
        });
        output::print_json(&row, true)?;
    } else {
        output::print_line(&text(&report, has_own_keys))?;
    }
    Ok(u8::from(!report.is_sound()))
}

fn text(report: &BundleReport, has_own_keys: bool) -> String {
    let mut text = format!("bundle: {} files\n", report.files);
    if has_own_keys {
        text += "the keys are those of the bundle; compare them with a copy of your own, or name \
                 that with --key:\n";
        for key in &report.keys {
            text += &format!("  {}\n", terminal::escape_to_line(key));
        }
    }
    for finding in &report.findings {
        text += &format!("  ! {}\n", terminal::escape_to_line(&finding.to_string()));
    }
    for chain in &report.chains {
        text += &chain_text(chain);
    }
    text += if report.is_sound() { "sound\n" } else { "NOT SOUND; see docs/audit.md\n" };
    text
}
