//! Messages to the host of a pseudoterminal: input for the shell, and sizes of the window.

use std::io::{self, Read};

/// Largest input of one frame, in bytes.
const MAX_INPUT: usize = 1 << 20;

/// A window in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// Columns, at least 1.
    pub columns: u16,
    /// Rows, at least 1.
    pub rows: u16,
}

/// A message to the host of a pseudoterminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// Typed bytes.
    Input(Vec<u8>),
    /// A new size of the window.
    Size(TerminalSize),
}

impl Frame {
    /// Encodes the message: kind, length as a big-endian number, content.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let (kind, content) = match self {
            Self::Input(bytes) => (b'i', bytes.clone()),
            Self::Size(TerminalSize { columns, rows }) => {
                (b's', [columns.to_be_bytes(), rows.to_be_bytes()].concat())
            }
        };
        let length = u32::try_from(content.len()).unwrap_or(u32::MAX).to_be_bytes();
        [&[kind][..], &length, &content].concat()
    }

    /// Reads the next message; `None` at the end.
    ///
    /// # Errors
    /// Bytes that are not a message, and read errors.
    pub fn read(from: &mut impl Read) -> io::Result<Option<Self>> {
        let mut head = [0; 5];
        if let Err(error) = from.read_exact(&mut head) {
            let ended = error.kind() == io::ErrorKind::UnexpectedEof;
            return if ended { Ok(None) } else { Err(error) };
        }
        let [kind, length @ ..] = head;
        let length = u32::from_be_bytes(length) as usize;
        if length > MAX_INPUT {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut content = vec![0; length];
        from.read_exact(&mut content)?;
        match (kind, content.as_slice()) {
            (b'i', _) => Ok(Some(Self::Input(content))),
            (b's', [a, b, c, d]) => Ok(Some(Self::Size(TerminalSize {
                columns: u16::from_be_bytes([*a, *b]),
                rows: u16::from_be_bytes([*c, *d]),
            }))),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_pipe_and_others_are_refused() {
        let sent = [
            Frame::Input(b"ls\r".to_vec()),
            Frame::Size(TerminalSize { columns: 120, rows: 300 }),
            Frame::Input(Vec::new()),
        ];
        let bytes: Vec<u8> = sent.iter().flat_map(Frame::encode).collect();
        let mut rest = bytes.as_slice();
        for frame in &sent {
            assert_eq!(Frame::read(&mut rest).unwrap().as_ref(), Some(frame));
        }
        assert_eq!(Frame::read(&mut rest).unwrap(), None);
        assert!(Frame::read(&mut &b"x\0\0\0\0"[..]).is_err());
        assert!(Frame::read(&mut &b"i\xff\xff\xff\xff"[..]).is_err());
        assert!(Frame::read(&mut &b"s\0\0\0\x01a"[..]).is_err());
    }
}
