//! Reading, repairing and refusing arguments.

use std::hint::black_box;

use serde_json::{Value, json};
use toolcrib_argument_decoder::{Limits, Schema, decode};

use crate::results::Results;
use crate::timing::cpu_nanos;

pub(crate) fn run(table: &mut Results) {
    let schema = Schema::check(&json!({
        "type": "object",
        "properties": {"rows": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}, "name": {"type": "string"}}}}}
    }))
    .expect("a schema");
    let rows: Vec<Value> =
        (0..2000).map(|n| json!({"n": n, "name": "a row with some text in it"})).collect();
    let valid = json!({"rows": rows}).to_string();
    let broken = valid.replace("}]", ",},]").replace("\"n\":", "n:");
    let floor = cpu_nanos(9, 20, || drop(black_box(serde_json::from_str::<Value>(&valid))));
    for (what, text) in [("valid", &valid), ("to be repaired in 4,000 places", &broken)] {
        assert!(decode(text, &schema, &Limits::DEFAULT).value().is_some());
        let nanos = cpu_nanos(9, 20, || drop(black_box(decode(text, &schema, &Limits::DEFAULT))));
        table.figure(format!("args: {what}"), text.len() as f64 * 1000.0 / nanos, "MB/s");
        table.figure(format!("args: {what}, against serde_json alone"), nanos / floor, "x");
    }
}
