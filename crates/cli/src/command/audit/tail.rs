//! `toolcrib audit tail`: the newest records, and new ones as they are written.

use std::time::Duration;

use serde_json::json;
use toolcrib_ops::audit::{self, RecordReply, TailRequest};

use super::record_text;
use crate::clap_args::AuditTailArgs;
use crate::output::{self, Failure};
use crate::{bootstrap, op_context};

/// Interval for reading new records of other processes.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

pub(super) fn run(command: &AuditTailArgs, json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let stores = bootstrap::stores()?;
        let ctx = op_context::for_stores(&stores);
        let request = TailRequest::Newest(u64::from(command.lines));
        let mut reply = audit::tail(&ctx, request).await?;
        if reply.records.is_empty() && !command.follow {
            output::warn("no records yet", json);
            return Ok(0);
        }
        if !json {
            output::print_line(&record_text::header())?;
        }
        print(&reply.records, json)?;
        if !command.follow {
            return Ok(0);
        }
        // The loop ends with Ctrl-C, or when the reader closes the pipe.
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            reply = audit::tail(&ctx, TailRequest::After(reply.position)).await?;
            print(&reply.records, json)?;
        }
    })
}

fn print(records: &[RecordReply], json: bool) -> Result<(), Failure> {
    for record in records {
        let line = if json { json!(record).to_string() } else { record_text::summary_line(record) };
        output::print_line(&line)?;
    }
    Ok(())
}
