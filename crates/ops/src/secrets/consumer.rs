//! The consumer of a secret.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The consumer of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SecretConsumer {
    /// A tool, with the secret as the value of this key.
    Tool {
        /// The tool.
        tool: String,
        /// The key.
        key: String,
    },
    /// A provider, with the secret as its key.
    Provider {
        /// Id of the provider.
        provider: String,
    },
    /// A service of the web tools.
    Service {
        /// The service, in words.
        service: String,
    },
}

impl fmt::Display for SecretConsumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool { tool, key } => write!(f, "tool {tool} ({key})"),
            Self::Provider { provider } => write!(f, "provider {provider}"),
            Self::Service { service } => f.write_str(service),
        }
    }
}
