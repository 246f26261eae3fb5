//! Cards: blocks that a model shows to the person instead of plain text.
//!
//! - `block`: the blocks as types; the schema of each is made from its type.
//! - `decode`: a model's blocks become valid ones, repaired like arguments, or an error that names
//!   the block.
//! - `text_rules`: what the texts in blocks may be.
//! - `reference`: what the tool answers without blocks.

mod block;
mod decode;
mod reference;
mod text_rules;

pub use block::{
    Action, Alert, Badge, Button, Buttons, Card, CardBlock, Chart, ChartKind, Column, Columns,
    FieldKind, Form, FormField, KeyValue, KeyValueItem, Level, Metric, Progress, Section, Series,
    Step, StepState, Table, Text, Timeline, Trend,
};
pub use decode::{CardError, DecodedCard, MAX_BLOCKS, MAX_DEPTH, decode};
pub use reference::REFERENCE;
