//! The options of `dwell mcp`.

use clap::Args;

/// Serve programs that write code: the verbs as tools of the Model Context Protocol
///
/// An agent starts this command and speaks the protocol on its standard input and output. The tools
/// are run, attach, compare, show, explain, what_if and list. An answer has the page that a user
/// sees, and the result as JSON, cut where it is long. Results are kept as always.
///
/// Nothing is started that was not allowed: by --allow, or by the user, whom --confirm asks. No
/// shell takes part. Programs read nothing, run in the current directory, and end with the server.
///
/// The exit status is 0 when standard input ends; 128 plus the signal number if a signal ended it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dwell mcp --allow 'make -j2' --allow 'python3 job.py ...'\n  dwell mcp --confirm\n  dwell mcp --allow-attach=:8080\n  claude mcp add dwell -- dwell mcp --confirm"
)]
pub(crate) struct McpArgs {
    /// Allow run and compare to start COMMAND. It is split into words as a shell does. A last word
    /// `...` stands for any further words: what the program makes of them is allowed as well. May
    /// be repeated
    #[arg(long, value_name = "COMMAND")]
    pub(crate) allow: Vec<String>,

    /// Allow attach to TARGET (`nginx`, `:8080`, `service=postgresql`), or without TARGET to any
    /// process that dwell may observe. May be repeated
    #[arg(long, value_name = "TARGET", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) allow_attach: Vec<String>,

    /// Ask the user about what is not allowed, if the agent can pass questions on (elicitation)
    #[arg(long)]
    pub(crate) confirm: bool,
}
