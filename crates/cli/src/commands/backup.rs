//! `backup`: a copy of a store, also while its server runs.

mod check;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;
use tfhe_sbc_service::store::backup::{self, BackedUp, BackupError, Done, StandingCopied};

use crate::failure::{Explain, Outcome, failure};
use crate::{output, progress, report};

/// Copies a store into a directory, while the server that uses it goes on. Run it where the server runs. The copy is of
/// one moment, and later ones into the same directory copy only what is new. An interrupted one leaves the one before
/// it whole. `restore` makes a store of it again.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Example, with the server of `tfhe-sbc serve --help`:\n  tfhe-sbc backup --store store --out backup\n  tfhe-sbc backup --store store --out backup --check --json\n  tfhe-sbc backup check backup"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    task: Option<Task>,
    /// The store's directory
    #[arg(long, default_value = "store")]
    store: PathBuf,
    /// The directory for the backup, which is made if it does not exist
    #[arg(long, value_name = "DIRECTORY", required = true)]
    out: Option<PathBuf>,
    /// Read also what earlier backups copied, and replace what is damaged
    #[arg(long)]
    check: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum Task {
    /// Check that everything in a backup is there and undamaged
    Check(check::Arguments),
}

#[derive(Serialize)]
struct Report {
    made_at: String,
    uploads: u64,
    bytes: u64,
    pads: u64,
    copied: u64,
    copied_bytes: u64,
    removed: u64,
    damaged: Vec<String>,
    standing: Standing,
}

/// The standing queries of a backup.
#[derive(Serialize)]
pub(super) struct Standing {
    queries: u64,
    results: u64,
    damaged: u64,
}

impl From<StandingCopied> for Standing {
    fn from(copied: StandingCopied) -> Self {
        let StandingCopied {
            queries,
            results,
            damaged,
        } = copied;
        Self {
            queries,
            results,
            damaged,
        }
    }
}

impl Standing {
    /// The words for what a backup has of them; none if it has none.
    pub(super) fn text(&self) -> String {
        match self.queries {
            0 => String::new(),
            n => format!(
                ", and {} with {}",
                report::counted(n, "standing query", "standing queries"),
                report::counted(self.results, "result", "results")
            ),
        }
    }

    /// Fails if results are damaged `place`, such as "in the store".
    pub(super) fn none_damaged(&self, place: &str, advice: &str) -> Outcome<()> {
        match self.damaged {
            0 => Ok(()),
            n => {
                let results = report::counted(n, "result", "results");
                let message = format!("{results} of standing queries damaged {place}");
                Err(failure(message, advice))
            }
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let (out, store) = match (&arguments.task, &arguments.out) {
        (Some(Task::Check(arguments)), _) => return check::run(arguments),
        (None, Some(out)) => (out, &arguments.store),
        (None, None) => {
            return Err(failure(
                "nothing says where the backup goes",
                "name a directory with --out",
            ));
        }
    };
    let bar = bar("backing up");
    let made = backup::back_up(store, out, arguments.check, bar.shows());
    drop(bar);
    let made = made.or_else(|error| explain(error, "no backup"))?;
    let BackedUp {
        made_at,
        uploads,
        bytes,
        pads,
        copied,
        copied_bytes,
        removed,
        damaged,
        standing,
    } = made;
    let report = Report {
        made_at: report::moment(made_at),
        uploads,
        bytes,
        pads,
        copied,
        copied_bytes,
        removed,
        damaged: ids(&damaged),
        standing: standing.into(),
    };
    if arguments.json {
        output::print_json(&report)?;
    } else {
        let removed = match report.removed {
            0 => String::new(),
            n => format!(
                ", and {} that the store has no longer removed",
                report::counted(n, "upload", "uploads")
            ),
        };
        output::note(format_args!(
            "{} has {}{} of {}: {} in {} copied{removed}",
            out.display(),
            contents(uploads, bytes, pads),
            report.standing.text(),
            report.made_at,
            match copied {
                1 => "1 upload or file of pads".to_owned(),
                n => format!("{} uploads and files of pads", report::count(n)),
            },
            report::bytes(copied_bytes),
        ));
    }
    none_damaged(
        &report.damaged,
        "in the store",
        "the backup is finished without them. Upload them again, which repairs the store, or send the pads again; `readings rm` removes them",
    )?;
    report.standing.none_damaged(
        "in the store",
        "the backup is finished without them; the server computes them again where it has the readings, once it is restarted and their uploads change",
    )
}

/// Returns the words for what a backup has.
pub(super) fn contents(uploads: u64, bytes: u64, pads: u64) -> String {
    let pads = match pads {
        0 => String::new(),
        n => format!(
            " and {}",
            report::counted(n, "file of pads", "files of pads")
        ),
    };
    let uploads = report::counted(uploads, "upload", "uploads");
    format!("{uploads} with {}{pads}", report::bytes(bytes))
}

pub(super) fn ids(ids: &[tfhe_sbc_transport::BlobId]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

/// Fails if files are missing or damaged, and names some of them.
pub(super) fn none_damaged(damaged: &[String], place: &str, advice: &str) -> Outcome<()> {
    if damaged.is_empty() {
        return Ok(());
    }
    let some: Vec<&str> = damaged.iter().take(3).map(String::as_str).collect();
    let more = if damaged.len() > some.len() {
        ", …"
    } else {
        ""
    };
    Err(failure(
        format_args!(
            "{} missing or damaged {place}: {}{more}",
            match damaged.len() {
                1 => "1 upload or file of pads is".to_owned(),
                n => format!("{} uploads or files of pads are", report::count(n as u64)),
            },
            some.join(", ")
        ),
        advice,
    ))
}

/// A progress bar of files.
pub(super) struct FilesBar(progress::Vanishing);

pub(super) fn bar(what: &'static str) -> FilesBar {
    FilesBar(progress::bar(what, 1000))
}

impl FilesBar {
    /// Returns what shows how far the work is.
    pub(super) fn shows(&self) -> impl Fn(Done) {
        |done| {
            self.0
                .reach_share(done.files as f64 / done.of.max(1) as f64);
        }
    }
}

/// Turns an error about a backup into a failure that says what to do.
pub(super) fn explain<T>(error: BackupError, doing: &str) -> Outcome<T> {
    let shown = |path: &Path| path.display().to_string();
    let advice = match &error {
        BackupError::NoStore { .. } => "name the directory of `serve --store` with --store".to_owned(),
        BackupError::FormerStore { directory } => format!(
            "start this version's server on it once, `tfhe-sbc serve --store {}`, which packs its uploads into segments; or back it up with the version that it is of",
            shown(directory)
        ),
        BackupError::NoBackup { .. } => {
            "name the directory of `backup --out`; a store is copied by `tfhe-sbc backup --store STORE --out DIRECTORY`".to_owned()
        }
        BackupError::Unfinished { directory } => format!(
            "finish it with `tfhe-sbc backup --store STORE --out {}`, which goes on with what is there",
            shown(directory)
        ),
        BackupError::HalfRestored { directory } => format!(
            "remove {} and run `tfhe-sbc restore` again",
            shown(directory)
        ),
        BackupError::OtherFiles { .. } => {
            "choose a directory that is empty or does not exist, or one that `backup` made".to_owned()
        }
        BackupError::InTheStore { .. } => "choose a directory outside of the store, best on another disk".to_owned(),
        BackupError::NotEmpty { .. } => {
            "choose a directory that is empty or does not exist: nothing is overwritten".to_owned()
        }
        BackupError::Busy { .. } => "wait until it has ended".to_owned(),
        BackupError::Name { .. } => "choose another directory".to_owned(),
        BackupError::DamagedIndex { .. } => {
            "make the backup again from the store; if that is lost, take another backup".to_owned()
        }
        BackupError::Damaged { directory, .. } => format!(
            "`tfhe-sbc backup check {0}` names them, and `tfhe-sbc backup --check --store STORE --out {0}` replaces them from the store. If that is lost, --leave-out-damaged restores the others",
            shown(directory)
        ),
        _ => "check the disk, the directory and its permissions".to_owned(),
    };
    Err(error).advise(doing, advice)
}
