//! The program with which `cargo xtask arm` counts the instructions of bootstraps on an Arm processor that evaluates by
//! itself, such as that of a Raspberry Pi: of one ciphertext, and of eight in one pass over the key. It prints `region
//! ID NAME` for every region of the counter, and checks that every answer decrypts.

#[path = "../../count/src/marker.rs"]
mod marker;

use std::hint::black_box;

use marker::counted;
use rayon::ThreadPoolBuilder;
use tfhe_sbc_core::encoding::boolean;
use tfhe_sbc_core::glwe_product::ProductTorus;
use tfhe_sbc_core::keys::SecretKey;
use tfhe_sbc_core::lwe::{LweCiphertext, LweSecretKey};
use tfhe_sbc_core::parameter_sets::{GATES, MESSAGE_2_CARRY_2};
use tfhe_sbc_core::parameters::ParameterSet;
use tfhe_sbc_core::random::{ExpanderKind, Seed, SeedSequence};
use tfhe_sbc_engine::bootstrap::{Evaluator, Job};
use tfhe_sbc_engine::lookup_table::LookupTable;
use tfhe_sbc_engine::server_key::SeededServerKey;

/// The ciphertexts that one pass over the bootstrapping key advances.
const TOGETHER: usize = 8;

/// The number of runs of every region, of which the counter keeps the minimum: the first one also fills buffers.
const RUNS: usize = 2;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// A key set of a parameter set, with the seeds of its ciphertexts. It is made of a fixed seed and keeps nothing secret.
struct Keys<T> {
    secret: SecretKey,
    big: LweSecretKey,
    server: SeededServerKey<T>,
    seeds: SeedSequence,
}

/// A table with plaintexts before and after.
struct Cases<T> {
    table: LookupTable<T>,
    before: Vec<T>,
    after: Vec<T>,
}

impl<T: ProductTorus> Keys<T> {
    fn generate(set: ParameterSet) -> Result<Self, Error> {
        let seed = Seed::from_bytes(core::array::from_fn(|i| i as u8));
        let mut seeds = SeedSequence::new(seed);
        let secret = SecretKey::generate(set.validate()?, &mut seeds)?;
        Ok(Self {
            big: secret.glwe().to_lwe_secret_key(),
            server: SeededServerKey::generate(&secret, &mut seeds, &|_| ())?,
            secret,
            seeds,
        })
    }

    /// Counts bootstraps: of one ciphertext as region `ONE`, of eight as region `ALL`.
    fn count<const ONE: u32, const ALL: u32>(
        &mut self,
        name: &str,
        cases: &Cases<T>,
    ) -> Result<(), Error> {
        let server = self.server.prepare(&|_| ());
        let evaluator = Evaluator::new(&server);
        let expander = ExpanderKind::ChaCha20;
        let mut inputs = Vec::new();
        for &plaintext in &cases.before {
            let (mask, noise) = self.seeds.next_pair()?;
            inputs.push(self.big.encrypt(
                plaintext,
                self.secret.parameters().glwe_noise(),
                &mut expander.mask_stream(&mask, 0),
                &mut expander.noise_stream(&noise, 0),
            ));
        }
        let jobs: Vec<_> = inputs
            .into_iter()
            .map(|input| Job {
                input,
                table: &cases.table,
            })
            .collect();
        println!("region {ONE} {name}");
        println!("region {ALL} {name}_eight_together");
        for _ in 0..RUNS {
            let one = counted::<ONE, _>(|| evaluator.bootstrap_batch(black_box(&jobs[..1])))?;
            let all = counted::<ALL, _>(|| evaluator.bootstrap_batch(black_box(&jobs)))?;
            self.check(&one, cases)?;
            self.check(&all, cases)?;
        }
        Ok(())
    }

    /// Checks that the outputs decrypt to the plaintexts that the table gives.
    fn check(&self, outputs: &[LweCiphertext<T>], cases: &Cases<T>) -> Result<(), Error> {
        // Half the distance of two plaintexts of a block of 4 bits with a padding bit; bits have more.
        let bound = 1.0 / 64.0;
        for (output, &plaintext) in outputs.iter().zip(&cases.after) {
            let error = self.big.phase(output).sub(plaintext);
            if error.to_signed_fraction().abs() > bound {
                return Err("a bootstrap gave a wrong answer".into());
            }
        }
        Ok(())
    }
}

/// The signs of bits.
fn signs(keys: &Keys<u64>) -> Cases<u64> {
    let size = keys.secret.parameters().polynomial_size();
    let bits: Vec<u64> = (0..TOGETHER)
        .map(|i| boolean::encode(i.is_multiple_of(3)))
        .collect();
    Cases {
        table: LookupTable::sign(size, boolean::encode(true)),
        before: bits.clone(),
        after: bits,
    }
}

/// The squares of blocks.
fn squares(keys: &Keys<u64>) -> Cases<u64> {
    let parameters = keys.secret.parameters();
    let encoding = parameters.block_encoding();
    let modulus = encoding.block_modulus();
    let square = |x: u64| (x * x % modulus) as i64;
    let values = (0..TOGETHER as u64).map(|i| i % modulus);
    Cases {
        table: LookupTable::from_fn(parameters, square),
        before: values.clone().map(|x| encoding.encode(x as i64)).collect(),
        after: values.map(|x| encoding.encode(square(x))).collect(),
    }
}

fn main() -> Result<(), Error> {
    // The plugin counts one thread.
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .use_current_thread()
        .build()?;
    pool.install(|| {
        let mut keys = Keys::generate(GATES)?;
        let cases = signs(&keys);
        keys.count::<0, 1>("bootstrap_gates", &cases)?;
        let mut keys = Keys::generate(MESSAGE_2_CARRY_2)?;
        let cases = squares(&keys);
        keys.count::<2, 3>("bootstrap_message_2_carry_2", &cases)
    })
}
