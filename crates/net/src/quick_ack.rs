//! A TCP stream that acknowledges responses immediately (`TCP_QUICKACK`).
//!
//! Many servers write head and body of a response separately and delay the body until the head is
//! acknowledged (Nagle's algorithm). On an interactive connection the kernel delays its
//! acknowledgment by 40 ms, so that each small exchange on a kept connection would take that long.
//! New connections are not affected, because the kernel sends their first acknowledgments
//! immediately.
#![deny(clippy::indexing_slicing)]

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

pub(crate) struct QuickAckStream {
    stream: TcpStream,
    /// Whether data was sent since the option was last set: sending resets it.
    sent: bool,
}

impl QuickAckStream {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, sent: false }
    }
}

/// Sets the option. A failure only costs time.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn acknowledge_at_once(stream: &TcpStream) {
    let _ = stream.set_quickack(true);
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn acknowledge_at_once(_: &TcpStream) {}

impl AsyncRead for QuickAckStream {
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

impl AsyncWrite for QuickAckStream {
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
