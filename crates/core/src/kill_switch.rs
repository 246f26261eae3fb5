//! The kill switch: stops every tool from outside the process.

/// Reports whether all tools are stopped; the engine takes one in `EngineBuilder::kill_switch`. The
/// engine asks two or three times per call, so an implementation must answer within a few
/// microseconds. It must not cache: a stop applies to the very next call.
pub trait KillSwitch: Send + Sync {
    /// Whether the kill switch is on, so that nothing may run. Return `true` if the state cannot be
    /// read.
    fn is_engaged(&self) -> bool;

    /// Who stopped the tools, why, and how they start again, as one sentence for people and models;
    /// `None` if that is not known. Asked only about a call that was stopped.
    fn reason(&self) -> Option<String> {
        None
    }
}
