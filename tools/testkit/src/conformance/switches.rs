//! Switches.

use toolcrib_core::{Switch, SwitchState, SwitchStore};

/// A switch is as it was set last, until its setting is taken back.
///
/// # Panics
/// When the store does something else.
pub async fn switches(store: &dyn SwitchStore) {
    let switch = |owner: &str, name: &str, state, at| Switch {
        owner: owner.into(),
        name: name.into(),
        state,
        by: "command line".into(),
        at,
    };
    assert_eq!(store.switches("ann").await, Ok(Vec::new()));
    let off = switch("ann", "tool:write_file", SwitchState::Off, 1);
    let all = switch("ann", "tools", SwitchState::On, 2);
    let odd = switch("ann", "source:\u{e9}\u{0}", SwitchState::Ask, i64::MAX);
    let other = switch("ben", "tools", SwitchState::Off, 3);
    for set in [&off, &all, &odd, &other] {
        store.set_switch(set.clone()).await.unwrap();
    }
    assert_eq!(store.switches("ann").await.unwrap(), [odd.clone(), off.clone(), all.clone()]);
    assert_eq!(store.switches("ben").await.unwrap(), std::slice::from_ref(&other));

    let asks = Switch { by: "ann".into(), ..switch("ann", "tool:write_file", SwitchState::Ask, 4) };
    store.set_switch(asks.clone()).await.unwrap();
    assert_eq!(store.switches("ann").await.unwrap(), [odd.clone(), asks, all.clone()]);

    assert_eq!(store.unset_switch("ann", "tool:write_file", "ann", 5).await, Ok(true));
    assert_eq!(store.unset_switch("ann", "tool:write_file", "ann", 6).await, Ok(false));
    assert_eq!(store.unset_switch("ann", "tool:", "ann", 6).await, Ok(false));
    assert_eq!(store.switches("ann").await.unwrap(), [odd, all]);
    assert_eq!(store.unset_switch("ann", "tools", "ann", 7).await, Ok(true));
    assert_eq!(store.switches("ben").await.unwrap(), [other]);
}
