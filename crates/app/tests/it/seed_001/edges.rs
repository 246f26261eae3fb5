use crate::row::Row;
pub(super) fn performance() -> Vec<Row> { vec![] }
pub(super) fn security() -> Vec<Row> { vec![] }
pub(super) fn edge_cases() -> Vec<Row> { vec![] }
