//! Calls: starting them, looking at them, stopping them. Each goes through the one door.

mod cancel;
pub(crate) mod document;
mod explain;
mod list;
mod look;
pub(crate) mod start;

use self::document::{CallDocument, told_by_status};
pub(crate) use self::list::word;

use self::explain::Explained;
use self::list::{CallQuery, CallSummary};
use self::look::LookQuery;
use self::start::{CallsDocument, StartCall, StartCalls};
use crate::api::{Api, Operation, Page};
use crate::role::Role;
use crate::work::{ABOUT_KEY, KEY};

pub(super) fn routes(api: &mut Api) {
    let one = Operation::post("/calls", Role::Caller, "Runs one tool.")
        .stands_in_line()
        .about("The answer is what became of the call, with its HTTP status. A call that was taken goes on when you go away: its result is found by its id. Only calls that policy allows run; one that a person must decide about answers 202 and waits.")
        .header(KEY, ABOUT_KEY)
        .body::<StartCall>();
    api.add(told_by_status(one), start::one);
    let several = Operation::post("/calls/batch", Role::Caller, "Runs several tools side by side.")
        .stands_in_line()
        .about(
            "Calls that fail are results like others: the status says only whether all have ended.",
        )
        .header(KEY, ABOUT_KEY)
        .body::<StartCalls>()
        .ok::<CallsDocument>("All have ended.")
        .answers::<CallsDocument>(202, "Some wait for a person, or go on.");
    api.add(several, start::several);
    let list = Operation::get("/calls", Role::Viewer, "Lists calls, the newest first.");
    api.add(list.query::<CallQuery>().ok::<Page<CallSummary>>("Those that fit."), list::list);
    let look = Operation::get("/calls/{id}", Role::Viewer, "Shows a call and its result.");
    api.add(
        look.query::<LookQuery>().ok::<CallDocument>("Where it stands, and what came of it."),
        look::look,
    );
    let explain = Operation::get(
        "/calls/{id}/explain",
        Role::Viewer,
        "Says everything that is known of a call.",
    );
    api.add(explain.ok::<Explained>("Stages, policy, decisions, records."), explain::explain);
    let cancel = Operation::post("/calls/{id}/cancel", Role::Caller, "Stops a call, or takes it back while it waits for a person.")
        .about("What has not run does not run; a tool at work is told to stop. What it has done by then is done: its outcome says so.")
        .answers::<CallDocument>(202, "It is told to stop; ask for it by its id.")
        .ok::<CallDocument>("It waited, and was taken back.");
    api.add(cancel, cancel::cancel);
}
