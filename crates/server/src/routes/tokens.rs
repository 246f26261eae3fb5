//! Tokens: creating, listing and revoking them. Only the response that creates a token contains it.

use axum::extract::{Extension, State};
use axum::http::StatusCode;
use toolcrib_core::TokenId;
use toolcrib_ops::Resource;
use toolcrib_ops::tokens::{
    self, CreateTokenRequest, ListTokensRequest, MadeToken, RevokeTokenRequest, ShowTokenRequest,
    TokenRow,
};

use crate::api::{Api, Json, Operation, Page, PageQuery, Path, Query, parse_cursor, parse_id};
use crate::middleware::Authenticated;
use crate::problem::{Code, Problem};
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// Name of the list in cursors.
const LIST: &str = "tokens";

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/tokens", Role::Owner, "Lists the tokens.").query::<PageQuery>();
    api.add(
        list.returns_ok::<Page<TokenRow>>(
            "Oldest first, including tokens that are no longer valid.",
        ),
        list_tokens,
    );
    let make =
        Operation::post("/tokens", Role::Owner, "Makes a token.").body::<CreateTokenRequest>();
    let make = make.description(
        "A token has at most the roles, tools and lifetime of its creator, and a name that no other valid token has. Requires a token or the socket: a browser session cannot create tokens.",
    );
    api.add(make.returns::<MadeToken>(201, "The token, which is shown only once."), make_token);
    let show = Operation::get("/tokens/{id}", Role::Owner, "Shows one token.");
    api.add(show.returns_ok::<TokenRow>("The stored facts about the token."), show_token);
    let revoke = Operation::delete("/tokens/{id}", Role::Owner, "Revokes a token.");
    let revoke = revoke.description(
        "The token is invalid after the response, and within a second on other daemons of the same store; streams that it reads end.",
    );
    api.add(revoke.returns_empty(204, "The token is revoked."), revoke_token);
}

async fn list_tokens(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Query(query): Query<PageQuery>,
) -> Result<Json<Page<TokenRow>>, Problem> {
    let limit = PageQuery::page_size(query.limit)?;
    let after: Option<TokenId> = parse_cursor(LIST, query.cursor.as_deref())?;
    let request = ListTokensRequest { after, limit: Some(limit + 1) };
    let rows = tokens::list(&daemon.token_context(&principal), request).await?;
    Ok(Json(Page::from_rows(rows, limit, LIST, |last| last.id)))
}

async fn show_token(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<TokenRow>, Problem> {
    let id: TokenId = parse_id(Resource::Token, &id)?;
    let ctx = daemon.token_context(&principal);
    Ok(Json(tokens::show(&ctx, ShowTokenRequest { id }).await?))
}

async fn make_token(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Extension(authenticated): Extension<Authenticated>,
    Json(request): Json<CreateTokenRequest>,
) -> Result<(StatusCode, Json<MadeToken>), Problem> {
    if authenticated.session.is_some() {
        // A session ends after hours; a token that it creates would outlast it.
        let detail = "a browser session creates no tokens: send `Authorization: Bearer TOKEN`, or use `toolcrib token add`";
        return Err(Problem::new(Code::Forbidden, detail));
    }
    let made = tokens::create(&daemon.token_context(&principal), request).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

async fn revoke_token(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let id: TokenId = parse_id(Resource::Token, &id)?;
    tokens::revoke(&daemon.token_context(&principal), RevokeTokenRequest { id }).await?;
    Ok(StatusCode::NO_CONTENT)
}
