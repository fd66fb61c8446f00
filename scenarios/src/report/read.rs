//! Reads what a folder holds, whatever is missing or cut: what could not be read is said, not fatal.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Most bytes of one file that are read.
const MOST: u64 = 1 << 30;

/// A table of text, as a CSV file holds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Names of the columns.
    pub header: Vec<String>,
    /// The rows, each as long as the header.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns and no row.
    pub fn new(header: &[&str]) -> Self {
        Self { header: header.iter().map(|name| (*name).to_string()).collect(), rows: Vec::new() }
    }

    /// The place of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|column| column == name)
    }

    /// Row by row, the texts of some columns; `None` where one of the columns is not there.
    pub fn columns<const N: usize>(&self, names: [&str; N]) -> Option<impl Iterator<Item = [&str; N]>> {
        let mut places = [0; N];
        for (place, name) in places.iter_mut().zip(names) {
            *place = self.column(name)?;
        }
        Some(self.rows.iter().map(move |row| places.map(|place| row[place].as_str())))
    }

    /// As CSV.
    pub fn csv(&self) -> String {
        let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
        for row in std::iter::once(&self.header).chain(&self.rows) {
            writer.write_record(row).expect("memory can be written");
        }
        String::from_utf8(writer.into_inner().expect("memory can be written")).expect("fields are text")
    }
}

/// A number in a table; not a number where the cell is empty or holds none.
pub fn number(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}

/// A folder being read.
#[derive(Debug)]
pub struct Folder {
    /// Its path.
    pub path: PathBuf,
    /// What is missing or cut, in words, by file.
    pub notes: BTreeMap<String, String>,
}

impl Folder {
    /// A folder.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_path_buf(), notes: BTreeMap::new() }
    }

    /// Whether it has a file of that name.
    pub fn has(&self, name: &str) -> bool {
        self.path.join(name).is_file()
    }

    /// The text of a file; a cut character at its end is left out.
    pub fn text(&mut self, name: &str) -> Option<String> {
        let path = self.path.join(name);
        let read = || -> io::Result<Vec<u8>> {
            if fs::metadata(&path)?.len() > MOST {
                return Err(io::Error::other("it is larger than 1 GiB: lower the limits of output"));
            }
            fs::read(&path)
        };
        match read() {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.note(name, "is not there");
                None
            }
            Err(error) => {
                self.note(name, &format!("cannot be read: {error}"));
                None
            }
        }
    }

    /// A JSON file as a value.
    pub fn json(&mut self, name: &str) -> Option<Value> {
        let text = self.text(name)?;
        match serde_json::from_str(&text) {
            Ok(value) => Some(value),
            Err(error) => {
                self.note(name, &format!("is no whole JSON: {error}"));
                None
            }
        }
    }

    /// A CSV file. Rows that are cut are left out and said.
    pub fn table(&mut self, name: &str) -> Option<Table> {
        let text = self.text(name)?;
        let mut reader =
            csv::ReaderBuilder::new().flexible(true).has_headers(false).from_reader(text.as_bytes());
        let mut table = Table::default();
        let mut cut = 0u64;
        for record in reader.records() {
            let Ok(record) = record else {
                cut += 1;
                continue;
            };
            let row: Vec<String> = record.iter().map(str::to_string).collect();
            if table.header.is_empty() {
                table.header = row;
            } else if row.len() == table.header.len() {
                table.rows.push(row);
            } else {
                cut += 1;
            }
        }
        if table.header.is_empty() {
            self.note(name, "is empty");
            return None;
        }
        // Rows end with a line break: a last one without it may have lost digits.
        if !text.ends_with('\n') && !table.rows.is_empty() && cut == 0 {
            table.rows.pop();
            cut += 1;
        }
        if cut > 0 {
            let rows = if cut == 1 { "1 row".to_string() } else { format!("{cut} rows") };
            self.note(name, &format!("is cut or damaged: {rows} left out"));
        }
        Some(table)
    }

    /// Says something about a file.
    pub fn note(&mut self, name: &str, what: &str) {
        self.notes.insert(name.to_string(), what.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_or_cut_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        write("a.csv", "x,y\n1,2\n3,4\n5,");
        write("b.csv", "x,y\n1,2\n3,4\n5\n");
        write("c.json", "{\"a\": 1");
        write("d.csv", "");
        let mut folder = Folder::new(dir.path());
        assert_eq!(folder.table("a.csv").unwrap().rows.len(), 2);
        assert_eq!(folder.table("b.csv").unwrap().rows.len(), 2);
        assert!(
            folder.json("c.json").is_none()
                && folder.table("d.csv").is_none()
                && folder.table("e.csv").is_none()
        );
        let notes: Vec<String> = folder.notes.iter().map(|(name, what)| format!("{name} {what}")).collect();
        assert_eq!(notes[0], "a.csv is cut or damaged: 1 row left out");
        assert_eq!(notes[1], "b.csv is cut or damaged: 1 row left out");
        assert!(notes[2].starts_with("c.json is no whole JSON"), "{notes:?}");
        assert_eq!(notes[3..], ["d.csv is empty", "e.csv is not there"]);
    }
}
