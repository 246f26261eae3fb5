//! What a run has read once a result is given to it: which labels that raises.

use serde_json::Value;
use toolcrib_core::{
    CallId, Effect, ErrorType, Label, LabelSource, ModelResult, Outcome, Reach, ToolError,
    ToolSpec, Trust,
};

use crate::open_runs::Run;

/// One result, or the words of a failure, as it is given to a run.
pub(crate) struct ResultTaint<'a> {
    pub(crate) call: CallId,
    /// The name that is shown.
    pub(crate) tool: &'a str,
    /// The tool; `None` = it is gone, and the worst is assumed of its words.
    pub(crate) spec: Option<&'a ToolSpec>,
    pub(crate) effect: Effect,
    pub(crate) reach: Reach,
    /// Whether its arguments hold references to stored results: then even a tool that only computes
    /// may give back what it was given.
    pub(crate) refers: bool,
    /// Whether its code ran: what policy, a switch or a person refused has brought nothing.
    pub(crate) ran: bool,
    pub(crate) result: Result<&'a ModelResult, &'a ToolError>,
}

impl<'a> ResultTaint<'a> {
    /// An outcome that was stored before.
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

    /// Raises what this raises, in the run and its parents; what is new to the run, in words.
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

    /// The origin of the text. A failure's text may have any origin: it repeats file names,
    /// addresses and answers of servers.
    fn trust(&self) -> Trust {
        match self.result {
            Ok(result) => result.trust,
            Err(_) => self.spec.map_or(Trust::External, |spec| spec.trust),
        }
    }

    /// Whether a secret of the person opened what these words tell of. What a tool says in its own
    /// words, such as "sent", is no data.
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
            // The text about a stopped call is our own, and so is that of a request that was
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
