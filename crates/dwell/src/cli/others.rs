//! Options of perf, strace and ltrace, as people type them, and what they are here. Those of
//! cyclictest and rtla are with the options of `dwell wake`.

use super::wake;

/// By what follows the dash.
const OF_RUN: &[(&str, &str)] = &[
    ("a", "dwell attach --cgroup /: the whole system"),
    ("c", "-v: the table of system calls is on the page"),
    ("C", "-v: the table of system calls is on the page"),
    ("d", "nothing: page faults, disks and the network are on the page"),
    ("e", "nothing: all system calls are traced; --json FILE has them all"),
    ("f", "nothing: child processes and threads are always followed"),
    ("ff", "nothing: child processes and threads are always followed"),
    ("F", "--rate HZ"),
    ("g", "--flame: the call tree"),
    ("i", "--json FILE"),
    ("k", "nothing: stacks of waits are recorded"),
    ("p", "dwell attach -p PID"),
    ("r", "dwell compare -r N COMMAND: the command several times"),
    ("s", "nothing: the program's own output is not touched"),
    ("t", "nothing: all figures are times"),
    ("T", "nothing: all figures are times"),
    ("u", "--user NAME"),
    ("w", "nothing: the table of system calls has wall-clock time"),
    ("y", "nothing: the files of descriptors are named"),
    ("-call-graph", "--flame: the call tree, always with stacks"),
    ("-follow-forks", "nothing: child processes and threads are always followed"),
    ("-freq", "--rate HZ"),
    ("-pid", "dwell attach -p PID"),
    ("-repeat", "dwell compare -r N COMMAND: the command several times"),
    ("-summary-only", "-v: the table of system calls is on the page"),
    ("-syscall-times", "nothing: the table of system calls has times"),
];

/// What an option of another tool is here, for a verb that has no such option; `option` with its
/// dashes.
pub(crate) fn of_other_tools(verb: &str, option: &str) -> Option<&'static str> {
    match verb {
        "wake" => wake::of_others(option),
        "run" | "attach" => {
            let name = option.strip_prefix('-')?;
            let name = name.split('=').next().unwrap_or(name);
            OF_RUN.iter().find(|(theirs, _)| *theirs == name).map(|(_, ours)| *ours)
        }
        _ => None,
    }
}
