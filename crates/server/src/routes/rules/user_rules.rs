//! The user's rule file: listing and changing it.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_app::rule_files::{self, RuleFile};
use toolcrib_app::rules::{Layer, RuleText};
use toolcrib_ops::OpError;
use toolcrib_ops::rules::{
    self, AddRulesRequest, EditedRules, NumberedRule, RuleName, RulesChanged,
};

use crate::api::{Json, Page, Path, etag, etag_matches, run_blocking};
use crate::daemon_host::HostConfiguration;
use crate::problem::{Code, Problem};
use crate::role::Principal;
use crate::state::DaemonState;

/// The file of rules was changed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RulesChanged")]
pub(super) struct UserRulesChanged {
    /// The rules that the file now contains.
    #[serde(flatten)]
    changed: RulesChanged,
    /// The tag of the file, for the next change.
    etag: String,
}

fn user_rules_file(daemon: &DaemonState) -> RuleFile {
    RuleFile::new(Layer::User, daemon.host().rules_file())
}

pub(super) async fn list_user_rules(
    State(daemon): State<DaemonState>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let place = user_rules_file(&daemon);
    let (text, rows) = run_blocking::<_, OpError>(move || {
        let text = place.text()?;
        let rules = rule_files::parse_rules(&place.path, &text, place.layer)?;
        Ok((text, rules::list(&rules)))
    })
    .await?;
    let tag = etag(&text);
    if etag_matches(headers.get(header::IF_NONE_MATCH), &tag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    Ok(([(header::ETAG, tag)], Json(Page::single_page(rows))).into_response())
}

async fn put_in_force(
    daemon: &DaemonState,
    principal: &Principal,
    edited: EditedRules,
) -> Result<Response, Problem> {
    let etag = etag(edited.text());
    let configuration = HostConfiguration(daemon.host());
    let changed = rules::put_in_force(edited, &configuration, &daemon.recorder(principal)).await?;
    let tag = [(header::ETAG, etag.clone())];
    Ok((tag, Json(UserRulesChanged { changed, etag })).into_response())
}

fn is_read(if_match: Option<HeaderValue>) -> impl Fn(&str) -> bool {
    move |text| etag_matches(if_match.as_ref(), &etag(text))
}

pub(super) async fn add_rules(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Json(rules): Json<Vec<RuleText>>,
) -> Result<Response, Problem> {
    rules::check_count(&rules)?;
    let (place, if_match) = (user_rules_file(&daemon), headers.get(header::IF_MATCH).cloned());
    let known = rules::known_tools(daemon.toolcrib());
    let edited = run_blocking::<_, OpError>(move || {
        let is_named = if_match.is_some();
        let is_read = is_read(if_match);
        let is_read = is_named.then_some(&is_read as rules::IsRead<'_>);
        rules::add(AddRulesRequest { place, rules, known: &known, is_read })
    })
    .await?;
    put_in_force(&daemon, &principal, edited).await
}

/// Requires `If-Match`: rule numbers change with the file, so a change by number must name the
/// version that was read.
fn required_if_match(headers: &HeaderMap) -> Result<HeaderValue, Problem> {
    headers.get(header::IF_MATCH).cloned().ok_or_else(|| {
        let words = "send `If-Match` with the ETag of GET /api/v1/rules/own: numbers move when the file changes";
        Problem::new(Code::NeedsMatch, words)
    })
}

async fn edit_rule(
    daemon: DaemonState,
    principal: Principal,
    headers: HeaderMap,
    number: usize,
    how: fn(NumberedRule, Option<rules::IsRead<'_>>) -> Result<EditedRules, OpError>,
) -> Result<Response, Problem> {
    let is_read = is_read(Some(required_if_match(&headers)?));
    let place = user_rules_file(&daemon);
    let edited = run_blocking::<_, OpError>(move || {
        let is_current = is_read(&place.text()?);
        match NumberedRule::find(&[place], &RuleName::Number(number), false) {
            Err(OpError::NotFound { .. }) if !is_current => Err(rules::stale()),
            found => how(found?, Some(&is_read)),
        }
    })
    .await?;
    put_in_force(&daemon, &principal, edited).await
}

pub(super) async fn remove_rule(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Path(number): Path<usize>,
) -> Result<Response, Problem> {
    edit_rule(daemon, principal, headers, number, NumberedRule::remove).await
}

pub(super) async fn enforce_rule(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Path(number): Path<usize>,
) -> Result<Response, Problem> {
    edit_rule(daemon, principal, headers, number, NumberedRule::enforce).await
}
