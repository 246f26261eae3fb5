//! The audit: its records, the proof that they were not edited, and an export that can be verified
//! on another machine.

mod bundle;
pub(super) mod download;
mod export;
mod list;
mod verify;

use toolcrib_ops::audit::{CheckpointReply, RecordReply, VerifyReply};

use crate::api::{Api, Operation, Page};
use crate::role::Role;

use bundle::export_bundle;
use export::{ExportQuery, export_audit};
use list::{AuditQuery, list_records};
use verify::{VerifyBody, checkpoint_now, verify_audit};

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/audit", Role::Viewer, "Lists records of the audit, newest first.");
    let list = list.query::<AuditQuery>();
    api.add(list.returns_ok::<Page<RecordReply>>("Matching records."), list_records);
    let verify = Operation::post(
        "/audit/verify",
        Role::Operator,
        "Verifies that no record was changed, removed, added or moved.",
    );
    let verify =
        verify.description("Uses the key and the anchors of this machine, and reads every record.");
    api.add(verify.body::<VerifyBody>().returns_ok::<VerifyReply>("The findings."), verify_audit);
    let checkpoint =
        Operation::post("/audit/checkpoint", Role::Operator, "Signs the newest record.");
    api.add(checkpoint.returns_ok::<CheckpointReply>("It is signed."), checkpoint_now);
    let export = Operation::get(
        "/audit/export",
        Role::Owner,
        "Streams all records with hashes and checkpoints, as JSON lines.",
    );
    let export = export.description("`toolcrib audit verify --file FILE --key KEY` verifies the export anywhere. An incomplete stream has no last line `end`.");
    let export = export.query::<ExportQuery>();
    api.add(
        export.returns_media(
            export::MEDIA_TYPE,
            "One line for each start of a chain, checkpoint, record and end of a chain.",
        ),
        export_audit,
    );
    let bundle = Operation::get(
        "/audit/bundle",
        Role::Owner,
        "Streams a bundle: the audit with keys, rules, tool definitions and a verifier.",
    );
    let bundle = bundle.description("A tar archive that `python3 verify.py audit.tar --key KEY` (the verifier in it) and `toolcrib audit verify --bundle` verify. A truncated stream has no SHA256SUMS.");
    api.add(bundle.returns_media(bundle::MEDIA_TYPE, "The archive."), export_bundle);
}
