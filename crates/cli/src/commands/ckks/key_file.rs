//! Keys and parameters of SEAL and SEAL-Embedded, in files.

use std::path::Path;

use tfhe_sbc_ckks::{Parameters, packed_bytes, seal};
use tfhe_sbc_foreign::seal::{
    EmbeddedFiles, PublicKeyFile, SecretKeyFile, encryption_parameters, is_secret_key,
    standard_parameters, uncompressed,
};

use crate::failure::{Explain, Failure, Outcome, failure};
use crate::keys::new_files::NewFiles;
use crate::keys::read_file;

/// A key of either kind.
pub(crate) enum Key {
    /// A secret key, which decrypts.
    Secret(SecretKeyFile),
    /// A public key.
    Public(PublicKeyFile),
}

impl Key {
    /// Returns the parameters.
    pub(crate) fn parameters(&self) -> &Parameters {
        match self {
            Self::Secret(key) => key.parameters(),
            Self::Public(key) => key.parameters(),
        }
    }
}

/// Reads SEAL's `EncryptionParameters`.
pub(crate) fn read_parameters(path: &Path) -> Outcome<Parameters> {
    let object = uncompressed(&read_file(path)?).explain(path.display())?;
    seal::encryption_parameters(&object).advise(
        path.display(),
        "give EncryptionParameters of CKKS that SEAL saved, whose last prime is the special one",
    )
}

/// Returns the parameters that were named, or else those of `parms.seal` in the folder of a key.
fn given(folder: &Path, parms: Option<&Path>) -> Outcome<Option<Parameters>> {
    let beside = folder.join("parms.seal");
    parms
        .or(beside.is_file().then_some(&*beside))
        .map(read_parameters)
        .transpose()
}

/// Returns the folder of a file.
fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

fn not_known(path: &Path) -> Box<Failure> {
    failure(
        format_args!(
            "{} is of parameters that are not known here",
            path.display()
        ),
        "name SEAL's parameters with --parms",
    )
}

/// Reads a key: SEAL's, SEAL-Embedded's `sk_N.dat`, or a directory with its files.
pub(crate) fn read(path: &Path, parms: Option<&Path>) -> Outcome<Key> {
    if path.is_dir() {
        return read_embedded(path, parms);
    }
    let bytes = read_file(path)?;
    if seal::Header::read(&bytes).is_ok() {
        return read_seal(path, &bytes, parms);
    }
    read_packed(path, &bytes, parms).map(Key::Secret)
}

/// Reads a key in SEAL's form.
pub(crate) fn read_seal(path: &Path, bytes: &[u8], parms: Option<&Path>) -> Outcome<Key> {
    let bytes = &uncompressed(bytes).explain(path.display())?;
    let len = seal::object_bytes(bytes).advise(path.display(), SAVE_ADVICE)?;
    if len != bytes.len() {
        return Err(failure(
            format_args!(
                "{}: {} bytes follow the key",
                path.display(),
                bytes.len() - len
            ),
            "give a file with one key",
        ));
    }
    let parameters = match (parms, standard_parameters(bytes)) {
        // The key names its parameters.
        (None, Some(parameters)) => parameters,
        _ => given(folder(path), parms)?.ok_or_else(|| not_known(path))?,
    };
    match is_secret_key(bytes) {
        true => SecretKeyFile::from_seal(&parameters, bytes).map(Key::Secret),
        false => PublicKeyFile::from_seal(&parameters, bytes.to_vec()).map(Key::Public),
    }
    .advise(path.display(), SAVE_ADVICE)
}

const SAVE_ADVICE: &str =
    "give a SecretKey or PublicKey that SEAL saved, and the parameters that it was made with";

fn read_packed(path: &Path, bytes: &[u8], parms: Option<&Path>) -> Outcome<SecretKeyFile> {
    let of_size = |p: &Parameters| packed_bytes(p.polynomial_size()) == bytes.len();
    let standard = Parameters::SEAL_EMBEDDED.into_iter().find(of_size);
    // The file does not name its primes: parameters beside it do.
    let parameters = given(folder(path), parms)?.or(standard).ok_or_else(|| {
        failure(
            format_args!("{} is no key of SEAL's or SEAL-Embedded's", path.display()),
            "give a SecretKey or PublicKey of SEAL's, or sk_N.dat of SEAL-Embedded's",
        )
    })?;
    SecretKeyFile::from_packed(&parameters, bytes).advise(
        path.display(),
        "give sk_N.dat of the polynomial size of the parameters",
    )
}

/// Reads the key files of SEAL-Embedded in a directory: the secret key if there is one, or else the
/// public one.
pub(crate) fn read_embedded(directory: &Path, parms: Option<&Path>) -> Outcome<Key> {
    let has_files = |parameters: &Parameters| {
        let names = EmbeddedFiles {
            polynomial_size: parameters.polynomial_size(),
        };
        let first = parameters.data_primes().first().copied().unwrap_or(0);
        directory.join(names.secret()).is_file()
            || directory.join(&names.public(first)[0]).is_file()
    };
    let standard = Parameters::SEAL_EMBEDDED.into_iter().find(has_files);
    // A secret key's file does not say its primes: parameters beside it do.
    let parameters = given(directory, parms)?
        .or(standard)
        .ok_or_else(|| not_known(directory))?;
    let names = EmbeddedFiles {
        polynomial_size: parameters.polynomial_size(),
    };
    let secret = directory.join(names.secret());
    if secret.is_file() {
        return SecretKeyFile::from_packed(&parameters, &read_file(&secret)?)
            .map(Key::Secret)
            .advise(secret.display(), "make the file again");
    }
    let part = |name: &str| -> Outcome<Vec<u8>> {
        Ok(std::mem::take(&mut *read_file(&directory.join(name))?))
    };
    let mut parts = Vec::new();
    for &prime in parameters.data_primes() {
        let [p0, p1] = names.public(prime);
        parts.push([part(&p0)?, part(&p1)?]);
    }
    let special = parameters
        .special_prime()
        .and_then(|prime| u32::try_from(prime).ok());
    if let Some(prime) = special {
        let [p0, p1] = names.public(prime);
        if directory.join(&p0).is_file() {
            parts.push([part(&p0)?, part(&p1)?]);
        }
    }
    PublicKeyFile::from_parts(&parameters, parts)
        .map(Key::Public)
        .advise(
            directory.display(),
            "make the files again, for these parameters",
        )
}

/// SEAL's key files to be written in a directory.
pub(crate) struct SealFiles<'d> {
    directory: &'d Path,
    files: NewFiles,
}

impl<'d> SealFiles<'d> {
    pub(crate) fn in_directory(directory: &'d Path) -> Self {
        Self {
            directory,
            files: NewFiles::default(),
        }
    }

    /// SEAL's parameters.
    pub(crate) fn add_parameters(&mut self, parameters: &Parameters) {
        self.files.add_public(
            &self.directory.join("parms.seal"),
            encryption_parameters(parameters),
            "parameters: the server's context is made of them",
        );
    }

    /// A secret key in SEAL's form and in SEAL-Embedded's.
    pub(crate) fn add_secret(&mut self, key: &SecretKeyFile) -> Outcome<()> {
        self.files.add_secret(
            &self.directory.join("secret.seal"),
            key.to_seal().explain("no key file")?,
            "secret key: stays with you, mode 0600",
        );
        let name = EmbeddedFiles {
            polynomial_size: key.parameters().polynomial_size(),
        }
        .secret();
        self.files.add_secret(
            &self.directory.join(name),
            key.packed().to_vec(),
            "the same, packed: goes to boards, mode 0600",
        );
        Ok(())
    }

    /// A public key in SEAL's form.
    pub(crate) fn add_public(&mut self, object: Vec<u8>) {
        self.files.add_public(
            &self.directory.join("public.seal"),
            object,
            "public key: goes to boards, holds no secret",
        );
    }

    /// Writes all files or none, and prints what was written.
    pub(crate) fn write(&self) -> Outcome<()> {
        self.files.write()?;
        self.files.say();
        Ok(())
    }
}
