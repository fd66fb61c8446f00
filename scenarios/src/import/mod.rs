//! Importers of other simulators' input files: each turns texts into a [`Scenario`] and says what it assumed.
//!
//! Two families are read: the ns-3 RDMA simulators that descend from ns3-rdma and HPCC ([`import_hpcc`]), and
//! htsim ([`import_htsim`]). Files are recognised by their content, in any order.
//!
//! By default an input that contradicts itself is an error which names the line and both figures. With
//! [`Options::lenient`] the import follows the original simulators, which read as far as the header says, and a
//! note names what was left out. Nothing is left out without a note.

mod hpcc;
mod htsim;
mod lines;
mod number;
mod report;

use std::str::FromStr;

pub use hpcc::{hpcc_defaults, import_hpcc};
pub use htsim::{htsim_defaults, import_htsim};
pub use report::{ImportError, Note, Problem};

use crate::spec::Scenario;

/// Most lines of one file.
pub const MAX_LINES: usize = 1_000_000;

/// Most nodes of an imported topology.
pub const MAX_NODES: u64 = 1_000_000;

/// Most links of an imported topology.
pub const MAX_LINKS: u64 = 4_000_000;

/// How to import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Accept files that contradict themselves, as the original simulators do, with a note. Default: false.
    pub lenient: bool,
    /// Name of the scenario. Default: that of the topology file, without its ending.
    pub name: Option<String>,
    /// The dialect of the HPCC family. Default: found from the files.
    pub dialect: Option<Dialect>,
    /// Unit of htsim's `start`. Default: found from the file: whole numbers are picoseconds.
    pub start_unit: Option<StartUnit>,
}

/// Simulators of the HPCC family, whose files look alike and mean different things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// alibaba-edu/High-Precision-Congestion-Control: `nodes switches links`; flows `src dst pg dport bytes start`.
    Hpcc,
    /// bobzhuyb/ns3-rdma: as HPCC, but flows are `src dst pg packets start stop`.
    Ns3Rdma,
    /// inet-tub/ns3-datacenter, PowerTCP: `nodes switches tors links`.
    PowerTcp,
    /// inet-tub/ns3-datacenter, Reverie: `nodes switches tors links server-capacity fabric-capacity`.
    Reverie,
    /// aliyun/SimAI: `nodes gpus-per-server nvswitches switches links [gpu-type]`.
    SimAi,
    /// conweave-project/conweave-ns3: as HPCC, but flows are `src dst pg bytes start`.
    Conweave,
    /// astra-sim/astra-network-ns3: as HPCC.
    Astra,
    /// netiken/m3: as HPCC, but flows are `id src dst pg dport bytes start`.
    M3,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 8] = [
        Self::Hpcc,
        Self::Ns3Rdma,
        Self::PowerTcp,
        Self::Reverie,
        Self::SimAi,
        Self::Conweave,
        Self::Astra,
        Self::M3,
    ];

    /// Its name on the command line and in notes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hpcc => "hpcc",
            Self::Ns3Rdma => "ns3-rdma",
            Self::PowerTcp => "powertcp",
            Self::Reverie => "reverie",
            Self::SimAi => "simai",
            Self::Conweave => "conweave",
            Self::Astra => "astra-network-ns3",
            Self::M3 => "m3",
        }
    }

    /// The first line of its topology files.
    pub const fn header(self) -> &'static str {
        match self {
            Self::Hpcc | Self::Ns3Rdma | Self::Conweave | Self::Astra | Self::M3 => "nodes switches links",
            Self::PowerTcp => "nodes switches tors links",
            Self::Reverie => "nodes switches tors links server-capacity fabric-capacity",
            Self::SimAi => "nodes gpus-per-server nvswitches switches links gpu-type",
        }
    }

    /// A row of its flow files.
    pub const fn flow_row(self) -> &'static str {
        match self {
            Self::Hpcc | Self::PowerTcp | Self::Reverie | Self::SimAi | Self::Astra => {
                "src dst pg dport bytes start"
            }
            Self::Ns3Rdma => "src dst pg packets start stop",
            Self::Conweave => "src dst pg bytes start",
            Self::M3 => "id src dst pg dport bytes start",
        }
    }
}

impl FromStr for Dialect {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|d| d.name() == text).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|d| d.name()).collect();
            format!("\"{text}\" is no dialect; known are {}", known.join(", "))
        })
    }
}

/// Unit of `start` in htsim connection matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartUnit {
    /// Picoseconds: what csg-htsim, uet-htsim and ATLAHS read.
    Picoseconds,
    /// Microseconds: what older htsim reads, and writes with six decimals.
    Microseconds,
}

impl FromStr for StartUnit {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "ps" => Ok(Self::Picoseconds),
            "us" => Ok(Self::Microseconds),
            _ => Err(format!("\"{text}\" is no unit of start times; known are ps, us")),
        }
    }
}

/// What an import gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The scenario. It holds only what the files say and the defaults of the simulator they are from.
    pub scenario: Scenario,
    /// What was assumed, left out or is likely a mistake, in order of the files.
    pub notes: Vec<Note>,
    /// The dialect the files were read as.
    pub dialect: String,
}

/// A name for a scenario: the wanted one, or that of `file` without folders and ending.
fn scenario_name(wanted: Option<&str>, file: &str) -> String {
    if let Some(name) = wanted {
        return name.to_string();
    }
    let base = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = base.rsplit_once('.').map_or(base, |(stem, _)| stem);
    let clean = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = stem.chars().map(clean).take(64).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "imported".to_string() } else { name.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_has_a_name_that_reads_back() {
        for dialect in Dialect::ALL {
            assert_eq!(dialect.name().parse(), Ok(dialect));
        }
        let error = "hpc".parse::<Dialect>().unwrap_err();
        assert!(error.contains("hpcc, ns3-rdma, powertcp"), "{error}");
        assert_eq!("us".parse(), Ok(StartUnit::Microseconds));
        assert!("ns".parse::<StartUnit>().is_err());
    }

    #[test]
    fn names_come_from_the_file() {
        assert_eq!(scenario_name(None, "mix/fat tree.v2.txt"), "fat-tree-v2");
        assert_eq!(scenario_name(None, "..."), "imported");
        assert_eq!(scenario_name(Some("mine"), "x.txt"), "mine");
    }
}
