//! `review_tool_calls`: lists the calls around a time, and their results.
#![deny(clippy::indexing_slicing)]

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolcrib_core::{
    CallCtx, CallFilter, CallRow, Outcome, Reach, Tier, Tool, ToolError, ToolOutput, ToolSpec,
    Trust, defaults, similar_names,
};

use super::{aliases, base_spec, examples};
use crate::introspection::{
    IntrospectionStores, call_summary, iso, short_args, store_error, truncate_chars,
};

/// Milliseconds before and after the time that are covered.
const AROUND_MS: i64 = 5 * 60 * 1000;
/// Characters of a result that are shown.
const RESULT_CHARS: usize = 300;
/// Default number of entries.
const DEFAULT_ENTRIES: u32 = 20;
/// Maximum number of entries of one call: with 300 characters of arguments and of result each, they
/// fit into one model result.
const MOST_ENTRIES: u32 = 25;
/// Characters of an invalid value that an error repeats.
const SHOWN_CHARS: usize = 80;

/// Handler of `review_tool_calls`.
pub(crate) struct ReviewToolCalls {
    pub(crate) records: IntrospectionStores,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// ISO date and time, such as 2026-11-21T15:04:05+01:00; local time if it has no offset. Shows
    /// the calls from five minutes before to five after it.
    date_time: String,
    /// Only calls of this tool.
    #[schemars(length(min = 1))]
    tool: Option<String>,
    /// Maximum number of entries, newest first. Default: 20.
    #[schemars(range(min = 1, max = MOST_ENTRIES))]
    limit: Option<u32>,
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "review_tool_calls",
        "Review past calls",
        "Look up which tools were called around a time, with what arguments, how long they took and what came of them. Use it to answer what was done before, or why something failed.",
    );
    spec.tier = Tier::Innate;
    spec.group = Some("self".to_owned());
    spec.parameter_aliases = aliases([
        ("datetime", "date_time"),
        ("time", "date_time"),
        ("timestamp", "date_time"),
        ("at", "date_time"),
        ("tool_name", "tool"),
    ]);
    spec.timeout = defaults::TIMEOUT_SIMPLE;
    // The result mentions other conversations of the owner, which are private.
    spec.reach = Reach { private_read: true, ..Reach::default() };
    // The worst case: results of calls are included, and each entry states its own trust.
    spec.trust = Trust::External;
    spec.examples = examples([
        ("What did you do at four o'clock?", json!({"date_time": "2026-11-21T16:00:00+01:00"})),
        (
            "Why did fetching the page fail earlier?",
            json!({"date_time": "2026-11-21T15:04:05Z", "tool": "fetch_url", "limit": 5}),
        ),
    ]);
    spec
}

impl Tool for ReviewToolCalls {
    type Args = Args;

    const ASSESSES: bool = false;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let at = instant(&args.date_time, &TimeZone::system())?;
        let (from, to) = (at.saturating_sub(AROUND_MS), at.saturating_add(AROUND_MS));
        let limit = args.limit.unwrap_or(DEFAULT_ENTRIES).clamp(1, MOST_ENTRIES) as usize;
        let tool = args.tool.as_deref().map(|name| self.canonical(name)).transpose()?;
        let filter = CallFilter {
            owner: ctx.context.owner.clone(),
            tool,
            since: Some(from),
            until: Some(to.saturating_add(1)),
            // Request two more: this call itself is in the list, and a further row reveals whether
            // there are more.
            limit: limit + 2,
            ..CallFilter::default()
        };
        let mut rows = self.records.history.calls(filter).await.map_err(|e| store_error(&e))?;
        rows.retain(|row| row.facts.call != ctx.call);
        let more = rows.len() > limit;
        rows.truncate(limit);
        let mut trust = Trust::Tool;
        let mut entries = Vec::with_capacity(rows.len());
        for row in &rows {
            let (entry, words) = self.review(row).await?;
            trust = trust.max(words);
            entries.push(Value::Object(entry));
        }
        let mut answer = json!({"from": iso(from), "to": iso(to), "calls": entries});
        if more && let Some(answer) = answer.as_object_mut() {
            let text = "There are older calls in these ten minutes; ask with a higher limit, for one tool, or for an earlier time.";
            answer.insert("more".to_owned(), json!(text));
        }
        let mut output = ToolOutput::structured(answer);
        output.trust = Some(trust);
        Ok(output)
    }
}

impl ReviewToolCalls {
    /// Returns the canonical name. Records contain tools that no longer exist, so an unknown name
    /// is refused only if it is similar to a known one.
    fn canonical(&self, asked: &str) -> Result<String, ToolError> {
        let asked = asked.trim();
        let Some(catalog) = self.records.catalog.upgrade() else { return Ok(asked.to_owned()) };
        let view = catalog.view(&std::sync::Arc::default());
        if let Some(entry) = view.find(asked) {
            return Ok(entry.spec().name.to_string());
        }
        let infos = catalog.infos();
        let names = || infos.iter().map(|info| info.id.as_str());
        let near = similar_names::likely_typos(asked, names());
        if near.is_empty() || names().any(|name| name == asked) {
            return Ok(asked.to_owned());
        }
        Err(ToolError::validation(format!(
            "There is no tool \"{}\". Did you mean {}?",
            truncate_chars(asked, SHOWN_CHARS).0,
            near.join(" or ")
        )))
    }

    /// Renders a call with its shortened arguments and result; also returns the trust of its text.
    async fn review(&self, row: &CallRow) -> Result<(Map<String, Value>, Trust), ToolError> {
        let mut entry = call_summary(row);
        if let Some(args) = short_args(row) {
            entry.insert("args".to_owned(), json!(args));
        }
        if row.end.is_none() {
            return Ok((entry, Trust::Tool));
        }
        let stored = self.records.calls.call(row.facts.call).await.map_err(|e| store_error(&e))?;
        let outcome = stored.and_then(|stored| stored.outcome);
        let (text, trust) = outcome.as_ref().map_or_else(|| without_outcome(row), words);
        let (shown, cut) = truncate_chars(&text, RESULT_CHARS);
        entry.insert("result".to_owned(), json!(shown));
        if cut {
            entry.insert("result_chars".to_owned(), json!(text.chars().count()));
        }
        if let Some(artifact) = outcome.and_then(|outcome| outcome.result.ok()?.artifact) {
            entry.insert("artifact".to_owned(), json!(artifact));
        }
        Ok((entry, trust))
    }
}

/// Returns the text that the model received, and its trust. A failure may quote untrusted text.
fn words(outcome: &Outcome) -> (String, Trust) {
    match &outcome.result {
        Ok(result) => {
            let text = match &result.result {
                Value::String(text) => text.clone(),
                data => data.to_string(),
            };
            (text, result.trust)
        }
        Err(error) => (error.message.clone(), Trust::External),
    }
}

fn without_outcome(row: &CallRow) -> (String, Trust) {
    let message = row.end.as_ref().and_then(|end| end.message.clone());
    (message.unwrap_or_else(|| "(the result was not kept)".to_owned()), Trust::External)
}

/// Parses an ISO date and time to milliseconds since 1970; without an offset it is in `zone`.
fn instant(text: &str, zone: &TimeZone) -> Result<i64, ToolError> {
    let text = text.trim();
    let wrong = || {
        ToolError::validation(format!(
            "date_time \"{}\" is not a date and time. Write one such as 2026-11-21T15:04:05Z; get_current_time tells the time now.",
            truncate_chars(text, SHOWN_CHARS).0
        ))
    };
    if !text.contains(':') {
        // A date without a time would mean the minutes around midnight, which is never intended.
        return Err(wrong());
    }
    let with_offset =
        text.parse::<Timestamp>().or_else(|_| text.parse::<Zoned>().map(|time| time.timestamp()));
    let time = with_offset.or_else(|_| {
        let local: DateTime = text.parse()?;
        local.to_zoned(zone.clone()).map(|time| time.timestamp())
    });
    time.map(Timestamp::as_millisecond).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_core::ErrorType;

    #[test]
    fn times() {
        let vienna = TimeZone::get("Europe/Vienna").expect("zone");
        let at = 1_795_273_445_000;
        for (text, expected) in [
            ("2026-11-21T15:04:05Z", at),
            (" 2026-11-21 15:04:05Z ", at),
            ("2026-11-21T15:04:05.250+00:00", at + 250),
            ("2026-11-21T16:04:05+01:00", at),
            ("2026-11-21T16:04:05[Europe/Vienna]", at),
            ("2026-11-21T16:04:05", at),
            ("2026-11-21 16:04", at - 5000),
        ] {
            assert_eq!(instant(text, &vienna).expect(text), expected, "{text}");
        }
        for text in [
            "",
            "2026-11-21",
            "yesterday",
            "4 o'clock",
            "2026-13-01T00:00:00Z",
            "15:04:05",
            "1795273445:",
        ] {
            let error = instant(text, &vienna).expect_err(text);
            assert_eq!(error.error_type, ErrorType::ValidationError);
            assert!(error.message.contains("get_current_time"), "{}", error.message);
        }
    }
}
