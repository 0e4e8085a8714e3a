//! `readings get --decrypt`: readings fetched and decrypted on this machine, as one table.
//!
//! The list of the uploads is read first, so that the headings of the table are known before its rows. Then one upload at a time is
//! fetched, decrypted and written: the memory is that of one upload and of about 50 bytes for each upload of the list.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use tfhe_sbc_columns::decrypt::{DecryptedUpload, Reading, UploadDecryption};
use tfhe_sbc_columns::known_column;
use tfhe_sbc_owner::{LARGEST_UPLOAD, device_keys_directory};
use tfhe_sbc_query::scope::{About, AboutDevice, ScopeError};
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::catalogue::{Filter, Names};
use tfhe_sbc_transport::client::{Client, ClientError};
use tfhe_sbc_upload::moments::{Moment, Span, moments_of};
use tfhe_sbc_upload::readings::{Column, ReadingsMetadata};

use super::{Chosen, list};
use crate::commands::scope::about_text;
use crate::commands::send::Server;
use crate::export::{self, Format, Headings};
use crate::failure::{Explain, Failure, Outcome, failure};
use crate::{keys, output, progress, report};

/// A table of decrypted readings.
#[derive(Args)]
pub(super) struct Table {
    /// Decrypt the readings with this secret key, and write one table of them
    #[arg(long, value_name = "FILE")]
    pub(super) decrypt: Option<PathBuf>,
    /// The directory with the switch keys of devices that have keys of their own
    #[arg(long, value_name = "DIRECTORY", requires = "decrypt")]
    device_keys: Option<PathBuf>,
    /// Only these columns of readings: names with commas between
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        requires = "decrypt"
    )]
    column: Vec<String>,
    /// The format of the table [default: by the extension of --out, else csv]
    #[arg(long, requires = "decrypt")]
    format: Option<Format>,
    /// Replace the file of --out if it is there already
    #[arg(long, requires = "decrypt")]
    force: bool,
}

/// The command with its arguments.
pub(super) struct Decrypted<'a> {
    pub(super) key: &'a Path,
    pub(super) chosen: &'a Chosen,
    pub(super) table: &'a Table,
    pub(super) out: Option<&'a Path>,
}

/// An upload of the list.
struct Listed {
    id: BlobId,
    /// The place of the device among the names.
    device: usize,
    first: Option<Moment>,
    bytes: u64,
}

/// What the server has of the selected readings.
struct Plan {
    devices: Vec<String>,
    /// The uploads by device, and of each device by the times of their first rows.
    uploads: Vec<Listed>,
    /// The columns that any of them has, each with its unit.
    columns: Vec<Column>,
    /// Whether the labels of all rows are times.
    are_times: bool,
}

impl Decrypted<'_> {
    /// Writes the table.
    pub(super) fn write(&self, server: &Server) -> Outcome<()> {
        output::check_new(self.out, self.table.force)?;
        let format = match self.table.format {
            Some(format) => format,
            None => Format::of(self.out),
        };
        let filter = self.chosen.selected.filter()?;
        let secret = keys::read_secret_key(self.key)?;
        keys::require_integers(self.key, secret.parameters())?;
        let given = self.table.device_keys.as_deref();
        let mut decryption = UploadDecryption::new(&secret, device_keys_directory(given)).advise(
            "no device keys",
            "name the directory that holds the switch keys of `tfhe-sbc device-key`",
        )?;
        drop(secret);
        let client = server.connect("owner")?;
        let plan = self.plan(&client, &filter)?;
        let columns = self.columns(&plan)?;
        let mut written = Written::nothing();
        output::write_private_text_with(self.out, |out| {
            let headings = Headings::new(plan.are_times, &columns);
            let mut table = export::Table::new(format, headings, out);
            let all = plan.uploads.iter().map(|upload| upload.bytes).sum();
            let bar = progress::bar("getting readings", all);
            for (place, upload) in plan.uploads.iter().enumerate() {
                let device = plan.devices.get(upload.device).map_or("", String::as_str);
                let bytes = match client.upload_of(&upload.id, LARGEST_UPLOAD) {
                    // Removed since it was listed, by retention or by hand.
                    Err(ClientError::Refused { status: 404, .. }) => {
                        written.removed += 1;
                        continue;
                    }
                    bytes => bytes.explain("no upload")?,
                };
                let decrypted = decryption.decrypt(&bytes).advise(
                    format_args!("the upload {} of '{device}'", upload.id),
                    "give the secret key of that key set with --decrypt, and with --device-keys the directory of the switch keys that \
                     `provision` and `device-key` made beside the keys of boards",
                )?;
                written.begin(device);
                written.rows_of(&decrypted, &filter, &columns, &mut table)?;
                let next = plan.uploads.get(place + 1);
                written.forget_before(next.filter(|next| next.device == upload.device));
                bar.inc(upload.bytes);
            }
            drop(bar);
            if written.about.rows == 0 {
                return Err(written.none());
            }
            table.end().advise(NOT_WRITTEN, WRITE_HELP)
        })?;
        written.say(self.out);
        for name in plan.without(&filter.names) {
            output::note(format_args!("no readings of {name} are selected"));
        }
        Ok(())
    }

    /// Reads the list of the uploads.
    fn plan(&self, client: &Client, filter: &Filter) -> Outcome<Plan> {
        let ids: HashSet<&BlobId> = self.chosen.ids.iter().collect();
        let mut missing = ids.clone();
        let mut devices: HashMap<String, usize> = HashMap::new();
        let mut lists: HashMap<Vec<String>, BlobId> = HashMap::new();
        let mut uploads = Vec::new();
        let mut are_times = true;
        list::each(client, filter.clone(), None, |entry| {
            if !ids.is_empty() && !ids.contains(&entry.id) {
                return;
            }
            missing.remove(&entry.id);
            are_times &= entry.summary.span.is_some();
            let next = devices.len();
            uploads.push(Listed {
                id: entry.id,
                device: *devices.entry(entry.uploader).or_insert(next),
                first: entry.summary.span.map(|span| span.first),
                bytes: entry.bytes,
            });
            lists.entry(entry.summary.columns).or_insert(entry.id);
        })?;
        if let Some(missing) = missing.into_iter().next() {
            return Err(failure(
                format_args!("no upload {missing} is stored"),
                "`tfhe-sbc readings list` shows what there is",
            ));
        }
        if uploads.is_empty() {
            return Err(none_selected(client, &filter.names)?);
        }
        // Devices by name instead of by appearance.
        let sorted: BTreeMap<String, usize> = devices.into_iter().collect();
        let mut places = vec![0; sorted.len()];
        for (place, &found) in sorted.values().enumerate() {
            if let Some(of) = places.get_mut(found) {
                *of = place;
            }
        }
        for upload in &mut uploads {
            upload.device = places.get(upload.device).copied().unwrap_or_default();
        }
        // The list has the last first; those without times keep the order in which they were stored.
        uploads.reverse();
        uploads.sort_by_key(|upload| (upload.device, upload.first));
        let mut columns: Vec<Column> = Vec::new();
        // One upload of each list of names tells the units.
        let telling: HashSet<BlobId> = lists.into_values().collect();
        for upload in uploads.iter().filter(|upload| telling.contains(&upload.id)) {
            let list = client.columns(&upload.id.into());
            for column in list.explain("no columns of the readings")?.columns {
                match columns.iter().find(|known| known.name == column.name) {
                    Some(known) => check_unit(known, &column)?,
                    None => columns.push(column),
                }
            }
        }
        Ok(Plan {
            devices: sorted.into_keys().collect(),
            uploads,
            columns,
            are_times,
        })
    }

    /// The columns of the table, in the order in which they are asked for.
    fn columns(&self, plan: &Plan) -> Outcome<Vec<Column>> {
        if self.table.column.is_empty() {
            return Ok(plan.columns.clone());
        }
        let all = ReadingsMetadata {
            columns: plan.columns.clone(),
            rows: Vec::new(),
            gaps: Default::default(),
        };
        let mut columns: Vec<Column> = Vec::new();
        for name in &self.table.column {
            let (_, column) = known_column(&all, name)
                .advise("no such table", "leave --column out to have them all")?;
            if columns.iter().all(|known| known.name != *name) {
                columns.push(column.clone());
            }
        }
        Ok(columns)
    }
}

impl Plan {
    /// The devices that were named, and of which nothing is there.
    fn without<'n>(&self, names: &'n Names) -> impl Iterator<Item = &'n String> {
        let plain = names
            .patterns()
            .iter()
            .filter(|name| !name.contains(['*', '?']));
        plain.filter(|name| self.devices.binary_search(name).is_err())
    }
}

/// Tells why nothing is selected.
fn none_selected(client: &Client, names: &Names) -> Outcome<Box<Failure>> {
    let of_devices = Filter {
        names: names.clone(),
        limit: Some(1),
        ..Filter::ALL
    };
    let any = client.list(&of_devices).explain("no list of readings")?;
    Ok(match any.readings.first() {
        None if names.is_all() => {
            failure("no readings are stored", "send some with `tfhe-sbc send`")
        }
        None => failure(
            format_args!("no device '{names}' has uploaded"),
            "`tfhe-sbc readings list` shows the devices",
        ),
        Some(_) => failure(
            "no uploads are selected",
            "`tfhe-sbc readings list` shows the times of what there is",
        ),
    })
}

const NOT_WRITTEN: &str = "the output was not written";
const WRITE_HELP: &str = "check where it goes: is the disk full?";

/// Refuses a column whose unit is another one than that of the column of this name in other uploads.
fn check_unit(known: &Column, column: &Column) -> Outcome<()> {
    if known.unit == column.unit {
        return Ok(());
    }
    Err(failure(
        format_args!(
            "the column '{}' is in '{}' in some uploads and in '{}' in others",
            report::plain(&column.name),
            report::plain(&known.unit),
            report::plain(&column.unit)
        ),
        "get them in several tables: select by --device and --since, or leave the column out with --column",
    ))
}

/// What has been written.
struct Written {
    about: About,
    /// The rows of the uploads, with those that were not selected, and their span.
    all_rows: usize,
    all_span: Option<Span>,
    /// Whether all labels of rows that were written are times.
    has_labels: bool,
    /// The moments of rows of the device, as far as rows of its other uploads can be of them.
    seen: HashSet<Moment>,
    unreadable: u64,
    /// The cells whose readings are missing.
    missing: u64,
    removed: u64,
}

impl Written {
    fn nothing() -> Self {
        Self {
            about: About {
                devices: Vec::new(),
                span: None,
                rows: 0,
                uploads: 0,
                repeated: 0,
            },
            all_rows: 0,
            all_span: None,
            has_labels: false,
            seen: HashSet::new(),
            unreadable: 0,
            missing: 0,
            removed: 0,
        }
    }

    /// Begins with an upload of a device.
    fn begin(&mut self, device: &str) {
        let is_same = |about: &AboutDevice| about.name.as_deref() == Some(device);
        if !self.about.devices.last().is_some_and(is_same) {
            self.seen.clear();
            self.about.devices.push(AboutDevice {
                name: Some(device.to_owned()),
                rows: 0,
                uploads: 0,
            });
        }
    }

    /// Writes the selected rows of an upload of the last device.
    fn rows_of(
        &mut self,
        upload: &DecryptedUpload,
        filter: &Filter,
        columns: &[Column],
        table: &mut export::Table<'_, &mut (dyn Write + Send)>,
    ) -> Outcome<()> {
        let DecryptedUpload { metadata, readings } = upload;
        let mut places = Vec::with_capacity(columns.len());
        for column in columns {
            let found = metadata.column(&column.name);
            if let Some((_, found)) = found {
                check_unit(column, found)?;
            }
            places.push(found.and_then(|(place, _)| readings.get(place)));
        }
        let Some(device) = self.about.devices.last_mut() else {
            return Ok(());
        };
        let name = device.name.clone().unwrap_or_default();
        let mut written = 0;
        for (row, (label, moment)) in metadata
            .rows
            .iter()
            .zip(moments_of(&metadata.rows))
            .enumerate()
        {
            self.all_rows += 1;
            if moment.is_none() && (filter.since.is_some() || filter.until.is_some()) {
                let label = label.clone();
                return Err(ScopeError::NoTime { label }).explain("no such rows");
            }
            self.all_span = joined(self.all_span, moment);
            let is_before = filter.since.is_some_and(|since| moment < Some(since));
            let is_after = filter.until.is_some_and(|until| moment >= Some(until));
            if is_before || is_after {
                continue;
            }
            let values = places
                .iter()
                .map(|readings| readings.and_then(|readings| readings.get(row)));
            let count = |wanted: Reading| {
                let found = values.clone().filter(|value| *value == Some(&wanted));
                found.count() as u64
            };
            self.unreadable += count(Reading::Unreadable);
            self.missing += count(Reading::Missing);
            let values = values.map(|value| value.copied().and_then(Reading::value));
            table
                .row(&name, label, values)
                .advise(NOT_WRITTEN, WRITE_HELP)?;
            written += 1;
            self.has_labels |= moment.is_none();
            self.about.span = joined(self.about.span, moment);
            if moment.is_some_and(|moment| !self.seen.insert(moment)) {
                self.about.repeated += 1;
            }
        }
        if written > 0 {
            device.rows += written;
            device.uploads += 1;
            self.about.rows += written;
            self.about.uploads += 1;
        }
        Ok(())
    }

    /// Forgets the moments that no row of the next upload of the device, or of those behind it, can be of. `None` stands for no
    /// further upload of the device.
    fn forget_before(&mut self, next: Option<&Listed>) {
        match next {
            None => self.seen.clear(),
            // An upload without a span has rows of any moment.
            Some(next) => {
                if let Some(first) = next.first {
                    self.seen.retain(|moment| *moment >= first);
                }
            }
        }
    }

    /// The failure of a table without rows.
    fn none(&self) -> Box<Failure> {
        let none = ScopeError::NoRows {
            rows: self.all_rows,
            span: self.all_span,
        };
        failure(none, "select another time with --since, --until or --last")
    }

    /// Says what the table is about.
    fn say(mut self, out: Option<&Path>) {
        if self.has_labels {
            self.about.span = None;
        }
        let out = out.map(Path::to_path_buf);
        let to = output::shown(out.as_ref());
        output::note(format_args!("{}: to {to}", about_text(&self.about)));
        if self.removed > 0 {
            let uploads = report::counted(self.removed, "upload", "uploads");
            output::note(format_args!(
                "{uploads} were removed from the server meanwhile and are not in the table"
            ));
        }
        if self.missing > 0 {
            let cells = report::counted(self.missing, "cell is", "cells are");
            output::note(format_args!(
                "{cells} empty because the readings are missing"
            ));
        }
        if self.unreadable > 0 {
            let values = report::counted(self.unreadable, "cell is", "cells are");
            output::note(format_args!(
                "{values} empty because the readings decrypt to values that their columns cannot have: the uploads were changed or \
                 forged"
            ));
        }
    }
}

/// Returns the span of a span and a moment, as far as there are any.
fn joined(span: Option<Span>, moment: Option<Moment>) -> Option<Span> {
    let ends = span.into_iter().flat_map(|span| [span.first, span.last]);
    Span::of_moments(ends.chain(moment))
}
