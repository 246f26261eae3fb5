//! Filter of audit records.

use serde_json::{Value, json};
use toolcrib_core::{AuditEvent, AuditRow, CallId};

/// Filter of audit records; `None` matches any.
#[derive(Debug, Clone, Default)]
pub struct RecordFilter {
    /// Kind of the records: `settled`, `asked`, `decided`, `administered` and others.
    pub kind: Option<String>,
    /// Canonical name of a tool.
    pub tool: Option<String>,
    /// The person, token or process that acted.
    pub by: Option<String>,
    /// Outcomes of calls: `succeeded`, `failed`, `denied` and others.
    pub outcome: Option<String>,
    /// A call.
    pub call: Option<CallId>,
    /// Name of an agent.
    pub agent: Option<String>,
    /// Only records at or after this time, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Only records before this time, in milliseconds since 1970.
    pub until: Option<i64>,
}

impl RecordFilter {
    /// Returns whether a record of this owner is listed.
    pub(super) fn includes(&self, owner: &str, row: &AuditRow) -> bool {
        // A damaged record is shown only in unfiltered lists; verification reports it.
        let Ok(event) = serde_json::from_str::<AuditEvent>(&row.text) else {
            return owner.is_empty() && self.is_empty();
        };
        let has = |value: Value, wanted: &Option<String>| {
            wanted.as_deref().is_none_or(|wanted| value.as_str() == Some(wanted))
        };
        event.context.owner == owner
            && self.since.is_none_or(|since| event.at >= since)
            && self.until.is_none_or(|until| event.at < until)
            && self.call.is_none_or(|call| event.call == Some(call))
            && has(json!(event.kind), &self.kind)
            && has(json!(event.outcome), &self.outcome)
            && has(json!(event.tool), &self.tool)
            && has(json!(event.by), &self.by)
            && has(json!(event.context.agent), &self.agent)
    }

    fn is_empty(&self) -> bool {
        let Self { kind, tool, by, outcome, call, agent, since, until } = self;
        let words = [kind, tool, by, outcome, agent];
        call.is_none()
            && since.is_none()
            && until.is_none()
            && words.into_iter().all(Option::is_none)
    }
}
