//! Taint labels that a result raises in the run that receives it.

use serde_json::Value;
use toolcrib_core::{
    CallId, Effect, ErrorType, Label, LabelSource, ModelResult, Outcome, Reach, ToolError,
    ToolSpec, Trust,
};

use crate::open_runs::Run;

/// A result, or the text of a failure, as a run receives it.
pub(crate) struct ResultTaint<'a> {
    pub(crate) call: CallId,
    /// The displayed name.
    pub(crate) tool: &'a str,
    /// The tool; `None` if it is no longer registered; the labels of the worst case are then
    /// raised.
    pub(crate) spec: Option<&'a ToolSpec>,
    pub(crate) effect: Effect,
    pub(crate) reach: Reach,
    /// Whether its arguments contain references to stored results: then even a tool that only
    /// computes may return their content.
    pub(crate) refers: bool,
    /// Whether its code ran: a call refused by policy, a switch or a person has read nothing.
    pub(crate) ran: bool,
    pub(crate) result: Result<&'a ModelResult, &'a ToolError>,
}

impl<'a> ResultTaint<'a> {
    /// Creates the input from a stored outcome.
    pub(crate) fn from_stored(
        outcome: &'a Outcome,
        spec: Option<&'a ToolSpec>,
        refers: bool,
    ) -> Self {
        let report = &outcome.report;
        Self {
            call: outcome.call,
            tool: outcome.tool.as_ref().map_or(outcome.asked.as_str(), |tool| tool.as_str()),
            spec,
            effect: report.effect.unwrap_or_default(),
            reach: report.reach.unwrap_or_default(),
            refers,
            ran: report.attempts > 0,
            result: outcome.result.as_ref(),
        }
    }

    /// Raises the labels of this result in the run and its parents, and describes those that are
    /// new to the run.
    pub(crate) fn raise(&self, run: &Run) -> Option<String> {
        let mut new = Vec::new();
        for label in self.labels() {
            let source = self.result.ok().and_then(|result| result.source.clone());
            let by = LabelSource { call: Some(self.call), tool: self.tool.to_owned(), source };
            if run.raise(label, &by) {
                new.push(label.as_str());
            }
        }
        (!new.is_empty()).then(|| format!("the run is {} from here on", new.join(" and ")))
    }

    fn labels(&self) -> impl Iterator<Item = Label> {
        let says = self.says_something() && (self.effect > Effect::Pure || self.refers);
        let untrusted = says && self.trust() == Trust::External;
        let private = says && (self.reach.private_read || self.opens_secrets());
        let raised = [(Label::Untrusted, untrusted), (Label::Private, private)];
        raised.into_iter().filter_map(|(label, is_raised)| is_raised.then_some(label))
    }

    /// Returns the origin of the text. The text of a failure may have any origin: it repeats file
    /// names, addresses and answers of servers.
    fn trust(&self) -> Trust {
        match self.result {
            Ok(result) => result.trust,
            Err(_) => self.spec.map_or(Trust::External, |spec| spec.trust),
        }
    }

    /// Returns whether a secret of the person gave access to the data in this text. A tool's own
    /// words, such as "sent", are not data.
    fn opens_secrets(&self) -> bool {
        let has_secrets = self.spec.is_some_and(|spec| spec.config.iter().any(|key| key.secret));
        has_secrets && self.trust() != Trust::Tool
    }

    fn says_something(&self) -> bool {
        match self.result {
            Ok(result) => {
                let structured = result.structured.as_ref().is_some_and(|data| !is_empty(data));
                let beside = !result.media.is_empty() || result.artifact.is_some();
                structured || beside || !is_empty(&result.result)
            }
            // Toolcrib itself writes the text about a stopped call and about a request that was
            // refused before anything was read.
            Err(error) => {
                self.ran && error.error_type != ErrorType::Cancelled && !error.read_nothing
            }
        }
    }
}

fn is_empty(data: &Value) -> bool {
    match data {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
