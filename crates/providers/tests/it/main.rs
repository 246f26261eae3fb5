//! Integration tests over recorded answers (`tests/fixtures/<format>/*`), in one binary.

#[cfg(test)]
mod declarations;
#[cfg(test)]
mod error_bodies;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod interrupted_streams;
#[cfg(test)]
mod recorded_responses;
#[cfg(test)]
mod result_messages;
#[cfg(test)]
mod schema_round_trip;
#[cfg(test)]
mod support;
#[cfg(test)]
mod truncated_recordings;
#[cfg(test)]
mod unjoinable_streams;
