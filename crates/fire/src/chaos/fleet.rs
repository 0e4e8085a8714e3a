//! The agents: the real program, each with a file of readings that grows all the time.

use std::fs::{self, OpenOptions};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::clock::Clock;
use super::disk::Disk;
use super::feeder::{Feeder, Rotation};
use crate::Failure;
use crate::readings::columns;
use crate::site::Site;
use tfhe_sbc_transport::identity::CertificateFiles;

/// The time after which a row that was written is in the spool or sent, if its agent runs.
pub(super) const UNREAD: Duration = Duration::from_secs(4);

/// The size of the disk of a spool, which holds some batches.
const SPOOL_DISK: &str = "size=1m";

/// One agent and where it lives.
struct Agent {
    directory: PathBuf,
    clock: Option<Clock>,
    child: Option<Child>,
    /// The disk of its spool, if that has one of its own.
    disk: Option<Disk>,
}

/// All of them; dropped, they are killed.
pub(super) struct Fleet {
    program: PathBuf,
    agents: Vec<Agent>,
    feeder: Feeder,
}

impl Fleet {
    pub(super) fn start(site: &Site, server: SocketAddr, count: usize) -> Result<Self, Failure> {
        let mut agents = Vec::new();
        let mut files = Vec::new();
        for i in 0..count {
            let name = format!("agent-{i}");
            let directory = site.directory.join("agents").join(&name);
            fs::create_dir_all(&directory)?;
            let own = CertificateFiles::named(&directory, "device");
            site.board(&name)?.write(&own)?;
            fs::write(directory.join("agent.toml"), settings(site, server))?;
            files.push((name, directory.join("readings.csv")));
            let disk = (i == 0).then(|| Disk::small(&directory.join("disk"), SPOOL_DISK));
            agents.push(Agent {
                clock: Clock::new(&directory.join("clock")).ok(),
                directory,
                child: None,
                disk: disk.and_then(Result::ok),
            });
        }
        let mut fleet = Self {
            program: site.program.clone(),
            agents,
            feeder: Feeder::start(files)?,
        };
        fleet.revive()?;
        Ok(fleet)
    }

    /// `kill -9`.
    pub(super) fn kill(&mut self, agent: usize) -> Result<(), Failure> {
        if let Some(mut child) = self.agents[agent].child.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// Starts all that do not run.
    pub(super) fn revive(&mut self) -> Result<(), Failure> {
        for agent in &mut self.agents {
            let runs = agent
                .child
                .as_mut()
                .is_some_and(|child| matches!(child.try_wait(), Ok(None)));
            if runs {
                continue;
            }
            let log = OpenOptions::new()
                .create(true)
                .append(true)
                .open(agent.directory.join("agent.log"))?;
            let mut program = Command::new(&self.program);
            if let Some(clock) = &agent.clock {
                clock.rule(&mut program);
            }
            let child = program
                .args(["agent", "--config"])
                .arg(agent.directory.join("agent.toml"))
                .env("RUST_LOG", "info")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(log)
                .spawn()?;
            agent.child = Some(child);
        }
        Ok(())
    }

    /// Returns whether there is a clock to set.
    pub(super) fn set_clock(&self, agent: usize, hours: f64) -> Result<bool, Failure> {
        match &self.agents[agent].clock {
            Some(clock) => clock.set(hours).map(|()| true),
            None => Ok(false),
        }
    }

    pub(super) fn reset_clocks(&self) -> Result<(), Failure> {
        for agent in 0..self.agents.len() {
            self.set_clock(agent, 0.0)?;
        }
        Ok(())
    }

    /// Returns the disk that an agent has its spool on, if one has its own.
    pub(super) fn spool_disk(&self) -> Option<&Disk> {
        self.agents.iter().find_map(|agent| agent.disk.as_ref())
    }

    /// Has the file of an agent rotated.
    pub(super) fn rotate(&self, agent: usize, rotation: Rotation) {
        self.feeder.rotate(agent, rotation);
    }

    /// Returns the labels of all rows that there will be. Fails if the files stopped growing
    /// before.
    pub(super) fn stop_feeding(&mut self) -> Result<Vec<String>, Failure> {
        self.feeder.stop()
    }

    /// Lets the agents put what they have read on disk, and end.
    pub(super) fn stop(&mut self) -> Result<(), Failure> {
        for agent in &mut self.agents {
            if let Some(mut child) = agent.child.take() {
                Command::new("kill")
                    .args(["-TERM", &child.id().to_string()])
                    .status()?;
                child.wait()?;
            }
        }
        Ok(())
    }

    /// Returns the number of batches that wait in all spools, as the agents report it.
    pub(super) fn waiting(&self) -> Result<u64, Failure> {
        let mut batches = 0;
        for agent in &self.agents {
            let said = Command::new(&self.program)
                .args(["agent", "status", "--json", "--config"])
                .arg(agent.directory.join("agent.toml"))
                .stderr(Stdio::null())
                .output()?;
            let said: serde_json::Value = serde_json::from_slice(&said.stdout)?;
            batches += said["batches"].as_u64().ok_or("a status without batches")?;
        }
        Ok(batches)
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for agent in &mut self.agents {
            if let Some(child) = &mut agent.child {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

fn settings(site: &Site, server: SocketAddr) -> String {
    let mut text = format!(
        "[device]\nkey = {:?}\n\n\
         [server]\nurl = \"https://{server}\"\ntimeout = \"3s\"\n\n\
         [tls]\nca = {:?}\ncertificate = \"device.pem\"\nkey = \"device.key\"\n\n\
         [batch]\nrows = 20\nevery = \"1s\"\n\n\
         [spool]\ndirectory = \"disk/spool\"\nwhen_full = \"block\"\n\n\
         [send]\nretry_first = \"100ms\"\nretry_most = \"1s\"\n\n\
         [csv]\npath = \"readings.csv\"\nlabel = \"label\"\nevery = \"100ms\"\n",
        site.key("device.tsbc"),
        site.tls.ca.certificate,
    );
    for column in columns() {
        text += &format!(
            "\n[[column]]\nname = \"{name}\"\noffset = {:?}\nscale = {:?}\nbits = {}\n\
             source = {{ kind = \"csv\", field = \"{name}\" }}\n",
            column.offset,
            column.scale,
            column.bits,
            name = column.name,
        );
    }
    text
}
