//! Our door as a server.
