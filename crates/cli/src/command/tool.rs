//! `toolcrib tool list|show|call`: tools by hand, through the same door.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolcrib_app::Toolcrib;
use toolcrib_app::core::{
    Answer, ApprovalRequest, Entry, ErrorType, Origin, Outcome, RawArgs, Status, SwitchState,
    ToolInfo, ToolSpec, ViewRequest,
};

use super::{dry_run, through, why};
use crate::cli::{ToolCall, ToolList, World};
use crate::output::{self, Failure};
use crate::{lines, terminal, trace, world};

pub(crate) fn list(command: &ToolList, json: bool) -> Result<u8, Failure> {
    let toolcrib = world::block_on(world::look_as_agent(&command.world, json))?;
    if command.all {
        return list_all(&toolcrib, json);
    }
    let infos = toolcrib.infos();
    if json {
        let rows = infos.iter().map(|info| Value::Object(Costs::of(&toolcrib, info).told(info)));
        output::document(&Value::Array(rows.collect()), true)?;
        return Ok(0);
    }
    let mut text = HEAD.to_owned() + "WHAT IT DOES\n";
    for info in &infos {
        // Of a broken one the reason is what somebody has to know.
        let about = match &info.status {
            Status::Error { reason } => reason.as_str(),
            _ => first_sentence(&info.description),
        };
        text += &Costs::of(&toolcrib, info).row(info, about);
    }
    output::data(&text)?;
    Ok(0)
}

/// Every tool, and what keeps those away that nobody is offered.
fn list_all(toolcrib: &Toolcrib, json: bool) -> Result<u8, Failure> {
    let reasons = why::reasons(toolcrib, &ViewRequest::default());
    let reason_of = |name: &str| {
        let found = reasons.iter().find(|(excluded, _)| excluded == name);
        found.map(|(_, reason)| reason)
    };
    let mut rows = Vec::new();
    let mut text = HEAD.to_owned() + "OFFERED\n";
    for info in toolcrib.infos() {
        let reason = reason_of(info.id.as_str());
        let offered = reason.map_or_else(|| "yes".to_owned(), |reason| format!("no: {reason}"));
        let costs = Costs::of(toolcrib, &info);
        text += &costs.row(&info, &terminal::one_line(&offered));
        let mut one = costs.told(&info);
        one.insert("offered".to_owned(), json!(reason.is_none()));
        one.insert("excluded".to_owned(), json!(reason));
        one.insert("reason".to_owned(), json!(reason.map(ToString::to_string)));
        rows.push(Value::Object(one));
    }
    if json {
        output::document(&Value::Array(rows), true)?;
    } else {
        output::data(&text)?;
    }
    Ok(0)
}

/// The columns but the last.
const HEAD: &str = "TOOL                   RISK      STATUS     TIER         SOURCE       TOKENS  ";

/// What a list says of a tool besides its [`ToolInfo`].
struct Costs {
    risk: String,
    /// `local`, `hosted` or `provider_defined`.
    kind: &'static str,
    /// About how many tokens its declaration takes in a request.
    tokens: u64,
}

impl Costs {
    fn of(toolcrib: &Toolcrib, info: &ToolInfo) -> Self {
        let entry = toolcrib.entry(info.id.as_str());
        Self {
            risk: entry.as_ref().map(|entry| word(json!(entry.spec().risk))).unwrap_or_default(),
            kind: entry.as_ref().map(Entry::kind).unwrap_or_default(),
            tokens: entry.as_ref().map(|entry| toolcrib.tokens_of(entry)).unwrap_or_default(),
        }
    }

    fn row(&self, info: &ToolInfo, about: &str) -> String {
        // Who runs it belongs to where it comes from; of most it is this program.
        let source = match self.kind {
            "local" => info.source.clone(),
            kind => format!("{} ({})", info.source, kind.replace('_', "-")),
        };
        format!(
            "{:<22} {:<9} {:<10} {:<12} {:<12} {:>6}  {about}\n",
            info.id.as_str(),
            self.risk,
            standing(info),
            info.tier.as_str(),
            terminal::one_line(&source),
            self.tokens,
        )
    }

    /// As one object.
    fn told(&self, info: &ToolInfo) -> Map<String, Value> {
        let mut one = lines::object(json!(info));
        one.insert("risk".to_owned(), json!(self.risk));
        one.insert("kind".to_owned(), json!(self.kind));
        one.insert("tokens".to_owned(), json!(self.tokens));
        one
    }
}

/// `tool show` has the rest.
fn first_sentence(text: &str) -> &str {
    text.split(['.', ':']).next().unwrap_or(text)
}

/// Its status; of one that can be used, whether every call of it is asked about.
fn standing(info: &ToolInfo) -> &'static str {
    match (&info.status, info.state) {
        (Status::System | Status::Connected, SwitchState::Ask) => "ask",
        (other, _) => status(other),
    }
}

fn status(status: &Status) -> &'static str {
    match status {
        Status::System => "system",
        Status::Available { .. } => "available",
        Status::Connected => "connected",
        Status::Disabled => "disabled",
        Status::Offline { .. } => "offline",
        Status::Error { .. } => "error",
    }
}

/// The wire name of an enum value.
fn word(value: Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Likeness from which a name is offered in place of a wrong one, in thousandths.
const LIKE: u16 = 800;

fn likeness(a: &str, b: &str) -> u16 {
    (strsim::jaro_winkler(a, b) * 1000.0) as u16
}

/// There is no such tool; the nearest name is offered.
pub(super) fn unknown_tool(toolcrib: &Toolcrib, name: &str) -> Failure {
    let infos = toolcrib.infos();
    let near = infos.iter().map(|info| info.id.as_str()).max_by_key(|id| likeness(id, name));
    let near =
        near.filter(|id| likeness(id, name) >= LIKE).map(|id| format!("did you mean {id}? "));
    Failure::not_found(format!(
        "there is no tool {name}; {}`toolcrib tool list` shows what there is",
        near.unwrap_or_default()
    ))
}

pub(crate) fn show(name: &str, world: &World, json: bool) -> Result<u8, Failure> {
    let toolcrib = world::block_on(world::look_as_agent(world, json))?;
    let Some(spec) = toolcrib.spec(name) else { return Err(unknown_tool(&toolcrib, name)) };
    if json {
        output::document(&json!(*spec), true)?;
    } else {
        output::data(&described(&spec))?;
    }
    Ok(0)
}

fn described(spec: &ToolSpec) -> String {
    let mut text = format!("{} - {}\n\n{}\n\n", spec.name, spec.title, spec.description);
    let facts = [
        ("risk", word(json!(spec.risk))),
        ("effect", word(json!(spec.effect))),
        ("timeout", format!("{} s", spec.timeout.as_secs_f64())),
        (
            "permissions",
            spec.permissions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        ),
        ("aliases", spec.aliases.join(", ")),
    ];
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        text += &format!("{name:<12} {value}\n");
    }
    text += &format!("\nparameters   {:#}\n", spec.input_schema);
    for example in &spec.examples {
        text += &format!("\nexample      {}\n             {}\n", example.need, example.args);
    }
    text
}

pub(crate) fn call(command: &ToolCall, json: bool) -> Result<u8, Failure> {
    if command.lines {
        return filter(command, json);
    }
    let name = command.name.as_deref().unwrap_or_default();
    let args = match command.args.as_str() {
        "-" => String::from_utf8(output::input()?).map_err(|error| {
            Failure::usage(format!("the arguments are no UTF-8: {}", error.utf8_error()))
        })?,
        text => text.to_owned(),
    };
    if command.daemon {
        return through::call(command, name, args, json);
    }
    if command.dry_run {
        return world::block_on(async {
            let toolcrib = world::to_look_at(&command.world, command.on_ask).await?;
            let says = (command.explain, json);
            dry_run::run(&toolcrib, name, RawArgs::Text(args), says).await
        });
    }
    let answer = world::block_on(async {
        let toolcrib = world::at_work(&command.world, command.on_ask).await?;
        let _watching = toolcrib.watch(|_| ());
        let answer = run_one(&toolcrib, name, RawArgs::Text(args), command.key.as_deref()).await;
        world::settle(&toolcrib).await;
        answer
    })?;
    if command.explain {
        trace::print(&answer, None, json);
    }
    print(&answer, json)
}

/// What became of a call; its exit code.
pub(super) fn print(answer: &Answer, json: bool) -> Result<u8, Failure> {
    match answer {
        Answer::Suspended(request) => {
            if json {
                output::document(&Value::Object(reply(answer)), true)?;
            }
            Err(Failure { code: 6, message: waits(request) })
        }
        Answer::Done(outcome) => {
            if json {
                output::document(&Value::Object(reply(answer)), true)?;
            } else {
                people(outcome)?;
            }
            Ok(outcome.exit_code())
        }
    }
}

/// A call that waits for a person, and how one decides about it.
pub(super) fn waits(request: &ApprovalRequest) -> String {
    let id = request.id;
    format!("{} waits for approval {id}; `toolcrib approve yes {id}` lets it run", request.tool)
}

async fn run_one(
    toolcrib: &Toolcrib,
    name: &str,
    args: RawArgs,
    key: Option<&str>,
) -> Result<Answer, Failure> {
    let answer = match key {
        Some(key) => toolcrib.call_once(name, args, Origin::Cli, key).await?,
        None => toolcrib.call(name, args, Origin::Cli).await,
    };
    answer.ok_or_else(|| Failure::run("the door gave no answer"))
}

/// The result on standard output, everything else on standard error.
fn people(outcome: &Outcome) -> Result<(), Failure> {
    outcome.notes.iter().for_each(|note| output::note(&format!("toolcrib: {note}")));
    match &outcome.result {
        Ok(result) => {
            match &result.result {
                Value::String(text) => output::data(text)?,
                data => output::document(data, false)?,
            }
            if result.flagged {
                output::note(
                    "toolcrib: this text contains what reads like instructions to a model",
                );
            }
            for change in &result.changes {
                output::note(&format!("toolcrib: neutralised: {change}"));
            }
        }
        Err(error) => {
            output::note(&format!("toolcrib: {} ({})", error.message, error.error_type));
            // Those words are for models.
            if error.error_type == ErrorType::ToolNotFound {
                output::note("toolcrib: `toolcrib tool list` shows what there is");
            }
        }
    }
    Ok(())
}

/// `{outcome, error_type?, result}` and what else is known: the form of `--json` and of `--lines`.
fn reply(answer: &Answer) -> Map<String, Value> {
    let outcome = match answer {
        Answer::Done(outcome) => outcome,
        Answer::Suspended(request) => {
            return lines::object(
                json!({"outcome": "suspended", "approval": request.id, "result": null}),
            );
        }
    };
    let mut reply = lines::object(json!({"outcome": outcome.kind}));
    if let Some(error_type) = outcome.error_type() {
        reply.insert("error_type".to_owned(), json!(error_type));
    }
    match &outcome.result {
        Ok(result) => {
            reply.insert("result".to_owned(), result.result.clone());
            let wire = outcome.to_wire();
            for key in ["trust", "source", "artifact", "warning", "neutralised"] {
                if let Some(value) = wire.get(key) {
                    reply.insert(key.to_owned(), value.clone());
                }
            }
            if result.is_error {
                reply.insert("is_error".to_owned(), json!(true));
            }
        }
        Err(error) => {
            reply.insert("result".to_owned(), json!(error.message));
        }
    }
    if !outcome.notes.is_empty() {
        reply.insert("notes".to_owned(), json!(outcome.notes));
    }
    reply
}

#[derive(Deserialize)]
struct Line {
    tool: String,
    #[serde(default)]
    args: Value,
    key: Option<String>,
}

fn filter(command: &ToolCall, json: bool) -> Result<u8, Failure> {
    let runtime = world::runtime()?;
    let (toolcrib, _watching) = runtime.block_on(async {
        let toolcrib = world::at_work(&command.world, command.on_ask).await?;
        let watching = toolcrib.watch(|_| ());
        Ok::<_, Failure>((toolcrib, watching))
    })?;
    let code = lines::answer(|line: Line| {
        // A text is read as a model would have written it; a value is taken as it is.
        let args = match line.args {
            Value::String(text) => RawArgs::Text(text),
            Value::Null => RawArgs::Text(String::new()),
            value => RawArgs::Value(value),
        };
        let call = run_one(&toolcrib, &line.tool, args, line.key.as_deref());
        let answer = runtime.block_on(call).map_err(|failure| failure.message)?;
        if command.explain {
            trace::print(&answer, None, json);
        }
        Ok(reply(&answer))
    });
    runtime.block_on(world::settle(&toolcrib));
    runtime.shutdown_background();
    code
}
