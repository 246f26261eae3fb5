//! The person's own file of rules: listed and changed.

use std::cell::Cell;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::rule_files::{self, Change, Place, RulesError};
use toolcrib_app::rules::{Layer, RuleText};

use super::body::{RuleBody, RuleRow, numbered};
use crate::api::{Json, Page, Path, beside, matches, tag_of};
use crate::daemon::Daemon;
use crate::problem::{Code, Problem};
use crate::role::Principal;

/// A file of rules was changed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct RulesChanged {
    /// The rules of the file as it is now.
    rules: Vec<RuleRow>,
    /// The tag of the file, for the next change.
    etag: String,
    /// Whether anything is another than before: a rule that is there already is not written twice.
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

fn own_file(daemon: &Daemon) -> Place {
    Place::new(Layer::User, daemon.host().rules_file())
}

pub(super) async fn list_own(
    State(daemon): State<Daemon>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let place = own_file(&daemon);
    let (text, rows) = beside::<_, Problem>(move || {
        let text = place.text()?;
        let rules = rule_files::parse(&place.path, &text, place.layer)?;
        Ok((text, numbered(&rules)))
    })
    .await?;
    let tag = tag_of(&text);
    if matches(headers.get(header::IF_NONE_MATCH), &tag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    Ok(([(header::ETAG, tag)], Json(Page::whole(rows))).into_response())
}

/// Changes the person's own file, if it still is what whoever changes it has read.
fn change(
    place: &Place,
    if_match: Option<HeaderValue>,
    how: impl FnOnce(&str) -> Result<String, RulesError>,
) -> Result<Change, Problem> {
    let stale = Cell::new(false);
    let changed = rule_files::store(place, |text| {
        if if_match.is_some() && !matches(if_match.as_ref(), &tag_of(text)) {
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

/// Puts a change of the file into force. One that cannot be taken back with what else is configured is undone.
async fn in_force(daemon: &Daemon, place: Place, change: Change) -> Result<RulesChanged, Problem> {
    let changed = change.before != change.after;
    let reloaded = match daemon.host().reload().await {
        Ok(reloaded) => reloaded,
        Err(error) if changed => {
            let undo = place.clone();
            beside::<_, Problem>(move || {
                let Change { before, after, .. } = change;
                let undone = |now: &str| Ok(if now == after { before } else { now.to_owned() });
                Ok(rule_files::store(&undo, undone)?)
            })
            .await?;
            return Err(Problem::invalid(format!("the file is as it was: {error}")));
        }
        Err(error) => return Err(error.into()),
    };
    let etag = tag_of(&change.after);
    let rules = rule_files::parse(&place.path, &change.after, place.layer)?;
    let needs_restart = reloaded.needs_restart;
    Ok(RulesChanged { rules: numbered(&rules), etag, changed, needs_restart })
}

fn answer(changed: RulesChanged) -> Response {
    ([(header::ETAG, changed.etag.clone())], Json(changed)).into_response()
}

pub(super) async fn add_rules(
    State(daemon): State<Daemon>,
    principal: Principal,
    headers: HeaderMap,
    Json(rules): Json<Vec<RuleBody>>,
) -> Result<Response, Problem> {
    let rules: Vec<RuleText> = rules.into_iter().map(RuleText::from).collect();
    if rules.is_empty() {
        return Err(Problem::invalid("there is no rule in the list"));
    }
    let said: Vec<String> =
        rules.iter().map(|rule| format!("{} {}", rule.effect, rule.rule)).collect();
    let (place, if_match) = (own_file(&daemon), headers.get(header::IF_MATCH).cloned());
    let of_file = place.clone();
    let change = beside::<_, Problem>(move || {
        change(&of_file, if_match, |text| rule_files::append(&of_file, text, &rules))
    })
    .await?;
    let changed = in_force(&daemon, place, change).await?;
    if changed.changed {
        daemon.record(&principal, "rule.add", said.join("; ")).await?;
    }
    Ok(answer(changed))
}

pub(super) async fn remove_rule(
    State(daemon): State<Daemon>,
    principal: Principal,
    headers: HeaderMap,
    Path(number): Path<usize>,
) -> Result<Response, Problem> {
    let Some(if_match) = headers.get(header::IF_MATCH).cloned() else {
        let words = "send `If-Match` with the ETag of GET /api/v1/rules/own: numbers move when the file changes";
        return Err(Problem::new(Code::NeedsMatch, words));
    };
    let place = own_file(&daemon);
    let of_file = place.clone();
    let (gone, change) = beside::<_, Problem>(move || {
        let missing = || Problem::not_found(format!("the file has no rule number {number}"));
        let index = number.checked_sub(1).ok_or_else(missing)?;
        let text = of_file.text()?;
        let rules = rule_files::parse(&of_file.path, &text, of_file.layer)?;
        if matches(Some(&if_match), &tag_of(&text)) && rules.get(index).is_none() {
            return Err(missing());
        }
        let gone = rules.get(index).map(|rule| format!("{} {}", rule.text.effect, rule.text.rule));
        let change =
            change(&of_file, Some(if_match), |text| rule_files::remove(&of_file, text, index))?;
        Ok((gone, change))
    })
    .await?;
    let changed = in_force(&daemon, place, change).await?;
    daemon.record(&principal, "rule.remove", gone.unwrap_or_default()).await?;
    Ok(answer(changed))
}
