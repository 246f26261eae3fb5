//! Calls that name an action as an argument: `file_manager` with `action` = `read` is
//! `file_manager.read`, an alias of `read_file`. They become calls of that alias before the view is
//! consulted, so that later stages see one name per operation.

use std::cmp::Reverse;
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value, json};
use toolcrib_argument_decoder::{Decoded, Limits, Schema, decode, decode_value};
use toolcrib_core::{Effect, ErrorType, RawArgs, ToolSpec, tool_pattern};

use super::step::{StageExit, fail};
use crate::call_state::CallState;

/// The argument that names the action.
const ACTION: &str = "action";

/// Schema of any object; `None` never occurs, and would make such calls unknown tools.
static ANYTHING: LazyLock<Option<Schema>> =
    LazyLock::new(|| Schema::check(&json!({"type": "object"})).ok());

/// Replaces a name with an action by its alias, and adds the arguments that the alias implies.
pub(super) fn resolve_action(call: &mut CallState) -> Result<(), StageExit> {
    let view = Arc::clone(&call.scope.resolved_view);
    if view.find(&call.asked).is_none() {
        let state = call.engine().registry.read();
        let has_actions = state
            .tools()
            .any(|tool| aliases_of(&call.asked, &tool.spec().aliases).next().is_some());
        drop(state);
        if has_actions {
            with_action(call)?;
        }
    }
    let Some(tool) = view.find(&call.asked) else { return Ok(()) };
    let given = tool.spec().alias_args.iter().find(|(alias, _)| *alias == call.asked);
    let Some((_, Value::Object(more))) = given else { return Ok(()) };
    // Sealed arguments have already passed this function.
    if matches!(call.args.raw, RawArgs::Sealed(_)) {
        return Ok(());
    }
    let mut args = object(call)?;
    for (name, value) in more {
        args.entry(name.clone()).or_insert_with(|| value.clone());
    }
    call.args.raw = RawArgs::Value(Value::Object(args));
    Ok(())
}

fn aliases_of<'a>(name: &str, aliases: &'a [String]) -> impl Iterator<Item = &'a str> {
    aliases.iter().map(String::as_str).filter(move |alias| tool_pattern::is_action_of(alias, name))
}

fn with_action(call: &mut CallState) -> Result<(), StageExit> {
    let mut args = object(call)?;
    let action = args.remove(ACTION);
    let alias = match &action {
        None => implied_alias(call, &args),
        Some(action) => action.as_str().map(|action| format!("{}.{action}", call.asked)),
    };
    let state = call.engine().registry.read();
    let is_known = alias.as_ref().is_some_and(|alias| {
        state.tools().any(|tool| tool.spec().aliases.iter().any(|known| known == alias))
    });
    drop(state);
    match alias {
        Some(alias) if is_known => {
            if action.is_none() {
                call.notes.push(format!("action was missing; the arguments are those of {alias}"));
            }
            call.asked = alias;
            call.args.raw = RawArgs::Value(Value::Object(args));
            Ok(())
        }
        _ => fail(ErrorType::ValidationError, which(call, action.as_ref())),
    }
}

/// Returns the action that the arguments imply if none is named: its tool accepts all of them,
/// reads rather than writes, and requires most of them. A destructive action is never implied.
fn implied_alias(call: &CallState, args: &Map<String, Value>) -> Option<String> {
    let entries = &call.scope.resolved_view.view.tools;
    let mut fitting: Vec<(bool, Reverse<usize>, &str)> = entries
        .iter()
        .map(|entry| entry.spec())
        .filter(|spec| spec.effect < Effect::Destructive)
        .filter_map(|spec| {
            let is_bare = |alias: &&str| spec.alias_args.iter().all(|(more, _)| more != alias);
            let alias = aliases_of(&call.asked, &spec.aliases).find(is_bare)?;
            Some((spec.effect > Effect::Read, Reverse(needs(spec, args)?), alias))
        })
        .collect();
    fitting.sort_unstable();
    match fitting.as_slice() {
        [one] => Some(one.2.to_owned()),
        [first, second, ..] if (first.0, first.1) != (second.0, second.1) => {
            Some(first.2.to_owned())
        }
        _ => None,
    }
}

/// Returns the number of required parameters of a tool that accepts all these arguments; `None` if
/// it does not.
fn needs(spec: &ToolSpec, args: &Map<String, Value>) -> Option<usize> {
    let canonical = |name: &str| {
        let alias = spec.parameter_aliases.iter().find(|(alias, _)| alias == name);
        alias.map_or_else(|| name.to_owned(), |(_, name)| name.clone())
    };
    let given: Vec<String> = args.keys().map(|name| canonical(name)).collect();
    let known = spec.input_schema.get("properties")?.as_object()?;
    let required = spec.input_schema.get("required").and_then(Value::as_array);
    let mut required = required.into_iter().flatten().filter_map(Value::as_str);
    let takes_all = given.iter().all(|name| known.contains_key(name));
    let count = required.clone().count();
    (takes_all && required.all(|name| given.iter().any(|one| one == name))).then_some(count)
}

/// Lists the available actions whose tools the caller sees.
fn which(call: &CallState, action: Option<&Value>) -> String {
    let view = &call.scope.resolved_view;
    let mut actions: Vec<&str> = view
        .view
        .tools
        .iter()
        .flat_map(|entry| aliases_of(&call.asked, &entry.spec().aliases))
        .filter_map(|alias| alias.get(call.asked.len() + 1..))
        .collect();
    actions.sort_unstable();
    let given = match action {
        None => "action is missing".to_owned(),
        Some(action) => format!("there is no action {action}"),
    };
    match actions.as_slice() {
        [] => format!("Tool {} is not available: none of its actions is.", call.asked),
        actions => {
            format!("{}: {given}. Give action as one of: {}.", call.asked, actions.join(", "))
        }
    }
}

/// Returns the current arguments as an object, or the error that stage 3 would report.
fn object(call: &mut CallState) -> Result<Map<String, Value>, StageExit> {
    let raw = call.engine().sealing().open_args(call.args.raw.clone());
    let decoded = match (&raw, ANYTHING.as_ref()) {
        (Ok(RawArgs::Text(text)), Some(any)) => decode(text, any, &Limits::DEFAULT),
        (Ok(RawArgs::Value(value)), Some(any)) => {
            decode_value(value.clone(), any, &Limits::DEFAULT)
        }
        (Ok(RawArgs::Broken(how)), _) => return fail(ErrorType::ValidationError, how.clone()),
        _ => {
            return fail(
                ErrorType::ValidationError,
                "The arguments cannot be read. Send a JSON object.",
            );
        }
    };
    match decoded {
        Decoded::Ok { value: Value::Object(args), .. } => Ok(args),
        Decoded::Repaired { value: Value::Object(args), changes, .. } => {
            call.notes.extend(changes.into_iter().map(|change| change.note));
            Ok(args)
        }
        Decoded::ValidationError { message } | Decoded::ParseError { message } => {
            fail(ErrorType::ValidationError, message)
        }
        _ => fail(ErrorType::ValidationError, "The arguments are not a JSON object. Send one."),
    }
}
