//! `points.parquet`: the rows and columns of `points.csv` with types, for programs that read tables of columns. Its bytes
//! depend on the plan, the rows and the version of the `parquet` crate alone.

use std::io;
use std::path::Path;
use std::sync::Arc;

use ::parquet::basic::{LogicalType, Repetition, Type as Physical};
use ::parquet::column::writer::ColumnWriter;
use ::parquet::data_type::ByteArray;
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::{Type, TypePtr};
use serde_json::Value;

use super::error::SweepError;
use super::figures;
use super::journal::{Index, Row};
use super::plan::{Plan, Point};
use super::store::write_whole;
use super::table::{POINTS_PARQUET, each_row, error_line, figure_columns, head};
use super::values::plain;
use crate::run::WriteError;

/// Rows of a group, which is what is in memory at a time.
const GROUP: usize = 10_000;

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// INT64.
    Integer,
    /// INT64 that reads as unsigned: seeds use all 64 bits.
    Unsigned,
    /// DOUBLE.
    Double,
    /// BOOLEAN.
    Flag,
    /// UTF8.
    Text,
}

impl Kind {
    fn of(value: &Value) -> Self {
        match value {
            Value::Number(number) if number.is_i64() => Self::Integer,
            Value::Number(_) => Self::Double,
            Value::Bool(_) => Self::Flag,
            Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => Self::Text,
        }
    }

    /// The kind of a figure that every sweep has, told by its unit, so that files of any two sweeps have the same types
    /// even where a figure is missing.
    fn of_figure(name: &str) -> Self {
        match name {
            "queues.peak_port" | "verdict.codes" => Self::Text,
            "deadlock.detected" | "verdict.healthy" => Self::Flag,
            _ if ["_us", "_ns", "_gbps", "_fraction"].iter().any(|unit| name.contains(unit)) => Self::Double,
            _ => Self::Integer,
        }
    }

    /// What holds cells of both kinds.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a,
            (Self::Unsigned, Self::Integer | Self::Double) => self,
            (Self::Integer, Self::Double) | (Self::Double, Self::Integer) => Self::Double,
            _ => Self::Text,
        }
    }

    fn column(self, name: &str) -> Result<TypePtr, ParquetError> {
        let (physical, logical) = match self {
            Self::Integer => (Physical::INT64, None),
            Self::Unsigned => (Physical::INT64, Some(LogicalType::integer(64, false))),
            Self::Double => (Physical::DOUBLE, None),
            Self::Flag => (Physical::BOOLEAN, None),
            Self::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()
            .map(Arc::new)
    }
}

/// The cells of a point, in the order of the columns; `None` where `points.csv` has nothing.
fn cells(point: &Point, row: &Row, figures: &[String]) -> Vec<Option<Value>> {
    let mut cells = vec![Some(Value::from(point.id()))];
    cells.extend(point.values.iter().cloned().map(Some));
    cells.extend([Some(Value::from(point.repeat)), Some(Value::from(point.seed))]);
    cells.extend(figures.iter().map(|name| row.figures.get(name).cloned()));
    cells.push(error_line(row).map(Value::from));
    cells
}

/// The kind of each column.
fn kinds(plan: &Plan, index: &Index, figures: &[String]) -> Result<Vec<Kind>, SweepError> {
    let known = figures::names();
    let mut kinds = vec![Some(Kind::Text)];
    kinds.extend(plan.paths().map(|_| None));
    kinds.extend([Some(Kind::Integer), Some(Kind::Unsigned)]);
    kinds.extend(figures.iter().map(|name| known.contains(name).then(|| Kind::of_figure(name))));
    kinds.push(Some(Kind::Text));
    each_row(plan, index, |point, row| {
        for (kind, cell) in kinds.iter_mut().zip(cells(point, row, figures)) {
            if let Some(found) = cell.as_ref().map(Kind::of) {
                *kind = Some(kind.map_or(found, |kind| kind.with(found)));
            }
        }
        Ok(())
    })?;
    Ok(kinds.into_iter().map(|kind| kind.unwrap_or(Kind::Text)).collect())
}

/// Writes `points.parquet` of a sweep all of whose points have rows in `index`.
pub fn write_parquet(folder: &Path, plan: &Plan, index: &Index) -> Result<(), SweepError> {
    let figures = figure_columns(plan, index)?;
    let kinds = kinds(plan, index, &figures)?;
    let names = head(plan, &figures);
    let fields = names.iter().zip(&kinds).map(|(name, kind)| kind.column(name)).collect();
    let build = |fields: Result<Vec<TypePtr>, ParquetError>| {
        Ok(Arc::new(Type::group_type_builder("points").with_fields(fields?).build()?))
    };
    let schema = build(fields).map_err(|error: ParquetError| {
        SweepError::folder(folder.join(POINTS_PARQUET), format!("its columns cannot be described: {error}"))
    })?;
    // Neither a version nor a time: equal tables have equal bytes.
    let properties = Arc::new(WriterProperties::builder().set_created_by("fabsim".to_string()).build());
    let mut failure = None;
    let written = write_whole(folder, POINTS_PARQUET, |buffer| {
        let mut file = SerializedFileWriter::new(buffer, schema, properties).map_err(into_io)?;
        let mut rows: Vec<Vec<Option<Value>>> = Vec::new();
        let mut flush = |rows: &mut Vec<Vec<Option<Value>>>| {
            let mut group = file.next_row_group()?;
            for (column, kind) in kinds.iter().enumerate() {
                if let Some(writer) = group.next_column()? {
                    put(writer, *kind, rows.iter().map(|row| row[column].as_ref()))?;
                }
            }
            rows.clear();
            group.close().map(|_| ())
        };
        let all = each_row(plan, index, |point, row| {
            rows.push(cells(point, row, &figures));
            if rows.len() < GROUP {
                return Ok(());
            }
            let path = folder.join(POINTS_PARQUET);
            flush(&mut rows).map_err(|error| WriteError { path, source: into_io(error) }.into())
        });
        if let Err(error) = all {
            let text = error.to_string();
            failure = Some(error);
            return Err(io::Error::other(text));
        }
        if !rows.is_empty() {
            flush(&mut rows).map_err(into_io)?;
        }
        file.into_inner().map_err(into_io)
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(written?),
    }
}

/// Writes the cells of a column.
fn put<'a>(
    mut writer: SerializedColumnWriter<'_>,
    kind: Kind,
    cells: impl Iterator<Item = Option<&'a Value>> + Clone,
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = cells.clone().map(|cell| i16::from(cell.is_some())).collect();
    let (levels, cells) = (Some(levels.as_slice()), cells.flatten());
    match writer.untyped() {
        ColumnWriter::Int64ColumnWriter(column) => {
            // An unsigned number keeps its bits.
            let bits = |value: &Value| value.as_i64().or(value.as_u64().map(|bits| bits as i64));
            let values: Vec<i64> = cells.map(|value| bits(value).unwrap_or_default()).collect();
            column.write_batch(&values, levels, None)?;
        }
        ColumnWriter::DoubleColumnWriter(column) => {
            let values: Vec<f64> = cells.map(|value| value.as_f64().unwrap_or_default()).collect();
            column.write_batch(&values, levels, None)?;
        }
        ColumnWriter::BoolColumnWriter(column) => {
            let values: Vec<bool> = cells.map(|value| value == &Value::Bool(true)).collect();
            column.write_batch(&values, levels, None)?;
        }
        ColumnWriter::ByteArrayColumnWriter(column) => {
            let values: Vec<ByteArray> = cells.map(|value| plain(value).into_bytes().into()).collect();
            column.write_batch(&values, levels, None)?;
        }
        _ => return Err(ParquetError::General(format!("a column of kind {kind:?} has another type"))),
    }
    writer.close()
}

/// The error of the file below, where it is one: a full disk reads the same as for the other tables.
fn into_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(source) => io::Error::other(source.to_string()),
        },
        other => io::Error::other(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::Field;
    use serde_json::json;
    use tempfile::TempDir;

    use super::super::tests::plan;
    use super::super::{Options, POINTS, Shard, Unwatched, conclude, index_of, run};
    use super::*;

    fn read(folder: &TempDir) -> SerializedFileReader<fs::File> {
        SerializedFileReader::new(fs::File::open(folder.path().join(POINTS_PARQUET)).unwrap()).unwrap()
    }

    /// Runs a sweep and writes its tables.
    fn tables(object: Value, jobs: usize) -> TempDir {
        let plan = plan(object).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let options = Options { shard: Shard::WHOLE, jobs, keep: false, build: "test".to_string() };
        run(&plan, folder.path(), &options, &Unwatched).unwrap();
        let index = index_of(&[folder.path().to_path_buf()], &plan, "test").unwrap();
        conclude(folder.path(), &plan, &index).unwrap();
        write_parquet(folder.path(), &plan, &index).unwrap();
        folder
    }

    /// Sizes are text, shares numbers; one point fails.
    fn mixed() -> Value {
        json!({
            "parameters": [
                { "path": "switch.ecn.kmin", "values": ["10KB", "20KB", "1MB"] },
                { "path": "switch.ecn.pmax", "values": [0.25, 1] },
                { "path": "traffic.0.incast.senders", "values": [2, 4] },
                { "path": "congestion", "values": ["none", { "dcqcn": { "preset": "connectx" } }] }
            ],
            "repeat": 2
        })
    }

    #[test]
    fn it_has_the_cells_of_the_csv_table() {
        let folder = tables(mixed(), 2);
        let mut csv = csv::Reader::from_path(folder.path().join(POINTS)).unwrap();
        let head: Vec<String> = csv.headers().unwrap().iter().map(str::to_string).collect();
        let records: Vec<csv::StringRecord> = csv.records().map(Result::unwrap).collect();
        let reader = read(&folder);
        let mut rows = 0;
        for (row, record) in reader.get_row_iter(None).unwrap().zip(&records) {
            let row = row.unwrap();
            let names: Vec<&String> = row.get_column_iter().map(|(name, _)| name).collect();
            assert_eq!(names, head.iter().collect::<Vec<_>>());
            for ((name, field), cell) in row.get_column_iter().zip(record) {
                let same = match field {
                    Field::Null => cell.is_empty(),
                    Field::Long(value) => cell == value.to_string(),
                    Field::ULong(value) => cell == value.to_string(),
                    Field::Double(value) => cell.parse::<f64>().unwrap().to_bits() == value.to_bits(),
                    Field::Bool(value) => cell == value.to_string(),
                    Field::Str(value) => cell == value,
                    _ => false,
                };
                assert!(same, "{name}: {field:?}, not {cell:?}");
            }
            rows += 1;
        }
        assert_eq!((rows, records.len()), (48, 48));
        assert!(
            records.iter().any(|record| record.iter().next_back().is_some_and(|error| !error.is_empty()))
        );
        let kinds = reader.metadata().file_metadata().schema_descr();
        let of = |name: &str| {
            let at = head.iter().position(|column| column == name).unwrap();
            kinds.column(at).physical_type()
        };
        for (name, kind) in [
            ("switch.ecn.kmin", Physical::BYTE_ARRAY),
            ("switch.ecn.pmax", Physical::DOUBLE),
            ("traffic.0.incast.senders", Physical::INT64),
            ("congestion", Physical::BYTE_ARRAY),
            ("seed", Physical::INT64),
            ("events", Physical::INT64),
            ("flows.fct_us.p99", Physical::DOUBLE),
            // No point has one.
            ("deadlock.at_ns", Physical::DOUBLE),
            ("verdict.healthy", Physical::BOOLEAN),
        ] {
            assert_eq!(of(name), kind, "{name}");
        }
    }

    #[test]
    fn its_bytes_depend_on_the_table_alone() {
        let (one, two) = (tables(mixed(), 1), tables(mixed(), 3));
        let bytes = |folder: &TempDir| fs::read(folder.path().join(POINTS_PARQUET)).unwrap();
        assert!(bytes(&one) == bytes(&two));
        let reader = read(&one);
        let metadata = reader.metadata().file_metadata();
        assert_eq!(metadata.created_by(), Some("fabsim"));
        assert_eq!(metadata.key_value_metadata(), None);
    }

    #[test]
    fn every_known_figure_has_the_kind_its_name_says() {
        let plan = plan(json!({ "parameters": [{ "path": "params.size", "values": ["20KB"] }] })).unwrap();
        let figures = super::super::simulate(&plan, &plan.point(0), None, &mut crate::run::Silent);
        for (name, value) in figures.unwrap().unwrap() {
            assert_eq!(Kind::of(&value), Kind::of_figure(&name), "{name}: {value}");
        }
        assert_eq!(Kind::of_figure("deadlock.at_ns"), Kind::Double);
        assert_eq!(Kind::Integer.with(Kind::Double), Kind::Double);
        assert_eq!(Kind::Integer.with(Kind::Text), Kind::Text);
    }
}
