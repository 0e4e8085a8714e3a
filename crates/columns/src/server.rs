//! Servers, which compute on ciphertexts, and rehearsals, which compute in the clear.

use std::fmt;
use std::sync::{Arc, OnceLock};

use tfhe_sbc_core::lwe::LweCiphertext;
use tfhe_sbc_core::parameters::{KeyFingerprint, Parameters};
use tfhe_sbc_engine::circuit::Circuit;
use tfhe_sbc_engine::server_key::ServerKey;
use tfhe_sbc_upload::gaps::Gaps;
use tfhe_sbc_upload::readings::{Column, ReadingsMetadata};

use crate::answer::{Answer, Computable};
use crate::backend::{Backend, Keys};
use crate::compact::plan::Plan;
use crate::compute::{self, Exported};
use crate::computed::Computed;
use crate::cost::Cost;
use crate::device_keys::DeviceKeys;
use crate::error::Error;
use crate::mask::Mask;
use crate::node::{ClearCodes, Content, Node, Op, Source};
use crate::number::Number;
use crate::progress::Progress;
use crate::table::Table;
use crate::uploads::Uploads;

/// The computing side: a server with its key, or a rehearsal without keys. Clones are the same
/// server.
#[derive(Clone)]
pub struct Server {
    pub(crate) backend: Arc<Backend>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("key_set", &self.fingerprint())
            .finish_non_exhaustive()
    }
}

impl Server {
    /// A server whose uploads are all under the key set's own key.
    pub fn new(key: ServerKey<u64>) -> Self {
        let devices = DeviceKeys::none(&key);
        Self::with_devices(key, devices)
    }

    /// A server of devices that have keys of their own.
    pub fn with_devices(key: ServerKey<u64>, devices: DeviceKeys) -> Self {
        let keys = Keys {
            key,
            devices,
            speed: OnceLock::new(),
        };
        Self {
            backend: Arc::new(Backend::Server(Box::new(keys))),
        }
    }

    /// Checks that the parameters carry integers; computations fail otherwise.
    ///
    /// # Errors
    /// Parameters that do not.
    pub fn check_parameters(&self) -> Result<(), Error> {
        Circuit::new(self.parameters())?;
        Ok(())
    }

    /// A rehearsal: it computes in the clear, with the lookups of a server.
    ///
    /// # Errors
    /// Parameters that do not carry integers.
    pub fn rehearsal(parameters: &Parameters) -> Result<Self, Error> {
        Circuit::new(parameters)?;
        Ok(Self {
            backend: Arc::new(Backend::Rehearsal(*parameters)),
        })
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        self.backend.parameters()
    }

    /// The fingerprint of the key set; `None` of a rehearsal.
    pub fn fingerprint(&self) -> Option<KeyFingerprint> {
        self.backend.fingerprint()
    }

    /// The server key; `None` of a rehearsal.
    pub fn key(&self) -> Option<&ServerKey<u64>> {
        match &*self.backend {
            Backend::Server(keys) => Some(&keys.key),
            Backend::Rehearsal(_) => None,
        }
    }

    /// The keys of devices; `None` of a rehearsal.
    pub fn devices(&self) -> Option<&DeviceKeys> {
        match &*self.backend {
            Backend::Server(keys) => Some(&keys.devices),
            Backend::Rehearsal(_) => None,
        }
    }

    /// Loads uploads of the same columns, their rows one after the other.
    ///
    /// # Errors
    /// Bytes that are no uploads of one key set and the same columns, and keys that are not known.
    pub fn load(&self, uploads: &[&[u8]]) -> Result<Table, Error> {
        let Backend::Server(keys) = &*self.backend else {
            return Err(Error::RehearsalLoads);
        };
        let uploads = Uploads::parse(keys.key.parameters(), &keys.devices, uploads)?;
        Ok(self.load_parsed(uploads))
    }

    /// Loads parsed uploads.
    pub fn load_parsed(&self, uploads: Uploads<'_>) -> Table {
        Table::new(&self.backend, uploads.into_source(self.parameters()))
    }

    /// Loads values, column by column, for a rehearsal. NaN stands for a reading that is missing, in columns that have
    /// their validity.
    ///
    /// # Errors
    /// Metadata that no upload has, and values that their columns cannot encode.
    pub fn load_clear(
        &self,
        mut metadata: ReadingsMetadata,
        values: &[Vec<f64>],
    ) -> Result<Table, Error> {
        metadata.gaps = Gaps::default();
        metadata.check()?;
        let rows = metadata.rows.len();
        if values.len() != metadata.columns.len() || values.iter().any(|list| list.len() != rows) {
            return Err(Error::Shape {
                columns: metadata.columns.len(),
                rows,
            });
        }
        metadata.gaps = Gaps::of(&metadata.columns, values);
        let columns = metadata.columns.iter().zip(values);
        let codes = columns.map(|(column, values)| encode(&metadata, column, values));
        let codes = codes.collect::<Result<_, _>>()?;
        Ok(Table::new(
            &self.backend,
            Source {
                metadata: Arc::new(metadata),
                content: Content::Codes(codes),
            },
        ))
    }

    /// A table without values, of which computations are only counted.
    pub fn describe(&self, metadata: ReadingsMetadata) -> Table {
        Table::new(
            &self.backend,
            Source {
                metadata: Arc::new(metadata),
                content: Content::Unknown,
            },
        )
    }

    /// Computes values together: what they have in common is done once.
    ///
    /// ```
    /// # use tfhe_sbc_columns::Error;
    /// # fn main() -> Result<(), Error> {
    /// # let server = tfhe_sbc_columns::doc::rehearsal();
    /// # let table = tfhe_sbc_columns::doc::table(&server);
    /// let temperature = table.column("temperature_c")?;
    /// let (hot, warmest) = (temperature.gt(30.0)?.count(), temperature.max());
    /// let [hot, warmest] = server.compute([&hot, &warmest])?;
    /// assert_eq!((hot.rehearsed()?.number(), warmest.rehearsed()?.number()), (Some(2.0), Some(31.5)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Operands of other servers, and computations that need too much memory.
    pub fn compute<const N: usize>(
        &self,
        values: [&dyn Computable; N],
    ) -> Result<[Answer; N], Error> {
        let answers = self.compute_list(&values, &Progress::default())?;
        answers.try_into().map_err(|_| Error::NotComputed)
    }

    /// Does the same as [`compute`](Self::compute), for any number of values. `progress` sees the
    /// bootstraps, and the lookups that are recorded before them, and can call the computation off.
    ///
    /// # Errors
    /// Those of [`compute`](Self::compute), and a computation that is called off.
    pub fn compute_list(
        &self,
        values: &[&dyn Computable],
        progress: &Progress,
    ) -> Result<Vec<Answer>, Error> {
        let parts: Vec<Vec<Computed>> = values.iter().map(|value| value.parts()).collect();
        self.compute_all(&parts.concat(), progress)?;
        let answers = values.iter().zip(&parts);
        let answers = answers.map(|(value, parts)| Answer::new(parts, value.form(), progress));
        answers.collect()
    }

    /// Computes values together and returns the number of bootstraps.
    ///
    /// # Errors
    /// Operands of other servers, and computations that need too much memory or are called off.
    pub fn compute_all(&self, values: &[Computed], progress: &Progress) -> Result<u64, Error> {
        let nodes = self.unknown(values)?;
        if nodes.is_empty() {
            return Ok(0);
        }
        match &*self.backend {
            Backend::Server(keys) => compute::evaluate(keys, &nodes, None, progress),
            Backend::Rehearsal(parameters) => {
                compute::rehearse(parameters, &nodes, progress).map(|()| 0)
            }
        }
    }

    /// Does the same as [`compute_all`](Self::compute_all), within at most `most` bootstraps.
    ///
    /// # Errors
    /// Those of [`compute_all`](Self::compute_all), and [`Error::TooCostly`] before the first
    /// bootstrap.
    pub fn compute_within(
        &self,
        values: &[Computed],
        most: u64,
        progress: &Progress,
    ) -> Result<u64, Error> {
        let nodes = self.unknown(values)?;
        match &*self.backend {
            Backend::Server(keys) => compute::evaluate(keys, &nodes, Some(most), progress),
            Backend::Rehearsal(parameters) => {
                compute::rehearse(parameters, &nodes, progress).map(|()| 0)
            }
        }
    }

    /// Returns the number of bootstraps that computing these values together takes, without
    /// computing them.
    ///
    /// # Errors
    /// Operands of other servers, and recordings that are called off.
    pub fn cost(&self, values: &[Computed], progress: &Progress) -> Result<Cost, Error> {
        let nodes = self.unknown(values)?;
        let (_, together) = compute::count(self.parameters(), &[&nodes], progress)?;
        Ok(together)
    }

    /// Returns the costs of each list of values by itself, and of all of them together, which is
    /// less than the sum if they have work in common.
    ///
    /// # Errors
    /// As [`cost`](Self::cost).
    pub fn costs(
        &self,
        lists: &[Vec<Computed>],
        progress: &Progress,
    ) -> Result<(Vec<Cost>, Cost), Error> {
        let lists = lists.iter().map(|list| self.unknown(list));
        let lists: Vec<Vec<Arc<Node>>> = lists.collect::<Result<_, _>>()?;
        let lists: Vec<&[Arc<Node>]> = lists.iter().map(Vec::as_slice).collect();
        compute::count(self.parameters(), &lists, progress)
    }

    /// Returns the number of bootstraps of values none of which needs a circuit of lookups, but for adding up sums
    /// of groups of rows: linear functions of compact columns and of those that are derived from them, single
    /// comparisons. `None` if a value does.
    ///
    /// # Errors
    /// Operands of other servers, and columns whose rounding is too coarse for what is asked.
    pub fn cost_without_circuit(&self, values: &[Computed]) -> Result<Option<u64>, Error> {
        let nodes = self.unknown(values)?;
        let plan = Plan::new(self.parameters(), &nodes)?;
        let planned = nodes.iter().all(|node| plan.way(node).is_some());
        Ok(planned.then(|| plan.cost().bootstraps))
    }

    /// Returns the time that this server takes for a computation; `None` of a rehearsal. The first
    /// call measures the machine.
    ///
    /// # Errors
    /// A key whose parameters do not carry integers.
    pub fn seconds(&self, cost: &Cost) -> Result<Option<f64>, Error> {
        match &*self.backend {
            Backend::Server(keys) => Ok(Some(keys.speed()?.predict(cost).as_secs_f64())),
            Backend::Rehearsal(_) => Ok(None),
        }
    }

    /// Single or listed numbers of an earlier result.
    pub fn number_of(&self, rows: Option<usize>, encoding: &Column, content: Exported) -> Number {
        let op = match content {
            Exported::Sealed(ciphertexts) => Op::Sealed(ciphertexts),
            Exported::Compact(values) => Op::Compact(values),
            Exported::Clear(codes) => Op::Clear(codes),
        };
        Number::of_column(&self.backend, rows, encoding, op)
    }

    /// Truth values of an earlier result, under the small key.
    pub fn mask_of(&self, rows: Option<usize>, ciphertexts: Vec<LweCiphertext<u32>>) -> Mask {
        Mask::new(&self.backend, rows, Op::Sealed(ciphertexts))
    }

    /// The nodes of values that are not computed yet.
    fn unknown(&self, values: &[Computed]) -> Result<Vec<Arc<Node>>, Error> {
        let mut nodes = Vec::with_capacity(values.len());
        for value in values {
            self.backend.check_same(value.backend())?;
            let node = value.node();
            node.check_depth()?;
            if !node.is_known() {
                nodes.push(Arc::clone(node));
            }
        }
        Ok(nodes)
    }
}

/// The codes of a column's values.
fn encode(
    metadata: &ReadingsMetadata,
    column: &Column,
    values: &[f64],
) -> Result<ClearCodes, Error> {
    let encoding = column.fixed_point()?;
    let is_missing = |value: &f64| column.is_optional() && value.is_nan();
    let encode = |(row, value): (usize, &f64)| match is_missing(value) {
        true => Ok(0),
        false => encoding.encode(*value).map_err(|error| Error::OutOfRange {
            row,
            label: metadata.rows[row].clone(),
            column: column.name.clone(),
            error,
        }),
    };
    let codes = values.iter().enumerate().map(encode);
    let missing = values.iter().enumerate();
    let missing = missing.filter(|(_, value)| is_missing(value));
    Ok(ClearCodes {
        codes: codes.collect::<Result<_, _>>()?,
        missing: missing.map(|(row, _)| row).collect(),
    })
}

impl Computed {
    /// Returns a server that computes values like this one.
    pub fn server(&self) -> Server {
        Server {
            backend: Arc::clone(self.backend()),
        }
    }
}
