//! Files of the workspace. Each operation is a call of a file tool through the pipeline, so that
//! rules, the undo journal and the audit apply to it as to any other call.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_core::{Answer, ArtifactRef, Block, Call, ErrorType, ModelResult};
use toolcrib_ops::settings::SECRET_MASK as MASK;

use super::artifacts::run_blocking;
use super::calls::document::{
    answer_response, document_failures, document_status_codes, no_answer,
};
use crate::active_requests::CallsReply;
use crate::admission::AdmittedCaller;
use crate::api::{Api, Bytes, Json, Operation, Query, etag, etag_matches};
use crate::problem::{Code, Problem};
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// Maximum size of a file that is read whole: 1 MB, plus room for masks.
const MOST_BYTES: usize = 2 * 1024 * 1024;

/// The requested file.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PathQuery {
    /// The path, relative to the workspace folder.
    #[schemars(length(min = 1))]
    path: String,
}

/// The file to delete.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeleteQuery {
    /// The path, relative to the workspace folder.
    #[schemars(length(min = 1))]
    path: String,
    /// Whether a folder is deleted with everything in it.
    #[serde(default)]
    recursive: bool,
}

/// The requested folder.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct FolderQuery {
    /// The path, relative to the workspace folder; default the workspace folder itself.
    path: Option<String>,
}

/// A text file.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct FileDocument {
    /// The path as requested.
    path: String,
    /// Its text.
    text: String,
    /// The changes of the sanitizer, in words; if there are any, the text differs from the file.
    /// Known secrets are always masked.
    neutralised: Vec<String>,
    /// The call that read it.
    call: String,
}

pub(super) fn routes(api: &mut Api) {
    let read =
        Operation::get("/files", Role::Caller, "Reads a text file of the workspace, up to 1 MB.");
    let read = read
        .description("A call of `read_file`. Its `ETag` is for `If-Match`.")
        .query::<PathQuery>();
    api.add(document_failures(read.returns_ok::<FileDocument>("Its text.")), read_file);
    let image = Operation::get(
        "/files/image",
        Role::Caller,
        "Downloads an image of the workspace: PNG, JPEG, GIF or WebP, up to 5 MB.",
    )
    .description("A call of `read_file` with `image`. Known secrets are masked: do not write the bytes back.")
    .query::<PathQuery>()
    .returns_media("application/octet-stream", "The bytes.");
    api.add(document_failures(image), send_image);
    let list = Operation::get("/files/list", Role::Caller, "Lists a folder of the workspace.");
    let list = list
        .description("A call of `list_dir`; `structured` has the entries.")
        .query::<FolderQuery>();
    api.add(document_status_codes(list), list_folder);
    let write = Operation::put("/files", Role::Caller, "Writes a text file of the workspace.")
        .queues_calls()
        .description("A call of `write_file`; the body is the text, UTF-8. Replacing a file requires `If-Match` with its `ETag`, or `*` for any version; `If-None-Match: *` only creates a new file. The check and the write are two steps: a change by another program between them is overwritten. `POST /changes/undo` undoes the write. A text with `***` does not replace a file in which a known secret was shown so, nor one with a tag a file that was made harmless to be shown: both are a `conflict`.")
        .header("if-match", "The `ETag` of the file, or `*`.")
        .header("if-none-match", "`*`: only if there is no such file.")
        .query::<PathQuery>()
        .bytes();
    api.add(document_status_codes(write), write_file);
    let delete =
        Operation::delete("/files", Role::Caller, "Deletes a file or folder of the workspace.")
            .queues_calls()
            .description(
                "A call of `delete_file`, which requires approval unless a rule allows it.",
            )
            .header("if-match", "The `ETag` of the file; without it, any version.")
            .query::<DeleteQuery>();
    api.add(document_status_codes(delete), delete_file);
}

/// Runs one call to its end.
async fn call_file_tool(
    daemon: &DaemonState,
    principal: &AdmittedCaller,
    tool: &str,
    args: Value,
) -> Result<Answer, Problem> {
    let batch = daemon.calls().build_batch(principal, vec![Call::new(tool, args)]);
    match daemon.calls().run(principal, batch, None, None).await? {
        CallsReply::Answers(mut answers) => answers.pop().ok_or_else(no_answer),
        CallsReply::Accepted(_) => Err(no_answer()),
    }
}

/// Returns the result of a call, or the answer that explains why there is none.
fn tool_result(given: Answer) -> Result<(toolcrib_core::CallId, ModelResult), Box<Answer>> {
    match given {
        Answer::Done(outcome) => match &outcome.result {
            Ok(result) if !result.is_error => Ok((outcome.call, result.clone())),
            _ => Err(Box::new(Answer::Done(outcome))),
        },
        waits => Err(Box::new(waits)),
    }
}

/// Reads the whole text of a file.
async fn read_text(
    daemon: &DaemonState,
    principal: &AdmittedCaller,
    path: &str,
) -> Result<Result<FileDocument, Box<Answer>>, Problem> {
    let given = call_file_tool(daemon, principal, "read_file", json!({"path": path})).await?;
    let (id, result) = match tool_result(given) {
        Ok(found) => found,
        Err(given) => return Ok(Err(given)),
    };
    let (text, neutralised) = match (result.artifact, result.result) {
        // A text that is too long for a model is read from its artifact.
        (Some(artifact), _) => (read_whole_file(daemon, principal, artifact).await?, Vec::new()),
        (None, Value::String(text)) => (text, result.changes),
        (None, data) => (data.to_string(), result.changes),
    };
    Ok(Ok(FileDocument { path: path.to_owned(), text, neutralised, call: id.to_string() }))
}

async fn read_whole_file(
    daemon: &DaemonState,
    principal: &Principal,
    artifact: ArtifactRef,
) -> Result<String, Problem> {
    let owner = principal.owner.clone();
    let bytes =
        run_blocking(daemon, move |store| store.read(&artifact, &owner, 0, MOST_BYTES)).await?;
    let gone = || Problem::new(Code::Unavailable, "what was read could not be kept; try again");
    Ok(String::from_utf8_lossy(&bytes.ok_or_else(gone)?).into_owned())
}

fn with_etag(mut response: Response, text: &str) -> Response {
    if let Ok(tag) = HeaderValue::from_str(&etag(text)) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

async fn read_file(
    State(daemon): State<DaemonState>,
    principal: AdmittedCaller,
    Query(query): Query<PathQuery>,
) -> Result<Response, Problem> {
    Ok(match read_text(&daemon, &principal, &query.path).await? {
        Ok(file) => {
            let text = file.text.clone();
            with_etag(Json(file).into_response(), &text)
        }
        Err(given) => answer_response(*given),
    })
}

async fn send_image(
    State(daemon): State<DaemonState>,
    principal: AdmittedCaller,
    Query(query): Query<PathQuery>,
) -> Result<Response, Problem> {
    let args = json!({"path": query.path, "image": true});
    let (_, result) =
        match tool_result(call_file_tool(&daemon, &principal, "read_file", args).await?) {
            Ok(found) => found,
            Err(given) => return Ok(answer_response(*given)),
        };
    let image = result.media.into_iter().find_map(|block| match block {
        Block::Image(blob) => Some(blob.data),
        _ => None,
    });
    // Never send the type of the image: the content is untrusted, and a browser would attribute it
    // to the daemon's origin.
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::CONTENT_DISPOSITION, "attachment"),
    ];
    Ok((headers, image.unwrap_or_default()).into_response())
}

async fn list_folder(
    State(daemon): State<DaemonState>,
    principal: AdmittedCaller,
    Query(query): Query<FolderQuery>,
) -> Result<Response, Problem> {
    let path = query.path.unwrap_or_else(|| ".".to_owned());
    Ok(answer_response(
        call_file_tool(&daemon, &principal, "list_dir", json!({"path": path})).await?,
    ))
}

async fn write_file(
    State(daemon): State<DaemonState>,
    principal: AdmittedCaller,
    headers: HeaderMap,
    Query(query): Query<PathQuery>,
    Bytes(body): Bytes,
) -> Result<Response, Problem> {
    let text = std::str::from_utf8(&body)
        .map_err(|error| Problem::invalid(format!("the body is not UTF-8: {error}")))?;
    if let Err(given) = check_write(&daemon, &principal, &headers, &query.path).await? {
        return Ok(answer_response(*given));
    }
    let args = json!({"path": query.path, "content": text});
    check_masked_secrets(&daemon, &principal, &query.path, text).await?;
    let given = call_file_tool(&daemon, &principal, "write_file", args).await?;
    let is_written = given.outcome().is_some_and(|outcome| !outcome.is_error());
    let response = answer_response(given);
    // The tag is computed from the masked text, as GET does.
    let shown = daemon.toolcrib().engine().sealing().secrets.mask(text.to_owned());
    Ok(if is_written { with_etag(response, &shown) } else { response })
}

/// Refuses a text that would replace a secret in the file by its mask.
async fn check_masked_secrets(
    daemon: &DaemonState,
    principal: &AdmittedCaller,
    path: &str,
    text: &str,
) -> Result<(), Problem> {
    if !text.contains(MASK) {
        return Ok(());
    }
    // A client has not seen a file that cannot be read.
    let Ok(file) = read_text(daemon, principal, path).await? else { return Ok(()) };
    if !file.text.contains(MASK) {
        return Ok(());
    }
    let info = call_file_tool(daemon, principal, "file_info", json!({"path": path})).await?;
    let bytes =
        tool_result(info).ok().and_then(|(_, info)| info.structured?.get("bytes")?.as_u64());
    if bytes == Some(file.text.len() as u64) {
        // The length is unchanged, so no text was masked: the file itself contains the mask.
        return Ok(());
    }
    Err(Problem::conflict(format!(
        "{path} holds a secret, which was shown as `{MASK}`, and this text would put that into its place: change the parts around it with `edit_file`, or delete the file first"
    )))
}

/// Checks that the file is still in the state that the caller knows.
async fn check_write(
    daemon: &DaemonState,
    principal: &AdmittedCaller,
    headers: &HeaderMap,
    path: &str,
) -> Result<Result<(), Box<Answer>>, Problem> {
    let wanted = headers.get(header::IF_MATCH);
    if wanted.is_some_and(|tag| tag.as_bytes() == b"*") {
        return Ok(Ok(()));
    }
    if wanted.is_some() {
        return match read_text(daemon, principal, path).await? {
            Ok(file) if !etag_matches(wanted, &etag(&file.text)) => Err(stale()),
            Ok(file) if !file.neutralised.is_empty() => Err(Problem::conflict(
                "what you read is not letter for letter the file, and would replace what was made harmless in it: send `If-Match: *` to replace it all the same",
            )),
            Ok(_) => Ok(Ok(())),
            Err(given) if is_missing(&given) => Err(stale()),
            Err(given) => Ok(Err(given)),
        };
    }
    let only_new = headers.get(header::IF_NONE_MATCH).is_some_and(|tag| tag.as_bytes() == b"*");
    match tool_result(call_file_tool(daemon, principal, "file_info", json!({"path": path})).await?)
    {
        Err(given) if is_missing(&given) => Ok(Ok(())),
        Err(given) => Ok(Err(given)),
        Ok(_) if only_new => Err(Problem::new(Code::Stale, "there is such a file already")),
        Ok(_) => Err(Problem::new(
            Code::NeedsMatch,
            "there is such a file: send `If-Match` with the ETag that GET /files gave, or `If-Match: *` to replace any version",
        )),
    }
}

fn stale() -> Problem {
    Problem::new(Code::Stale, "the file is not what you read; read it again")
}

fn is_missing(given: &Answer) -> bool {
    given.outcome().and_then(|outcome| outcome.error_type()) == Some(ErrorType::FileNotFound)
}

async fn delete_file(
    State(daemon): State<DaemonState>,
    principal: AdmittedCaller,
    headers: HeaderMap,
    Query(query): Query<DeleteQuery>,
) -> Result<Response, Problem> {
    if headers.contains_key(header::IF_MATCH)
        && let Err(given) = check_write(&daemon, &principal, &headers, &query.path).await?
    {
        return Ok(answer_response(*given));
    }
    let mut args = json!({"path": query.path});
    if query.recursive {
        args["recursive"] = json!(true);
    }
    Ok(answer_response(call_file_tool(&daemon, &principal, "delete_file", args).await?))
}
