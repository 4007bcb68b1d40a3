//! The JSON Schemas of what dwell writes, made by the crate `schema`, which is built for that.

use crate::programs::TESTED;
use crate::shell::{cargo, run};
use anyhow::{Context, Result};
use std::path::Path;

/// Writes them into a directory, which is made: `dwell.run.1.json` and so on.
///
/// # Errors
/// When they cannot be built or written.
pub(crate) fn write(directory: &Path) -> Result<()> {
    // Cargo starts it at the root of the repository.
    let directory = std::path::absolute(directory).context("no such directory")?;
    let made = ["run", "--quiet", "--locked", "--profile", TESTED, "--package", "dwell-schema", "--"];
    run(cargo(&made).arg(directory))
}
