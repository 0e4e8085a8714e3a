//! A list of the uploads that the server stores, with their devices and the definitions of their columns.
//!
//! The gateway holds the list in memory and asks for what is new before each statement. Uploads that were removed are noticed when the
//! whole list is read again.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tfhe_sbc_owner::each_upload;
use tfhe_sbc_transport::BlobId;
use tfhe_sbc_transport::catalogue::{Filter, MAX_PAGE};
use tfhe_sbc_transport::protocol::{ReadingsEntry, UploadSummary};
use tfhe_sbc_upload::moments::{Moment, Span};
use tfhe_sbc_upload::readings::Column;

use crate::error::Outcome;
use crate::owner::Owner;

/// The time after which the whole list is read again.
const WHOLE: Duration = Duration::from_secs(60);

/// The first page that is asked for: most statements find nothing new.
const FIRST_PAGE: u32 = 16;

/// An upload.
#[derive(Debug)]
pub(crate) struct Upload {
    pub(crate) id: BlobId,
    pub(crate) device: Arc<str>,
    pub(crate) summary: UploadSummary,
    pub(crate) bytes: u64,
    pub(crate) created_at: String,
    /// The place of its columns' definitions among the classes.
    pub(crate) class: usize,
}

impl Upload {
    pub(crate) fn span(&self) -> Option<Span> {
        self.summary.span
    }

    /// Returns whether rows of it may be of the moments from `since` up to before `until`.
    pub(crate) fn meets(&self, since: Option<Moment>, until: Option<Moment>) -> bool {
        match self.span() {
            None => since.is_none() && until.is_none(),
            Some(span) => {
                since.is_none_or(|since| span.last >= since)
                    && until.is_none_or(|until| span.first < until)
            }
        }
    }
}

/// A column of a table: those of this name in all classes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TableColumn {
    /// The name in SQL.
    pub(crate) name: String,
    /// The name in uploads.
    pub(crate) reading: String,
    pub(crate) unit: String,
}

/// The uploads that the server stored when they were last listed.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    /// The uploads, those that were stored first first.
    pub(crate) uploads: Vec<Arc<Upload>>,
    /// The places of the uploads of each device.
    pub(crate) devices: BTreeMap<Arc<str>, Vec<usize>>,
    /// The different definitions of columns.
    pub(crate) classes: Vec<Arc<Vec<Column>>>,
}

impl Snapshot {
    /// Returns the columns of a table of a class; of the table of all, those that have the same unit in all classes.
    pub(crate) fn columns(&self, class: Option<usize>) -> Vec<TableColumn> {
        let classes: Vec<&Arc<Vec<Column>>> = match class {
            Some(class) => self.classes.get(class).into_iter().collect(),
            None => self.classes.iter().collect(),
        };
        let mut columns: Vec<TableColumn> = Vec::new();
        let mut differing = BTreeSet::new();
        for column in classes.into_iter().flat_map(|columns| columns.iter()) {
            let known = columns.iter().find(|known| known.reading == column.name);
            match known {
                Some(known) if known.unit != column.unit => {
                    differing.insert(column.name.clone());
                }
                Some(_) => {}
                None => columns.push(TableColumn {
                    name: match column.name.as_str() {
                        "device" | "time" => format!("{}_reading", column.name),
                        name => name.to_owned(),
                    },
                    reading: column.name.clone(),
                    unit: column.unit.clone(),
                }),
            }
        }
        columns.retain(|column| !differing.contains(&column.reading));
        columns
    }

    /// The uploads of a device, those that were stored first first.
    pub(crate) fn of_device(&self, device: &str) -> impl Iterator<Item = &Arc<Upload>> {
        let places = self.devices.get(device).into_iter().flatten();
        places.filter_map(|place| self.uploads.get(*place))
    }

    /// The name of the table of a class.
    pub(crate) fn table_of(&self, class: usize) -> String {
        match self.classes.len() {
            0 | 1 => "readings".to_owned(),
            _ => format!("readings_{}", class + 1),
        }
    }
}

/// The list, kept up to date.
pub(crate) struct Catalogue {
    owner: Arc<Owner>,
    state: Mutex<State>,
}

struct State {
    snapshot: Arc<Snapshot>,
    known: HashSet<BlobId>,
    /// The classes of the uploads of a device with these names of columns.
    definitions: HashMap<(Arc<str>, Vec<String>), usize>,
    whole_at: Option<Instant>,
}

impl Catalogue {
    /// Reads the list.
    pub(crate) fn open(owner: Arc<Owner>) -> Outcome<Self> {
        let catalogue = Self {
            owner,
            state: Mutex::new(State {
                snapshot: Arc::default(),
                known: HashSet::new(),
                definitions: HashMap::new(),
                whole_at: None,
            }),
        };
        catalogue.refresh()?;
        Ok(catalogue)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The list as it was read last.
    pub(crate) fn latest(&self) -> Arc<Snapshot> {
        Arc::clone(&self.lock().snapshot)
    }

    /// Asks for what is new. Blocks.
    pub(crate) fn refresh(&self) -> Outcome<Arc<Snapshot>> {
        let mut state = self.lock();
        let is_whole = state.whole_at.is_none_or(|at| at.elapsed() >= WHOLE);
        let mut found = Vec::new();
        match is_whole {
            true => {
                self.owner.with_client(|client| {
                    found.clear();
                    each_upload(client, Filter::ALL, None, |entry| found.push(entry))
                })?;
            }
            false => self.new_ones(&state.known, &mut found)?,
        }
        if is_whole {
            state.whole_at = Some(Instant::now());
            let same = found.len() == state.known.len()
                && found.iter().all(|entry| state.known.contains(&entry.id));
            if same {
                return Ok(Arc::clone(&state.snapshot));
            }
            state.known.clear();
            state.snapshot = Arc::default();
        }
        if found.is_empty() {
            return Ok(Arc::clone(&state.snapshot));
        }
        self.add(&mut state, found)?;
        Ok(Arc::clone(&state.snapshot))
    }

    /// Reads the list from its newest upload up to the first that is known.
    fn new_ones(&self, known: &HashSet<BlobId>, found: &mut Vec<ReadingsEntry>) -> Outcome<()> {
        let mut filter = Filter {
            limit: Some(FIRST_PAGE),
            ..Filter::ALL
        };
        loop {
            let page = self.owner.with_client(|client| client.list(&filter))?;
            let (before, all) = (found.len(), page.readings.len());
            found.extend(
                page.readings
                    .into_iter()
                    .take_while(|entry| !known.contains(&entry.id)),
            );
            let is_end = found.len() - before < all;
            match page.next {
                Some(next) if !is_end => {
                    filter.before = Some(next);
                    filter.limit = Some(MAX_PAGE);
                }
                _ => return Ok(()),
            }
        }
    }

    /// Adds uploads, the newest first, to the list.
    fn add(&self, state: &mut State, found: Vec<ReadingsEntry>) -> Outcome<()> {
        let mut uploads = state.snapshot.uploads.clone();
        let mut classes = state.snapshot.classes.clone();
        // The classes of before are kept, so that their tables keep their names.
        for entry in found.into_iter().rev() {
            if !state.known.insert(entry.id) {
                continue;
            }
            let device: Arc<str> = entry.uploader.as_str().into();
            let key = (Arc::clone(&device), entry.summary.columns.clone());
            let class = match state.definitions.get(&key) {
                Some(class) if *class < classes.len() => *class,
                _ => {
                    let columns = self.owner.columns(entry.id)?;
                    let known = classes.iter().position(|known| **known == columns);
                    let class = known.unwrap_or_else(|| {
                        classes.push(Arc::new(columns));
                        classes.len() - 1
                    });
                    state.definitions.insert(key, class);
                    class
                }
            };
            uploads.push(Arc::new(Upload {
                id: entry.id,
                device,
                summary: entry.summary,
                bytes: entry.bytes,
                created_at: entry.created_at,
                class,
            }));
        }
        let mut devices: BTreeMap<Arc<str>, Vec<usize>> = BTreeMap::new();
        for (place, upload) in uploads.iter().enumerate() {
            let places = devices.entry(Arc::clone(&upload.device));
            places.or_default().push(place);
        }
        state.snapshot = Arc::new(Snapshot {
            uploads,
            devices,
            classes,
        });
        Ok(())
    }
}
