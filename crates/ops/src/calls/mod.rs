//! Operations on calls: reading them, and preparing a repeated call.

mod again;
mod caller_context;
mod document;
mod exec_document;
mod explain;
mod explain_document;
mod history;
mod html_card;
mod lookup;
mod page;
mod page_resource;
mod resolve;
mod result_limit;
mod show;
mod state;
mod summary;
mod undone;

pub use again::{CallToRepeat, RepeatCallRequest, call_to_repeat};
pub use caller_context::{CallerContextRequest, MAX_TOPIC_CHARS, with_caller_context};
pub use document::{CallDocument, CallRefusal, PendingApproval};
pub use exec_document::{ExecDocument, ExecutedCall, HostedDocument};
pub use explain::{
    AskedQuestion, CHILDREN_LIMIT, CallWorker, ExplainCallReply, ExplainCallRequest, explain,
};
pub use explain_document::ExplainedCall;
pub use history::{HistoryReply, canonical_tool, history};
pub use html_card::{HtmlCardRequest, html_card};
pub use lookup::CallLookup;
pub use page::{CallPageRequest, PageTool, PageToolRequest, page, page_tool};
pub use page_resource::{PageResource, PageResourceRequest, page_resource};
pub use resolve::{
    resolve_agent, resolve_call, resolve_conversation, resolve_deleted_conversation, resolve_run,
    resolve_tool,
};
pub use result_limit::{MIN_RESULT_TOKENS, ResultLimit};
pub use show::{ShowCallRequest, show};
pub use state::CallState;
pub use summary::{CallSummary, serialized_name};
