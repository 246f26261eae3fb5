//! A command and its route agree: both use one operation, so `toolcrib … --json` has every member
//! of the REST document with the same value. The tables name the members that only the
//! command has.

mod changes;
mod lists_and_documents;
mod rules;
mod runs_and_searches;
mod surfaces;
