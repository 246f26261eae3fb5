//! Messages of the loop to the model.

/// The maximum number of rounds is reached.
pub(crate) const ROUND_LIMIT: &str = "You have reached the tool call limit. Please respond with the best answer you have so far based on the information gathered.";
/// The same calls are repeated.
pub(crate) const REPEATED: &str = "You are repeating the same tool calls. No more tools can be called. Please respond with the best answer you have so far based on the information gathered.";
/// Several rounds produced nothing new, and the hint did not help.
pub(crate) const STALLED: &str = "Your last tool calls brought nothing new. No more tools can be called. Please respond with the best answer you have so far, and say what is missing.";
/// Several rounds produced nothing new: the hint comes first.
pub(crate) const STALL_HINT: &str = "The last tool calls brought no new information and changed nothing. Try another way, or answer with what you have.";
/// The answer has neither text nor calls.
pub(crate) const EMPTY: &str = "Your last answer was empty. Please answer, or call a tool.";
/// The answer that was requested without tools has no text.
pub(crate) const EMPTY_LAST: &str = "Your last answer has no text, and no more tools can be called. Please write the best answer you have so far.";
/// Result of a call in an answer that was requested without tools.
pub(crate) const NO_MORE_TOOLS: &str =
    "This call was not run: no more tools can be called in this run.";
/// Result of a call that was open when the run was stopped.
pub(crate) const STOPPED: &str = "The run was stopped before this call was answered; it was not run, or its result is not known. Check before you call it again.";
/// Result of a call that waited for a person when the run was stopped.
pub(crate) const NOT_ANSWERED: &str =
    "This call was not run: the run went on before a person answered.";
/// Result of a question over the limit.
pub(crate) const TOO_MANY_QUESTIONS: &str = "You have asked the user 3 questions in this run, which is the most. Go on with what you know, and say what you assumed.";
/// Returns the message for an exhausted budget; `message` names it.
pub(crate) fn budget(message: &str) -> String {
    format!(
        "{message} No more tools can be called. Please respond with the best answer you have so far based on the information gathered."
    )
}
/// Result of a call that did not run for a reason outside the call.
pub(crate) const SEND_AGAIN: &str = "This call was not run. Send it again if it is still needed.";
