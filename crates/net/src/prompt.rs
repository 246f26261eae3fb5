//! A TCP stream that acknowledges a response at once.
//!
//! Many servers write the head and the body of a response in two pieces and hold the second back until the first is
//! acknowledged (Nagle's algorithm). A kernel that takes the connection for a conversation holds its acknowledgement
//! back too, for 40 ms: each small exchange on a kept connection would last that long. A fresh connection does not have
//! this problem, because its first acknowledgements are always sent at once.
#![deny(clippy::indexing_slicing)]

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

pub(crate) struct Prompt {
    stream: TcpStream,
    /// Whether something was sent since acknowledgements were last asked for at once: sending takes the option back.
    sent: bool,
}

impl Prompt {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, sent: false }
    }
}

/// A refusal of the option changes nothing but time.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn acknowledge_at_once(stream: &TcpStream) {
    let _ = stream.set_quickack(true);
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn acknowledge_at_once(_: &TcpStream) {}

impl AsyncRead for Prompt {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if std::mem::take(&mut self.sent) {
            acknowledge_at_once(&self.stream);
        }
        read
    }
}

impl AsyncWrite for Prompt {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.sent = true;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.sent = true;
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
