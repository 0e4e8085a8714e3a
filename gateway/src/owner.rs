//! The key owner: the keys, and the connections to the server. Calls block, and are made on threads for blocking work.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tfhe_sbc_columns::decrypt::{DecryptedUpload, UploadDecryption};
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_device::MemoryPlan;
use tfhe_sbc_owner::{
    LARGEST_UPLOAD, device_keys_at_hand, device_keys_directory, largest_result, seal,
};
use tfhe_sbc_query::Question;
use tfhe_sbc_query::device_keys::DeviceKeys;
use tfhe_sbc_query::request::Manner;
use tfhe_sbc_query::results::{Decryption, Results, ResultsError};
use tfhe_sbc_query::scope::Scope;
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::client::{CallOff, Client, ClientError, Freshness};
use tfhe_sbc_transport::identity::Identity;
use tfhe_sbc_transport::protocol::{ColumnList, Selection};
use tfhe_sbc_transport::standing::StandingName;
use tfhe_sbc_upload::DeviceSession;
use tfhe_sbc_upload::moments::Moment;
use tfhe_sbc_upload::readings::Column;
use zeroize::Zeroizing;

use crate::cache::Cache;
use crate::error::{GatewayError, Outcome, code};
use crate::options::{Keys, Shown};

/// The most idle connections that are kept.
const IDLE: usize = 8;

/// The keys of a key owner and a server that has its readings.
pub(crate) struct Owner {
    secret: SecretKey,
    devices: Option<DeviceKeys>,
    device_keys: Option<PathBuf>,
    session: Mutex<DeviceSession>,
    url: String,
    identity: Identity,
    idle: Mutex<Vec<Client>>,
}

/// What a server answered to questions.
pub(crate) struct Answered {
    pub(crate) decryption: Decryption,
    pub(crate) bootstraps: u64,
    pub(crate) seconds: f64,
    /// The bytes of the encrypted result.
    pub(crate) bytes: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read(path: &Path) -> Outcome<Zeroizing<Vec<u8>>> {
    let bytes = std::fs::read(path).map(Zeroizing::new);
    bytes.map_err(|error| {
        GatewayError::new(
            code::CONFIGURATION,
            format_args!("cannot read {}: {error}", path.display()),
        )
        .advise("check the path; `tfhe-sbc keygen --help` shows how to make keys")
    })
}

fn configuration(path: &Path, error: impl std::fmt::Display) -> GatewayError {
    GatewayError::new(
        code::CONFIGURATION,
        format_args!("{}: {error}", path.display()),
    )
}

impl Owner {
    /// Reads the keys, once, and the certificate that the server is shown. Connects to the server at `url`.
    pub(crate) fn open(keys: &Keys, url: &str, shown: &Shown) -> Outcome<Self> {
        let secret = SecretKey::from_bytes(&read(&keys.key)?)
            .map_err(|error| configuration(&keys.key, error))?;
        let session = DeviceSession::new(read(&keys.device_key)?, MemoryPlan::recommended());
        let session = session.map_err(|error| configuration(&keys.device_key, error))?;
        if session.fingerprint() != secret.fingerprint() {
            let message = format_args!(
                "{} and {} are of different key sets",
                keys.key.display(),
                keys.device_key.display()
            );
            return Err(GatewayError::new(code::CONFIGURATION, message)
                .advise("name two keys that one `tfhe-sbc keygen` made"));
        }
        let given = keys.device_keys.as_deref();
        let devices = device_keys_at_hand(secret.parameters(), secret.fingerprint(), given);
        let devices = devices.map_err(|error| GatewayError::new(code::CONFIGURATION, error))?;
        let identity = Identity::in_directory(&shown.tls, &shown.identity);
        let identity = identity.map_err(|error| {
            GatewayError::new(
                code::CONFIGURATION,
                format_args!("no identity to show the server: {error}"),
            )
            .advise("make certificates with `tfhe-sbc certs`")
        })?;
        let owner = Self {
            secret,
            devices,
            device_keys: device_keys_directory(given).map(Path::to_owned),
            session: Mutex::new(session),
            url: url.to_owned(),
            identity,
            idle: Mutex::default(),
        };
        owner.with_client(Client::health)?;
        Ok(owner)
    }

    /// The parameters of the key set.
    pub(crate) fn parameters(&self) -> &Parameters {
        self.secret.parameters()
    }

    /// Opens the cache of answers in a directory, or one in memory alone.
    pub(crate) fn cache(&self, directory: Option<&Path>) -> Outcome<Cache> {
        Cache::open(directory, &self.secret)
    }

    /// Calls `ask` with a connected client, which is kept for the next call unless the call fails.
    pub(crate) fn with_client<T>(
        &self,
        ask: impl FnOnce(&Client) -> Result<T, ClientError>,
    ) -> Outcome<T> {
        let idle = lock(&self.idle).pop();
        let client = match idle {
            Some(client) => client,
            None => Client::connect(&self.url, &self.identity)?,
        };
        let result = ask(&client);
        // A server that refused is still there.
        if matches!(result, Ok(_) | Err(ClientError::Refused { .. })) {
            let mut idle = lock(&self.idle);
            if idle.len() < IDLE {
                idle.push(client);
            }
        }
        Ok(result?)
    }

    /// Returns the keys of devices whose switch keys are at hand.
    fn known_devices(&self) -> Outcome<Vec<KeyFingerprint>> {
        match &self.devices {
            Some(devices) => devices.known().map_err(GatewayError::internal),
            None => Ok(Vec::new()),
        }
    }

    /// Has the server answer questions about rows of stored readings with these columns, and decrypts the answers. `list` says how
    /// many rows there are, as far as that is known.
    pub(crate) fn ask(
        &self,
        questions: &[Question],
        readings: &Selection,
        list: &ColumnList,
        scope: Scope,
        call_off: &CallOff,
    ) -> Outcome<Answered> {
        let device_keys = self.known_devices()?;
        let manner = Manner {
            scope,
            public_key: None,
            device_keys: &device_keys,
        };
        let request = seal(questions, &list.columns, &mut lock(&self.session), manner);
        let request = request.map_err(|error| GatewayError::new(code::DATA, error))?;
        let most = largest_result(questions, list, &scope);
        let reply = self.with_client(|client| {
            client.query_unless(call_off, Freshness::Kept, readings, &request, most)
        })?;
        Ok(Answered {
            decryption: self.decrypted(&reply.result)?,
            bootstraps: reply.bootstraps,
            seconds: reply.seconds,
            bytes: reply.result.len() as u64,
        })
    }

    /// Fetches and decrypts what a standing query answers about the period that begins at a moment, of at most `most` bytes.
    pub(crate) fn period_answers(
        &self,
        name: &StandingName,
        from: Moment,
        most: u64,
    ) -> Outcome<Decryption> {
        let reply = self.with_client(|client| client.period_result(name, from, most))?;
        self.decrypted(&reply.result)
    }

    fn decrypted(&self, result: &[u8]) -> Outcome<Decryption> {
        let decryption = Results::decrypt_with(result, &self.secret, self.devices.as_ref());
        decryption.map_err(|error| {
            let hint = match error {
                ResultsError::DeviceKey(_) => {
                    "give the directory of switch keys with --device-keys"
                }
                _ => "give the secret key of the key set that the readings were encrypted under",
            };
            GatewayError::new(code::DATA, error).advise(hint)
        })
    }

    /// Returns the columns of an upload.
    pub(crate) fn columns(&self, upload: BlobId) -> Outcome<Vec<Column>> {
        let list = self.with_client(|client| client.columns(&upload.into()))?;
        Ok(list.columns)
    }

    /// Returns a decryption of whole uploads.
    pub(crate) fn decryption(&self) -> Outcome<UploadDecryption> {
        UploadDecryption::new(&self.secret, self.device_keys.as_deref())
            .map_err(GatewayError::internal)
    }

    /// Fetches and decrypts an upload; `None` if it was removed meanwhile.
    pub(crate) fn fetch(
        &self,
        decryption: &mut UploadDecryption,
        upload: BlobId,
    ) -> Outcome<Option<DecryptedUpload>> {
        let bytes = self.with_client(|client| match client.upload_of(&upload, LARGEST_UPLOAD) {
            Err(ClientError::Refused { status: 404, .. }) => Ok(None),
            bytes => bytes.map(Some),
        })?;
        let Some(bytes) = bytes else {
            return Ok(None);
        };
        let decrypted = decryption.decrypt(&bytes).map_err(|error| {
            GatewayError::new(code::DATA, format_args!("the upload {upload}: {error}")).advise(
                "give the secret key of that key set with --key, and with --device-keys the directory of the switch keys that \
                 `provision` and `device-key` made beside the keys of boards",
            )
        })?;
        Ok(Some(decrypted))
    }
}
