//! The person's own file of rules: listed and changed.

use std::cell::Cell;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::rule_files::{self, FileChange, RuleFile, RulesError};
use toolcrib_app::rules::{Layer, RuleText};

use super::body::{RuleBody, RuleRow, numbered};
use crate::api::{Json, Page, Path, etag, etag_matches, run_blocking};
use crate::problem::{Code, Problem};
use crate::role::Principal;
use crate::state::DaemonState;

/// A file of rules was changed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct RulesChanged {
    /// The rules of the file as it is now.
    rules: Vec<RuleRow>,
    /// The tag of the file, for the next change.
    etag: String,
    /// Whether the file changed: an existing rule is not written twice.
    changed: bool,
    /// Settings that changed meanwhile and take effect only after a restart.
    needs_restart: Vec<String>,
}

impl From<RulesError> for Problem {
    fn from(error: RulesError) -> Self {
        match &error {
            RulesError::Malformed { .. } | RulesError::Refused(_) => {
                Self::invalid(error.to_string())
            }
            RulesError::Unreadable { .. } | RulesError::Unwritable { .. } => {
                Self::new(Code::Unavailable, error.to_string())
            }
        }
    }
}

fn user_rules_file(daemon: &DaemonState) -> RuleFile {
    RuleFile::new(Layer::User, daemon.host().rules_file())
}

pub(super) async fn list_user_rules(
    State(daemon): State<DaemonState>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let place = user_rules_file(&daemon);
    let (text, rows) = run_blocking::<_, Problem>(move || {
        let text = place.text()?;
        let rules = rule_files::parse_rules(&place.path, &text, place.layer)?;
        Ok((text, numbered(&rules)))
    })
    .await?;
    let tag = etag(&text);
    if etag_matches(headers.get(header::IF_NONE_MATCH), &tag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    Ok(([(header::ETAG, tag)], Json(Page::single_page(rows))).into_response())
}

/// Changes the owner's file if it is still the version that the caller has read.
fn change(
    place: &RuleFile,
    if_match: Option<HeaderValue>,
    how: impl FnOnce(&str) -> Result<String, RulesError>,
) -> Result<FileChange, Problem> {
    let stale = Cell::new(false);
    let changed = rule_files::write_rules(place, |text| {
        if if_match.is_some() && !etag_matches(if_match.as_ref(), &etag(text)) {
            stale.set(true);
            return Ok(text.to_owned());
        }
        how(text)
    })?;
    if stale.get() {
        let words = "the file of rules was changed since it was read; read it again";
        return Err(Problem::new(Code::Stale, words));
    }
    Ok(changed)
}

/// Puts a change of the file into force. One that cannot be taken back with what else is configured
/// is undone.
async fn apply_change(
    daemon: &DaemonState,
    place: RuleFile,
    change: FileChange,
) -> Result<RulesChanged, Problem> {
    let changed = change.before != change.after;
    let reloaded = match daemon.host().reload().await {
        Ok(reloaded) => reloaded,
        Err(error) if changed => {
            let undo = place.clone();
            run_blocking::<_, Problem>(move || {
                let FileChange { before, after, .. } = change;
                let undone = |now: &str| Ok(if now == after { before } else { now.to_owned() });
                Ok(rule_files::write_rules(&undo, undone)?)
            })
            .await?;
            return Err(Problem::invalid(format!("the file is as it was: {error}")));
        }
        Err(error) => return Err(error.into()),
    };
    let etag = etag(&change.after);
    let rules = rule_files::parse_rules(&place.path, &change.after, place.layer)?;
    let needs_restart = reloaded.needs_restart;
    Ok(RulesChanged { rules: numbered(&rules), etag, changed, needs_restart })
}

fn answer(changed: RulesChanged) -> Response {
    ([(header::ETAG, changed.etag.clone())], Json(changed)).into_response()
}

pub(super) async fn add_rules(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Json(rules): Json<Vec<RuleBody>>,
) -> Result<Response, Problem> {
    RuleBody::check_count(&rules)?;
    let rules: Vec<RuleText> = rules.into_iter().map(RuleText::from).collect();
    if rules.is_empty() {
        return Err(Problem::invalid("there is no rule in the list"));
    }
    let said: Vec<String> =
        rules.iter().map(|rule| format!("{} {}", rule.effect, rule.rule)).collect();
    let (place, if_match) = (user_rules_file(&daemon), headers.get(header::IF_MATCH).cloned());
    let of_file = place.clone();
    let change = run_blocking::<_, Problem>(move || {
        change(&of_file, if_match, |text| rule_files::append_rules(&of_file, text, &rules))
    })
    .await?;
    let changed = apply_change(&daemon, place, change).await?;
    if changed.changed {
        daemon.admin_audit().record(&principal, "rule.add", said.join("; ")).await?;
    }
    Ok(answer(changed))
}

pub(super) async fn remove_rule(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Path(number): Path<usize>,
) -> Result<Response, Problem> {
    let Some(if_match) = headers.get(header::IF_MATCH).cloned() else {
        let words = "send `If-Match` with the ETag of GET /api/v1/rules/own: numbers move when the file changes";
        return Err(Problem::new(Code::NeedsMatch, words));
    };
    let place = user_rules_file(&daemon);
    let of_file = place.clone();
    let (gone, change) = run_blocking::<_, Problem>(move || {
        let missing = || Problem::not_found(format!("the file has no rule number {number}"));
        let index = number.checked_sub(1).ok_or_else(missing)?;
        let text = of_file.text()?;
        let rules = rule_files::parse_rules(&of_file.path, &text, of_file.layer)?;
        if etag_matches(Some(&if_match), &etag(&text)) && rules.get(index).is_none() {
            return Err(missing());
        }
        let gone = rules.get(index).map(|rule| format!("{} {}", rule.text.effect, rule.text.rule));
        let change = change(&of_file, Some(if_match), |text| {
            rule_files::remove_rule(&of_file, text, index)
        })?;
        Ok((gone, change))
    })
    .await?;
    let changed = apply_change(&daemon, place, change).await?;
    daemon.admin_audit().record(&principal, "rule.remove", gone.unwrap_or_default()).await?;
    Ok(answer(changed))
}
