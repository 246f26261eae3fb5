//! As much HTTP/1.1 as a test's server needs.

use std::collections::BTreeMap;
use std::io;

use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
};

use super::scenarios::Response;

/// A request as it came.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    /// Names in lower case.
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Vec<u8>,
}

/// The next request of a connection; `None` = the client closed it.
pub(super) async fn read<R: AsyncBufRead + Unpin>(reader: &mut R) -> io::Result<Option<Request>> {
    let first = line(reader).await?;
    if first.is_empty() {
        return Ok(None);
    }
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = BTreeMap::new();
    loop {
        let line = line(reader).await?;
        match line.split_once(':') {
            Some((name, value)) => {
                headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
            }
            None => break,
        }
    }
    let length = headers.get("content-length").and_then(|n| n.parse().ok());
    let mut body = Vec::new();
    match length {
        Some(length) => {
            body.resize(length, 0);
            reader.read_exact(&mut body).await?;
        }
        None if headers.contains_key("transfer-encoding") => read_chunks(reader, &mut body).await?,
        None => {}
    }
    Ok(Some(Request { method, path, headers, body }))
}

async fn read_chunks<R: AsyncBufRead + Unpin>(
    reader: &mut R,
    body: &mut Vec<u8>,
) -> io::Result<()> {
    loop {
        let size = line(reader).await?;
        let size = usize::from_str_radix(&size, 16).map_err(io::Error::other)?;
        let start = body.len();
        body.resize(start + size, 0);
        if let Some(piece) = body.get_mut(start..) {
            reader.read_exact(piece).await?;
        }
        line(reader).await?;
        if size == 0 {
            return Ok(());
        }
    }
}

async fn line<R: AsyncBufRead + Unpin>(reader: &mut R) -> io::Result<String> {
    let mut line = String::new();
    reader.read_line(&mut line).await?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// Sends an answer; `false` = the connection is to be closed now.
pub(super) async fn write<W: AsyncWrite + Unpin>(
    writer: &mut W,
    response: &Response,
) -> io::Result<bool> {
    let mut head = format!("HTTP/1.1 {} \r\n", response.status);
    for (name, value) in &response.headers {
        head += &format!("{name}: {value}\r\n");
    }
    let how = response.stream;
    // Whole answers come with their length, as most servers send them; streams in chunks.
    let in_chunks = !response.events.is_empty() || how.chunks.is_some() || how.end_after.is_some();
    head += &match in_chunks {
        true => "transfer-encoding: chunked\r\n\r\n".to_owned(),
        false => format!("content-length: {}\r\n\r\n", response.body.len()),
    };
    writer.write_all(head.as_bytes()).await?;
    let end = how.cut_after.or(how.end_after).unwrap_or(response.body.len());
    let body = response.body.get(..end).unwrap_or(&response.body);
    for (i, piece) in body.chunks(how.chunks.unwrap_or(usize::MAX)).enumerate() {
        if i > 0 && !how.delay.is_zero() {
            writer.flush().await?;
            tokio::time::sleep(how.delay).await;
        }
        if in_chunks {
            writer.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
        }
        writer.write_all(piece).await?;
        if in_chunks {
            writer.write_all(b"\r\n").await?;
        }
    }
    if in_chunks && how.cut_after.is_none() {
        writer.write_all(b"0\r\n\r\n").await?;
    }
    writer.flush().await?;
    Ok(how.cut_after.is_none())
}
