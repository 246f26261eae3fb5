//! A database of places in the MaxMind DB format (https://maxmind.github.io/MaxMind-DB/), written
//! byte by byte: no crate of a permissive license writes it.

use serde_json::{Value, json};

/// Bits of the only network: a /24.
const PREFIX: u32 = 24;
/// Zero bytes between the search tree and the data.
const SEPARATOR: u32 = 16;

/// A database that knows this IPv4 network of 256 addresses, and nothing else.
pub(crate) fn place_database(network: [u8; 3], record: &Value) -> Vec<u8> {
    let bits = u32::from_be_bytes([network[0], network[1], network[2], 0]);
    let mut bytes = Vec::new();
    for node in 0..PREFIX {
        // The record of the next bit leads on, or after the last bit to the data; the other one
        // has the number of nodes, which means that nothing is known.
        let next = if node + 1 == PREFIX { PREFIX + SEPARATOR } else { node + 1 };
        let is_right = bits >> (31 - node) & 1 == 1;
        let records = if is_right { [PREFIX, next] } else { [next, PREFIX] };
        for value in records {
            bytes.extend_from_slice(&value.to_be_bytes()[1..]);
        }
    }
    bytes.extend_from_slice(&[0; SEPARATOR as usize]);
    write(&mut bytes, record);
    bytes.extend_from_slice(b"\xab\xcd\xefMaxMind.com");
    let metadata = json!({
        "node_count": PREFIX, "record_size": 24, "ip_version": 4, "database_type": "City",
        "languages": ["en"], "binary_format_major_version": 2, "binary_format_minor_version": 0,
        "build_epoch": 1_764_288_000, "description": {"en": "test"},
    });
    write(&mut bytes, &metadata);
    bytes
}

/// One value: a control byte with type and size, then the value.
fn write(bytes: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Object(members) => {
            bytes.push(7 << 5 | size(members.len()));
            for (name, member) in members {
                write(bytes, &json!(name));
                match member.as_u64() {
                    Some(number) => write_number(bytes, name, number),
                    None => write(bytes, member),
                }
            }
        }
        Value::String(text) => {
            bytes.push(2 << 5 | size(text.len()));
            bytes.extend_from_slice(text.as_bytes());
        }
        // An extended type: its number less 7 is in the next byte.
        Value::Array(items) => {
            bytes.extend_from_slice(&[size(items.len()), 11 - 7]);
            items.iter().for_each(|item| write(bytes, item));
        }
        Value::Number(number) if number.is_f64() => {
            bytes.push(3 << 5 | 8);
            bytes.extend_from_slice(&number.as_f64().unwrap().to_be_bytes());
        }
        Value::Number(_) | Value::Null | Value::Bool(_) => panic!("{value} is not needed"),
    }
}

/// Each member of the metadata has an integer type of its own.
fn write_number(bytes: &mut Vec<u8>, name: &str, number: u64) {
    let (head, length): (&[u8], usize) = match name {
        "node_count" => (&[6 << 5 | 4], 4),
        "build_epoch" => (&[8, 9 - 7], 8),
        _ => (&[5 << 5 | 2], 2),
    };
    bytes.extend_from_slice(head);
    bytes.extend_from_slice(&number.to_be_bytes()[8 - length..]);
}

/// Larger sizes have further bytes.
fn size(size: usize) -> u8 {
    assert!(size < 29, "{size}");
    u8::try_from(size).unwrap()
}
