//! Scripts saved as tools: listing, showing, saving and removing them. Changes take effect at once.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_ops::chains::{self, ChainDetails, ChainRow, PutChainRequest, RemoveChainRequest};

use crate::api::{
    Api, Json, Operation, Page, Path, etag, etag_matches, etag_response, expected_version,
    with_etag,
};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// A script to save.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChainText {
    /// Its text. The first lines contain its description (`# description: ...`), its parameters (`#
    /// parameters: {...}`, `# required: [...]`) and its level (`# level: expression|full|auto`).
    code: String,
}

pub(super) fn routes(api: &mut Api) {
    let list =
        Operation::get("/chains", Role::Viewer, "Lists the scripts that are saved as tools.");
    api.add(list.returns_ok::<Page<ChainRow>>("All of them.").etagged(), list_chains);
    let show = Operation::get("/chains/{name}", Role::Viewer, "Shows a script with its text.");
    api.add(
        show.returns_ok::<ChainDetails>("The script; its `ETag` is that of its text."),
        show_chain,
    );
    let put = Operation::put("/chains/{name}", Role::Operator, "Saves a script as a tool.")
        .description("The script is written into the tool folder of the workspace and can be called at once. Replacing an existing script needs `If-Match`.")
        .header("if-match", "The `ETag` of the version that the change applies to.");
    api.add(
        put.body::<ChainText>()
            .returns_ok::<ChainDetails>("The script is saved.")
            .returns::<ChainDetails>(201, "It is new."),
        put_chain,
    );
    let remove = Operation::delete("/chains/{name}", Role::Operator, "Removes a script.")
        .description("It needs `If-Match`.")
        .header("if-match", "The `ETag` of the version that is removed.");
    api.add(remove.returns_empty(204, "Removed."), remove_chain);
}

async fn list_chains(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let rows = chains::list(&daemon.op_context(&principal, None)).await?;
    Ok(etag_response(&headers, &Page::single_page(rows)))
}

fn response(status: StatusCode, chain: ChainDetails) -> Response {
    let tag = etag(&chain.code);
    with_etag((status, Json(chain)).into_response(), Some(tag))
}

async fn show_chain(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let chain = chains::show(&daemon.op_context(&principal, None), &name).await?;
    Ok(response(StatusCode::OK, chain))
}

async fn put_chain(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Path(name): Path<String>,
    Json(ChainText { code }): Json<ChainText>,
) -> Result<Response, Problem> {
    let matches = |text: &str| etag_matches(headers.get(header::IF_MATCH), &etag(text));
    let expected = expected_version(&headers, &matches);
    let request = PutChainRequest { name, code, folder: None, expected };
    let ctx = daemon.op_context(&principal, None);
    let reply = chains::put(&ctx, &daemon.recorder(&principal), request).await?;
    let status = if reply.is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(response(status, reply.chain))
}

async fn remove_chain(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    let matches = |text: &str| etag_matches(headers.get(header::IF_MATCH), &etag(text));
    let request =
        RemoveChainRequest { name, folder: None, expected: expected_version(&headers, &matches) };
    let ctx = daemon.op_context(&principal, None);
    chains::remove(&ctx, &daemon.recorder(&principal), request).await?;
    Ok(StatusCode::NO_CONTENT)
}
