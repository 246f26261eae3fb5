//! Embedding table of a model in the safetensors format.
#![deny(clippy::indexing_slicing)]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;

/// Maximum bytes of the header. The format allows 100 MB, but a model of this kind has two or three
/// tensors.
const LARGEST_HEADER: usize = 1 << 20;

/// One tensor of the header.
#[derive(Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

/// A row of `i8` and a weight for every token.
pub(super) struct Table {
    /// The rows in sequence; those of the built-in model are borrowed from the binary.
    bytes: Cow<'static, [u8]>,
    /// Range of the rows in `bytes`.
    at: Range<usize>,
    /// Scale of each row times the weight of its token.
    weights: Vec<f32>,
    dimensions: usize,
}

impl Table {
    /// Parses a complete file.
    pub(super) fn read(bytes: Cow<'static, [u8]>) -> Result<Self, String> {
        let (mut tensors, start) = header(&bytes)?;
        let rows = tensors.remove("embeddings").ok_or("it has no tensor `embeddings`")?;
        let [count, dimensions] = rows.shape[..] else {
            return Err("`embeddings` is not a table".to_owned());
        };
        if count == 0 || dimensions == 0 {
            return Err("`embeddings` is empty".to_owned());
        }
        let cells = count.checked_mul(dimensions).ok_or("`embeddings` is too large")?;
        let given = match tensors.remove("weights") {
            Some(tensor) if tensor.dtype == "F32" && tensor.shape == [count] => {
                floats(&bytes, place(&tensor, start, &bytes, count, 4)?)
            }
            Some(_) => return Err("`weights` is not one F32 for each row".to_owned()),
            None => vec![1.0; count],
        };
        if !given.iter().all(|weight| weight.is_finite()) {
            return Err("`weights` contains a value that is not a number".to_owned());
        }
        match rows.dtype.as_str() {
            "I8" => {
                let at = place(&rows, start, &bytes, cells, 1)?;
                Ok(Self { bytes, at, weights: given, dimensions })
            }
            "F32" => {
                let cells = floats(&bytes, place(&rows, start, &bytes, cells, 4)?);
                Self::quantised(&cells, given, dimensions)
            }
            "F16" => {
                let at = place(&rows, start, &bytes, cells, 2)?;
                let halves = bytes.get(at).unwrap_or_default().chunks_exact(2);
                let cells: Vec<f32> = halves.map(|b| half(pair(b))).collect();
                Self::quantised(&cells, given, dimensions)
            }
            other => Err(format!("`embeddings` are {other}; I8, F16 and F32 can be read")),
        }
    }

    fn quantised(cells: &[f32], mut weights: Vec<f32>, dimensions: usize) -> Result<Self, String> {
        if !cells.iter().all(|cell| cell.is_finite()) {
            return Err("`embeddings` contains a value that is not a number".to_owned());
        }
        let mut bytes = Vec::with_capacity(cells.len());
        for (row, weight) in cells.chunks_exact(dimensions).zip(&mut weights) {
            let scale = crate::quantize::row(row, |q| bytes.push(q as u8));
            *weight *= scale;
        }
        Ok(Self { at: 0..bytes.len(), bytes: Cow::Owned(bytes), weights, dimensions })
    }

    pub(super) fn rows(&self) -> usize {
        self.weights.len()
    }

    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Adds the weighted row of a token.
    pub(super) fn add_row(&self, token: u32, sum: &mut [f32]) {
        let token = token as usize;
        let start = self.at.start + token * self.dimensions;
        let row = self.bytes.get(start..start + self.dimensions);
        let (Some(row), Some(weight)) = (row, self.weights.get(token)) else { return };
        for (sum, cell) in sum.iter_mut().zip(row) {
            *sum += f32::from(*cell as i8) * weight;
        }
    }
}

/// Returns the tensors by name, and the offset of their data.
fn header(bytes: &[u8]) -> Result<(BTreeMap<String, Tensor>, usize), String> {
    let (length, rest) = bytes.split_first_chunk::<8>().ok_or("it is too short")?;
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    if length > LARGEST_HEADER {
        return Err("its header is too long".to_owned());
    }
    let header = rest.get(..length).ok_or("it ends inside its header")?;
    let mut raw: BTreeMap<String, serde_json::Value> =
        serde_json::from_slice(header).map_err(|e| format!("its header is not valid JSON: {e}"))?;
    raw.remove("__metadata__");
    let tensors = raw.into_iter().map(|(name, tensor)| {
        let tensor = serde_json::from_value(tensor).map_err(|e| format!("`{name}`: {e}"))?;
        Ok((name, tensor))
    });
    Ok((tensors.collect::<Result<_, String>>()?, 8 + length))
}

/// Returns the byte range of a tensor with this many cells of this size, checked against the file.
fn place(
    tensor: &Tensor,
    start: usize,
    bytes: &[u8],
    cells: usize,
    size: usize,
) -> Result<Range<usize>, String> {
    let [from, to] = tensor.data_offsets;
    let at = start.checked_add(from).zip(start.checked_add(to)).map(|(from, to)| from..to);
    at.filter(|at| at.end <= bytes.len() && at.start <= at.end)
        .filter(|at| Some(at.len()) == cells.checked_mul(size))
        .ok_or_else(|| "a tensor does not lie inside the file".to_owned())
}

fn floats(bytes: &[u8], at: Range<usize>) -> Vec<f32> {
    let cells = bytes.get(at).unwrap_or_default().as_chunks::<4>().0;
    cells.iter().map(|cell| f32::from_le_bytes(*cell)).collect()
}

fn pair(bytes: &[u8]) -> u16 {
    bytes.first_chunk().map_or(0, |pair| u16::from_le_bytes(*pair))
}

/// Converts an IEEE 754 half-precision number.
fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f32::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f32.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::half;

    #[test]
    fn halves_are_read() {
        for (bits, value) in [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x0001, 5.960_464_5e-8),
            (0x7bff, 65504.0),
        ] {
            assert_eq!(half(bits), value, "{bits:x}");
        }
        assert!(half(0x7e00).is_nan() && half(0x7c00).is_infinite());
    }
}
