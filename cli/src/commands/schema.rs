//! `fabsim schema`: what a scenario file may hold.

use std::process::ExitCode;

use clap::Args;
use scenarios::language;

use crate::output::{self, Failure};

/// Arguments of `fabsim schema`.
#[derive(Args)]
pub struct SchemaArgs {
    /// Print the parameter page (Markdown) instead of the JSON Schema
    #[arg(long)]
    markdown: bool,
}

pub fn run(args: &SchemaArgs) -> Result<ExitCode, Failure> {
    output::print(&if args.markdown { language::parameter_page() } else { language::schema_text() })?;
    Ok(ExitCode::SUCCESS)
}
