//! Uploads over HTTPS.

use tfhe_sbc_transport::client::{Client, ClientError, Timeouts};
use tfhe_sbc_transport::identity::Identity;
use tfhe_sbc_transport::protocol::{DeviceId, UNKNOWN_DEFINITIONS};

use super::{Acknowledged, SendFailure};
use crate::config::ServerSettings;

/// A server, and the connection to it while there is one.
pub(crate) struct Https {
    url: String,
    identity: Identity,
    timeouts: Timeouts,
    client: Option<Client>,
}

impl Https {
    pub(super) fn new(settings: &ServerSettings, identity: Identity) -> Self {
        Self {
            url: settings.url.clone(),
            identity,
            timeouts: Timeouts {
                upload: settings.timeout,
                ..Timeouts::default()
            },
            client: None,
        }
    }

    /// Sends an upload, whole or short.
    pub(super) fn send(&mut self, upload: &[u8]) -> Result<Acknowledged, SendFailure> {
        let client = self.connect()?;
        let receipt = client.upload(upload);
        if matches!(
            receipt,
            Ok(_)
                | Err(ClientError::Refused {
                    status: UNKNOWN_DEFINITIONS,
                    ..
                })
        ) {
            self.client = Some(client);
        }
        let receipt = receipt.map_err(|error| failure(&error))?;
        Ok(Acknowledged {
            id: receipt.id,
            definitions_kept: receipt.definitions_kept,
        })
    }

    /// Sends a frame of a board.
    pub(super) fn send_frame(&mut self, board: DeviceId, frame: &[u8]) -> Result<(), SendFailure> {
        let client = self.connect()?;
        client
            .send_frame(board, frame)
            .map_err(|error| failure(&error))?;
        self.client = Some(client);
        Ok(())
    }

    /// Returns the connection that there is, or a new one.
    fn connect(&mut self) -> Result<Client, SendFailure> {
        match self.client.take() {
            Some(client) => Ok(client),
            None => Client::connect_with(&self.url, &self.identity, self.timeouts.clone())
                .map_err(|error| failure(&error)),
        }
    }
}

/// Returns the failure that an error means: whether another try may help.
fn failure(error: &ClientError) -> SendFailure {
    match error {
        ClientError::Busy { retry_after, .. } => SendFailure::Later {
            words: error.to_string(),
            after: Some(*retry_after),
        },
        ClientError::Refused { status, .. } if is_final(*status) => {
            SendFailure::refused(*status, error)
        }
        ClientError::Refused { status: 403, .. }
        | ClientError::ClientCertificateRefused { .. }
        | ClientError::NoClientCertificate { .. } => SendFailure::unwelcome(error),
        _ => SendFailure::later(error),
    }
}

/// Returns whether the same upload will always get this answer: it is too large, or made under a
/// wrong key.
pub(super) fn is_final(status: u16) -> bool {
    (400..500).contains(&status) && ![403, 408, 421, 425, 429].contains(&status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_will_not_change_is_not_tried_again() {
        for status in [400, 404, 413, 422] {
            assert!(is_final(status), "{status}");
        }
        for status in [403, 408, 429, 500, 502, 503, 507] {
            assert!(!is_final(status), "{status}");
        }
    }
}
