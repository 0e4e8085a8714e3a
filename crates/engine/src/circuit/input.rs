//! The inputs of a circuit: fresh ciphertexts, sums of them, outputs of earlier bootstraps, and
//! stand-ins for all of these.

use tfhe_sbc_core::lwe::LweCiphertext;

use super::{Block, Circuit, CircuitError, Graph, Source};

/// An input of a circuit.
pub(super) enum Input {
    /// A ciphertext, and the number of the earlier bootstrap that it is an output of.
    Ciphertext(LweCiphertext<u64>, Option<u32>),
    /// A stand-in for a ciphertext of this value.
    Value(i64),
}

/// The source of input number `at`.
fn source(at: u32, bootstrap: Option<u32>) -> Source {
    match bootstrap {
        None => Source::Input(at),
        Some(bootstrap) => Source::Bootstrapped(bootstrap, at),
    }
}

impl Graph {
    /// Adds a stand-in and returns its source.
    fn place_stand_in(&mut self, value: u64, bootstrap: Option<u32>) -> Source {
        let at = self.inputs.len() as u32;
        self.inputs.push(Input::Value(value as i64));
        source(at, bootstrap)
    }

    /// Adds a ciphertext, unless it is an input already, and returns its source.
    fn place(&mut self, ciphertext: LweCiphertext<u64>, bootstrap: Option<u32>) -> Source {
        let next = self.inputs.len() as u32;
        // The last words identify honest ciphertexts. A ciphertext that was forged to share them
        // with another must not take its place, so the whole is compared.
        let words = ciphertext.as_slice();
        let tail = words[words.len().saturating_sub(9)..].to_vec();
        let known = *self.known_inputs.entry(tail).or_insert(next);
        if let Some(Input::Ciphertext(same, bootstrap)) = self.inputs.get(known as usize)
            && *same == ciphertext
        {
            return source(known, *bootstrap);
        }
        self.inputs.push(Input::Ciphertext(ciphertext, bootstrap));
        source(next, bootstrap)
    }

    /// Returns a number for an earlier bootstrap.
    fn next_bootstrap(&mut self) -> u32 {
        self.earlier_bootstraps += 1;
        self.earlier_bootstraps
    }
}

impl Circuit {
    /// Adds an input: a block that a device has encrypted, of a value in `[0, degree]`. The
    /// ciphertext must be fresh: it counts as one term, for which the set's `body_bits` are
    /// chosen.
    ///
    /// # Errors
    /// If no lookup could take the values, or the ciphertext has another dimension than the key.
    pub fn input(
        &self,
        ciphertext: LweCiphertext<u64>,
        degree: u64,
    ) -> Result<Block, CircuitError> {
        self.input_sum(ciphertext, degree, 1)
    }

    /// Adds an input that is the sum of `level` fresh blocks, for example one computed on whole
    /// GLWE ciphertexts, of a value in `[0, degree]`.
    ///
    /// # Errors
    /// If no lookup could take the values or the noise, or the ciphertext has another dimension
    /// than the key.
    pub fn input_sum(
        &self,
        ciphertext: LweCiphertext<u64>,
        degree: u64,
        level: u32,
    ) -> Result<Block, CircuitError> {
        self.check_input(degree, level)?;
        self.check_dimension(&ciphertext)?;
        let source = self.graph_mut().place(ciphertext, None);
        Ok(Block::of_source(self.id, source, 0, degree as i64).of_level(level))
    }

    /// Adds an input that is the only output in use of a bootstrap done before this circuit, of a value
    /// in `[0, degree]`. Its error is independent of those of all other inputs. It must not be the
    /// output of a lookup of another circuit that also gave a different input of this one.
    ///
    /// # Errors
    /// If no lookup could take the values, or the ciphertext has another dimension than the key.
    pub fn bootstrapped_input(
        &self,
        ciphertext: LweCiphertext<u64>,
        degree: u64,
    ) -> Result<Block, CircuitError> {
        let blocks = self.bootstrapped_inputs(vec![(ciphertext, degree)])?;
        Ok(blocks.into_iter().next().unwrap_or_else(|| Block::clear(0)))
    }

    /// Adds inputs that are the outputs of one bootstrap done before this circuit, each with its
    /// degree: the values are in `[0, degree]`. Their errors are independent of those of all other
    /// inputs, but not of each other.
    ///
    /// # Errors
    /// If no lookup could take some of the values, or a ciphertext has another dimension than the key.
    pub fn bootstrapped_inputs(
        &self,
        outputs: Vec<(LweCiphertext<u64>, u64)>,
    ) -> Result<Vec<Block>, CircuitError> {
        for (ciphertext, degree) in &outputs {
            self.check_input(*degree, 1)?;
            self.check_dimension(ciphertext)?;
        }
        let graph = &mut *self.graph_mut();
        let bootstrap = Some(graph.next_bootstrap());
        let blocks = outputs.into_iter().map(|(ciphertext, degree)| {
            let source = graph.place(ciphertext, bootstrap);
            Block::of_source(self.id, source, 0, degree as i64)
        });
        Ok(blocks.collect())
    }

    /// Adds stand-ins for [`bootstrapped_inputs`](Self::bootstrapped_inputs), each with its value and
    /// its degree.
    ///
    /// # Errors
    /// If no lookup could take some of the values.
    pub fn bootstrapped_stand_ins(
        &self,
        outputs: &[(u64, u64)],
    ) -> Result<Vec<Block>, CircuitError> {
        for &(_, degree) in outputs {
            self.check_input(degree, 1)?;
        }
        let graph = &mut *self.graph_mut();
        let bootstrap = Some(graph.next_bootstrap());
        let blocks = outputs.iter().map(|&(value, degree)| {
            let source = graph.place_stand_in(value, bootstrap);
            Block::of_source(self.id, source, 0, degree as i64)
        });
        Ok(blocks.collect())
    }

    /// Adds a stand-in for an encrypted block of a value in `[0, degree]`. A circuit with
    /// stand-ins can be counted and rehearsed, but not evaluated.
    pub fn stand_in(&self, value: u64, degree: u64) -> Block {
        let source = self.graph_mut().place_stand_in(value, None);
        Block::of_source(self.id, source, 0, degree as i64)
    }

    /// Adds a stand-in for a sum of `level` fresh blocks, of a value in `[0, degree]`.
    ///
    /// # Errors
    /// If no lookup could take the values or the noise.
    pub fn stand_in_sum(&self, value: u64, degree: u64, level: u32) -> Result<Block, CircuitError> {
        self.check_input(degree, level)?;
        Ok(self.stand_in(value, degree).of_level(level))
    }

    fn check_input(&self, degree: u64, level: u32) -> Result<(), CircuitError> {
        let levels = 1..=self.parameters.max_noise_level();
        match degree < self.encoding().block_modulus() && levels.contains(&level) {
            true => Ok(()),
            false => Err(CircuitError::Input { degree, level }),
        }
    }

    fn check_dimension(&self, ciphertext: &LweCiphertext<u64>) -> Result<(), CircuitError> {
        let expected = self.parameters.big_lwe_dimension().0;
        match ciphertext.dimension().0 {
            found if found == expected => Ok(()),
            found => Err(CircuitError::Dimension { expected, found }),
        }
    }
}
