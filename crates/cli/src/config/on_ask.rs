//! The handling of calls that need approval if there is no approver (`--on-ask`).

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::config::duration_and_money;

/// The handling of calls that need approval if there is no approver.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum OnAsk {
    /// The call is denied at once; the run continues.
    #[default]
    Deny,
    /// The run is suspended until a decision: `toolcrib resume` continues it.
    Fail,
    /// The run waits this long for a decision from another process.
    Wait(Duration),
}

impl FromStr for OnAsk {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "deny" => Ok(Self::Deny),
            "fail" => Ok(Self::Fail),
            _ => match text.strip_prefix("wait:") {
                Some(time) => duration_and_money::parse_duration(time).map(Self::Wait),
                None => Err(format!("`{text}` is none of deny, fail, wait:DURATION")),
            },
        }
    }
}

impl fmt::Display for OnAsk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deny => f.write_str("deny"),
            Self::Fail => f.write_str("fail"),
            Self::Wait(time) => write!(f, "wait:{}", time.as_secs_f64()),
        }
    }
}

impl Serialize for OnAsk {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for OnAsk {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(de::Error::custom)
    }
}
