//! Switches.

use toolcrib_core::{Switch, SwitchStore};

/// A switch is as it was set last, until its setting is taken back.
///
/// # Panics
/// When the store does something else.
pub async fn switches(store: &dyn SwitchStore) {
    let switch = |owner: &str, name: &str, enabled, at| Switch {
        owner: owner.into(),
        name: name.into(),
        enabled,
        by: "command line".into(),
        at,
    };
    assert_eq!(store.switches("ann").await, Ok(Vec::new()));
    let off = switch("ann", "tool:write_file", false, 1);
    let all = switch("ann", "tools", true, 2);
    let odd = switch("ann", "source:\u{e9}\u{0}", false, i64::MAX);
    let other = switch("ben", "tools", false, 3);
    for set in [&off, &all, &odd, &other] {
        store.set_switch(set.clone()).await.unwrap();
    }
    assert_eq!(store.switches("ann").await.unwrap(), [odd.clone(), off.clone(), all.clone()]);
    assert_eq!(store.switches("ben").await.unwrap(), std::slice::from_ref(&other));

    let on = Switch { by: "ann".into(), ..switch("ann", "tool:write_file", true, 4) };
    store.set_switch(on.clone()).await.unwrap();
    assert_eq!(store.switches("ann").await.unwrap(), [odd.clone(), on, all.clone()]);

    assert_eq!(store.unset_switch("ann", "tool:write_file", "ann", 5).await, Ok(true));
    assert_eq!(store.unset_switch("ann", "tool:write_file", "ann", 6).await, Ok(false));
    assert_eq!(store.unset_switch("ann", "tool:", "ann", 6).await, Ok(false));
    assert_eq!(store.switches("ann").await.unwrap(), [odd, all]);
    assert_eq!(store.unset_switch("ann", "tools", "ann", 7).await, Ok(true));
    assert_eq!(store.switches("ben").await.unwrap(), [other]);
}
