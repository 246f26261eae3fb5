//! Quantization of vectors to `i8`: a quarter of the memory, and dot products of sixteen cells per
//! instruction.

/// Writes a row as integers from -127 to 127 and returns the scale factor; 0 for a zero row.
pub(crate) fn row(values: &[f32], mut write: impl FnMut(i8)) -> f32 {
    let largest = values.iter().fold(0f32, |m, x| m.max(x.abs()));
    let scale = if largest > 0.0 && largest.is_finite() { 127.0 / largest } else { 0.0 };
    for value in values {
        // In range by construction; `as` would saturate anyway.
        write((value * scale).round() as i8);
    }
    if scale > 0.0 { largest / 127.0 } else { 0.0 }
}

/// Cells per iteration: the compiler turns a loop of this fixed length into 16-bit multiply-add
/// instructions.
const LANES: usize = 32;

/// Returns the dot product of two quantized vectors. The second one is already widened to `i16`, so
/// only one conversion is needed. 4,096 dimensions of 127 * 127 fit easily in an `i32`.
#[inline]
pub(crate) fn dot(narrow: &[i8], wide: &[i16]) -> i32 {
    let ((a, a_rest), (b, b_rest)) = (narrow.as_chunks::<LANES>(), wide.as_chunks::<LANES>());
    let rest: i32 = a_rest.iter().zip(b_rest).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
    a.iter().zip(b).map(|(a, b)| dot_lanes(a, b)).sum::<i32>() + rest
}

#[inline]
fn dot_lanes(a: &[i8; LANES], b: &[i16; LANES]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_survive() {
        let a: Vec<f32> = (0..256).map(|i| (i as f32 * 0.37).sin() / 16.0).collect();
        let b: Vec<f32> = (0..256).map(|i| (i as f32 * 0.21).cos() / 16.0).collect();
        let (mut qa, mut qb) = (Vec::new(), Vec::new());
        let (sa, sb) = (row(&a, |q| qa.push(q)), row(&b, |q| qb.push(i16::from(q))));
        let exact: f32 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
        let got = dot(&qa, &qb) as f32 * sa * sb;
        assert!((exact - got).abs() < 0.005, "{exact} {got}");
    }

    #[test]
    fn zeros_and_nonsense_are_zeros() {
        for values in [vec![0.0; 4], vec![f32::INFINITY, 1.0]] {
            let mut q = Vec::new();
            assert_eq!(row(&values, |x| q.push(x)), 0.0);
        }
    }
}
