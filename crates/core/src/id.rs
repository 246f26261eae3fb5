//! Identifiers: 128 bits, time-ordered, printed with a prefix for their kind.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The text is not an identifier of the expected kind.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("\"{text}\" is not an id of the form {prefix}_ followed by 32 hexadecimal digits")]
pub struct IdError {
    text: String,
    prefix: &'static str,
}

/// Returns 48 bits of milliseconds followed by 80 bits that no other process or thread repeats: a
/// random start per process plus a counter.
fn fresh() -> u128 {
    use std::hash::{BuildHasher, RandomState};
    use std::sync::OnceLock;
    static SEED: OnceLock<u64> = OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let millis = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis());
    let seed = *SEED.get_or_init(|| RandomState::new().hash_one(std::process::id()));
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let low = (u128::from(seed) << 16) ^ u128::from(count);
    (millis << 80) | (low & ((1 << 80) - 1))
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u128);

        impl $name {
            /// Creates a new identifier. Identifiers sort by the wall-clock time of their creation.
            #[must_use]
            pub fn fresh() -> Self {
                Self(fresh())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "_{:032x}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                text.strip_prefix(concat!($prefix, "_"))
                    .filter(|hex| hex.len() == 32 && hex.bytes().all(|b| b.is_ascii_hexdigit()))
                    .and_then(|hex| u128::from_str_radix(hex, 16).ok())
                    .map(Self)
                    .ok_or_else(|| IdError { text: text.chars().take(60).collect(), prefix: $prefix })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id!(
    /// One request to run one tool.
    CallId, "call"
);
id!(
    /// One pass of an agent loop, or another group of calls that shares budgets and guards.
    RunId, "run"
);
id!(
    /// One question to a person about one call.
    ApprovalId, "appr"
);
id!(
    /// One remembered approval.
    GrantId, "grant"
);

id!(
    /// One token of a person or a program.
    TokenId, "token"
);

id!(
    /// One conversation.
    ConversationId, "conv"
);

id!(
    /// One task of the scheduler.
    TaskId, "task"
);

id!(
    /// One notification of a person.
    NotificationId, "note"
);

id!(
    /// One accepted batch of calls.
    BatchId, "batch"
);

impl CallId {
    /// Returns the id of the `times`-th child call with this content. It is deterministic, so that
    /// a replayed parent finds the same child. It keeps the parent's timestamp, so that both are
    /// listed together.
    #[must_use]
    pub fn child(self, what: &str, times: u32) -> Self {
        let hash =
            crate::canonical_json::sha256_parts(&[&self.to_string(), what, &times.to_string()]);
        let low = hash.get(..20).and_then(|hex| u128::from_str_radix(hex, 16).ok());
        Self((self.0 >> 80 << 80) | low.unwrap_or_default())
    }
}

impl NotificationId {
    /// Returns the id of the notification about one event, such as the end of a run: a daemon that
    /// tells of it again, after a crash or beside another daemon, makes the same id. `at_ms` is the
    /// time by which it sorts; it must not differ between the two.
    #[must_use]
    pub fn for_event(event: &str, at_ms: i64) -> Self {
        let hash = crate::canonical_json::sha256_parts(&["notification", event]);
        let low = hash.get(..20).and_then(|hex| u128::from_str_radix(hex, 16).ok());
        let time = u128::try_from(at_ms).unwrap_or_default() & ((1 << 48) - 1);
        Self((time << 80) | low.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_about_one_event_has_one_id_and_sorts_by_its_time() {
        let at = |event: &str, ms: i64| NotificationId::for_event(event, ms);
        assert_eq!(at("run_1", 5), at("run_1", 5));
        assert!(at("run_2", 5) != at("run_1", 5) && at("run_2", 6) > at("run_1", 5));
        assert!(NotificationId::fresh() > at("run_1", 1_795_694_400_000 - 86_400_000_000));
    }

    #[test]
    fn a_child_has_one_id_for_each_time_it_is_made() {
        let parent = CallId::fresh();
        assert_eq!(parent.child("a", 1), parent.child("a", 1));
        let ids = [parent.child("a", 1), parent.child("a", 2), parent.child("b", 1), parent];
        let other = CallId::fresh().child("a", 1);
        let unique: std::collections::HashSet<_> = ids.iter().chain([&other]).collect();
        assert_eq!(unique.len(), 5);
    }

    #[test]
    fn ids_are_unique_ordered_and_survive_text() {
        let ids: Vec<CallId> = (0..1000).map(|_| CallId::fresh()).collect();
        let unique: std::collections::HashSet<_> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len());
        let text = ids[7].to_string();
        assert_eq!(text.parse::<CallId>().unwrap(), ids[7]);
        assert!(text.parse::<RunId>().is_err());
        assert!("call_+0000000000000000000000000000001".parse::<CallId>().is_err());
    }
}
