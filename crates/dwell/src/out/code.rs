//! The options for which code to show.

use clap::Args;

/// The heading of the options that are about code.
pub(super) const CODE: &str = "Code";

/// Which code to show, and how.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = CODE)]
pub(crate) struct CodeArgs {
    /// Also print the call tree. It has time on and off the CPU
    #[arg(long)]
    pub(crate) flame: bool,

    /// Also list every cause. Those found have their evidence, the others the reason
    #[arg(long)]
    pub(crate) causes: bool,

    /// Show the lines of a function with times. Below the report, and with their shares of time:
    /// of FUNCTION, or of the one with the most time at FILE or FILE:LINE (`slow.py:13`)
    #[arg(long, value_name = "FUNCTION|FILE[:LINE]")]
    pub(crate) lines: Vec<String>,

    /// Show the disassembly of FUNCTION with each instruction's share of time, below the report
    #[arg(long, value_name = "FUNCTION")]
    pub(crate) annotate: Vec<String>,
}
