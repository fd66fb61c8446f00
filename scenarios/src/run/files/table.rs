//! A CSV file that is written row by row.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::WriteError;

/// Bytes kept before they are handed to the system.
const BUFFER: usize = 1 << 16;

/// A CSV file under way.
pub(super) struct Table {
    path: PathBuf,
    writer: csv::Writer<File>,
}

impl Table {
    /// Opens `name` in `folder` and writes its header.
    pub fn create(folder: &Path, name: &str, header: &[&str]) -> Result<Self, WriteError> {
        let path = folder.join(name);
        let file = File::create(&path).map_err(|source| WriteError { path: path.clone(), source })?;
        let writer = csv::WriterBuilder::new().buffer_capacity(BUFFER).from_writer(file);
        let mut table = Self { path, writer };
        table.row(header)?;
        Ok(table)
    }

    /// Writes a row.
    pub fn row<T: AsRef<[u8]>>(&mut self, fields: &[T]) -> Result<(), WriteError> {
        self.writer.write_record(fields).map_err(|error| {
            let source = match error.into_kind() {
                csv::ErrorKind::Io(source) => source,
                other => io::Error::other(format!("{other:?}")),
            };
            WriteError { path: self.path.clone(), source }
        })
    }

    /// Hands what was written to the system.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.writer.flush().map_err(|source| WriteError { path: self.path.clone(), source })
    }
}

/// A CSV table in memory, for files that are written at once.
pub(super) fn text(header: &[String], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let write = |writer: &mut csv::Writer<Vec<u8>>, row: &[String]| {
        writer.write_record(row).expect("memory can be written, and all rows are as long as the header");
    };
    write(&mut writer, header);
    rows.for_each(|row| write(&mut writer, &row));
    String::from_utf8(writer.into_inner().expect("memory can be written")).expect("fields are text")
}

/// A time in microseconds, exact: the picosecond is the sixth decimal.
pub(super) fn us(ps: u64) -> String {
    format!("{}.{:06}", ps / 1_000_000, ps % 1_000_000)
}

/// A rate in Gb/s, from bit/s.
pub(super) fn gbps(rate: f64) -> String {
    format!("{:.6}", rate / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        assert_eq!(us(0), "0.000000");
        assert_eq!(us(1_234_567_000_001), "1234567.000001");
        assert_eq!(us(u64::MAX), "18446744073709.551615");
    }

    #[test]
    fn fields_with_commas_are_quoted() {
        let header = ["a".to_string(), "b".to_string()];
        let rows = [vec!["1,5".to_string(), "x\"y".to_string()]];
        assert_eq!(text(&header, rows.into_iter()), "a,b\n\"1,5\",\"x\"\"y\"\n");
    }
}
