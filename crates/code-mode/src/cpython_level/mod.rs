//! The level `full`: the CPython of this machine in the sandbox, one kernel per run.

pub(crate) mod kernel;
pub(crate) mod kernel_launcher;
pub(crate) mod kernel_pool;
pub(crate) mod python_discovery;
mod scratch_dir;
pub(crate) mod virtual_env;
