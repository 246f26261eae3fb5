//! The kill switch: stops every tool from outside the process.

/// Reports whether all tools are stopped; the engine takes one in `EngineBuilder::kill_switch`. The
/// engine asks two or three times per call, so an implementation must answer within a few
/// microseconds. It must not cache: a stop applies to the very next call.
pub trait KillSwitch: Send + Sync {
    /// Returns whether the kill switch is on, so that nothing may run. Implementations return
    /// `true` if they cannot read the state.
    fn is_engaged(&self) -> bool;

    /// Returns who stopped the tools, why, and how to enable them again, as one sentence for people
    /// and models; `None` if that is unknown. The engine asks only about a stopped call.
    fn reason(&self) -> Option<String> {
        None
    }
}
