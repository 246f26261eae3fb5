//! Tests over recorded answers (`tests/fixtures/<format>/*`), in one binary.

#[cfg(test)]
mod broken_off;
#[cfg(test)]
mod cuts;
#[cfg(test)]
mod declarations;
#[cfg(test)]
mod errors;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod replies;
#[cfg(test)]
mod responses;
#[cfg(test)]
mod round_trip;
#[cfg(test)]
mod support;
