//! Recorded traffic: what a provider's server is asked and what it answers, written down in YAML,
//! and a server that plays it.
//!
//! A [`Suite`] is one file: the scenarios of one provider. A scenario is a message, the
//! [`Exchange`]s that follow (what the request must hold, and the answer byte by byte, with the
//! cuts and delays of real networks), and the [`Outcome`] at the end. Nothing here knows a
//! provider: the code that runs a scenario does.
//!
//! ```yaml
//! about: what the file is for
//! provider: openai-chat
//! model: gpt-5.2
//! paths: { stream: /v1/chat/completions, whole: /v1/chat/completions }
//! expect: { model: gpt-5.2 }            # every request of the file holds this
//! # Shapes that many events share; "$0", "$1" … are their holes; a list is several events.
//! frames:
//!   delta: {"choices": [{"index": 0, "delta": "$0", "finish_reason": null}]}
//! scenarios:
//!   - name: one-call
//!     shows: a call, its result, the answer
//!     tools: [weather]                  # names of tools.yaml
//!     user: Weather in Oslo?
//!     exchanges:
//!       - expect: { tools: { $any: true } }
//!         respond:
//!           sse:
//!             - [delta, {"content": "Hi"}]
//!             - { data: {"x": 1}, event: e, times: 3 }
//!             - "[DONE]"
//!     outcome: { text: Hi }
//! ```

mod file_format;
mod http1;
mod json_match;
mod replay_server;
mod response_body;
mod scenario_tools;
mod scenarios;

pub use file_format::ReadError;
pub use json_match::differences;
pub use replay_server::{ReceivedRequest, ReplayServer};
pub use response_body::Event;
pub use scenario_tools::Tools;
pub use scenarios::{Exchange, ExpectedCall, Outcome, Response, Scenario, Stream, Suite, Usage};
