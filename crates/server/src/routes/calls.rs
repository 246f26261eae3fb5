//! Calls: starting, reading and cancelling them. Each call passes the one pipeline.

mod again;
mod cancel;
pub(crate) mod document;
mod explain;
mod html_card;
mod list;
mod page;
mod show;
pub(crate) mod start;

use toolcrib_ops::calls::{CallDocument, CallSummary, ExplainedCall};

use self::document::document_status_codes;
use self::list::CallQuery;
use self::show::ShowCallQuery;
use self::start::{CallsDocument, StartCall, StartCalls};
use crate::active_requests::{IDEMPOTENCY_KEY_DESCRIPTION, IDEMPOTENCY_KEY_HEADER};
use crate::api::{Api, Operation, Page};
use crate::role::Role;

pub(super) fn routes(api: &mut Api) {
    let one = Operation::post("/calls", Role::Caller, "Runs one tool.")
        .queues_calls()
        .description("The response has the outcome of the call and its HTTP status. An accepted call continues if the client disconnects: its result is found by its id. Only calls that policy allows run; a call that needs approval answers 202 and waits.")
        .header(IDEMPOTENCY_KEY_HEADER, IDEMPOTENCY_KEY_DESCRIPTION)
        .body::<StartCall>();
    api.add(document_status_codes(one), start::start_one);
    let several = Operation::post("/calls/batch", Role::Caller, "Runs several tools concurrently.")
        .queues_calls()
        .description(
            "A failed call is a result like any other: the status only tells whether all calls have ended.",
        )
        .header(IDEMPOTENCY_KEY_HEADER, IDEMPOTENCY_KEY_DESCRIPTION)
        .body::<StartCalls>()
        .returns_ok::<CallsDocument>("All calls have ended.")
        .returns::<CallsDocument>(202, "Some calls wait for a person or are still running.");
    api.add(several, start::start_batch);
    let list = Operation::get("/calls", Role::Viewer, "Lists calls, newest first.");
    api.add(
        list.query::<CallQuery>().returns_ok::<Page<CallSummary>>("Matching records."),
        list::list,
    );
    let look = Operation::get("/calls/{id}", Role::Viewer, "Shows a call and its result.");
    api.add(
        look.query::<ShowCallQuery>()
            .returns_ok::<CallDocument>("Its status, and its outcome once it has ended."),
        show::show_call,
    );
    let explain = Operation::get(
        "/calls/{id}/explain",
        Role::Viewer,
        "Explains a call: everything that the store knows about it.",
    );
    api.add(
        explain.returns_ok::<ExplainedCall>("Stages, policy, decisions, records."),
        explain::explain,
    );
    again::routes(api);
    page::routes(api);
    html_card::routes(api);
    let cancel = Operation::post("/calls/{id}/cancel", Role::Caller, "Stops a call, or withdraws it while it waits for a person.")
        .description("A call that has not started does not run; a running tool is cancelled. What the tool has changed by then stays changed, as its outcome reports.")
        .returns::<CallDocument>(202, "The call is being stopped; get it by its id.")
        .returns_ok::<CallDocument>("The call waited for a person, and is withdrawn.");
    api.add(cancel, cancel::cancel);
}
