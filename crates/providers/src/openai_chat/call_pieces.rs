//! Joins the pieces of the calls of a Chat Completions stream.
//!
//! A piece belongs to the call with its id, otherwise to the call with its index, otherwise to the
//! last call. Servers omit ids, indices and names, repeat them, or use index 0 for every call
//! (litellm#37792). A piece that could belong to two calls, or to none, makes the whole answer
//! unusable: it could be missing from the arguments of any call.
#![deny(clippy::indexing_slicing)]

use serde_json::{Map, Value};

use super::parse::{CallPart, arguments, part};
use crate::call_collector::{MAX_CALLS, field};
use crate::model_turn::CallKind;
use crate::raw_json;

/// Maximum bytes of arguments that are parsed to check whether they are complete: enough for every
/// real call, and a bound for a server whose pieces all look complete.
const MAX_JSON_CHECKS: usize = 8_000_000;

/// A call under construction.
struct OpenCall {
    index: Option<u64>,
    part: CallPart,
    /// Whether the arguments are one complete object; `None` if not checked since the last piece.
    complete: Option<bool>,
}

/// The call to which a piece belongs.
enum PiecePosition {
    /// It continues this call.
    Call(usize),
    /// It begins a call.
    New,
    /// Several calls are possible.
    Unclear,
}

#[derive(Default)]
pub(super) struct CallPieces {
    calls: Vec<OpenCall>,
    /// Bytes checked so far, up to [`MAX_JSON_CHECKS`].
    checked: usize,
    /// Whether a piece could not be assigned with certainty.
    unclear: bool,
    /// Whether the answer has more than [`MAX_CALLS`] calls.
    pub(super) too_many: bool,
    /// Whether a piece that only repeats finished arguments was dropped.
    pub(super) repeated: bool,
}

impl CallPieces {
    /// Returns the joined calls, and whether every piece could be assigned. A call without a name
    /// is the rest of a call whose beginning never arrived.
    pub(super) fn finish(self) -> (Vec<CallPart>, bool) {
        let is_rest = |call: &OpenCall| {
            call.part.name.is_empty() && (!call.part.args.trim().is_empty() || call.part.is_value)
        };
        let joined = !self.unclear && !self.calls.iter().any(is_rest);
        (self.calls.into_iter().map(|call| call.part).collect(), joined)
    }

    /// Adds an entry of `tool_calls` in a delta; `raw` is its text.
    pub(super) fn push(&mut self, delta: &Value, raw: &str) {
        let index = delta.get("index").and_then(Value::as_u64);
        match part(delta.clone(), raw) {
            Some(new) => self.join(index, new),
            None => self.unclear |= !delta.is_null(),
        }
    }

    /// Records a `tool_calls` that is not a list.
    pub(super) fn push_unreadable(&mut self) {
        self.unclear = true;
    }

    /// Adds a piece of the single call of the old `function_call`.
    pub(super) fn push_legacy(&mut self, call: &Map<String, Value>) {
        let (args, is_value) = arguments(call, "arguments", "");
        let name = call.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let kind = CallKind::LegacyFunction;
        let new = CallPart { item: call.clone(), name, args, is_value, cut: false, kind };
        self.join(None, new);
    }

    fn join(&mut self, index: Option<u64>, new: CallPart) {
        match self.position(index, &new) {
            PiecePosition::Call(at) => self.extend(at, new),
            PiecePosition::New => self.begin(index, new),
            PiecePosition::Unclear => self.unclear = true,
        }
    }

    fn position(&mut self, index: Option<u64>, new: &CallPart) -> PiecePosition {
        let open = self.candidates(index, new);
        let Some((&last, earlier)) = open.split_last() else { return PiecePosition::New };
        let Some(old) = self.calls.get(last) else { return PiecePosition::New };
        let contradicts = new.id().is_some()
            && new.id() == old.part.id()
            && index.is_some_and(|index| old.index.is_some_and(|known| known != index));
        let old_has_id = old.part.id().is_some();
        let begins_value = new.is_value || new.args.trim_start().starts_with(['{', '[']);
        if contradicts {
            // A second complete call under a used id, which never runs, or a misplaced piece.
            let begins_call = begins_value && !new.name.is_empty() && self.is_complete(last);
            return if begins_call { PiecePosition::New } else { PiecePosition::Unclear };
        }
        if !(same_id(&old.part, new) && same_name(&old.part, new)) {
            // Another name under the index of an unfinished call could be the rest of its name.
            let takes_over = index.is_some() && new.id().is_none() && !self.is_complete(last);
            return if takes_over { PiecePosition::Unclear } else { PiecePosition::New };
        }
        if !new.args.trim().is_empty() && self.is_complete(last) {
            // A second call, unless the piece only repeats the first one.
            let repeats = self.calls.get(last).is_some_and(|old| old.part.args == new.args);
            // Without an id it could be the end of that call, whose beginning took other arguments.
            let lost_id = new.id().is_none() && old_has_id;
            let is_call = begins_value && !new.name.is_empty() && !lost_id;
            return match () {
                () if is_call && !(repeats && new.id().is_some()) => PiecePosition::New,
                () if repeats => PiecePosition::Call(last),
                () => PiecePosition::Unclear,
            };
        }
        if !earlier.iter().all(|&at| self.is_complete(at)) {
            return PiecePosition::Unclear;
        }
        PiecePosition::Call(last)
    }

    /// Returns the calls that a piece may continue, in order of arrival.
    fn candidates(&self, index: Option<u64>, new: &CallPart) -> Vec<usize> {
        let with = |test: &dyn Fn(&OpenCall) -> bool| -> Vec<usize> {
            let calls = self.calls.iter().enumerate();
            let alike = |call: &OpenCall| is_legacy(&call.part) == is_legacy(new) && test(call);
            calls.filter(|(_, call)| alike(call)).map(|(at, _)| at).collect()
        };
        if let Some(id) = new.id() {
            let by_id = with(&|call| call.part.id() == Some(id));
            let here = |at: &usize| self.calls.get(*at).is_some_and(|call| call.index == index);
            let at_index: Vec<usize> = by_id.iter().copied().filter(here).collect();
            match (by_id.is_empty(), at_index.is_empty()) {
                (true, _) => {}
                (false, true) => return by_id,
                (false, false) => return at_index,
            }
        }
        match index {
            Some(_) => with(&|call| call.index == index),
            None if new.id().is_none() => with(&|_| true),
            None => Vec::new(),
        }
    }

    fn begin(&mut self, index: Option<u64>, mut new: CallPart) {
        if is_legacy(&new) && self.calls.iter().any(|call| is_legacy(&call.part)) {
            // The old format has one call per answer.
            self.unclear = true;
            return;
        }
        // A server numbers all calls or none: a piece of the other kind has lost its index, and may
        // belong to an existing call.
        if self.calls.iter().any(|call| call.index.is_some() != index.is_some()) {
            self.unclear = true;
            return;
        }
        if self.calls.len() == MAX_CALLS {
            self.too_many = true;
            return;
        }
        new.item.shift_remove("index");
        self.calls.push(OpenCall { index, part: new, complete: None });
    }

    fn extend(&mut self, at: usize, new: CallPart) {
        let is_complete = self.is_complete(at);
        let Some(call) = self.calls.get_mut(at) else { return };
        let old = &mut call.part;
        if old.name.is_empty() {
            old.name = new.name;
        }
        for (key, value) in new.item {
            if key == "index" || value.is_null() || field(&value, &["arguments", "input"]).is_some()
            {
                continue;
            }
            let slot = old.item.entry(key).or_insert(Value::Null);
            if slot.is_null() || slot.as_str().is_some_and(str::is_empty) {
                *slot = value;
            }
        }
        old.is_value |= new.is_value;
        if is_complete && old.args == new.args {
            self.repeated = true;
        } else if !new.args.is_empty() {
            old.args.push_str(&new.args);
            call.complete = None;
        }
    }

    fn is_complete(&mut self, at: usize) -> bool {
        let Some(call) = self.calls.get_mut(at) else { return false };
        if let Some(known) = call.complete {
            return known;
        }
        let args = &call.part.args;
        let known = call.part.is_value || {
            let may_be = self.checked <= MAX_JSON_CHECKS && args.trim_end().ends_with('}');
            self.checked += if may_be { args.len() } else { 0 };
            may_be && raw_json::is_json(args)
        };
        call.complete = Some(known);
        known
    }
}

/// Returns whether the id of a piece allows it to continue this call. A late id belongs to a call
/// without an id, if the piece names no other call, contains no arguments, or only the name of this
/// call has arrived so far.
fn same_id(old: &CallPart, new: &CallPart) -> bool {
    match (old.id(), new.id()) {
        (Some(old), Some(new)) => old == new,
        (None, Some(_)) => {
            let parts = [&old.args, &old.name, &new.name, &new.args];
            parts.into_iter().any(String::is_empty)
        }
        _ => true,
    }
}

fn is_legacy(call: &CallPart) -> bool {
    call.kind == CallKind::LegacyFunction
}

fn same_name(old: &CallPart, new: &CallPart) -> bool {
    new.name.is_empty() || old.name.is_empty() || old.name == new.name
}
