//! A job of one statement, without audit events.

use tokio_postgres::types::ToSql;
use toolcrib_core::BoxFuture;

use super::super::error::Failure;
use super::super::job::{Job, JobOutput, Tx};
use crate::writer::Durability;

/// A parameter that a job owns.
pub(super) type Param = Box<dyn ToSql + Sync + Send>;

/// One statement with its parameters.
pub(super) struct Statement<A> {
    sql: &'static str,
    params: Vec<Param>,
    durability: Durability,
    /// Makes the answer from the number of changed rows.
    answer: fn(u64) -> A,
}

impl Statement<()> {
    /// Creates a statement that succeeds however many rows it changes.
    pub(super) fn new(sql: &'static str, params: Vec<Param>) -> Self {
        Self { sql, params, durability: Durability::PowerLoss, answer: |_| () }
    }

    /// The write need not survive a power loss.
    pub(super) fn until_power_loss(self) -> Self {
        Self { durability: Durability::ProcessCrash, ..self }
    }
}

impl Statement<bool> {
    /// Creates a statement that answers whether it changed a row.
    pub(super) fn changes_row(sql: &'static str, params: Vec<Param>) -> Self {
        Self { sql, params, durability: Durability::PowerLoss, answer: |rows| rows > 0 }
    }
}

impl<A: Send + 'static> Job for Statement<A> {
    type Answer = A;

    fn durability(&self) -> Durability {
        self.durability
    }

    fn pipelined_statement(&self) -> Option<&'static str> {
        Some(self.sql)
    }

    fn run<'a>(&'a self, tx: &'a Tx<'_>) -> BoxFuture<'a, Result<JobOutput<A>, Failure>> {
        Box::pin(async move {
            let params: Vec<&(dyn ToSql + Sync)> =
                self.params.iter().map(|param| &**param as &(dyn ToSql + Sync)).collect();
            let rows = tx.link.execute(self.sql, &params).await?;
            Ok(JobOutput::unaudited((self.answer)(rows)))
        })
    }
}
