//! Each run as a row of CSV (RFC 4180).

use crate::clean::clean;
use model::Seen;
use model::compare::commands::Comparison;
use model::recording::Ending;
use model::timing::TimedRun;

const HEAD: &str = "command,name,block,place,counts,began_ns,wall_ns,user_ns,kernel_ns,minor_faults,major_faults,\
                    voluntary_switches,involuntary_switches,memory_bytes,memory_at_most,exit_code,signal,\
                    left_behind,steal_ns,others_cpu_ns,printed,excluded";

/// The rows, with their heads. `command` counts from 0; a value that is not known is empty.
pub fn csv(comparison: &Comparison) -> String {
    let row = |run: &TimedRun| {
        let name = comparison.commands.get(run.command as usize).map_or("", |command| command.name.as_str());
        row(run, name, comparison.settings.counts(run))
    };
    let rows: Vec<String> = comparison.runs.iter().map(row).collect();
    [&[HEAD.to_owned()], rows.as_slice()].concat().join("\r\n") + "\r\n"
}

fn row(run: &TimedRun, name: &str, counts: bool) -> String {
    let seen = |ns: &Seen<u64>| ns.value().map_or_else(String::new, u64::to_string);
    let (code, signal) = match run.ending {
        Ending::Code(code) => (code.to_string(), String::new()),
        Ending::Signal(signal) => (String::new(), signal.to_string()),
        Ending::Window(_) => Default::default(),
    };
    let printed: Vec<String> = run.printed.iter().map(f64::to_string).collect();
    let cells: [String; 22] = [
        run.command.to_string(),
        quoted(name),
        run.block.to_string(),
        run.place.to_string(),
        u8::from(counts).to_string(),
        run.began_ns.to_string(),
        run.wall_ns.to_string(),
        run.user_ns.to_string(),
        run.kernel_ns.to_string(),
        run.minor_faults.to_string(),
        run.major_faults.to_string(),
        run.voluntary_switches.to_string(),
        run.involuntary_switches.to_string(),
        run.memory_bytes.to_string(),
        u8::from(run.memory_at_most).to_string(),
        code,
        signal,
        run.left_behind.to_string(),
        seen(&run.steal_ns),
        seen(&run.others_cpu_ns),
        printed.join(" "),
        quoted(run.excluded.as_deref().unwrap_or_default()),
    ];
    cells.join(",")
}

/// Text that needs it between quotes.
fn quoted(text: &str) -> String {
    let text = clean(text, true);
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}
