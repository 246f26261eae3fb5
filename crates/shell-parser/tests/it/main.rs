//! Integration tests of the shell parser, including comparisons with bash and tree-sitter.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of a test fails the test, as the test itself would"
)]

mod compare_with_bash;
mod line_generator;
mod line_table;
mod properties;
mod summary;
mod tree_sitter;
