//! A stream that counts the bytes that came in. So a client that began a request and never finished
//! its head is told from one that had nothing more to say.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The number of bytes that came in on a connection, and how many of them belonged to whole
/// requests.
#[derive(Debug, Clone, Default)]
pub(super) struct Heard(Arc<Bytes>);

#[derive(Debug, Default)]
struct Bytes {
    received: AtomicU64,
    answered: AtomicU64,
}

impl Heard {
    /// Records that all bytes that came in have been answered.
    pub(super) fn answered(&self) {
        let received = self.0.received.load(Ordering::Relaxed);
        self.0.answered.store(received, Ordering::Relaxed);
    }

    /// Returns whether a request has begun that was not answered.
    pub(super) fn is_in_request(&self) -> bool {
        self.0.received.load(Ordering::Relaxed) > self.0.answered.load(Ordering::Relaxed)
    }
}

/// Counts what is read from the stream inside.
pub(super) struct Counted<S> {
    stream: S,
    heard: Heard,
}

impl<S> Counted<S> {
    pub(super) fn new(stream: S, heard: Heard) -> Self {
        Self { stream, heard }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        let read = (buffer.filled().len() - before) as u64;
        self.heard.0.received.fetch_add(read, Ordering::Relaxed);
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
