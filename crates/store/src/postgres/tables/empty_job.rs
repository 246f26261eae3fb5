//! Jobs that write nothing.

use std::future::ready;

use toolcrib_core::BoxFuture;

use crate::postgres::error::Failure;
use crate::postgres::job::{Job, JobOutput, Tx};
use crate::writer::Durability;

/// First statement of [`NoOp`].
pub(super) const NOTHING: &str = "SELECT";

/// A job that writes nothing: it waits for the jobs before it.
pub(in crate::postgres) struct NoOp;

/// Writes nothing; committed after every earlier job, including those that wait for the server.
pub(in crate::postgres) struct Flush;

impl Job for Flush {
    type Answer = ();

    fn durability(&self) -> Durability {
        NoOp.durability()
    }

    fn outlives_outage(&self) -> bool {
        true
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        NoOp.pipelined_statement()
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        NoOp.run(tx)
    }
}

impl Job for NoOp {
    type Answer = ();

    fn durability(&self) -> Durability {
        Durability::ProcessCrash
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(NOTHING)
    }

    fn run<'a>(&'a self, _: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<()>, Failure>> {
        Box::pin(ready(Ok(JobOutput::unaudited(()))))
    }
}
