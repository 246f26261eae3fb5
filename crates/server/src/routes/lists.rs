//! Lists: reading and changing them, and undoing changes.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_ops::lists::{
    self, ChangeListRequest, ChangedList, DeleteListRequest, ListAction, ListHistory,
    ListHistoryRequest, ListListsRequest, ListReply, ShowListRequest, UndoListRequest, UndoneList,
};

use crate::api::{Api, Json, Operation, Page, Path, Query, etag_response};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// A change of a list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListChangeBody {
    /// The action.
    action: ListAction,
    /// The items; case does not matter.
    #[serde(default)]
    items: Vec<String>,
    /// The new name, for `rename`.
    #[serde(default)]
    new_name: Option<String>,
}

/// Filter of changes.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct HistoryQuery {
    /// The first day or time, such as `2026-11-20`. Default: all stored changes.
    since: Option<String>,
}

/// The list or memory whose last change is undone.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct UndoListBody {
    /// Name of the list; default the one that was changed last.
    name: Option<String>,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/lists", Role::Viewer, "Returns all lists, last changed first.");
    api.add(list.returns_ok::<Page<ListReply>>("Your lists.").etagged(), list_lists);
    let show = Operation::get("/lists/{name}", Role::Viewer, "Shows a list.");
    api.add(show.returns_ok::<ListReply>("The list."), show_list);
    let change = Operation::post("/lists/{name}", Role::Operator, "Creates or changes a list.");
    let change = change.description("Adding to a new name creates the list. Items are matched case-insensitively; items that are not on the list are in `missing`.");
    api.add(change.body::<ListChangeBody>().returns_ok::<ChangedList>("The change."), change_list);
    let delete = Operation::delete("/lists/{name}", Role::Operator, "Deletes a list.");
    api.add(
        delete.returns_ok::<ListReply>("The deleted list; `POST /list/undo` restores it."),
        delete_list,
    );
    let history =
        Operation::get("/lists/{name}/history", Role::Caller, "Shows the changes of a list.");
    api.add(
        history.query::<HistoryQuery>().returns_ok::<ListHistory>("The last changes."),
        list_history,
    );
    let undo = Operation::post("/list/undo", Role::Operator, "Undoes the last change of a list.");
    api.add(undo.body::<UndoListBody>().returns_ok::<UndoneList>("It is undone."), undo_list);
}

async fn list_lists(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let rows = lists::list(&daemon.op_context(&principal, None), ListListsRequest).await?;
    Ok(etag_response(&headers, &Page::single_page(rows)))
}

async fn show_list(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<Json<ListReply>, Problem> {
    let request = ShowListRequest { name: Some(name) };
    Ok(Json(lists::show(&daemon.op_context(&principal, None), request).await?))
}

async fn change_list(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
    Json(body): Json<ListChangeBody>,
) -> Result<Json<ChangedList>, Problem> {
    let request = ChangeListRequest {
        name: Some(name),
        action: body.action,
        items: body.items,
        new_name: body.new_name,
    };
    Ok(Json(lists::change(&daemon.op_context(&principal, None), request).await?))
}

async fn delete_list(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<Json<ListReply>, Problem> {
    let request = DeleteListRequest { name };
    Ok(Json(lists::delete(&daemon.op_context(&principal, None), request).await?))
}

async fn list_history(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
    Query(query): Query<HistoryQuery>,
) -> Result<Json<ListHistory>, Problem> {
    let request = ListHistoryRequest { name: Some(name), since: query.since };
    Ok(Json(lists::history(&daemon.op_context(&principal, None), request).await?))
}

async fn undo_list(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<UndoListBody>,
) -> Result<Json<UndoneList>, Problem> {
    let request = UndoListRequest { name: body.name };
    Ok(Json(lists::undo(&daemon.op_context(&principal, None), request).await?))
}
