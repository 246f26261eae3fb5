//! `toolcrib args`: repairs and validates arguments as the pipeline does.
//!
//! Exit codes: 0 = usable, as sent or repaired; 1 = not usable; 2 = the schema cannot be read.

use std::collections::HashMap;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_argument_decoder::{Decoded, Limits, Schema, decode};

use crate::clap_args::ArgsCommand;
use crate::jsonl;
use crate::output::{self, Failure};

/// Number of compiled schemas in the cache of a filter: other programs send the same few
/// repeatedly.
const SCHEMA_CACHE_SIZE: usize = 256;

pub(crate) fn run(command: &ArgsCommand, json: bool) -> Result<u8, Failure> {
    if command.lines {
        return decode_jsonl();
    }
    let Some(path) = &command.schema else {
        return Err(Failure::usage("pass the schema with --schema FILE, or use --lines"));
    };
    let schema = read_schema(path)?;
    let decoded = decode(&output::read_stdin()?, &schema, &Limits::DEFAULT);
    let code = u8::from(decoded.value().is_none());
    if json {
        output::print_json(&json!(decoded), true)?;
        return Ok(code);
    }
    match &decoded {
        Decoded::Ok { value, warnings } => {
            warnings.iter().for_each(|warning| output::eprint_line(warning));
            output::print_json(value, false)?;
        }
        Decoded::Repaired { value, changes, warnings } => {
            changes
                .iter()
                .for_each(|change| output::eprint_line(&format!("repaired: {}", change.note)));
            warnings.iter().for_each(|warning| output::eprint_line(warning));
            output::print_json(value, false)?;
        }
        Decoded::ValidationError { message } => {
            output::eprint_line(&format!("validation error: {message}"));
        }
        Decoded::ParseError { message } => output::eprint_line(&format!("parse error: {message}")),
    }
    Ok(code)
}

fn read_schema(path: &Path) -> Result<Schema, Failure> {
    let at = path.display();
    let text = std::fs::read(path).map_err(|error| Failure::usage(format!("{at}: {error}")))?;
    let value: Value = serde_json::from_slice(&text)
        .map_err(|error| Failure::usage(format!("{at} is not valid JSON: {error}")))?;
    Schema::check(&value).map_err(|error| Failure::usage(format!("{at}: {error}")))
}

#[derive(Deserialize)]
struct DecodeRequest {
    schema: Value,
    raw: Option<String>,
    raw_b64: Option<String>,
}

fn decode_jsonl() -> Result<u8, Failure> {
    let mut schemas: HashMap<String, Schema> = HashMap::new();
    jsonl::run_filter(|line: DecodeRequest| {
        let key = line.schema.to_string();
        if !schemas.contains_key(&key) {
            let schema = match Schema::check(&line.schema) {
                Ok(schema) => schema,
                Err(error) => return Err(format!("schema: {error}")),
            };
            if schemas.len() >= SCHEMA_CACHE_SIZE {
                schemas.clear();
            }
            schemas.insert(key.clone(), schema);
        }
        let raw = match (line.raw, line.raw_b64) {
            (Some(raw), None) => raw.into_bytes(),
            (None, Some(coded)) => {
                STANDARD.decode(coded).map_err(|error| format!("raw_b64: {error}"))?
            }
            _ => return Err("send either raw or raw_b64".to_owned()),
        };
        let schema = schemas.get(&key).ok_or("the schema was forgotten")?;
        Ok(jsonl::into_object(json!(decode(&raw, schema, &Limits::DEFAULT))))
    })
}
