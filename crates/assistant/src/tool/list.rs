//! `list`: shopping lists and to-do lists.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::{Assessment, CallCtx, Effect, Tool, ToolError, ToolOutput, ToolSpec, Trust};

use super::assistant_tools::{AssistantTools, author};
use super::definition::{LISTS, aliases, base_spec, examples};
use crate::list::{List, ListChange, ListChanged};
use crate::rows::Writer;
use crate::time::format_instant;

const NAME: &str = "list";

/// Handler of `list`.
pub(super) struct ListTool(pub(super) AssistantTools);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Action {
    Create,
    Add,
    Remove,
    Check,
    Uncheck,
    View,
    ListAll,
    Clear,
    Delete,
    Rename,
    History,
}

impl Action {
    fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Add => "add",
            Self::Remove => "remove",
            Self::Check => "check",
            Self::Uncheck => "uncheck",
            Self::View => "view",
            Self::ListAll => "list_all",
            Self::Clear => "clear",
            Self::Delete => "delete",
            Self::Rename => "rename",
            Self::History => "history",
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// add creates the list if there is none.
    action: Action,
    /// Name of the list. Default: the list that was changed last.
    name: Option<String>,
    /// Items of add, remove, check, uncheck and create; case does not matter.
    items: Option<Vec<String>>,
    /// For rename: the new name.
    new_name: Option<String>,
    /// First day or time of history, such as 2026-11-20.
    since: Option<String>,
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        NAME,
        "Keep lists",
        "Keep the user's lists, such as shopping and to-do lists: add, check off and remove items, view them.",
        LISTS,
    );
    spec.parameter_aliases = aliases([("list_name", "name"), ("list", "name"), ("item", "items")]);
    spec.examples = examples([
        (
            "Put milk and bread on the shopping list",
            json!({"action": "add", "name": "Groceries", "items": ["milk", "bread"]}),
        ),
        ("I have bought the milk", json!({"action": "check", "items": ["milk"]})),
        ("What is on my to-do list?", json!({"action": "view", "name": "To do"})),
    ]);
    spec.needs =
        ["shopping list", "to-do list", "check off an item", "what do I have to buy or do"]
            .map(str::to_owned)
            .to_vec();
    spec
}

impl Tool for ListTool {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let (action, name) = (args.action.as_str(), args.name.as_deref().unwrap_or_default());
        let items = args.items.as_deref().unwrap_or_default().join(", ");
        let summary = format!("list {name}: {action} {items}");
        let mut assessment = Assessment::from_spec(spec).with_summary(summary.trim_end());
        assessment.operation = Some(format!("{NAME}.{action}"));
        match args.action {
            Action::View | Action::ListAll | Action::History => {
                assessment.effect = Effect::Read;
                assessment.reach.private_read = true;
            }
            // The person can undo both, so they need no approval; in a run that has read untrusted
            // text they need approval like every deletion.
            Action::Clear | Action::Delete => assessment.effect = Effect::Destructive,
            _ => {}
        }
        Ok(assessment)
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let writer = Writer {
            owner: ctx.context.owner.clone(),
            author: author(ctx),
            untrusted: self.0.untrusted(ctx),
        };
        let name = args.name.as_deref().filter(|name| !name.trim().is_empty());
        let items = args.items.unwrap_or_default();
        let lists = &self.0.lists;
        match args.action {
            Action::Create => {
                let list = lists.create(&writer, required(name, "name", "create")?, &items).await?;
                Ok(answer(&list, json!({ "list": list.name, "created": true })))
            }
            Action::Add => self.change(&writer, name, ListChange::Add(items), "added").await,
            Action::Remove => {
                self.change(&writer, name, ListChange::Remove(items), "removed").await
            }
            Action::Check => self.change(&writer, name, ListChange::Check(items), "checked").await,
            Action::Uncheck => {
                self.change(&writer, name, ListChange::Uncheck(items), "unchecked").await
            }
            Action::Clear => self.change(&writer, name, ListChange::Clear, "removed").await,
            Action::View => {
                let list = lists.get(&writer.owner, name).await?;
                Ok(answer(&list, view(&list)))
            }
            Action::ListAll => Ok(overview(&lists.all(&writer.owner).await?)),
            Action::Delete => {
                let list = lists.delete(&writer, name).await?;
                let items = list.items.len();
                Ok(answer(&list, json!({ "list": list.name, "deleted": true, "items": items })))
            }
            Action::Rename => {
                let new_name = required(args.new_name.as_deref(), "new_name", "rename")?;
                let list = lists.rename(&writer, name, new_name).await?;
                Ok(answer(&list, json!({ "list": list.name, "renamed": true })))
            }
            Action::History => self.history(&writer.owner, name, args.since.as_deref()).await,
        }
    }
}

impl ListTool {
    async fn change(
        &self,
        writer: &Writer,
        name: Option<&str>,
        change: ListChange,
        verb: &str,
    ) -> Result<ToolOutput, ToolError> {
        let (list, changed) = self.0.lists.change(writer, name, &change).await?;
        let ListChanged { done, already, missing } = changed;
        let mut data = json!({ "list": list.name, verb: done });
        for (name, items) in [("already_so", already), ("not_on_the_list", missing)] {
            if !items.is_empty() {
                data[name] = json!(items);
            }
        }
        data["open"] = json!(list.items.iter().filter(|item| !item.checked).count());
        data["checked_items"] = json!(list.items.iter().filter(|item| item.checked).count());
        Ok(answer(&list, data))
    }

    async fn history(
        &self,
        owner: &str,
        name: Option<&str>,
        since: Option<&str>,
    ) -> Result<ToolOutput, ToolError> {
        let since = since.filter(|since| !since.trim().is_empty());
        let (name, entries, outside) = self.0.lists.history(owner, name, since).await?;
        let zone = jiff::tz::TimeZone::system();
        let rows: Vec<Value> = entries
            .iter()
            .filter_map(|entry| {
                let at = jiff::Timestamp::from_millisecond(entry.at).ok()?;
                let at = format_instant(at, &zone);
                Some(json!({ "at": at, "change": entry.note, "by": entry.author.by }))
            })
            .collect();
        let output = ToolOutput::structured(json!({ "list": name, "history": rows }));
        Ok(match outside {
            Some(source) => output.with_origin(Trust::External, source),
            None => output,
        })
    }
}

fn required<'a>(value: Option<&'a str>, name: &str, action: &str) -> Result<&'a str, ToolError> {
    value
        .filter(|value| !value.trim().is_empty())
        .ok_or_else(|| ToolError::validation(format!("`{action}` needs `{name}`.")))
}

/// Creates the result about a list, marked if the list contains untrusted text.
fn answer(list: &List, data: Value) -> ToolOutput {
    let output = ToolOutput::structured(data);
    match list.outside_source() {
        Some(source) => output.with_origin(Trust::External, source),
        None => output,
    }
}

fn view(list: &List) -> Value {
    let texts = |checked: bool| -> Vec<&str> {
        let items = list.items.iter().filter(|item| item.checked == checked);
        items.map(|item| item.text.as_str()).collect()
    };
    json!({ "list": list.name, "open": texts(false), "checked": texts(true) })
}

fn overview(lists: &[List]) -> ToolOutput {
    if lists.is_empty() {
        return ToolOutput::text("There are no lists.");
    }
    let row = |list: &List| {
        let open = list.items.iter().filter(|item| !item.checked).count();
        json!({ "list": list.name, "open": open, "items": list.items.len() })
    };
    let rows: Vec<Value> = lists.iter().map(row).collect();
    let output = ToolOutput::structured(json!({ "lists": rows }));
    match lists.iter().find_map(|list| list.untrusted.as_deref()) {
        Some(source) => output.with_origin(Trust::External, source),
        None => output,
    }
}
