//! Switches that somebody set: read from the store, and put into force.

use toolcrib_core::{StoreError, SwitchState, SwitchStore};
use toolcrib_engine::{Engine, Switched};

/// Makes the switches of the engine those of an owner, as they are stored now; whether anything is another than before. A setting that is
/// gone is back at its default.
///
/// # Errors
/// What the store says; then nothing is changed. Where nothing was read before, nothing may run.
pub(crate) async fn refresh(
    engine: &Engine,
    switches: &dyn SwitchStore,
    owner: &str,
) -> Result<bool, StoreError> {
    let rows = switches.switches(owner).await?;
    // What a newer Toolcrib wrote is for things that there are not here.
    let known = rows.iter().filter_map(|row| Some((Switched::of_name(&row.name)?, row.state)));
    let known: Vec<(Switched, SwitchState)> = known.collect();
    Ok(engine.apply_switches(&known))
}
