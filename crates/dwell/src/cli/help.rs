//! How help looks: one definition for `-h` and `--help` (a screen: the first sentence of each
//! option, rare options left out), `dwell help VERB` (everything), completions and manual pages;
//! options grouped by what they are about.

use clap::builder::Resettable;
use clap::{Arg, ArgAction, Command};

/// The widest short help of an option.
const SHORT: usize = 66;

/// Options by group, in the order of the help. What is named nowhere is about what the verb does.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Recording",
        &[
            "keep",
            "keep_limit",
            "source",
            "rate",
            "max_overhead",
            "link",
            "names",
            "unit",
            "slower_than",
            "no_text",
            "jvm_names",
        ],
    ),
    ("Code", &["flame", "causes", "lines", "annotate", "folded", "firefox", "speedscope"]),
    ("Verdict", &["deadline", "margin", "confidence", "one_in"]),
    (
        "Output",
        &[
            "json",
            "html",
            "output",
            "page_to",
            "quiet",
            "svg",
            "png",
            "junit",
            "csv",
            "markdown",
            "hyperfine",
            "work",
            "of",
            "color",
            "width",
            "verbose",
        ],
    ),
];

/// Options of one verb whose name is in another group elsewhere.
const OWN: &[(&str, &str)] = &[
    ("wake", "rate"),
    ("lab", "rate"),
    ("compare", "margin"),
    ("compare", "output"),
    ("report", "output"),
    ("export", "output"),
    ("lab", "only"),
];

/// Options that `--help` leaves out and `dwell help VERB` has.
const RARE: &[&str] = &[
    "keep_limit",
    "link",
    "count_blocks",
    "hits",
    "jvm_names",
    "width",
    "folded",
    "firefox",
    "speedscope",
    "work",
    "of",
    "confidence",
    "idle_states",
    "no_spikes",
    "sleeper",
    "mode",
    "predicted",
    "seed",
    "port",
    "rounds",
    "csv",
    "markdown",
    "hyperfine",
    "cleanup",
    "conclude",
    "setup",
    "parameter_step_size",
    "no_shell",
    "shell",
    "input",
    "floor",
    "show_output",
    "min_pairs",
    "max_pairs",
    "env",
    "command_name",
    "ignore_failure",
    "warmup",
    "names",
    "color",
    "annotate",
    "max_overhead",
    "source",
    "resume",
    "run",
    "beside",
    "urls",
    "on",
    "parameter_scan",
    "output",
    "no_text",
    "unit",
    "slower_than",
    "skip_if_busy",
];

/// Options that are rare elsewhere, but not of this verb.
const COMMON: &[(&str, &str)] = &[
    ("run", "output"),
    ("attach", "output"),
    ("report", "output"),
    ("export", "output"),
    ("ladder", "beside"),
    ("run", "max_overhead"),
    ("run", "source"),
];

/// The command with its help in shape.
pub(super) fn shaped(command: Command) -> Command {
    let verbs: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    verbs.iter().fold(screenful(command), |command, name| {
        command.mut_subcommand(name, |verb| {
            let verb = screenful(verb.mut_args(|arg| in_shape(name, arg)));
            let more = format!("All options, and more of each: dwell help {name}");
            let examples = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            let short = if examples.is_empty() { more } else { format!("{}\n\n{more}", few(&examples)) };
            verb.after_long_help(examples).after_help(short)
        })
    })
}

/// The command with a `--help` that fits a screen, as `-h` does.
fn screenful(command: Command) -> Command {
    let help = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort).help("Print help");
    command.disable_help_flag(true).arg(help)
}

/// The first examples, as many as fit a screen with the options.
fn few(examples: &str) -> String {
    const EXAMPLES: usize = 4;
    let from = examples.find("Examples:").unwrap_or(0);
    examples[from..].lines().take(1 + EXAMPLES).collect::<Vec<_>>().join("\n")
}

fn in_shape(verb: &str, arg: Arg) -> Arg {
    let id = arg.get_id().as_str().to_owned();
    let own = OWN.contains(&(verb, id.as_str()));
    let group = GROUPS.iter().find(|(_, ids)| ids.contains(&id.as_str())).filter(|_| !own);
    let mut arg = arg;
    if arg.is_positional() {
        // Without a heading of its own it stands first.
        arg = arg.help_heading(Resettable::Reset);
    } else if let Some((heading, _)) = group {
        arg = arg.help_heading(*heading);
    }
    if RARE.contains(&id.as_str()) && !COMMON.contains(&(verb, id.as_str())) && !arg.is_positional() {
        arg = arg.hide_short_help(true);
    }
    let Some(whole) = arg.get_help().map(ToString::to_string) else { return arg };
    let long = arg.get_long_help().map_or_else(|| whole.clone(), ToString::to_string);
    arg.help(first(&whole)).long_help(long)
}

/// What fits a line: the first sentence, or its first part.
fn first(whole: &str) -> String {
    let mut text = whole;
    for end in [" [default", ". ", "; ", ": ", " (", ", "] {
        if text.chars().count() <= SHORT && end != ". " && end != " [default" {
            break;
        }
        // Not a part that is too short to say anything.
        text = text.find(end).filter(|at| *at >= 12).map_or(text, |at| &text[..at]);
    }
    // Nor one that leaves a parenthesis open.
    if text.matches('(').count() > text.matches(')').count() {
        text = text.rfind(" (").map_or(text, |at| &text[..at]);
    }
    text.trim_end_matches('.').to_owned()
}

/// What `dwell` alone says; `dwell` is how this dwell is called.
pub(crate) fn start(dwell: &str) -> String {
    const ROWS: &[(&str, &str)] = &[
        ("why is this program slow?", "dwell run CMD ..."),
        ("", "dwell run -- make -j2"),
        ("where does a running program's time go?", "sudo dwell attach nginx --for 10s"),
        ("", "sudo dwell attach :8080 --for 10s"),
        ("which is faster, by how much, and why?", "dwell compare './old x' './new x'"),
        ("the results so far: each is kept", "dwell list"),
        ("the last one again, or that of a file", "dwell show last"),
        ("the same as a page for a browser", "dwell report last -o page.html"),
        ("what changed between two of them?", "dwell diff last-1 last"),
        ("causes that it knows, and what to change", "dwell explain"),
        ("programs that have them, to try it on", "dwell lab"),
        ("what do cache misses, fsync... cost here?", "dwell ladder"),
        ("do timers wake threads up in time?", "sudo dwell wake --for 1m"),
        ("what can be observed here, and what not?", "dwell doctor"),
    ];
    /// From this length of a name on, what a command is for stands above it: side by side would be
    /// too wide.
    const NAME: usize = 12;
    let mut text =
        String::from("dwell shows where a program's wall-clock time goes, and what to change.\n\n");
    let wide = ROWS.iter().map(|(_, typed)| typed.len()).max().unwrap_or(0);
    for (what, typed) in ROWS {
        let named = typed.replacen("dwell", dwell, 1);
        match dwell.len() <= NAME {
            true => text.push_str(format!("  {named:wide$}  {what}").trim_end()),
            false if what.is_empty() => text.push_str(&format!("  {named}")),
            false => text.push_str(&format!("{what}\n  {named}")),
        }
        text.push('\n');
    }
    text + "\nthe options of a verb on one screen: dwell VERB --help; all: dwell help VERB\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;

    #[test]
    fn the_short_help_of_each_verb_fits_a_screen_and_has_examples() {
        // Built, verbs have the options of every verb, as in the help that is printed.
        let mut command = cli::command();
        command.build();
        let mut seen = 0;
        for verb in command.get_subcommands() {
            let name = verb.get_name();
            for columns in [80, 100] {
                let short = verb.clone().term_width(columns).render_help().to_string();
                let lines = short.lines().count();
                assert!(lines <= 40, "{name} -h has {lines} lines of {columns} columns:\n{short}");
                assert!(short.lines().all(|line| line.chars().count() <= columns), "{short}");
                let examples = short.split_once("Examples:\n").map(|(_, examples)| examples);
                let Some(examples) = examples else {
                    assert_eq!(name, "help", "{short}");
                    continue;
                };
                // A command that is broken into two lines cannot be pasted.
                let typed = examples.split("\n\n").next().unwrap_or_default();
                assert!(typed.lines().all(|line| line.contains("dwell ")), "{name}:\n{short}");
                seen += 1;
            }
        }
        assert!(seen >= 2 * 20, "{seen}");
    }

    #[test]
    fn the_long_help_has_every_option_in_its_group() {
        for verb in cli::command().get_subcommands_mut() {
            let long = verb.render_long_help().to_string();
            for arg in verb.get_arguments().filter(|arg| !arg.is_hide_set()) {
                assert!(arg.get_long().is_none_or(|name| long.contains(&format!("--{name}"))), "{arg:?}");
                let heading = arg.get_help_heading();
                let of_look = ["color", "width", "quiet", "json"].contains(&arg.get_id().as_str());
                assert!(!of_look || heading == Some("Output"), "{}: {heading:?}", arg.get_id());
            }
        }
    }

    #[test]
    fn a_short_help_is_the_first_sentence_or_its_first_part() {
        assert_eq!(
            first("Keep the recording in FILE, for `dwell show`"),
            "Keep the recording in FILE, for `dwell show`"
        );
        assert_eq!(first("Take 5 seconds. More of it"), "Take 5 seconds");
        assert_eq!(
            first("Sampling rate per CPU: `99`, `5kHz` [default: 2000 for 50 ms]"),
            "Sampling rate per CPU: `99`, `5kHz`"
        );
        let open = "Write the list, or the trend, as JSON to FILE (`-`: standard output), and no page";
        assert_eq!(first(open), "Write the list, or the trend, as JSON to FILE");
        let long = "Trace the kernel around all latencies of a duration or more of them, and then some more";
        assert_eq!(first(long), "Trace the kernel around all latencies of a duration or more of them");
    }

    #[test]
    fn dwell_alone_fits_a_screen_and_can_be_pasted() {
        let text = start("/home/somebody/dwell");
        assert!(text.lines().count() <= 30, "{text}");
        for typed in ["list", "show last", "report last -o page.html", "diff last-1 last"] {
            assert!(text.contains(&format!("\n  /home/somebody/dwell {typed}\n")), "{typed}: {text}");
        }
        assert!(text.contains("\n  sudo /home/somebody/dwell attach nginx"), "{text}");
        let text = start("dwell");
        assert!(
            text.contains("\n  dwell run CMD ...") && text.lines().all(|line| line.len() <= 80),
            "{text}"
        );
    }
}
