//! Tokens: made, listed and taken back. The token itself is in the answer that makes it and nowhere
//! else.

use axum::extract::{Extension, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_app::core::{ApiToken, TokenHash, TokenId};
use toolcrib_ops::tokens::{MadeToken, TokenRow};

use crate::api::{Api, Json, Operation, Page, PageQuery, Path, Query, parse_cursor};
use crate::middleware::{Authenticated, token_format};
use crate::problem::{Code, Problem};
use crate::role::{Principal, Role, Roles};
use crate::state::DaemonState;

/// Characters of a token's name.
const NAME_CHARS: usize = 60;
/// Tools that a token may be limited to.
const TOOLS: usize = 200;
/// The longest time that a token can be given: ten years.
const LONGEST_SECONDS: u64 = 10 * 366 * 86_400;
/// The name of the list, for cursors.
const LIST: &str = "tokens";

/// A token that is wanted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewToken {
    /// What it is called, for people: 1 to 60 characters in one line.
    name: String,
    /// What it may do; none of them beyond the roles of its creator.
    roles: Vec<Role>,
    /// Tools that it may call, as agents name them: exact, `group:NAME`, `server:NAME`, or globs
    /// with `*`; absent = all in view.
    #[serde(default)]
    tools: Option<Vec<String>>,
    /// Whose rows it sees and writes, if not those of its creator.
    #[serde(default)]
    owner: Option<String>,
    /// Seconds that it holds; absent = until it is revoked.
    #[serde(default)]
    expires_in_seconds: Option<u64>,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/tokens", Role::Owner, "Lists the tokens.").query::<PageQuery>();
    api.add(
        list.returns_ok::<Page<TokenRow>>("Oldest first, those that hold no more too."),
        list_tokens,
    );
    let make = Operation::post("/tokens", Role::Owner, "Makes a token.").body::<NewToken>();
    let make = make.description(
        "A token has at most the roles, the tools and the time of the one that makes it, and a name that no valid token has. It takes a token or the socket: a browser session creates none.",
    );
    api.add(make.returns::<MadeToken>(201, "The token, shown this once."), make_token);
    let show = Operation::get("/tokens/{id}", Role::Owner, "Shows one token.");
    api.add(show.returns_ok::<TokenRow>("What is kept of it."), show_token);
    let revoke = Operation::delete("/tokens/{id}", Role::Owner, "Takes a token back.");
    let revoke = revoke.description(
        "It holds no more once this is answered, and within a second on other daemons of the same store; streams that it reads end.",
    );
    api.add(revoke.returns_empty(204, "It holds no more."), revoke_token);
}

fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// Those that a principal may see: its own owner's, and all if it is the owner of this daemon.
async fn visible(daemon: &DaemonState, principal: &Principal) -> Result<Vec<ApiToken>, Problem> {
    let mut tokens = daemon.middleware().tokens.list().await?;
    tokens.retain(|token| principal.owner.is_empty() || token.owner == principal.owner);
    Ok(tokens)
}

async fn list_tokens(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Query(query): Query<PageQuery>,
) -> Result<Json<Page<TokenRow>>, Problem> {
    let limit = PageQuery::page_size(query.limit)?;
    let after: Option<TokenId> = parse_cursor(LIST, query.cursor.as_deref())?;
    let tokens = visible(&daemon, &principal).await?.into_iter();
    let tokens = tokens.filter(|token| after.is_none_or(|after| token.id > after));
    let rows: Vec<TokenRow> =
        tokens.take(limit + 1).map(|token| TokenRow::new(token, now())).collect();
    Ok(Json(Page::from_rows(rows, limit, LIST, |last| last.id)))
}

async fn show_token(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<TokenId>,
) -> Result<Json<TokenRow>, Problem> {
    find(&daemon, &principal, id).await.map(|token| Json(TokenRow::new(token, now())))
}

async fn find(
    daemon: &DaemonState,
    principal: &Principal,
    id: TokenId,
) -> Result<ApiToken, Problem> {
    let found = visible(daemon, principal).await?.into_iter().find(|token| token.id == id);
    found.ok_or_else(|| Problem::not_found(format!("there is no token {id}")))
}

async fn make_token(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Extension(authenticated): Extension<Authenticated>,
    Json(wanted): Json<NewToken>,
) -> Result<(StatusCode, Json<MadeToken>), Problem> {
    if authenticated.session.is_some() {
        // A session ends after hours; a token that it creates would outlast it.
        let detail = "a browser session creates no tokens: send `Authorization: Bearer TOKEN`, or use `toolcrib token add`";
        return Err(Problem::new(Code::Forbidden, detail));
    }
    let failed =
        |error: token_format::RandomUnavailable| Problem::new(Code::Internal, error.to_string());
    let token = token_format::generate().map_err(failed)?;
    let row = validate(&principal, wanted, TokenHash::from_token(&token), now())?;
    if !daemon.middleware().tokens.add(&token, row.clone()).await? {
        let name = &row.name;
        return Err(Problem::conflict(format!(
            "a token with the name \"{name}\" is valid already; revoke it first, or choose another name"
        )));
    }
    daemon.admin_audit().record(&principal, "token.add", audit_text(&row)).await?;
    Ok((StatusCode::CREATED, Json(MadeToken { token, row: TokenRow::new(row, now()) })))
}

async fn revoke_token(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<TokenId>,
) -> Result<StatusCode, Problem> {
    let token = find(&daemon, &principal, id).await?;
    if !has_tools(&principal, token.tools.as_deref()) {
        return Err(beyond("one of the tools of that token"));
    }
    // Twice is as good as once.
    if daemon.middleware().tokens.revoke(id, &token.hash, &principal.name).await? {
        daemon.admin_audit().record(&principal, "token.revoke", audit_text(&token)).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

fn audit_text(token: &ApiToken) -> String {
    format!("{} \"{}\" ({})", token.id, token.name, token.roles.join(", "))
}

/// The row of a token that may be made: none of its rights exceeds its creator's.
fn validate(
    maker: &Principal,
    wanted: NewToken,
    hash: TokenHash,
    now: i64,
) -> Result<ApiToken, Problem> {
    let NewToken { name, roles, tools, owner, expires_in_seconds } = wanted;
    let name = name.trim().to_owned();
    if name.is_empty() || name.chars().count() > NAME_CHARS || name.chars().any(char::is_control) {
        return Err(Problem::invalid(format!("name is 1 to {NAME_CHARS} characters in one line")));
    }
    let owner = owner.unwrap_or_else(|| maker.owner.clone());
    if owner != maker.owner && !maker.owner.is_empty() {
        return Err(beyond("the rows of another owner"));
    }
    let expires_at = expiry(expires_in_seconds, now)?;
    if maker.expires_at.is_some_and(|own| expires_at.is_none_or(|end| end > own)) {
        return Err(beyond("a time that is longer than its own"));
    }
    let words = roles_of(maker, &roles)?;
    if owner != maker.owner && roles.iter().any(|role| *role > Role::Approver) {
        let why = "operator and owner act on the whole daemon: a token of another owner has the roles viewer, caller or approver";
        return Err(Problem::invalid(why));
    }
    Ok(ApiToken {
        id: TokenId::fresh(),
        name,
        hash,
        roles: words,
        owner,
        tools: tools_of(maker, tools)?,
        created_by: maker.name.clone(),
        created_at: now,
        expires_at,
        revoked: None,
        last_used_at: None,
    })
}

fn beyond(what: &str) -> Problem {
    let detail = format!("a token cannot give or take back what it does not have: {what}");
    Problem::new(Code::Forbidden, detail)
}

fn roles_of(maker: &Principal, roles: &[Role]) -> Result<Vec<String>, Problem> {
    if roles.is_empty() {
        return Err(Problem::invalid("roles names at least one role"));
    }
    let wanted = Roles::from_roles(roles);
    if !wanted.is_subset_of(maker.roles) {
        return Err(beyond("one of these roles"));
    }
    Ok(wanted.list().into_iter().map(|role| role.as_str().to_owned()).collect())
}

fn tools_of(maker: &Principal, tools: Option<Vec<String>>) -> Result<Option<Vec<String>>, Problem> {
    let is_name = |name: &String| {
        (1..=80).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.*:".contains(&b))
    };
    let Some(tools) = tools else {
        return if maker.tools.is_none() { Ok(None) } else { Err(beyond("all tools")) };
    };
    if tools.len() > TOOLS || !tools.iter().all(is_name) {
        let words = format!(
            "tools are at most {TOOLS} names as agents have them, such as read_file, group:files or github__*"
        );
        return Err(Problem::invalid(words));
    }
    if has_tools(maker, Some(&tools)) { Ok(Some(tools)) } else { Err(beyond("one of these tools")) }
}

/// Whether a limit to these tools is within that of a principal; `None` = all tools.
fn has_tools(principal: &Principal, tools: Option<&[String]>) -> bool {
    let Some(own) = &principal.tools else { return true };
    tools.is_some_and(|tools| tools.iter().all(|name| own.contains(name)))
}

fn expiry(seconds: Option<u64>, now: i64) -> Result<Option<i64>, Problem> {
    match seconds {
        None => Ok(None),
        Some(seconds @ 1..=LONGEST_SECONDS) => {
            Ok(Some(now.saturating_add_unsigned(seconds.saturating_mul(1_000))))
        }
        Some(_) => {
            Err(Problem::invalid(format!("expires_in_seconds is from 1 to {LONGEST_SECONDS}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maker(roles: &[Role]) -> Principal {
        Principal {
            name: "token maker".into(),
            owner: String::new(),
            roles: Roles::from_roles(roles),
            client: "x".into(),
            tools: None,
            expires_at: None,
        }
    }

    fn wanted(json: serde_json::Value) -> NewToken {
        let mut whole = serde_json::json!({"name": "ci", "roles": ["caller"]});
        for (key, value) in json.as_object().unwrap() {
            whole[key] = value.clone();
        }
        serde_json::from_value(whole).unwrap()
    }

    /// What comes of asking for a token with these fields.
    fn check(maker: &Principal, json: serde_json::Value, expected: Result<(), Code>) {
        let said = json.to_string();
        let found = validate(maker, wanted(json), TokenHash::from_token("t"), 1_000);
        assert_eq!(found.map(|_| ()).map_err(|problem| problem.code), expected, "{said}");
    }

    #[test]
    fn a_token_gives_no_more_than_its_maker_has() {
        use serde_json::json;
        let owner = maker(&[Role::Owner]);
        check(&owner, json!({"roles": ["owner"]}), Ok(()));
        check(&owner, json!({"owner": "ben", "tools": ["read_file", "github__*"]}), Ok(()));
        let less = maker(&[Role::Caller, Role::Approver]);
        check(&less, json!({"roles": ["viewer", "caller", "approver"]}), Ok(()));
        for role in ["operator", "owner"] {
            check(&less, json!({"roles": ["caller", role]}), Err(Code::Forbidden));
        }
        let narrow = Principal { tools: Some(vec!["read_file".into()]), ..maker(&[Role::Owner]) };
        check(&narrow, json!({"tools": ["read_file"]}), Ok(()));
        check(&narrow, json!({"tools": []}), Ok(()));
        check(&narrow, json!({}), Err(Code::Forbidden));
        check(&narrow, json!({"tools": ["read_*"]}), Err(Code::Forbidden));
        let ben = Principal { owner: "ben".into(), ..maker(&[Role::Owner]) };
        check(&ben, json!({}), Ok(()));
        check(&ben, json!({"owner": "ben"}), Ok(()));
        check(&ben, json!({"owner": ""}), Err(Code::Forbidden));
        check(&ben, json!({"owner": "ann"}), Err(Code::Forbidden));
        let brief = Principal { expires_at: Some(11_000), ..maker(&[Role::Owner]) };
        check(&brief, json!({"expires_in_seconds": 10}), Ok(()));
        check(&brief, json!({"expires_in_seconds": 11}), Err(Code::Forbidden));
        check(&brief, json!({}), Err(Code::Forbidden));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        use serde_json::json;
        let owner = maker(&[Role::Owner]);
        for bad in [
            json!({"name": ""}),
            json!({"name": "  "}),
            json!({"name": "a\nb"}),
            json!({"name": "x".repeat(61)}),
            json!({"roles": []}),
            json!({"tools": [""]}),
            json!({"tools": ["a b"]}),
            json!({"tools": vec!["x"; 201]}),
            json!({"expires_in_seconds": 0}),
            json!({"expires_in_seconds": u64::MAX}),
        ] {
            check(&owner, bad, Err(Code::Invalid));
        }
    }
}
