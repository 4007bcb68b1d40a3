//! `dwell completions` and `dwell man`: what a shell and man(1) know of the command line, from its
//! definition.

use crate::cli::{self, CompletionsArgs, ManArgs};
use crate::output;
use anyhow::{Context, bail};
use std::os::unix::fs::MetadataExt;
use sys::output_file::Caller;
use sys::user;

/// Prints the completions for a shell; returns the exit status.
pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<u8> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut cli::command(), "dwell", &mut text);
    output::to_stdout(text)?;
    Ok(0)
}

/// Writes `dwell.1` and a page for each verb; returns the exit status.
pub(crate) fn man(args: &ManArgs) -> anyhow::Result<u8> {
    if !args.dir.is_dir() {
        bail!("{:?} is not a directory\ntry: mkdir -p {}", args.dir, args.dir.display());
    }
    let owner = args.dir.metadata().with_context(|| format!("cannot use {:?}", args.dir))?.uid();
    let caller = Caller::of_sudo().map(|caller| caller.uid);
    if user::is_root() && owner != 0 && Some(owner) != caller {
        bail!(
            "{:?} belongs to the user {owner}, whose links would be followed\ntry: a directory of root's",
            args.dir
        );
    }
    clap_mangen::generate_to(cli::command(), &args.dir)
        .with_context(|| format!("cannot write manual pages into {:?}", args.dir))?;
    Ok(0)
}
