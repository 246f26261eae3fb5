//! Cards: blocks that a model shows to the person instead of plain text.
//!
//! - `block`: the blocks as types, from which their schemas are generated.
//! - `decode`: checks and repairs a model's blocks; an error names the block.
//! - `text_rules`: the rules for texts in blocks.
//! - `reference`: the answer of the tool to a call without blocks.

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
