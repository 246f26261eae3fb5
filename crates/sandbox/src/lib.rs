//! Processes with bounds: the boundary that a tool of somebody else runs in.
