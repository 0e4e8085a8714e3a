//! TFHE-rs' side of the comparisons.

use std::time::Instant;

use tfhe::boolean::ciphertext::Ciphertext as BooleanCiphertext;
use tfhe::boolean::parameters::{BooleanParameters, DEFAULT_PARAMETERS, EncryptionKeyChoice};
use tfhe::boolean::prelude::BinaryBooleanGates;
use tfhe::boolean::{client_key as boolean_client, server_key as boolean_server};
use tfhe::core_crypto::prelude::ThreadCount;
use tfhe::shortint::atomic_pattern::AtomicPatternServerKey;
use tfhe::shortint::parameters::PARAM_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128;
use tfhe::shortint::parameters::v1_6::{
    V1_6_PARAM_MESSAGE_1_CARRY_1_KS_PBS_GAUSSIAN_2M40,
    V1_6_PARAM_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M40,
};
use tfhe::shortint::parameters::v1_8::V1_8_PARAM_MULTI_BIT_GROUP_3_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128;
use tfhe::shortint::parameters::{PBSParameters, ShortintParameterSet};
use tfhe::shortint::server_key::{LookupTableOwned, ShortintBootstrappingKey, StandardServerKey};
use tfhe::shortint::{Ciphertext, ClientKey, CompressedServerKey, ServerKey};

use crate::engine::cases::CASES;
use crate::engine::contestant::{Contestant, Peer};
use crate::error::BenchError;
use crate::keys::KeyCosts;
use crate::timing::{Subject, Work};

/// The failure probability in the comments on the peer's boolean parameters, which the sets do not
/// state.
const BOOLEAN_P_FAIL: &str = "p_fail 2^-64 by its documentation";

/// NANDs under the peer's default parameters.
pub(super) fn nands() -> Result<Peer, BenchError> {
    Nands::generate("DEFAULT_PARAMETERS", DEFAULT_PARAMETERS)
}

struct Nands {
    name: &'static str,
    parameters: BooleanParameters,
    client: boolean_client::ClientKey,
    server: boolean_server::ServerKey,
    costs: KeyCosts,
    bits: Vec<bool>,
    inputs: Vec<BooleanCiphertext>,
}

impl Nands {
    fn generate(name: &'static str, parameters: BooleanParameters) -> Result<Peer, BenchError> {
        eprintln!("{name}: TFHE-rs makes keys");
        let client = boolean_client::ClientKey::new(&parameters);
        let start = Instant::now();
        let compressed = boolean_server::CompressedServerKey::new(&client);
        let server = compressed.decompress();
        let costs = KeyCosts {
            generation: start.elapsed(),
            memory: server.bootstrapping_key_size_bytes() + server.key_switching_key_size_bytes(),
            wire: serialized_len(&compressed)?,
        };
        let bits: Vec<bool> = (0..CASES).map(|i: usize| i.is_multiple_of(3)).collect();
        let inputs = bits.iter().map(|&bit| client.encrypt(bit)).collect();
        Ok(Some(Box::new(Self {
            name,
            parameters,
            client,
            server,
            costs,
            bits,
            inputs,
        })))
    }
}

impl Contestant for Nands {
    fn description(&self) -> String {
        let p = &self.parameters;
        let order = match p.encryption_key_choice {
            EncryptionKeyChoice::Big => "key switch first",
            EncryptionKeyChoice::Small => "bootstrap first",
        };
        format!(
            "{}: q 2^32, n {}, k {}, N {}, PBS 2^{} x {}, KS 2^{} x {}, {BOOLEAN_P_FAIL}, {order}",
            self.name,
            p.lwe_dimension.0,
            p.glwe_dimension.0,
            p.polynomial_size.0,
            p.pbs_base_log.0,
            p.pbs_level.0,
            p.ks_base_log.0,
            p.ks_level.0,
        )
    }

    fn key_costs(&self) -> KeyCosts {
        self.costs
    }

    fn subject(&self, batch: usize) -> Box<dyn Subject + '_> {
        let neighbour = |i: usize| (i + 1) % CASES;
        Box::new(Work {
            name: format!("TFHE-rs NAND under {}", self.name),
            run: move || {
                Ok(each(batch, |i| {
                    self.server
                        .nand(&self.inputs[i], &self.inputs[neighbour(i)])
                }))
            },
            check: move |outputs: Vec<_>| {
                Ok(outputs.iter().enumerate().all(|(i, output)| {
                    self.client.decrypt(output) != (self.bits[i] & self.bits[neighbour(i)])
                }))
            },
        })
    }
}

/// Lookups under the peer's set of as many bits and as small a failure probability.
pub(super) fn lookups_2_2() -> Result<Peer, BenchError> {
    let name = "PARAM_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128";
    Lookups::generate(
        name,
        PARAM_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128.into(),
        None,
    )
}

/// The same for the set with a failure probability of 2^-40.
pub(super) fn lookups_2_2_p_fail_2m40() -> Result<Peer, BenchError> {
    let name = "V1_6_PARAM_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M40";
    Lookups::generate(
        name,
        V1_6_PARAM_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M40.into(),
        None,
    )
}

/// Blocks of 1 and 1 bits at 2^-40.
pub(super) fn lookups_1_1_p_fail_2m40() -> Result<Peer, BenchError> {
    let name = "V1_6_PARAM_MESSAGE_1_CARRY_1_KS_PBS_GAUSSIAN_2M40";
    Lookups::generate(
        name,
        V1_6_PARAM_MESSAGE_1_CARRY_1_KS_PBS_GAUSSIAN_2M40.into(),
        None,
    )
}

/// Lookups by the peer's way to the shortest time for a single one: several key bits a
/// step, on this many threads instead of the number that it has built in.
pub(super) fn multi_bit_lookups_2_2(threads: usize) -> Result<Peer, BenchError> {
    let name = "V1_8_PARAM_MULTI_BIT_GROUP_3_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128";
    let parameters = V1_8_PARAM_MULTI_BIT_GROUP_3_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128;
    Lookups::generate(name, parameters.into(), Some(threads))
}

struct Lookups {
    name: &'static str,
    parameters: PBSParameters,
    client: ClientKey,
    server: ServerKey,
    costs: KeyCosts,
    table: LookupTableOwned,
    inputs: Vec<Ciphertext>,
    outputs: Vec<u64>,
}

impl Lookups {
    /// `threads` is for sets that work on several key bits at once; others take one thread.
    fn generate(
        name: &'static str,
        parameters: PBSParameters,
        threads: Option<usize>,
    ) -> Result<Peer, BenchError> {
        eprintln!("{name}: TFHE-rs makes keys");
        let client = ClientKey::new(ShortintParameterSet::from(parameters));
        let start = Instant::now();
        let compressed = CompressedServerKey::new(&client);
        let mut server = compressed.decompress();
        let generation = start.elapsed();
        let wire = serialized_len(&compressed)?;
        drop(compressed);
        if let Some(threads) = threads {
            set_threads(&mut server, threads);
        }
        // The sizes are known to the standard form of a key only.
        let standard = StandardServerKey::try_from(server)
            .map_err(|error| BenchError::Peer(error.to_string()))?;
        let memory =
            standard.bootstrapping_key_size_bytes() + standard.key_switching_key_size_bytes();
        let server = ServerKey::from(standard);

        let modulus = parameters.message_modulus().0 * parameters.carry_modulus().0;
        let square = move |x: u64| x * x % modulus;
        let values: Vec<u64> = (0..CASES as u64).map(|i| i % modulus).collect();
        Ok(Some(Box::new(Self {
            name,
            parameters,
            table: server.generate_lookup_table(square),
            inputs: values
                .iter()
                .map(|&x| client.unchecked_encrypt(x))
                .collect(),
            outputs: values.into_iter().map(square).collect(),
            client,
            server,
            costs: KeyCosts {
                generation,
                memory,
                wire,
            },
        })))
    }
}

fn set_threads(server: &mut ServerKey, threads: usize) {
    if let AtomicPatternServerKey::Standard(key) = &mut server.atomic_pattern
        && let ShortintBootstrappingKey::MultiBit { thread_count, .. } = &mut key.bootstrapping_key
    {
        *thread_count = ThreadCount(threads);
    }
}

impl Contestant for Lookups {
    fn description(&self) -> String {
        let p = &self.parameters;
        format!(
            "{}: q 2^64, n {}, k {}, N {}, PBS 2^{} x {}, KS 2^{} x {}, p_fail 2^{:.0}",
            self.name,
            p.lwe_dimension().0,
            p.glwe_dimension().0,
            p.polynomial_size().0,
            p.pbs_base_log().0,
            p.pbs_level().0,
            p.ks_base_log().0,
            p.ks_level().0,
            p.log2_p_fail(),
        )
    }

    fn key_costs(&self) -> KeyCosts {
        self.costs
    }

    fn subject(&self, batch: usize) -> Box<dyn Subject + '_> {
        Box::new(Work {
            name: format!("TFHE-rs lookup under {}", self.name),
            run: move || {
                Ok(each(batch, |i| {
                    self.server.apply_lookup_table(&self.inputs[i], &self.table)
                }))
            },
            check: move |outputs: Vec<_>| {
                Ok(outputs
                    .iter()
                    .zip(&self.outputs)
                    .all(|(output, &expected)| {
                        self.client.decrypt_message_and_carry(output) == expected
                    }))
            },
        })
    }
}

/// One after the other, as the peer offers them.
fn each<O>(batch: usize, operation: impl Fn(usize) -> O) -> Vec<O> {
    (0..batch).map(operation).collect()
}

fn serialized_len(key: &impl serde::Serialize) -> Result<usize, BenchError> {
    let len = bincode::serialized_size(key).map_err(|error| BenchError::Peer(error.to_string()))?;
    Ok(len as usize)
}
