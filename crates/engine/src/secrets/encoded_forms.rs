//! The forms in which a secret can occur: unchanged, and in the encodings of programs that pass it
//! on.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

use super::escaping::{self, Json};
use super::scanner::PREFIX;

/// Minimum length of a part of a secret that is masked alone: lines of keys, and the rest of a long
/// secret that was cut.
const PIECE: usize = 32;
/// Line lengths of base64 in `base64` and MIME (76, RFC 2045) and in PEM (64, RFC 7468).
const BASE64_LINES: [usize; 2] = [76, 64];
/// Line length of hexadecimal digits in `xxd -p`.
const HEX_LINE: usize = 60;

/// Returns every form of a secret that is long enough to be searched for.
pub(super) fn encoded_forms(value: &str) -> BTreeSet<Vec<u8>> {
    let mut forms = Forms(BTreeSet::new());
    forms.whole(value);
    forms.whole(value.trim());
    if value.contains('\n') {
        // Tools that number, indent or search lines show single lines; the header and footer lines
        // of keys are not secret.
        for line in value.lines().map(str::trim).filter(|line| !line.starts_with("-----")) {
            forms.whole(line);
        }
    }
    forms.pieces(value);
    forms.0
}

struct Forms(BTreeSet<Vec<u8>>);

impl Forms {
    fn add(&mut self, form: impl Into<Vec<u8>>) {
        let form = form.into();
        if form.len() >= PREFIX {
            self.0.insert(form);
        }
    }

    /// Adds one value in all its forms.
    fn whole(&mut self, value: &str) {
        // In most forms a shorter value would occur in ordinary text too.
        if value.len() < PREFIX {
            return;
        }
        self.add(value);
        escaping::percent_whole(value).into_iter().for_each(|form| self.add(form));
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
        if !value.bytes().all(is_plain) {
            self.escaped(value);
        }
        self.hex(value.as_bytes());
        self.base64(value.as_bytes());
    }

    /// Adds the forms in which letters, digits, dashes and dots stay unchanged.
    fn escaped(&mut self, value: &str) {
        for style in Json::all() {
            let once = style.escape(value);
            self.add(style.escape(&once));
            self.add(once);
        }
        escaping::percent(value).into_iter().for_each(|form| self.add(form));
        escaping::html(value).into_iter().for_each(|form| self.add(form));
        escaping::quoted(value).into_iter().for_each(|form| self.add(form));
        self.add(escaping::markdown(value));
    }

    fn hex(&mut self, bytes: &[u8]) {
        let lower: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        for hex in [lower.to_uppercase(), lower] {
            self.lines(&hex, HEX_LINE);
            self.add(hex);
        }
    }

    /// Adds the base64 digits that do not depend on neighbouring bytes, for each of the three
    /// alignments: base64 of a text depends on at most the two bytes before it.
    fn base64(&mut self, bytes: &[u8]) {
        for (url, encoded) in [(false, STANDARD.encode(bytes)), (true, URL_SAFE.encode(bytes))] {
            self.in_address(encoded.trim_end_matches('='));
            self.in_address(&encoded);
            if !url {
                BASE64_LINES.into_iter().for_each(|width| self.lines(&encoded, width));
            }
        }
        for before in 0..3_usize {
            let shifted = [[0_u8; 2].get(..before).unwrap_or_default(), bytes].concat();
            let (from, to) = ((before * 8).div_ceil(6), shifted.len() * 8 / 6);
            for encoded in [STANDARD.encode(&shifted), URL_SAFE.encode(&shifted)] {
                self.in_address(encoded.get(from..to).unwrap_or_default());
            }
        }
    }

    /// Adds base64 unchanged, in JSON that escapes slashes, and in an address.
    fn in_address(&mut self, encoded: &str) {
        self.add(encoded.replace('/', "\\/"));
        for (plus, slash, equals) in [("%2B", "%2F", "%3D"), ("%2b", "%2f", "%3d")] {
            let written = encoded.replace('+', plus).replace('=', equals);
            self.add(written.replace('/', slash));
            self.add(written);
        }
        self.add(encoded);
    }

    /// Adds the lines of a long form.
    fn lines(&mut self, encoded: &str, width: usize) {
        if encoded.len() <= width {
            return;
        }
        let lines = encoded.as_bytes().chunks(width);
        lines.filter(|line| line.len() >= PIECE.min(width)).for_each(|line| self.add(line));
    }

    /// Adds the parts of a long secret, in case its end was cut off.
    fn pieces(&mut self, value: &str) {
        if value.len() < 2 * PIECE {
            return;
        }
        let mut rest = value;
        while rest.len() >= PIECE {
            let end = (PIECE..=rest.len()).find(|at| rest.is_char_boundary(*at));
            let Some((piece, after)) = end.and_then(|end| rest.split_at_checked(end)) else {
                return;
            };
            self.add(piece);
            rest = after;
        }
    }
}
