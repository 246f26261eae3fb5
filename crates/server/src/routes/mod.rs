//! The routes, one group per file.

mod health;
mod meta;
mod tools;

use crate::api::{Api, Operation};

/// All routes.
pub(crate) fn all() -> Api {
    let mut api = Api::default();
    health::routes(&mut api);
    meta::routes(&mut api);
    tools::routes(&mut api);
    api
}

/// All operations, for documents and for tests over every route.
#[must_use]
pub fn operations() -> Vec<Operation> {
    all().finish().1
}
