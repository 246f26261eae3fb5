//! Operations on the audit.

mod bundle;
mod checkpoint;
mod evidence;
mod export;
mod list;
mod record;
mod record_filter;
mod reverse_reader;
mod show;
mod tail;
mod verify;

pub use bundle::{BundleRequest, bundle};
pub use checkpoint::{CheckpointReply, checkpoint};
pub use evidence::{EvidenceRequest, EvidenceSummary, FoundEvidence};
pub use export::{ExportRequest, export};
pub use list::{ListRecordsReply, ListRecordsRequest, list};
pub use record::RecordReply;
pub use record_filter::RecordFilter;
pub use reverse_reader::ChainPositions;
pub use show::{ShowRecordsRequest, show};
pub use tail::{TailReply, TailRequest, tail};
pub use verify::{VerifyReply, VerifyRequest, verify};
