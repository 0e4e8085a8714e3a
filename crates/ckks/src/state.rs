//! The work that both kinds of encryptor share in one workspace: encoding, and the transforms of
//! small polynomials.

use tfhe_sbc_core::simd::{Isa, vectorize};
use tfhe_sbc_core::workspace::{Carver, wipe};

use crate::encoding::{Slots, encode, fill_table};
use crate::error::CkksError;
use crate::modulus::Modulus;
use crate::ntt::{Ntt, Roots, least_primitive_root};
use crate::numbers::numbers;
use crate::parameters::{MAX_DATA_PRIMES, Parameters, ParametersError};
use crate::plan::{KeyMode, Layout, MemoryPlan};
use crate::ternary;
use crate::wide::WideRing;

/// The parameter η of the error of fresh ciphertexts, the same as SEAL's: a centred binomial
/// distribution over this number of bits on each side.
pub(crate) const NOISE_ETA: u32 = 21;

/// A workspace and the constants of its parameters. Drop wipes everything secret.
pub(crate) struct State<'w> {
    pub(crate) parameters: Parameters,
    pub(crate) isa: Isa,
    plan: MemoryPlan,
    /// The least primitive root of every data prime.
    roots: [u32; MAX_DATA_PRIMES],
    /// The special prime of a public key, if there is one.
    special: Option<Special>,
    pub(crate) message: &'w mut [u8],
    encoding_table: &'w mut [u8],
    table: &'w mut [u8],
    pub(crate) work: &'w mut [u32],
    pub(crate) key: &'w mut [u32],
    pub(crate) errors: &'w mut [u8],
    pub(crate) packed: &'w mut [u8],
}

impl<'w> State<'w> {
    pub(crate) fn new(
        parameters: &Parameters,
        plan: MemoryPlan,
        mode: KeyMode,
        isa: Isa,
        workspace: &'w mut [u8],
    ) -> Result<Self, CkksError> {
        let layout = Layout::new(parameters, plan, mode);
        let mut carver = Carver::new(workspace, crate::workspace_bytes(parameters, plan, mode))?;
        let mut state = Self {
            parameters: *parameters,
            isa,
            plan,
            roots: [0; MAX_DATA_PRIMES],
            special: None,
            message: carver.take(layout.message)?,
            encoding_table: carver.take(layout.encoding_table)?,
            errors: carver.take(layout.errors)?,
            table: carver.take(layout.table)?,
            work: carver.take(layout.work)?,
            key: carver.take(layout.key)?,
            packed: carver.take(layout.packed)?,
        };
        for (root, &prime) in state.roots.iter_mut().zip(parameters.data_primes()) {
            *root = root_of(parameters, prime)?;
        }
        if plan == MemoryPlan::Fast {
            fill_table(numbers(state.encoding_table)?);
        }
        Ok(state)
    }

    /// Encodes `slots` into `message`, as integers.
    pub(crate) fn encode(&mut self, slots: Slots<'_>, scale: f64) -> Result<(), CkksError> {
        let largest = self.parameters.largest_coefficient();
        let table: Option<&mut [f64]> = match self.plan {
            MemoryPlan::Small => None,
            MemoryPlan::Balanced => {
                let table = numbers(self.table)?;
                fill_table(table);
                Some(table)
            }
            MemoryPlan::Fast => Some(numbers(self.encoding_table)?),
        };
        encode(
            self.isa,
            slots,
            scale,
            largest,
            table.as_deref(),
            self.message,
        )
    }

    /// Returns the transform modulo data prime `index`.
    pub(crate) fn data_ntt(&self, index: usize) -> Ntt {
        let modulus = Modulus::new(self.parameters.data_primes()[index]);
        Ntt::new(
            modulus,
            self.parameters.log_n(),
            self.roots[index],
            self.isa,
        )
    }

    /// Sets the special prime.
    pub(crate) fn set_special(&mut self, prime: u64) -> Result<(), CkksError> {
        let log_n = self.parameters.log_n();
        self.special = Some(if self.parameters.special_is_wide() {
            let ring = WideRing::new(prime, log_n);
            Special::Wide(ring.ok_or(ParametersError::NoTransform(prime))?)
        } else {
            let root = root_of(&self.parameters, prime as u32)?;
            Special::Narrow(Ntt::new(Modulus::new(prime as u32), log_n, root, self.isa))
        });
        Ok(())
    }

    /// The special prime that was set.
    pub(crate) fn special(&self) -> Option<Special> {
        self.special
    }

    /// Returns the parts of the workspace, with the roots of `ntt` in the table if the plan has a place
    /// for them.
    pub(crate) fn parts(&mut self, ntt: &Ntt) -> Result<Parts<'_>, CkksError> {
        let roots = match self.plan {
            MemoryPlan::Small => Roots::OnTheFly,
            MemoryPlan::Balanced | MemoryPlan::Fast => {
                let table = numbers(self.table)?;
                ntt.fill_table(table);
                Roots::Table(table)
            }
        };
        Ok(Parts {
            isa: self.isa,
            roots,
            message: self.message.as_chunks().0,
            work: self.work,
            key: self.key,
            errors: self.errors,
            packed: self.packed,
        })
    }

    /// Overwrites everything that was made for a message.
    pub(crate) fn forget_message(&mut self) {
        wipe(self.message);
        wipe(self.work);
        wipe(self.errors);
        wipe(self.packed);
    }
}

fn root_of(parameters: &Parameters, prime: u32) -> Result<u32, CkksError> {
    least_primitive_root(Modulus::new(prime), parameters.log_n())
        .ok_or(ParametersError::NoTransform(u64::from(prime)).into())
}

impl Drop for State<'_> {
    fn drop(&mut self) {
        self.forget_message();
        wipe(self.key);
    }
}

/// The special prime and its arithmetic.
#[derive(Clone, Copy)]
pub(crate) enum Special {
    /// A prime of the size of data primes. Errors are 32-bit integers.
    Narrow(Ntt),
    /// A larger prime. Errors are 64-bit integers.
    Wide(WideRing),
}

impl Special {
    /// Returns the inverse of the special prime modulo a data prime, in Montgomery form.
    pub(crate) fn inverse(&self, modulus: Modulus) -> u32 {
        let value = match self {
            Self::Narrow(ntt) => u64::from(ntt.modulus().value()),
            Self::Wide(ring) => ring.value(),
        };
        modulus.invert(modulus.to_montgomery(modulus.reduce(value)))
    }
}

/// The parts of a [`State`], with the roots of one prime.
pub(crate) struct Parts<'s> {
    pub(crate) isa: Isa,
    pub(crate) roots: Roots<'s>,
    message: &'s [[u8; 8]],
    pub(crate) work: &'s mut [u32],
    pub(crate) key: &'s mut [u32],
    pub(crate) errors: &'s mut [u8],
    pub(crate) packed: &'s [u8],
}

impl Parts<'_> {
    /// Transforms the plaintext into `work`.
    pub(crate) fn transform_message(&mut self, ntt: &Ntt) {
        let modulus = ntt.modulus();
        let offset = modulus.signed_offset();
        vectorize(
            self.isa,
            #[inline(always)]
            || {
                for (out, bytes) in self.work.iter_mut().zip(self.message) {
                    *out = modulus.reduce_signed(i64::from_ne_bytes(*bytes), offset);
                }
            },
        );
        ntt.forward(self.roots, self.work);
    }

    /// Transforms `factor` times `errors` into `work`; the errors are signed integers of 32 bits, or of
    /// 64 bits if `WIDE`. If `with_message`, the plaintext is added before. `factor` is in Montgomery
    /// form.
    pub(crate) fn transform_errors<const WIDE: bool>(
        &mut self,
        ntt: &Ntt,
        place: usize,
        factor: u32,
        with_message: bool,
    ) {
        let modulus = ntt.modulus();
        let bytes = if WIDE { 8 } else { 4 } * self.work.len();
        let errors = &self.errors[place * bytes..][..bytes];
        // The amount by which a narrow number is too large after its multiplication.
        let narrow_offset = modulus.mul(1 << 31, factor);
        let offset = modulus.signed_offset();
        vectorize(
            self.isa,
            #[inline(always)]
            || {
                if WIDE {
                    for (out, error) in self.work.iter_mut().zip(errors.as_chunks().0) {
                        let error = modulus.reduce_signed(i64::from_ne_bytes(*error), offset);
                        *out = modulus.mul(error, factor);
                    }
                } else {
                    for (out, error) in self.work.iter_mut().zip(errors.as_chunks().0) {
                        let error = u32::from_ne_bytes(*error);
                        let product = modulus.mul(error ^ 1 << 31, factor);
                        *out = modulus.sub(product, narrow_offset);
                    }
                }
                if with_message {
                    for (out, bytes) in self.work.iter_mut().zip(self.message) {
                        let value = modulus.reduce_signed(i64::from_ne_bytes(*bytes), offset);
                        *out = modulus.add(*out, value);
                    }
                }
            },
        );
        ntt.forward(self.roots, self.work);
    }

    /// Transforms a packed ternary polynomial times `factor` into place `place` of `key`, in Montgomery
    /// form. `factor` is in Montgomery form too.
    pub(crate) fn transform_ternary(
        &mut self,
        ntt: &Ntt,
        packed: &[u8],
        place: usize,
        factor: u32,
    ) {
        let n = self.work.len();
        let key = &mut self.key[place * n..][..n];
        transform_ternary(self.isa, ntt, self.roots, packed, factor, key);
    }
}

/// See [`Parts::transform_ternary`].
pub(crate) fn transform_ternary(
    isa: Isa,
    ntt: &Ntt,
    roots: Roots<'_>,
    packed: &[u8],
    factor: u32,
    out: &mut [u32],
) {
    let modulus = ntt.modulus();
    vectorize(
        isa,
        #[inline(always)]
        || ternary::unpack(modulus, packed, out),
    );
    ntt.forward(roots, out);
    let factor = modulus.to_montgomery(factor);
    vectorize(
        isa,
        #[inline(always)]
        || {
            for value in out {
                *value = modulus.mul(*value, factor);
            }
        },
    );
}
