//! Rules: those of all layers, the person's own file that is changed here, and what they say of a call.

use std::cell::Cell;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_app::core::{
    Batch, Call, Clock as _, Context, Origin, RawArgs, SystemClock, Verdict, canonical,
};
use toolcrib_app::rule_files::{self, Change, Place, RulesError};
use toolcrib_app::rules::{Asked, Finding, Layer, RuleSet, RuleText, Severity, Written};

use crate::api::{Api, Json, Operation, Page, Path, etagged, matches};
use crate::daemon::Daemon;
use crate::problem::{Code, Problem};
use crate::role::{Principal, Role};

/// The tool that runs command lines.
const SHELL: &str = "shell";

/// What a rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Effect {
    /// It may run.
    Allow,
    /// A person decides.
    Ask,
    /// It must not run.
    Deny,
}

impl From<Verdict> for Effect {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Allow => Self::Allow,
            Verdict::Ask => Self::Ask,
            Verdict::Deny => Self::Deny,
        }
    }
}

impl From<Effect> for Verdict {
    fn from(effect: Effect) -> Self {
        match effect {
            Effect::Allow => Self::Allow,
            Effect::Ask => Self::Ask,
            Effect::Deny => Self::Deny,
        }
    }
}

/// A rule as it is written (docs/rules.md).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RuleBody {
    /// What it says.
    effect: Effect,
    /// What it is about: `Tool` or `Tool(specifier)`, such as `Bash(git push:*)`.
    rule: String,
    /// Agents it holds for; empty = all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    agents: Vec<String>,
    /// Channels it holds for (`chat`, `background`, `external-agent`); empty = all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    channels: Vec<String>,
    /// Workspace folders it holds for; empty = all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    workspaces: Vec<String>,
    /// Why it is there: shown wherever it decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Calls that it must match: checked before it is taken.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    matches: Vec<String>,
    /// Calls that it must not match: checked before it is taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    not_match: Vec<String>,
    /// When it ends: a date, or a time with its zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    /// That its author knows that it allows more than it seems to.
    #[serde(default, rename = "unsafe", skip_serializing_if = "std::ops::Not::not")]
    is_unsafe: bool,
}

impl From<RuleText> for RuleBody {
    fn from(text: RuleText) -> Self {
        let RuleText { effect, rule, agents, channels, workspaces, reason, .. } = text;
        let RuleText { matches, not_match, expires, is_unsafe, .. } = text;
        let effect = effect.into();
        Self { effect, rule, agents, channels, workspaces, reason, matches, not_match, expires, is_unsafe }
    }
}

impl From<RuleBody> for RuleText {
    fn from(body: RuleBody) -> Self {
        let RuleBody { effect, rule, agents, channels, workspaces, reason, .. } = body;
        let RuleBody { matches, not_match, expires, is_unsafe, .. } = body;
        let effect = effect.into();
        Self { effect, rule, agents, channels, workspaces, reason, matches, not_match, expires, is_unsafe }
    }
}

/// A rule with where it stands.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct RuleRow {
    /// Its place in the list, from 1.
    number: usize,
    /// The rule.
    #[serde(flatten)]
    rule: RuleBody,
    /// Whose it is: `managed`, `user`, `project`, or `untrusted` (of a workspace that nobody has trusted).
    layer: String,
    /// Where it is written: `PATH:LINE`.
    origin: String,
    /// Whether it has any say: what an untrusted workspace allows, it allows nobody.
    counts: bool,
}

/// A file of rules was changed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct RulesChanged {
    /// The rules of the file as it is now.
    rules: Vec<RuleRow>,
    /// The tag of the file, for the next change.
    etag: String,
    /// Whether anything is another than before: a rule that is there already is not written twice.
    changed: bool,
    /// Settings that changed meanwhile and take effect only after a restart.
    needs_restart: Vec<String>,
}

/// A call that nobody made.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ExplainBody {
    /// A command line; in place of a tool and its arguments.
    command: Option<String>,
    /// Name of a tool.
    tool: Option<String>,
    /// Its arguments.
    args: Option<Value>,
    /// Agent that calls; empty = none.
    agent: String,
    /// Channel of the call; `chat` when nobody says.
    channel: Option<String>,
}

/// What policy says of a call.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Explained {
    /// What becomes of it: `allow`, `ask` or `deny`; absent = it never comes so far, see `refused`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verdict: Option<Effect>,
    /// Who decides: `rule`, `preset`, `permission`, `taint`, `tool`, `switch` or `gate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<Value>,
    /// Why, in words.
    reason: String,
    /// The rule that speaks of the whole call, with where it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rule: Option<Value>,
    /// Parts of a command line with what rules say of each.
    segments: Value,
    /// What asking means for this caller, when a person is to be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asking: Option<String>,
    /// Why the call would not run, as its caller would be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused: Option<Value>,
}

/// Rules to be looked at.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct LintBody {
    /// Rules that are written nowhere yet; absent = those in force.
    rules: Option<Vec<RuleBody>>,
}

/// What is to be said of a rule.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct FindingRow {
    /// `error` (the rule would not be taken) or `warning`.
    severity: String,
    /// Where the rule is written: `PATH:LINE`, or `rules:NUMBER` of the request.
    origin: String,
    /// The rule as it is written.
    rule: String,
    /// What is wrong with it, and the spelling that works.
    what: String,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/rules", Role::Viewer, "Lists the rules in force, of all layers.");
    let list = list.about("Strictest wins: deny before ask before allow, whatever the layer.");
    api.add(list.ok::<Page<RuleRow>>("In the order of their files."), list_rules);
    let own = Operation::get(
        "/rules/own",
        Role::Viewer,
        "Lists the rules of the person's own file, which is the one that is changed here.",
    );
    api.add(own.ok::<Page<RuleRow>>("In their order, with the `ETag` of the file."), list_own);
    let add = Operation::post("/rules/own", Role::Operator, "Adds rules to the person's own file.")
        .about("They are checked first, with their examples; comments and order of the file stay. From the answer on every new call is judged by them.")
        .header("If-Match", "The `ETag` of the file as it was read; without one the rules are added to whatever is there.")
        .body::<Vec<RuleBody>>();
    api.add(add.ok::<RulesChanged>("They are in force."), add_rules);
    let remove = Operation::delete(
        "/rules/own/{number}",
        Role::Operator,
        "Removes a rule from the person's own file, by its number in that file.",
    );
    let remove = remove.header("If-Match", "The `ETag` of the file as it was read. Required: numbers move.");
    api.add(remove.ok::<RulesChanged>("It holds no longer."), remove_rule);
    let explain = Operation::post(
        "/rules/explain",
        Role::Viewer,
        "Says what would become of a call, and which rule decides. Nothing runs and nobody is asked.",
    );
    api.add(explain.body::<ExplainBody>().ok::<Explained>("What policy says."), explain_call);
    let lint = Operation::post("/rules/lint", Role::Viewer, "Says what is wrong with rules.");
    api.add(lint.body::<LintBody>().ok::<Page<FindingRow>>("Errors and warnings."), lint_rules);
}

fn row(number: usize, rule: &Written) -> RuleRow {
    let Written { text, layer, origin } = rule;
    RuleRow {
        number,
        rule: text.clone().into(),
        layer: json!(layer).as_str().unwrap_or_default().to_owned(),
        origin: origin.clone(),
        counts: *layer != Layer::Untrusted || text.effect != Verdict::Allow,
    }
}

fn numbered(rules: &[Written]) -> Vec<RuleRow> {
    rules.iter().enumerate().map(|(at, rule)| row(at + 1, rule)).collect()
}

async fn list_rules(State(daemon): State<Daemon>, headers: HeaderMap) -> Response {
    etagged(&headers, &Page::whole(numbered(daemon.toolcrib().rules().written())))
}

impl From<RulesError> for Problem {
    fn from(error: RulesError) -> Self {
        match &error {
            RulesError::Malformed { .. } | RulesError::Refused(_) => Self::invalid(error.to_string()),
            RulesError::Unreadable { .. } | RulesError::Unwritable { .. } => {
                Self::new(Code::Unavailable, error.to_string())
            }
        }
    }
}

fn own_file(daemon: &Daemon) -> Place {
    Place::new(Layer::User, daemon.host().rules_file())
}

/// The tag of a file: it changes with every byte.
fn tag(text: &str) -> String {
    format!("\"{}\"", &canonical::sha256_parts(&[text])[..32])
}

/// What touches files, beside the tasks that answer.
async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Problem::new(Code::Internal, "the file could not be worked on")))
}

async fn list_own(State(daemon): State<Daemon>, headers: HeaderMap) -> Result<Response, Problem> {
    let place = own_file(&daemon);
    let (text, rows) = beside(move || {
        let text = place.text()?;
        let rules = rule_files::parse(&place.path, &text, place.layer)?;
        Ok((text, numbered(&rules)))
    })
    .await?;
    let tag = tag(&text);
    if matches(headers.get(header::IF_NONE_MATCH), &tag) {
        return Ok((axum::http::StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
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
        if if_match.is_some() && !matches(if_match.as_ref(), &tag(text)) {
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
            beside(move || {
                let Change { before, after, .. } = change;
                let undone = |now: &str| Ok(if now == after { before } else { now.to_owned() });
                Ok(rule_files::store(&undo, undone)?)
            })
            .await?;
            return Err(Problem::invalid(format!("the file is as it was: {error}")));
        }
        Err(error) => return Err(error.into()),
    };
    let etag = tag(&change.after);
    let rules = rule_files::parse(&place.path, &change.after, place.layer)?;
    let needs_restart = reloaded.needs_restart;
    Ok(RulesChanged { rules: numbered(&rules), etag, changed, needs_restart })
}

fn answer(changed: RulesChanged) -> Response {
    ([(header::ETAG, changed.etag.clone())], Json(changed)).into_response()
}

async fn add_rules(
    State(daemon): State<Daemon>,
    principal: Principal,
    headers: HeaderMap,
    Json(rules): Json<Vec<RuleBody>>,
) -> Result<Response, Problem> {
    let rules: Vec<RuleText> = rules.into_iter().map(RuleText::from).collect();
    if rules.is_empty() {
        return Err(Problem::invalid("there is no rule in the list"));
    }
    let said: Vec<String> = rules.iter().map(|rule| format!("{} {}", rule.effect, rule.rule)).collect();
    let (place, if_match) = (own_file(&daemon), headers.get(header::IF_MATCH).cloned());
    let of_file = place.clone();
    let change = beside(move || {
        change(&of_file, if_match, |text| rule_files::append(&of_file, text, &rules))
    })
    .await?;
    let changed = in_force(&daemon, place, change).await?;
    if changed.changed {
        daemon.record(&principal, "rule.add", said.join("; ")).await?;
    }
    Ok(answer(changed))
}

async fn remove_rule(
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
    let (gone, change) = beside(move || {
        let missing = || Problem::not_found(format!("the file has no rule number {number}"));
        let index = number.checked_sub(1).ok_or_else(missing)?;
        let text = of_file.text()?;
        let rules = rule_files::parse(&of_file.path, &text, of_file.layer)?;
        if matches(Some(&if_match), &tag(&text)) && rules.get(index).is_none() {
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

async fn explain_call(
    State(daemon): State<Daemon>,
    principal: Principal,
    Json(body): Json<ExplainBody>,
) -> Result<Json<Explained>, Problem> {
    let (name, args) = match (body.command, body.tool, body.args) {
        (Some(line), None, None) => (SHELL.to_owned(), json!({"command": line})),
        (None, Some(tool), args) => (tool, args.unwrap_or_else(|| json!({}))),
        _ => return Err(Problem::invalid("say a `command`, or a `tool` with its `args`")),
    };
    let toolcrib = daemon.toolcrib();
    let channel = body.channel.unwrap_or_else(|| "chat".to_owned());
    let batch = toolcrib.batch_of(vec![Call::new(name.clone(), RawArgs::Value(args.clone()))], Origin::Rest);
    let context = Context {
        owner: principal.owner.clone(),
        agent: body.agent,
        channel,
        ..Context::clone(&batch.context)
    };
    let context = Arc::new(context);
    let batch = Batch { context: Arc::clone(&context), ..batch };
    let Some(forecast) = toolcrib.engine().forecast(batch).await.pop() else {
        return Err(Problem::new(Code::Internal, "nothing can be said of this call"));
    };
    let spec = toolcrib.spec(&name);
    let tool = spec.as_ref().map_or_else(|| name.clone(), |spec| spec.name.to_string());
    let args = if forecast.args.is_null() { args } else { forecast.args };
    let asked = Asked {
        operation: forecast.report.operation.as_deref().unwrap_or(&tool),
        tool: &tool,
        args: &args,
        agent: &context.agent,
        channel: &context.channel,
        workspace: &context.workspace,
        now_ms: SystemClock.now_ms(),
    };
    let rules = toolcrib.rules();
    let judged = match &spec {
        Some(spec) => rules.judge_tool(&asked, spec),
        None => rules.judge(&asked),
    };
    let ruling = forecast.report.ruling;
    let (verdict, by, reason) = match ruling {
        Some(ruling) => (Some(ruling.verdict), Some(json!(ruling.by)), ruling.reason.into_owned()),
        None => (judged.verdict, judged.verdict.map(|_| json!("rule")), judged.reason),
    };
    Ok(Json(Explained {
        verdict: verdict.map(Effect::from),
        by,
        reason,
        rule: judged.rule.map(|rule| json!(rule)),
        segments: json!(judged.segments),
        asking: forecast.asking.map(|asking| asking.as_str().to_owned()),
        refused: forecast.refused.map(|error| json!(error)),
    }))
}

async fn lint_rules(
    State(daemon): State<Daemon>,
    Json(body): Json<LintBody>,
) -> Json<Page<FindingRow>> {
    let toolcrib = daemon.toolcrib();
    let written = match body.rules {
        None => toolcrib.rules().written().to_vec(),
        Some(rules) => rules.into_iter().enumerate().map(|(at, rule)| unwritten(at, rule)).collect(),
    };
    let specs = toolcrib.infos().into_iter().filter_map(|info| toolcrib.spec(info.id.as_str()));
    let known: Vec<String> = specs
        .flat_map(|spec| std::iter::once(spec.name.to_string()).chain(spec.aliases.clone()))
        .collect();
    let anywhere = RuleSet::lint(&written);
    let findings = RuleSet::lint_for(&written, &known).into_iter().map(|finding| {
        // A tool that is not there may be there tomorrow: its rules are only warned of.
        let severity = if anywhere.contains(&finding) { finding.severity } else { Severity::Warning };
        finding_row(Finding { severity, ..finding })
    });
    Json(Page::whole(findings.collect()))
}

fn unwritten(at: usize, rule: RuleBody) -> Written {
    Written { text: rule.into(), layer: Layer::User, origin: format!("rules:{}", at + 1) }
}

fn finding_row(finding: Finding) -> FindingRow {
    let Finding { severity, origin, rule, what } = finding;
    let severity = match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    FindingRow { severity: severity.to_owned(), origin, rule, what }
}
