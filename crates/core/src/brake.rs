//! What stops every tool from outside the process.

/// Says whether all tools are to stand still, see `EngineBuilder::brake`. It is asked two or three times about every call, so it must answer in
/// a few microseconds; it must not remember an answer, for whoever pulls it counts on the very next call.
pub trait Brake: Send + Sync {
    /// Whether it is on: nothing may run. Whoever cannot tell says `true`.
    fn is_on(&self) -> bool;
}
