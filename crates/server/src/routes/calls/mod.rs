//! Calls: starting them, looking at them, stopping them. Each goes through the one pipeline.

mod again;
mod cancel;
pub(crate) mod document;
mod explain;
mod list;
mod page;
mod show;
pub(crate) mod start;

use toolcrib_ops::calls::{CallDocument, CallSummary};

use self::document::document_status_codes;
use self::explain::Explained;
use self::list::CallQuery;
use self::show::ShowCallQuery;
use self::start::{CallsDocument, StartCall, StartCalls};
use crate::active_requests::{IDEMPOTENCY_KEY_DESCRIPTION, IDEMPOTENCY_KEY_HEADER};
use crate::api::{Api, Operation, Page};
use crate::role::Role;

pub(super) fn routes(api: &mut Api) {
    let one = Operation::post("/calls", Role::Caller, "Runs one tool.")
        .queues_calls()
        .description("The answer is what became of the call, with its HTTP status. A call that was taken goes on when you go away: its result is found by its id. Only calls that policy allows run; one that a person must decide about answers 202 and waits.")
        .header(IDEMPOTENCY_KEY_HEADER, IDEMPOTENCY_KEY_DESCRIPTION)
        .body::<StartCall>();
    api.add(document_status_codes(one), start::start_one);
    let several = Operation::post("/calls/batch", Role::Caller, "Runs several tools side by side.")
        .queues_calls()
        .description(
            "Calls that fail are results like others: the status says only whether all have ended.",
        )
        .header(IDEMPOTENCY_KEY_HEADER, IDEMPOTENCY_KEY_DESCRIPTION)
        .body::<StartCalls>()
        .returns_ok::<CallsDocument>("All have ended.")
        .returns::<CallsDocument>(202, "Some wait for a person, or go on.");
    api.add(several, start::start_batch);
    let list = Operation::get("/calls", Role::Viewer, "Lists calls, the newest first.");
    api.add(
        list.query::<CallQuery>().returns_ok::<Page<CallSummary>>("Those that fit."),
        list::list,
    );
    let look = Operation::get("/calls/{id}", Role::Viewer, "Shows a call and its result.");
    api.add(
        look.query::<ShowCallQuery>()
            .returns_ok::<CallDocument>("Where it stands, and what came of it."),
        show::show_call,
    );
    let explain = Operation::get(
        "/calls/{id}/explain",
        Role::Viewer,
        "Says everything that is known of a call.",
    );
    api.add(
        explain.returns_ok::<Explained>("Stages, policy, decisions, records."),
        explain::explain,
    );
    again::routes(api);
    page::routes(api);
    let cancel = Operation::post("/calls/{id}/cancel", Role::Caller, "Stops a call, or takes it back while it waits for a person.")
        .description("What has not run does not run; a tool at work is told to stop. What it has done by then is done: its outcome says so.")
        .returns::<CallDocument>(202, "It is told to stop; ask for it by its id.")
        .returns_ok::<CallDocument>("It waited, and was taken back.");
    api.add(cancel, cancel::cancel);
}
