//! `pfc.csv`: every pause and resume.

use std::path::Path;

use models::record::{PfcAction, PfcRecord};
use models::topology::Graph;

use super::WriteError;
use super::table::{Table, us};

const HEADER: [&str; 5] = ["time_us", "port", "peer", "class", "action"];

/// `pfc.csv` under way.
pub(super) struct PfcFile {
    table: Table,
    most: u64,
    rows: u64,
    skipped: u64,
    first: Option<PfcRecord>,
}

impl PfcFile {
    pub fn create(folder: &Path, most: u64) -> Result<Self, WriteError> {
        let table = Table::create(folder, "pfc.csv", &HEADER)?;
        Ok(Self { table, most, rows: 0, skipped: 0, first: None })
    }

    pub fn write(&mut self, graph: &Graph, records: &[PfcRecord]) -> Result<(), WriteError> {
        if self.first.is_none() {
            self.first = records.iter().find(|record| record.action == PfcAction::Pause).copied();
        }
        for record in records {
            if self.rows == self.most {
                self.skipped += 1;
                continue;
            }
            let peer = graph.ports[record.port as usize].peer;
            let row = [
                us(record.at.0),
                graph.port_name(record.port),
                graph.port_name(peer),
                record.class.to_string(),
                action(record.action).to_string(),
            ];
            self.table.row(&row)?;
            self.rows += 1;
        }
        Ok(())
    }

    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.table.flush()
    }

    /// The first pause.
    pub fn first(&self) -> Option<PfcRecord> {
        self.first
    }

    pub fn left_out(&self) -> Option<String> {
        (self.skipped > 0).then(|| match self.most {
            0 => {
                format!("pfc.csv is switched off (output.pfc_rows 0): {} events are not in it", self.skipped)
            }
            _ => format!(
                "pfc.csv holds the first {} events, {} more are not in it: raise output.pfc_rows",
                self.rows, self.skipped
            ),
        })
    }
}

fn action(action: PfcAction) -> &'static str {
    match action {
        PfcAction::Pause => "pause",
        PfcAction::Resume => "resume",
        PfcAction::Refresh => "refresh",
        PfcAction::Expired => "expired",
        PfcAction::Storm => "storm",
        PfcAction::Restore => "restore",
    }
}
