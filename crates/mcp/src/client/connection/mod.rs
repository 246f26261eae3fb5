//! The connection to one server: state, opening and closing, reviews, authorization, running calls.

mod authorization;
mod calls;
mod live;
mod opening;
mod reviews;
mod server_connection;
mod slot;
mod state;

pub(crate) use live::LiveConnection;
pub use server_connection::Connection;
pub use state::ConnectionState;
