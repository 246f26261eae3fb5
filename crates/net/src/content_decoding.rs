//! Content decoding with a bounded output size, so that a decompression bomb costs at most the
//! bound.
#![deny(clippy::indexing_slicing)]

use std::borrow::Cow;
use std::io::{self, ErrorKind, Write};

use brotli_decompressor::DecompressorWriter;
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// Buffer size of the brotli decoder.
const BROTLI_BUFFER: usize = 8 * 1024;

/// Collects decoded bytes up to a bound.
#[derive(Debug)]
struct Sink {
    out: Vec<u8>,
    room: usize,
    overflowed: bool,
}

impl Sink {
    fn new(room: usize) -> Self {
        Self { out: Vec::new(), room, overflowed: false }
    }
}

impl Write for Sink {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if data.is_empty() {
            return Ok(0);
        }
        let (taken, rest) = data.split_at(data.len().min(self.room));
        self.out.extend_from_slice(taken);
        self.room -= taken.len();
        if taken.is_empty() {
            self.overflowed = !rest.is_empty();
            return Err(io::Error::other("the bound on decoded bytes is reached"));
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An incremental body decoder.
pub(crate) struct Inflater {
    decoder: Decoder,
    name: &'static str,
    /// Whether any byte was fed: an empty body is complete in every encoding.
    fed: bool,
}

enum Decoder {
    Identity(Sink),
    Gzip(Box<MultiGzDecoder<Sink>>),
    /// `deflate` before its first two bytes, which distinguish zlib (RFC 9110) from the raw form
    /// that some servers send.
    Undecided(Vec<u8>, Sink),
    Zlib(Box<ZlibDecoder<Sink>>),
    Deflate(Box<DeflateDecoder<Sink>>),
    Brotli(Box<DecompressorWriter<Sink>>),
    /// After an error or the bound; there is no more output.
    Ended,
}

/// Result of feeding a chunk.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DecodeStatus {
    /// Decoded bytes, possibly empty.
    More(Vec<u8>),
    /// The last decoded bytes, because the bound was reached.
    Full(Vec<u8>),
}

impl Inflater {
    /// Creates a decoder for a `Content-Encoding`; `None` if it is unknown or a list. The name is
    /// ASCII and case-insensitive.
    pub(crate) fn for_encoding(encoding: &str, max_bytes: usize) -> Option<Self> {
        let sink = Sink::new(max_bytes);
        let (name, decoder) = match encoding.to_ascii_lowercase().as_str() {
            "" | "identity" => ("identity", Decoder::Identity(sink)),
            "gzip" | "x-gzip" => ("gzip", Decoder::Gzip(Box::new(MultiGzDecoder::new(sink)))),
            "deflate" => ("deflate", Decoder::Undecided(Vec::new(), sink)),
            "br" => ("br", Decoder::Brotli(Box::new(DecompressorWriter::new(sink, BROTLI_BUFFER)))),
            _ => return None,
        };
        Some(Self { decoder, name, fed: false })
    }

    /// Creates a decoder that only applies the bound.
    pub(crate) fn identity(max_bytes: usize) -> Self {
        Self { decoder: Decoder::Identity(Sink::new(max_bytes)), name: "identity", fed: false }
    }

    /// Returns the name of the encoding, for messages.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Decodes the next chunk.
    pub(crate) fn feed(&mut self, piece: &[u8]) -> io::Result<DecodeStatus> {
        self.fed |= !piece.is_empty();
        let Some(piece) = self.decide(piece, false) else {
            return Ok(DecodeStatus::More(Vec::new()));
        };
        let result = self.with_writer(|writer| match writer.write_all(&piece) {
            // Bytes after the end of the encoded stream are ignored, as browsers do.
            Err(error) if error.kind() == ErrorKind::WriteZero => Ok(()),
            Err(error) => Err(error),
            Ok(()) => writer.flush(),
        });
        self.outcome(result)
    }

    /// Ends the body: returns the remaining decoded bytes, or an error if the body is
    /// incomplete.
    pub(crate) fn finish(&mut self) -> io::Result<DecodeStatus> {
        if !self.fed {
            return Ok(DecodeStatus::More(Vec::new()));
        }
        let rest = self.decide(&[], true).unwrap_or_default();
        let written = self.with_writer(|writer| writer.write_all(&rest));
        let result = written.and_then(|()| match &mut self.decoder {
            Decoder::Gzip(decoder) => decoder.try_finish(),
            Decoder::Zlib(decoder) => decoder.try_finish(),
            Decoder::Deflate(decoder) => decoder.try_finish(),
            Decoder::Brotli(decoder) => decoder.close(),
            Decoder::Identity(_) | Decoder::Undecided(..) | Decoder::Ended => Ok(()),
        });
        self.outcome(result)
    }

    /// Detects the form of `deflate` as soon as two bytes are available (or at the end if `last`),
    /// and returns the bytes to decode.
    fn decide<'a>(&mut self, piece: &'a [u8], last: bool) -> Option<Cow<'a, [u8]>> {
        let Decoder::Undecided(head, _) = &mut self.decoder else {
            return Some(Cow::Borrowed(piece));
        };
        head.extend_from_slice(piece);
        if head.len() < 2 && !last {
            return None;
        }
        if let Decoder::Undecided(head, sink) = std::mem::replace(&mut self.decoder, Decoder::Ended)
        {
            self.decoder = if is_zlib(&head) {
                Decoder::Zlib(Box::new(ZlibDecoder::new(sink)))
            } else {
                Decoder::Deflate(Box::new(DeflateDecoder::new(sink)))
            };
            return Some(Cow::Owned(head));
        }
        None
    }

    fn with_writer(
        &mut self,
        work: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        match &mut self.decoder {
            Decoder::Identity(sink) | Decoder::Undecided(_, sink) => work(sink),
            Decoder::Gzip(decoder) => work(decoder),
            Decoder::Zlib(decoder) => work(decoder),
            Decoder::Deflate(decoder) => work(decoder),
            Decoder::Brotli(decoder) => work(decoder),
            Decoder::Ended => Ok(()),
        }
    }

    fn sink(&mut self) -> Option<&mut Sink> {
        match &mut self.decoder {
            Decoder::Identity(sink) | Decoder::Undecided(_, sink) => Some(sink),
            Decoder::Gzip(decoder) => Some(decoder.get_mut()),
            Decoder::Zlib(decoder) => Some(decoder.get_mut()),
            Decoder::Deflate(decoder) => Some(decoder.get_mut()),
            Decoder::Brotli(decoder) => Some(decoder.get_mut()),
            Decoder::Ended => None,
        }
    }

    /// Returns the decoded output. Reaching the bound is not an error; other errors end the
    /// decoder.
    fn outcome(&mut self, result: io::Result<()>) -> io::Result<DecodeStatus> {
        let Some(sink) = self.sink() else { return Ok(DecodeStatus::Full(Vec::new())) };
        let (out, overflowed) = (std::mem::take(&mut sink.out), sink.overflowed);
        if overflowed || result.is_err() {
            self.decoder = Decoder::Ended;
        }
        if overflowed {
            return Ok(DecodeStatus::Full(out));
        }
        result.map(|()| DecodeStatus::More(out))
    }
}

/// Returns whether the bytes are a zlib header: method 8, and a check value that makes the two
/// bytes a multiple of 31 (RFC 1950 section 2.2).
fn is_zlib(head: &[u8]) -> bool {
    matches!(head, [cmf, flg, ..] if cmf & 0x0f == 8 && (u16::from(*cmf) << 8 | u16::from(*flg)) % 31 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    /// `hello hello hello`, encoded by the reference encoder at quality 11.
    const BROTLI_HELLO: &[u8] = &[
        0x1b, 0x10, 0x00, 0xf8, 0x8d, 0x94, 0x6e, 0xde, 0x44, 0x55, 0x86, 0x96, 0x6c, 0x20, 0x6f,
        0x01, 0x4f, 0x1c, 0x60, 0x1c,
    ];

    /// 64 MiB of zeros, encoded by the reference encoder at quality 11.
    const BROTLI_BOMB: &[u8] = &[
        0xcb, 0xff, 0xff, 0x3f, 0xf8, 0x27, 0x00, 0xe2, 0xb1, 0x40, 0x20, 0xf7, 0xfe, 0x8f, 0xff,
        0xff, 0x7f, 0xf0, 0x4f, 0x00, 0xc4, 0x61, 0x11, 0x80, 0xee, 0xfd, 0x1f, 0xff, 0xff, 0xff,
        0xe0, 0x9f, 0x00, 0x88, 0xc3, 0x02, 0x00, 0xdd, 0xfb, 0x3f, 0xfe, 0xff, 0xff, 0xc1, 0x3f,
        0x01, 0x10, 0x87, 0x05, 0x00, 0xba, 0xf7, 0x7f, 0xfc, 0xff, 0xff, 0x83, 0x7f, 0x02, 0x20,
        0x0e, 0x0b, 0x00, 0x74, 0xef, 0xff, 0xf8, 0xff, 0xff, 0x07, 0xff, 0x04, 0x40, 0x1c, 0x16,
        0x00, 0xe8, 0xde, 0xff, 0xf1, 0xff, 0xff, 0x0f, 0xfe, 0x09, 0x80, 0x38, 0x2c, 0x00, 0xd0,
        0xbd, 0xff, 0xcb, 0xff, 0xff, 0x3f, 0xfc, 0x13, 0x00, 0x71, 0x58, 0x00, 0xa0, 0x7b, 0xff,
        0x07,
    ];

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(data).expect("gzip");
        encoder.finish().expect("gzip")
    }

    fn zlib(data: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(data).expect("zlib");
        encoder.finish().expect("zlib")
    }

    fn deflate(data: &[u8]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(data).expect("deflate");
        encoder.finish().expect("deflate")
    }

    /// Feeds chunks of `step` bytes; returns the text and whether the bound truncated it.
    fn run(encoding: &str, wire: &[u8], step: usize, bound: usize) -> io::Result<(Vec<u8>, bool)> {
        let mut inflater = Inflater::for_encoding(encoding, bound).expect("known encoding");
        let mut out = Vec::new();
        for piece in wire.chunks(step) {
            match inflater.feed(piece)? {
                DecodeStatus::More(text) => out.extend(text),
                DecodeStatus::Full(text) => {
                    out.extend(text);
                    return Ok((out, true));
                }
            }
        }
        match inflater.finish()? {
            DecodeStatus::More(text) => out.extend(text),
            DecodeStatus::Full(text) => {
                out.extend(text);
                return Ok((out, true));
            }
        }
        Ok((out, false))
    }

    #[test]
    fn every_encoding_in_pieces_of_every_size() {
        let text = b"hello hello hello".as_slice();
        let members = [gzip(b"hello hello"), gzip(b" hello")].concat();
        let rows: [(&str, Vec<u8>); 8] = [
            ("identity", text.to_vec()),
            ("", text.to_vec()),
            ("GZip", gzip(text)),
            ("x-gzip", members),
            ("deflate", zlib(text)),
            ("deflate", deflate(text)),
            ("br", BROTLI_HELLO.to_vec()),
            ("br", [BROTLI_HELLO, b"trailing"].concat()),
        ];
        for (encoding, wire) in rows {
            for step in [1, 2, 3, 7, 1000] {
                let (out, cut) = run(encoding, &wire, step, 1000).expect(encoding);
                assert_eq!((out.as_slice(), cut), (text, false), "{encoding} by {step}");
                let (out, cut) = run(encoding, &wire, step, text.len()).expect(encoding);
                assert_eq!(
                    (out.as_slice(), cut),
                    (text, false),
                    "{encoding} by {step}, exact bound"
                );
                let (out, cut) = run(encoding, &wire, step, 5).expect(encoding);
                assert_eq!(
                    (out.as_slice(), cut),
                    (b"hello".as_slice(), true),
                    "{encoding} by {step}, cut"
                );
            }
        }
    }

    #[test]
    fn an_empty_body_is_complete_and_a_torn_one_is_not() {
        for encoding in ["gzip", "deflate", "br", "identity"] {
            assert_eq!(run(encoding, b"", 1, 10).expect(encoding), (Vec::new(), false));
        }
        let text = b"hello hello hello";
        for (encoding, wire) in [
            ("gzip", gzip(text)),
            ("deflate", zlib(text)),
            ("deflate", deflate(text)),
            ("br", BROTLI_HELLO.to_vec()),
        ] {
            for keep in 1..wire.len() {
                run(encoding, &wire[..keep], 1000, 1000).expect_err("torn");
            }
        }
        run("gzip", b"<html>", 1000, 1000).expect_err("not gzip");
        run("br", b"<html><body>", 1000, 1000).expect_err("not brotli");
    }

    #[test]
    fn a_bomb_costs_its_bound() {
        let zeros = vec![0; 16 << 20];
        let bombs =
            [("gzip", gzip(&zeros)), ("deflate", zlib(&zeros)), ("br", BROTLI_BOMB.to_vec())];
        for (encoding, bomb) in bombs {
            assert!(bomb.len() < 128 << 10);
            let (out, cut) = run(encoding, &bomb, bomb.len(), 100_000).expect("bounded");
            assert_eq!((out.len(), cut), (100_000, true));
            assert!(out.capacity() < 1 << 20);
        }
    }

    #[test]
    fn unknown_encodings_and_lists_are_not_decoded() {
        for encoding in ["zstd", "gzip, br", "utf-8"] {
            assert!(Inflater::for_encoding(encoding, 10).is_none(), "{encoding}");
        }
    }
}
