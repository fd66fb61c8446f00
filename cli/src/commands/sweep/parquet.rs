//! `--parquet`: the table of points as a Parquet file too, in builds that have it.

use std::path::Path;

use clap::Args;
use scenarios::sweep::{Index, Plan};

use crate::output::Failure;

/// Whether the table of points is written as a Parquet file too.
#[derive(Args)]
pub struct ParquetArgs {
    /// Write points.parquet beside points.csv. Needs a fabsim built with --features parquet
    #[arg(long)]
    pub parquet: bool,
}

impl ParquetArgs {
    /// Refuses what cannot be done before anything runs.
    pub fn check(&self) -> Result<(), Failure> {
        if self.parquet && !cfg!(feature = "parquet") {
            return Err(Failure(
                "--parquet: this fabsim was built without Parquet, which is no default feature: build it with \
                 `cargo build --release --features parquet`, or take points.csv, which holds the same"
                    .to_string(),
            ));
        }
        Ok(())
    }

    /// Writes the file if it is asked for.
    #[cfg(feature = "parquet")]
    pub fn write(&self, folder: &Path, plan: &Plan, index: &Index) -> Result<(), Failure> {
        if self.parquet {
            scenarios::sweep::write_parquet(folder, plan, index)?;
        }
        Ok(())
    }

    /// Does nothing: [`Self::check`] refused what is asked for.
    #[cfg(not(feature = "parquet"))]
    pub fn write(&self, _: &Path, _: &Plan, _: &Index) -> Result<(), Failure> {
        Ok(())
    }
}
