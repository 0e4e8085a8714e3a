//! TFHE-rs' side of the comparisons.

use std::time::Instant;

use rayon::prelude::*;
use tfhe::boolean::ciphertext::Ciphertext as BooleanCiphertext;
use tfhe::boolean::parameters::{
    BooleanParameters, DEFAULT_PARAMETERS, DEFAULT_PARAMETERS_KS_PBS, EncryptionKeyChoice,
};
use tfhe::boolean::prelude::BinaryBooleanGates;
use tfhe::boolean::{client_key as boolean_client, server_key as boolean_server};
use tfhe::shortint::parameters::PARAM_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128;
use tfhe::shortint::server_key::{LookupTableOwned, StandardServerKey};
use tfhe::shortint::{Ciphertext, ClientKey, CompressedServerKey, ServerKey};

use crate::engine::{BATCH, Contestant};
use crate::error::BenchError;
use crate::keys::KeyCosts;
use crate::timing::{Subject, Work};

/// What the comments on the peer's boolean parameters say; the sets do not carry it.
const BOOLEAN_P_FAIL: &str = "p_fail 2^-64 by its documentation";

type Peer = Option<Box<dyn Contestant>>;

/// NANDs under the peer's default parameters.
pub(super) fn nands() -> Result<Peer, BenchError> {
    Nands::generate("DEFAULT_PARAMETERS", DEFAULT_PARAMETERS)
}

/// NANDs under the peer's parameters that switch keys first, as ours do.
pub(super) fn nands_key_switch_first() -> Result<Peer, BenchError> {
    Nands::generate("DEFAULT_PARAMETERS_KS_PBS", DEFAULT_PARAMETERS_KS_PBS)
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
        let bits: Vec<bool> = (0..BATCH).map(|i: usize| i.is_multiple_of(3)).collect();
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
        let neighbour = |i: usize| (i + 1) % BATCH;
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

/// Lookups under the peer's set of our dimensions.
pub(super) fn lookups() -> Result<Peer, BenchError> {
    let parameters = PARAM_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128;
    eprintln!("PARAM_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128: TFHE-rs makes keys");
    let client = ClientKey::new(parameters);
    let start = Instant::now();
    let compressed = CompressedServerKey::new(&client);
    let server = compressed.decompress();
    let generation = start.elapsed();
    let wire = serialized_len(&compressed)?;
    let standard = StandardServerKey::try_from(server.clone())
        .map_err(|error| BenchError::Peer(error.to_string()))?;
    let memory = standard.bootstrapping_key_size_bytes() + standard.key_switching_key_size_bytes();
    drop(standard);

    let modulus = parameters.message_modulus.0 * parameters.carry_modulus.0;
    let square = move |x: u64| x * x % modulus;
    let values: Vec<u64> = (0..BATCH as u64).map(|i| i % modulus).collect();
    Ok(Some(Box::new(Lookups {
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

struct Lookups {
    client: ClientKey,
    server: ServerKey,
    costs: KeyCosts,
    table: LookupTableOwned,
    inputs: Vec<Ciphertext>,
    outputs: Vec<u64>,
}

impl Contestant for Lookups {
    fn description(&self) -> String {
        let p = PARAM_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128;
        format!(
            "PARAM_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128: q 2^64, n {}, k {}, N {}, PBS 2^{} x {}, \
             KS 2^{} x {}, p_fail 2^{:.0}",
            p.lwe_dimension.0,
            p.glwe_dimension.0,
            p.polynomial_size.0,
            p.pbs_base_log.0,
            p.pbs_level.0,
            p.ks_base_log.0,
            p.ks_level.0,
            p.log2_p_fail,
        )
    }

    fn key_costs(&self) -> KeyCosts {
        self.costs
    }

    fn subject(&self, batch: usize) -> Box<dyn Subject + '_> {
        Box::new(Work {
            name: "TFHE-rs lookup".to_owned(),
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

/// One operation at a time on each thread, as the peer offers them.
fn each<O: Send>(batch: usize, operation: impl Fn(usize) -> O + Send + Sync) -> Vec<O> {
    match batch {
        1 => vec![operation(0)],
        _ => (0..batch).into_par_iter().map(operation).collect(),
    }
}

fn serialized_len(key: &impl serde::Serialize) -> Result<usize, BenchError> {
    let len = bincode::serialized_size(key).map_err(|error| BenchError::Peer(error.to_string()))?;
    Ok(len as usize)
}
