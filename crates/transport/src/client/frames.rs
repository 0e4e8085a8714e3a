//! The client's side of frames and pads.

use hyper::Method;
use hyper::body::Bytes;

use super::{Ask, Client, ClientError, most};
use crate::frames::{FRAMES_PATH, FrameReceipt, PADS_PATH, PadsEntry, PadsList};
use crate::protocol::DeviceId;

impl Client {
    /// Gives the server a file of pads. When this returns, the server takes the board's frames. The second value says
    /// whether the server did not have the file before.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses.
    pub fn send_pads(&self, file: &[u8]) -> Result<(PadsEntry, bool), ClientError> {
        let asked = Ask {
            action: "store the pads",
            timeout: self.timeouts.upload,
            most: most::RECEIPT,
            fresh_connection: false,
        };
        let body = Bytes::copy_from_slice(file);
        let reply = self.ask(asked, Method::POST, PADS_PATH.to_owned(), body)?;
        Ok((self.parse(reply.body())?, reply.status() == 201))
    }

    /// Returns the pads that the server has.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses.
    pub fn pads(&self) -> Result<Vec<PadsEntry>, ClientError> {
        self.pads_by("list its pads", Method::GET, PADS_PATH.to_owned())
    }

    /// Has the server take no more frames of a board until it gets new pads for it. Returns the board's pads.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses.
    pub fn end_pads(&self, board: DeviceId) -> Result<Vec<PadsEntry>, ClientError> {
        let path = format!("{PADS_PATH}/{board}");
        self.pads_by("end the pads", Method::DELETE, path)
    }

    fn pads_by(
        &self,
        action: &'static str,
        method: Method,
        path: String,
    ) -> Result<Vec<PadsEntry>, ClientError> {
        let asked = Ask {
            action,
            timeout: self.timeouts.small,
            most: most::PADS,
            fresh_connection: false,
        };
        let reply = self.ask(asked, method, path, Bytes::new())?;
        self.parse::<PadsList>(reply.body()).map(|list| list.pads)
    }

    /// Sends a frame of a board. When this returns, its readings are on the server's disk. To send it twice does no harm.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses.
    pub fn send_frame(&self, board: DeviceId, frame: &[u8]) -> Result<FrameReceipt, ClientError> {
        let asked = Ask {
            action: "acknowledge the frame",
            timeout: self.timeouts.upload,
            most: most::RECEIPT,
            fresh_connection: false,
        };
        let (path, body) = (
            format!("{FRAMES_PATH}/{board}"),
            Bytes::copy_from_slice(frame),
        );
        let reply = self.ask(asked, Method::POST, path, body)?;
        self.parse(reply.body())
    }
}
