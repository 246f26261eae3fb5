//! `shell::parse`: any text is taken apart, and what is not understood is never allowed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolcrib_shell_parser::{Kind, parse};

fuzz_target!(|text: &str| {
    let line = parse(text);
    for segment in &line.segments {
        let is_command = segment.kind == Kind::Command;
        assert!(is_command || segment.readings.is_empty(), "{segment:?}");
        assert!(line.fault.is_none() || !segment.blocks.is_empty(), "{segment:?} could be allowed");
    }
    if let Some(fault) = &line.fault {
        assert!(fault.at <= text.len() && !fault.what.is_empty());
        assert!(!line.segments.is_empty(), "nothing is left to deny");
    }
    // A parenthesis around it hides nothing.
    if line.fault.is_none() {
        let inside = parse(&format!("(\n{text}\n)"));
        assert!(inside.fault.is_some() || inside.segments.len() == line.segments.len());
    }
});
