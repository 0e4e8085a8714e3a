//! `device-key`: a key for one device, and the switch key that a server needs beside it;
//! or a public key.

use std::path::{Path, PathBuf};

use clap::Args;
use tfhe_sbc_core::device_issue::{DeviceId, DeviceIssue, Epoch};
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::keys::{DeviceKey, SecretKey};
use tfhe_sbc_core::random::SeedSequence;
use tfhe_sbc_engine::glwe_key_switch::SeededDeviceSwitchKey;
use zeroize::Zeroizing;

use crate::failure::{Explain, Outcome, failure};
use crate::keys::new_files::{NewFiles, refuse_existing};
use crate::{keys, output};

/// Issues a device a key of its own: an attacker who takes the board apart reads what that key
/// encrypted, and nothing of other boards. To replace a key, issue another one with the next
/// --epoch: servers refuse new uploads under the old one and still compute on those that they have.
///
/// The switch key goes into the directory that `serve --device-keys` names. The device's
/// key goes to the device; nobody else needs it.
#[derive(Args)]
#[command(
    after_help = "Example:\n  tfhe-sbc keygen --out keys && mkdir device-keys\n  tfhe-sbc device-key --device station-7 --out-device station-7.tsbc --out-switch device-keys/station-7.tsbc\n  tfhe-sbc device-key --device station-7 --epoch 2 --out-device new.tsbc --out-switch device-keys/station-7-2.tsbc\n  tfhe-sbc device-key --public --out-device public.tsbc\n  tfhe-sbc inspect device-keys/station-7.tsbc"
)]
pub(crate) struct Arguments {
    /// The secret key
    #[arg(long, default_value = "keys/secret.tsbc")]
    secret: PathBuf,
    /// The device's name, up to 16 letters, digits and signs without spaces
    #[arg(long, value_name = "NAME", value_parser = device_id, required_unless_present = "public")]
    device: Option<DeviceId>,
    /// The number of the key among the device's keys; the highest is current
    #[arg(long, default_value_t = Epoch::FIRST, value_parser = epoch)]
    epoch: Epoch,
    /// The file for the device's key
    #[arg(long, value_name = "FILE")]
    out_device: PathBuf,
    /// The file for the switch key, whose name ends in .tsbc
    #[arg(long, value_name = "FILE", required_unless_present = "public")]
    out_switch: Option<PathBuf>,
    /// Write a public key of the key set, for any number of devices: it encrypts, reads
    /// nothing, and needs no switch key
    #[arg(long, conflicts_with_all = ["device", "out_switch", "epoch"])]
    public: bool,
}

pub(super) fn device_id(name: &str) -> Result<DeviceId, String> {
    DeviceId::from_text(name)
        .ok_or_else(|| "a name has 1 to 16 letters, digits and signs, and no spaces".to_owned())
}

pub(super) fn epoch(number: &str) -> Result<Epoch, String> {
    let number = number.parse().ok().and_then(Epoch::new);
    number.ok_or_else(|| format!("an epoch is a number from 1 to {}", u32::MAX))
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    check_new(&arguments.out_device)?;
    match (arguments.device, &arguments.out_switch) {
        (Some(device), Some(out_switch)) => issue(arguments, device, out_switch),
        _ => write_public(arguments),
    }
}

/// Checks that a key can be written to the path, before any work is done for it.
fn check_new(path: &Path) -> Outcome<()> {
    output::check_file(path)?;
    refuse_existing([path])
}

fn write_public(arguments: &Arguments) -> Outcome<()> {
    let path = &arguments.out_device;
    let secret = keys::read_secret_key(&arguments.secret)?;
    let key = secret
        .device_public_key(&mut keys::fresh_seeds()?)
        .explain("no public key")?;
    let key = key.to_bytes().explain("no key file")?;
    let mut files = NewFiles::default();
    files.add_public(
        path,
        key,
        "device public key: goes to the boards, holds no secret",
    );
    files.write()?;
    files.say();
    Ok(())
}

fn issue(arguments: &Arguments, device: DeviceId, switch_path: &Path) -> Outcome<()> {
    let device_path = &arguments.out_device;
    check_new(switch_path)?;
    if device_path == switch_path {
        return Err(failure(
            "the device's key and the switch key cannot be one file",
            "name two files",
        ));
    }
    if switch_path
        .extension()
        .is_none_or(|extension| extension != "tsbc")
    {
        return Err(failure(
            format_args!("a server would not find {}", switch_path.display()),
            "give --out-switch a name that ends in .tsbc",
        ));
    }
    let issue = DeviceIssue {
        device,
        epoch: arguments.epoch,
    };
    let secret = keys::read_secret_key(&arguments.secret)?;
    let Issued { device, switch } = issue_keys(&secret, issue)?;

    let mut files = NewFiles::default();
    files.add_secret(
        device_path,
        device,
        format_args!("key of {issue}: goes to it alone, mode 0600"),
    );
    files.add_public(
        switch_path,
        switch,
        "switch key: goes to the server, holds no secret",
    );
    files.write()?;
    files.say();
    Ok(())
}

/// The files of a device's key.
pub(super) struct Issued {
    /// The key that goes to the device.
    pub(super) device: Zeroizing<Vec<u8>>,
    /// The switch key that goes to the server.
    pub(super) switch: Vec<u8>,
}

pub(super) fn issue_keys(secret: &SecretKey, issue: DeviceIssue) -> Outcome<Issued> {
    let mut seeds = keys::fresh_seeds()?;
    let device = secret
        .issue_device_key(issue, &mut seeds)
        .explain("no device key")?;
    let switch = if secret.parameters().torus_bits() == 64 {
        switch_key_bytes::<u64>(secret, &device, &mut seeds)?
    } else {
        switch_key_bytes::<u32>(secret, &device, &mut seeds)?
    };
    let device = device.to_bytes().explain("no key file")?;
    Ok(Issued { device, switch })
}

fn switch_key_bytes<T: ProductTorus>(
    secret: &SecretKey,
    device: &DeviceKey,
    seeds: &mut SeedSequence,
) -> Outcome<Vec<u8>> {
    SeededDeviceSwitchKey::<T>::generate(secret, device, seeds)
        .map(|key| key.to_bytes())
        .explain("no switch key")
}
