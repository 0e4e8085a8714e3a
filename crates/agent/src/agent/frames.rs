//! Batches that become frames.

use tfhe_sbc_core::encoding::FixedPoint;
use tfhe_sbc_frames::{Counter, CounterError, EncodeError, Encoder, Form, Format};
use tfhe_sbc_upload::pads::{BoardFile, FramePlan};
use tfhe_sbc_upload::readings::Column;
use zeroize::Zeroizing;

use crate::config::Config;
use crate::error::AgentError;
use crate::spool::Spool;
use crate::spool::counter::{CounterFile, CounterFileError};

const NEW_PADS: &str = "make new pads with `tfhe-sbc pads make --agent`, send them to the server, give the agent \
                        the new key file, and run `tfhe-sbc agent begin` once";

/// The encoder of frames. Its counter is open as long as the spool is.
pub(super) struct FrameEncoder {
    plan: FramePlan,
    format: Format,
    fixed_points: Vec<FixedPoint>,
    encoder: Option<Encoder<CounterFile>>,
}

/// Reads the file with the board's key.
pub(crate) fn board_file(config: &Config) -> Result<BoardFile, AgentError> {
    BoardFile::read(&config.key_bytes()?).map_err(|error| {
        AgentError::setting(
            "device.key",
            error,
            "with server.transport = \"frames\", name the file that `tfhe-sbc pads make --agent` made",
        )
    })
}

impl FrameEncoder {
    pub(super) fn new(config: &Config) -> Result<Self, AgentError> {
        let (format, plan, _) = parts(config)?;
        let optional = config.columns.iter().map(|column| &column.definition);
        if let Some(column) = optional
            .clone()
            .find(|column| column.derived.optional.is_allowed())
        {
            return Err(AgentError::setting(
                &format!("column '{}', optional", column.name),
                "readings cannot be missing in frames",
                "leave optional out, with which a row without a reading is left out, or send uploads",
            ));
        }
        let planned = plan.columns.iter().map(Some).chain(std::iter::repeat(None));
        let count = plan.columns.len().max(config.columns.len());
        for (place, planned) in planned.take(count).enumerate() {
            let set = config.columns.get(place).map(|column| &column.definition);
            let is_same = match (set, planned) {
                (Some(set), Some(planned)) => is_same(&set.without_use(), planned),
                _ => false,
            };
            if !is_same {
                return Err(other_column(place, planned));
            }
        }
        let fixed_points = plan.columns.iter().map(Column::fixed_point);
        let fixed_points = fixed_points.collect::<Result<_, _>>().map_err(|error| {
            AgentError::setting(
                "device.key",
                error,
                "make new pads with `tfhe-sbc pads make`",
            )
        })?;
        Ok(Self {
            plan,
            format,
            fixed_points,
            encoder: None,
        })
    }

    pub(super) fn columns(&self) -> &[Column] {
        &self.plan.columns
    }

    pub(super) fn rows(&self) -> usize {
        usize::from(self.plan.rows)
    }

    pub(super) fn frame_bytes(&self) -> usize {
        self.format.frame_bytes()
    }

    /// Opens the counter in a spool that this agent has locked.
    pub(super) fn open(&mut self, config: &Config, spool: &Spool) -> Result<(), AgentError> {
        let (format, _, key) = parts(config)?;
        let store = CounterFile::new(spool, &key);
        let counter = Counter::open(store, config.frames.leap, &format).map_err(no_counter)?;
        tracing::info!(board = %format.id(), left = counter.left(), "the board sends frames");
        self.encoder = Some(Encoder::new(format, key, counter));
        Ok(())
    }

    /// Makes the frame of a full batch, which takes a counter.
    pub(super) fn encrypt(
        &mut self,
        readings: &[impl AsRef<[f64]>],
    ) -> Result<Vec<u8>, AgentError> {
        let mut codes = Zeroizing::new(Vec::with_capacity(self.format.codes()));
        for row in 0..self.rows() {
            for (fixed_point, column) in self.fixed_points.iter().zip(readings) {
                let reading = column.as_ref().get(row).copied().unwrap_or(f64::NAN);
                codes.push(fixed_point.encode(reading).map_err(not_made)?);
            }
        }
        let mut frame = vec![0; self.format.frame_bytes()];
        let encoder = self
            .encoder
            .as_mut()
            .ok_or_else(|| not_made("the counter is not open"))?;
        match encoder.encode(&codes, &mut frame) {
            Ok(_) => Ok(frame),
            Err(EncodeError::Counter(error)) => Err(no_counter(error)),
            Err(error) => Err(not_made(error)),
        }
    }
}

/// Writes the first limit of the counter into the spool of the settings, once for each key.
///
/// # Errors
/// If the board has a counter for its key already, or the disk fails.
pub(crate) fn begin(config: &Config, spool: &Spool) -> Result<(), AgentError> {
    let (_, _, key) = parts(config)?;
    Counter::provision(&mut CounterFile::new(spool, &key)).map_err(no_counter)
}

fn parts(config: &Config) -> Result<(Format, FramePlan, tfhe_sbc_frames::BoardKey), AgentError> {
    let parts = board_file(config)?.into_parts().map_err(|error| {
        AgentError::setting(
            "device.key",
            error,
            "make new pads with `tfhe-sbc pads make`",
        )
    })?;
    let named = parts.0.form() == Form::Named;
    match config.server.is_udp() && !named {
        true => Err(AgentError::setting(
            "server.url",
            "over UDP a frame has to name its board, and the frames of this key do not",
            "make the pads with `tfhe-sbc pads make --named`",
        )),
        false => Ok(parts),
    }
}

/// Returns whether two columns have the same codes. The form is that of the pads.
fn is_same(one: &Column, other: &Column) -> bool {
    let of = |column: &Column| {
        let bits_of = (column.offset.to_bits(), column.scale.to_bits());
        (
            column.name.clone(),
            column.unit.clone(),
            bits_of,
            column.bits,
        )
    };
    of(one) == of(other)
}

fn other_column(place: usize, planned: Option<&Column>) -> AgentError {
    let place = place + 1;
    match planned {
        Some(Column {
            name,
            unit,
            offset,
            scale,
            bits,
            ..
        }) => AgentError::setting(
            "column",
            format_args!("column {place} is not the one that the pads were made for"),
            format_args!(
                "write name = {name:?}, unit = {unit:?}, offset = {offset:?}, scale = {scale:?}, bits = {bits}, or make pads for these columns"
            ),
        ),
        None => AgentError::setting(
            "column",
            format_args!("the pads were made for {} columns", place - 1),
            "remove the others, or make pads for them",
        ),
    }
}

fn not_made(error: impl std::fmt::Display) -> AgentError {
    AgentError::new(
        format_args!("a frame was not made: {error}"),
        "report this as an error of the agent",
    )
}

fn no_counter(error: CounterError<CounterFileError>) -> AgentError {
    let advice = match &error {
        CounterError::Store(_) => {
            "make the spool's directory writable, with room; no frame is made without its counter on the disk"
        }
        CounterError::Lost => {
            "if the agent begins with this key, run `tfhe-sbc agent begin` once. If it has sent frames with it, the spool \
             is not the one that it had: bring that back, or make new pads with `tfhe-sbc pads make --agent`"
        }
        CounterError::Provisioned => "start the agent: it goes on where it was",
        CounterError::Exhausted => NEW_PADS,
    };
    AgentError::new(error, advice)
}
