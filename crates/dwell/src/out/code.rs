//! The options for which code to show.

use clap::Args;

/// The heading of the options that are about code.
pub(super) const CODE: &str = "Code";

/// Which code to show, and how.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = CODE)]
pub(crate) struct CodeArgs {
    /// Also print the call tree. The tree has time on and off the CPU
    #[arg(long)]
    pub(crate) flame: bool,

    /// Also list every cause. A cause that was found is shown with its evidence, any other with the
    /// reason why not
    #[arg(long)]
    pub(crate) causes: bool,

    /// Show the lines of a function with times. They are below the report, with their shares of
    /// time. The function is FUNCTION, or the one with the most time at FILE or FILE:LINE
    /// (`slow.py:13`)
    #[arg(long, value_name = "FUNCTION|FILE[:LINE]")]
    pub(crate) lines: Vec<String>,

    /// Show the disassembly of FUNCTION, with the share of time of each instruction. It is below
    /// the report
    #[arg(long, value_name = "FUNCTION")]
    pub(crate) annotate: Vec<String>,
}
