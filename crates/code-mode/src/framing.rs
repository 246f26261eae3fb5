//! Message framing: a big-endian length of four bytes, then JSON.
#![deny(clippy::indexing_slicing)]

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Size limit of a message. The largest contains a value of 256 KiB, which JSON escapes can make
/// six times as long.
pub(crate) const FRAME_BYTES: usize = 4 << 20;

/// Writes a message.
pub(crate) fn write(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    to.write_all(&frame(message)?)?;
    to.flush()
}

/// Reads a message; `None` if the other side has closed.
pub(crate) fn read<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<T>> {
    let mut head = [0; 4];
    if from.read(head.get_mut(..1).unwrap_or_default())? == 0 {
        return Ok(None);
    }
    from.read_exact(head.get_mut(1..).unwrap_or_default())?;
    let mut body = vec![0; length(head)?];
    from.read_exact(&mut body)?;
    Ok(Some(serde_json::from_slice(&body)?))
}

/// Sends a message.
pub(crate) async fn send(
    to: &mut (impl AsyncWrite + Unpin),
    message: &impl Serialize,
) -> io::Result<()> {
    to.write_all(&frame(message)?).await?;
    to.flush().await
}

/// Receives a message; `None` if the other side has closed. Not cancel-safe: dropping the future
/// loses the bytes already read.
pub(crate) async fn receive<T: DeserializeOwned>(
    from: &mut (impl AsyncRead + Unpin),
) -> io::Result<Option<T>> {
    let mut head = [0; 4];
    match from.read_exact(&mut head).await {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut body = vec![0; length(head)?];
    from.read_exact(&mut body).await?;
    Ok(Some(serde_json::from_slice(&body)?))
}

fn frame(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let length = frame.len() - 4;
    if length > FRAME_BYTES {
        return Err(too_long(length));
    }
    let head = u32::try_from(length).map_err(|_| too_long(length))?.to_be_bytes();
    frame.splice(..4, head);
    Ok(frame)
}

fn length(head: [u8; 4]) -> io::Result<usize> {
    let length = usize::try_from(u32::from_be_bytes(head)).unwrap_or(usize::MAX);
    if length > FRAME_BYTES { Err(too_long(length)) } else { Ok(length) }
}

fn too_long(length: usize) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a message of {length} bytes"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn from_both(bytes: &[u8]) -> (io::Result<Option<Value>>, io::Result<Option<Value>>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let blocking = read(&mut &*bytes);
        let waiting = runtime.block_on(receive(&mut &*bytes));
        (blocking, waiting)
    }

    #[test]
    fn what_is_no_message_is_refused_before_room_is_made_for_it() {
        let check = |bytes: &[u8], expected: io::ErrorKind| {
            let (blocking, waiting) = from_both(bytes);
            assert_eq!(blocking.unwrap_err().kind(), expected, "{bytes:?}");
            assert_eq!(waiting.unwrap_err().kind(), expected, "{bytes:?}");
        };
        check(&[255, 255, 255, 255], io::ErrorKind::InvalidData);
        check(&[0, 64, 0, 1], io::ErrorKind::InvalidData);
        check(&[0, 0, 0, 2, b'1'], io::ErrorKind::UnexpectedEof);
        check(&[0, 0, 0, 1, b'{'], io::ErrorKind::UnexpectedEof);
        check(&[0, 0, 0, 1, b'x'], io::ErrorKind::InvalidData);
        check(&[0, 0, 0, 0], io::ErrorKind::UnexpectedEof);
        let (blocking, waiting) = from_both(&[]);
        assert!(blocking.unwrap().is_none() && waiting.unwrap().is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_message_comes_back_as_it_was(text in ".{0,200}", number: i64) {
            let message = serde_json::json!({"text": text, "number": number});
            let mut bytes = Vec::new();
            write(&mut bytes, &message).unwrap();
            let (blocking, waiting) = from_both(&bytes);
            prop_assert_eq!(blocking.unwrap().unwrap(), message.clone());
            prop_assert_eq!(waiting.unwrap().unwrap(), message);
        }

        #[test]
        fn no_bytes_break_the_reader(bytes: Vec<u8>) {
            let (blocking, waiting) = from_both(&bytes);
            prop_assert_eq!(blocking.is_ok() && bytes.len() >= 4, waiting.is_ok() && bytes.len() >= 4);
        }
    }
}
