//! The sizes that bound what a model is shown, each with its source.

/// Characters of one result that the model gets, marker and count line included; envelope and
/// JSON wrapper not (seed 000: 20,000, SPEC §1.8, DESIGN §9 "Bounds").
pub const RESULT_CHARS: usize = 20_000;

/// Characters kept of one output stream of a shell command, half from each end
/// (seed 000: 30,000, DESIGN §9 "Bounds").
pub const STREAM_CHARS: usize = 30_000;

/// The same for a command that runs in the userland (seed 000: 15,000, DESIGN §9 "Bounds").
pub const USERLAND_STREAM_CHARS: usize = 15_000;
