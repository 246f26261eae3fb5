//! `toolcrib list`: the person's lists.

use serde_json::json;
use toolcrib_app::Toolcrib;
use toolcrib_ops::OpContext;
use toolcrib_ops::lists::{
    self, ChangeListRequest, ChangedList, DeleteListRequest, ListAction, ListHistoryRequest,
    ListListsRequest, ListReply, ShowListRequest, UndoListRequest,
};

use super::library_snapshot;
use crate::clap_args::{List, ListItems, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::terminal::escape_to_line;
use crate::{bootstrap, op_context, time_format};

pub(crate) fn run(command: List, json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let toolcrib: Toolcrib = bootstrap::build_with_stores(&WorkspaceArgs::default()).await?;
        let ctx = op_context::for_toolcrib(&toolcrib, None);
        match command {
            List::All => all(&ctx, json).await,
            List::Show { name } => {
                print_list(&lists::show(&ctx, ShowListRequest { name }).await?, json)
            }
            List::Create { name, items } => {
                change(&ctx, ListAction::Create, ListItems { name, items }, None, json).await
            }
            List::Add(items) => change(&ctx, ListAction::Add, items, None, json).await,
            List::Remove(items) => change(&ctx, ListAction::Remove, items, None, json).await,
            List::Check(items) => change(&ctx, ListAction::Check, items, None, json).await,
            List::Uncheck(items) => change(&ctx, ListAction::Uncheck, items, None, json).await,
            List::Clear { name } => {
                let items = ListItems { name, items: Vec::new() };
                change(&ctx, ListAction::Clear, items, None, json).await
            }
            List::Rename { name, new_name } => {
                let items = ListItems { name, items: Vec::new() };
                change(&ctx, ListAction::Rename, items, Some(new_name), json).await
            }
            List::Delete { name } => delete(&ctx, name, json).await,
            List::History { name, since } => history(&ctx, name, since, json).await,
            List::Undo { name } => undo(&ctx, name, json).await,
        }
    })
}

async fn all(ctx: &OpContext<'_>, json: bool) -> Result<u8, Failure> {
    let all = lists::list(ctx, ListListsRequest).await?;
    if json {
        output::print_json(&json!(all), true)?;
        return Ok(0);
    }
    if all.is_empty() {
        output::eprint_line("toolcrib: there is no list; `toolcrib list add NAME ITEM` makes one");
        return Ok(0);
    }
    let head = ["LIST", "OPEN", "CHECKED", "CHANGED"].map(str::to_owned).to_vec();
    let row = |list: &ListReply| {
        vec![
            escape_to_line(&list.name),
            list.open.to_string(),
            list.checked.to_string(),
            time_format::format_local(list.updated_at),
        ]
    };
    let rows: Vec<_> = std::iter::once(head).chain(all.iter().map(row)).collect();
    output::print_line(&library_snapshot::table(&rows))?;
    Ok(0)
}

async fn change(
    ctx: &OpContext<'_>,
    action: ListAction,
    items: ListItems,
    new_name: Option<String>,
    json: bool,
) -> Result<u8, Failure> {
    let ListItems { name, items } = items;
    let request = ChangeListRequest { name: Some(name), action, items, new_name };
    let changed = lists::change(ctx, request).await?;
    if json {
        output::print_json(&json!(changed), true)?;
        return Ok(0);
    }
    let ChangedList { list, already, missing, .. } = &changed;
    for (items, what) in [(already, "was so already"), (missing, "is not on the list")] {
        for item in items {
            output::eprint_line(&format!("toolcrib: {} {what}", escape_to_line(item)));
        }
    }
    print_list(list, false)
}

fn print_list(list: &ListReply, json: bool) -> Result<u8, Failure> {
    if json {
        output::print_json(&json!(list), true)?;
        return Ok(0);
    }
    let mut text = format!("{}\n", escape_to_line(&list.name));
    let items = list.items.as_deref().unwrap_or_default();
    for item in items {
        let mark = if item.checked { "[x]" } else { "[ ]" };
        let from = if item.untrusted.is_some() { "  (from outside)" } else { "" };
        text += &format!("  {mark} {}{from}\n", escape_to_line(&item.text));
    }
    if items.is_empty() {
        text += "  (empty)\n";
    }
    output::print_line(text.trim_end())?;
    Ok(0)
}

async fn delete(ctx: &OpContext<'_>, name: String, json: bool) -> Result<u8, Failure> {
    let gone = lists::delete(ctx, DeleteListRequest { name }).await?;
    if json {
        output::print_json(&json!({ "deleted": gone }), true)?;
    } else {
        let name = escape_to_line(&gone.name);
        output::eprint_line(&format!(
            "toolcrib: {name} is deleted; `toolcrib list undo` brings it back"
        ));
    }
    Ok(0)
}

async fn history(
    ctx: &OpContext<'_>,
    name: Option<String>,
    since: Option<String>,
    json: bool,
) -> Result<u8, Failure> {
    let history = lists::history(ctx, ListHistoryRequest { name, since }).await?;
    if json {
        output::print_json(&json!(history), true)?;
        return Ok(0);
    }
    for change in &history.changes {
        let at = time_format::format_local(change.at);
        let (what, by) = (escape_to_line(&change.change), escape_to_line(&change.by));
        output::print_line(&format!("{at}  {what}  ({by})"))?;
    }
    if history.changes.is_empty() {
        output::eprint_line("toolcrib: there was no change in that time");
    }
    Ok(0)
}

async fn undo(ctx: &OpContext<'_>, name: Option<String>, json: bool) -> Result<u8, Failure> {
    let undone = lists::undo(ctx, UndoListRequest { name }).await?;
    if json {
        output::print_json(&json!(undone), true)?;
        return Ok(0);
    }
    for list in &undone.lists {
        let name = escape_to_line(&list.name);
        output::eprint_line(&format!("toolcrib: {name} is as it was before"));
    }
    for name in &undone.gone {
        output::eprint_line(&format!("toolcrib: {} is gone again", escape_to_line(name)));
    }
    Ok(0)
}
