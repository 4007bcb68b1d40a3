//! The tools: what each is for, what it takes, and the call of a verb that it stands for.
//!
//! Values stand in the word of their option, and words after `--`: whatever an argument holds, it
//! is no other option.

use super::job::Job;
use analyse::judge::causes::Cause;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::time::Duration;
use store::results::Named;

/// Columns of a page.
const LOOK: [&str; 2] = ["--width=100", "--color=never"];
/// The longest measurement, and the longest of a program unless it is asked for another.
const LONGEST_S: u64 = 3600;
const RUN_S: u64 = 300;
/// What comes before and after a program whose own time is limited: instruments, its end, the page.
const AROUND: Duration = Duration::from_secs(60);
const WINDOW_S: u64 = 10;
/// The most commands that are compared, pairs of runs, edits, and results in a list; and how many
/// of these by default.
const COMMANDS: usize = 8;
const PAIRS: u64 = 1000;
const EDITS: usize = 20;
const ROWS: u64 = 200;
const LISTED: u64 = 20;

/// A tool.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    title: &'static str,
    description: &'static str,
    /// The properties of its input, and those that must be there.
    input: fn() -> (Value, &'static [&'static str]),
    /// Whether its answer has a typed result.
    typed: bool,
    /// Whether it changes nothing but the store of results.
    reads: bool,
    /// The call for its arguments.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(crate) job: fn(Value) -> Result<Job, String>,
}

/// All of them, in the order in which they are told.
pub(crate) const ALL: [Tool; 7] = [
    Tool {
        name: "run",
        title: "Run a program and account for its wall-clock time",
        description: "Runs a command once and says where its wall-clock time went, what bounds it, what to change, and \
            how much that would save, with the interval in which four of five such savings lay. A saving is a \
            prediction: make the change, then prove it with `compare` and `predicted`. The program reads nothing from \
            standard input. Only commands that the user allowed are started.",
        input: || {
            let properties = json!({
                "command": command("The program and its arguments, a word each; no shell"),
                "verbose": flag("All tables, not only what fits a screen"),
                "causes": flag("Also the causes that were looked for and ruled out, with their figures"),
                "output": flag("Also the end of what the program wrote to standard output"),
                "stop_after_s": number("Seconds from its start after which the program is sent SIGINT, as by Ctrl-C, and SIGKILL if it goes on for 2 s; the page has the time until its end", LONGEST_S, Some(RUN_S)),
            });
            (properties, &["command"])
        },
        typed: true,
        reads: false,
        job: run,
    },
    Tool {
        name: "attach",
        title: "Account for the time of running processes",
        description: "Observes running processes for some seconds, without stopping or changing them: what their threads \
            do and wait for, and of a service its requests, the slow ones beside typical ones. Only targets that the \
            user allowed.",
        input: || {
            let properties = json!({
                "target": {"type": "string", "description": "A PID, a name (nginx, server.py), the port that a process \
                    listens at (:8080), or service=UNIT, container=ID, pod=NAME, cgroup=PATH"},
                "for_s": number("For how many seconds", LONGEST_S, Some(WINDOW_S)),
                "verbose": flag("All tables, not only what fits a screen"),
            });
            (properties, &["target"])
        },
        typed: true,
        reads: true,
        job: attach,
    },
    Tool {
        name: "compare",
        title: "Find out which command is faster, by how much, and why",
        description: "Runs commands in alternation and compares each with the first: faster, slower, same or undecided, \
            with the ratio and its 95 % interval, and where the difference lies. With `predicted`, the ID of a run of \
            the first command, it says whether the saving that was predicted there came true. This is the proof of a \
            change: both commands must do the same work. Only commands that the user allowed are started.",
        input: || {
            let properties = json!({
                "commands": {"type": "array", "minItems": 1, "maxItems": COMMANDS, "items": command("A program and its arguments"),
                    "description": "The commands; the first is what the others are compared with"},
                "predicted": {"type": "string", "description": "The ID of a run whose prediction is held against the comparison"},
                "pairs": number("Pairs of runs [default: until it is decided]", PAIRS, None),
                "for_s": number("Seconds after which no pair is started [default: 60]", LONGEST_S, None),
                "verbose": flag("All tables, not only what fits a screen"),
            });
            (properties, &["commands"])
        },
        typed: true,
        reads: false,
        job: compare,
    },
    Tool {
        name: "show",
        title: "Show a kept result again",
        description: "The page of a result that was kept, with more tables if asked for.",
        input: || {
            let properties = json!({
                "id": id(),
                "verbose": flag("All tables"),
                "causes": flag("Of a run: the causes that were looked for and ruled out"),
                "flame": flag("Of a run: the call tree, running and waiting"),
            });
            (properties, &["id"])
        },
        typed: true,
        reads: true,
        job: show,
    },
    Tool {
        name: "explain",
        title: "Explain a cause",
        description: "The manual of a cause that a page names: what it is, why it is slow, how it is found, what to \
            change. Without a cause, the list of all.",
        input: || {
            (
                json!({"cause": {"type": "string", "description": "Its name, as in `dwell explain serial-requests`"}}),
                &[],
            )
        },
        typed: false,
        reads: true,
        job: explain,
    },
    Tool {
        name: "what_if",
        title: "Predict the wall clock with something faster",
        description: "Replays the recording of a run with edits, and says what its wall clock would have been. For runs \
            that were observed with BPF (as root). A prediction, not a proof.",
        input: || {
            let properties = json!({
                "id": id(),
                "edits": {"type": "array", "minItems": 1, "maxItems": EDITS, "items": {"type": "string"}, "description":
                    "What changes, by a factor or to a longest duration: fsync=0, lock=0, disk=0, network=0, \
                     'tcp 10.0.0.7:5432'=1ms, user:FUNCTION=0.5, program:NAME=0, cpus=8, quota=none"},
            });
            (properties, &["id", "edits"])
        },
        typed: true,
        reads: true,
        job: what_if,
    },
    Tool {
        name: "list",
        title: "List kept results",
        description: "The results that were kept, the newest first: ID, time, verb, wall clock, verdict, first finding, \
            command.",
        input: || {
            let properties = json!({
                "number": number("How many at most", ROWS, Some(LISTED)),
                "verb": {"type": "string", "description": "Only results of this verb (run, compare)"},
                "command": {"type": "string", "description": "Only results with this text in their command"},
                "tag": {"type": "string", "description": "Only results with this tag"},
                "since": {"type": "string", "description": "Only results since an age (90m, 7d) or a UTC date"},
            });
            (properties, &[])
        },
        typed: true,
        reads: true,
        job: list,
    },
];

impl Tool {
    /// The tool of this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|tool| tool.name == name)
    }

    /// What is told of it.
    pub(crate) fn told(&self) -> Value {
        let (properties, required) = (self.input)();
        let mut told = json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": {
                "type": "object", "properties": properties, "required": required, "additionalProperties": false,
            },
            "annotations": {
                "title": self.title,
                "readOnlyHint": self.reads,
                // What an allowed command does is up to it.
                "destructiveHint": !self.reads,
                "idempotentHint": self.reads,
                "openWorldHint": !self.reads,
            },
        });
        if self.typed {
            told["outputSchema"] = json!({
                "type": "object",
                "description": "The result as JSON, as --json writes it, with long lists cut. Its schema is in the \
                    packages of dwell, by the name in `schema`",
                "properties": {
                    "schema": {"type": "string", "description": "What it is: dwell.run/1, dwell.compare/1, ..."},
                    "kept_as": {"type": "string", "description": "Its ID in the store"},
                    "left_out": {"type": "object", "description": "How many rows of which lists are not here, and what \
                        shows all of them"},
                    "names": {"type": "string", "description": "What to think of names in it"},
                },
                "required": ["schema"],
            });
        }
        told
    }
}

fn flag(what: &str) -> Value {
    json!({"type": "boolean", "default": false, "description": what})
}

fn number(what: &str, most: u64, usual: Option<u64>) -> Value {
    let mut number = json!({"type": "integer", "minimum": 1, "maximum": most, "description": what});
    if let Some(usual) = usual {
        number["default"] = json!(usual);
    }
    number
}

fn command(what: &str) -> Value {
    json!({"type": "array", "minItems": 1, "items": {"type": "string"}, "description": what})
}

fn id() -> Value {
    json!({"type": "string", "description": "The ID of a kept result, as tools name it; `last`, `last-1`"})
}

/// Arguments by their types.
fn typed<T: DeserializeOwned>(arguments: Value) -> Result<T, String> {
    let arguments = if arguments.is_null() { json!({}) } else { arguments };
    serde_json::from_value(arguments).map_err(|error| format!("the arguments are wrong: {error}"))
}

/// The options of a page that are asked for.
fn look(asked: &[(bool, &str)]) -> Vec<String> {
    let asked = asked.iter().filter(|(asked, _)| *asked).map(|(_, option)| *option);
    LOOK.into_iter().chain(asked).map(str::to_owned).collect()
}

fn within(what: &str, number: u64, most: u64) -> Result<u64, String> {
    if (1..=most).contains(&number) {
        Ok(number)
    } else {
        Err(format!("{what} is a number from 1 to {most}"))
    }
}

/// A command that has a program.
fn checked(words: &[String]) -> Result<(), String> {
    match words.first() {
        Some(program) if !program.is_empty() && !words.iter().any(|word| word.contains('\0')) => Ok(()),
        _ => Err("a command is a list of words, and the first is the program".to_owned()),
    }
}

/// Files are not read: only what dwell kept.
fn named(id: &str) -> Result<String, String> {
    match Named::read(id) {
        Some(_) => Ok(id.to_owned()),
        None => Err(format!(
            "{id:?} is no ID of a result; the tool `list` has them; `last` and `last-1` work as well"
        )),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunArguments {
    command: Vec<String>,
    #[serde(default)]
    verbose: bool,
    #[serde(default)]
    causes: bool,
    #[serde(default)]
    output: bool,
    stop_after_s: Option<u64>,
}

fn run(arguments: Value) -> Result<Job, String> {
    let asked: RunArguments = typed(arguments)?;
    checked(&asked.command)?;
    let limit = within("stop_after_s", asked.stop_after_s.unwrap_or(RUN_S), LONGEST_S)?;
    let mut options = look(&[(asked.verbose, "--verbose"), (asked.causes, "--causes")]);
    options.push(format!("--stop-after={limit}"));
    Ok(Job {
        verb: "run",
        options,
        words: asked.command.clone(),
        starts: vec![asked.command],
        json: true,
        records: true,
        output: asked.output,
        limit: Some(Duration::from_secs(limit)),
        stop_after: Some(Duration::from_secs(limit) + AROUND),
        ..Job::default()
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AttachArguments {
    target: String,
    for_s: Option<u64>,
    #[serde(default)]
    verbose: bool,
}

fn attach(arguments: Value) -> Result<Job, String> {
    let asked: AttachArguments = typed(arguments)?;
    let for_s = within("for_s", asked.for_s.unwrap_or(WINDOW_S), LONGEST_S)?;
    let mut options = look(&[(asked.verbose, "--verbose")]);
    options.push(format!("--for={for_s}s"));
    let mut words = Vec::new();
    match asked.target.split_once('=') {
        Some((kind @ ("service" | "container" | "pod" | "cgroup"), name)) => {
            options.push(format!("--{kind}={name}"))
        }
        _ => words.push(asked.target.clone()),
    }
    Ok(Job {
        verb: "attach",
        options,
        words,
        target: Some(asked.target),
        json: true,
        records: true,
        ..Job::default()
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CompareArguments {
    commands: Vec<Vec<String>>,
    predicted: Option<String>,
    pairs: Option<u64>,
    for_s: Option<u64>,
    #[serde(default)]
    verbose: bool,
}

fn compare(arguments: Value) -> Result<Job, String> {
    let asked: CompareArguments = typed(arguments)?;
    if asked.commands.is_empty() || asked.commands.len() > COMMANDS {
        return Err(format!("there are 1 to {COMMANDS} commands"));
    }
    let mut options = look(&[(asked.verbose, "--verbose")]);
    match (asked.pairs, asked.for_s) {
        (Some(_), Some(_)) => return Err("either pairs or for_s".to_owned()),
        (Some(pairs), None) => options.push(format!("--pairs={}", within("pairs", pairs, PAIRS)?)),
        (None, Some(seconds)) => options.push(format!("--for={}s", within("for_s", seconds, LONGEST_S)?)),
        (None, None) => {}
    }
    if let Some(id) = &asked.predicted {
        options.push(format!("--predicted={}", named(id)?));
    }
    let mut words = Vec::new();
    for command in &asked.commands {
        checked(command)?;
        let line = shlex::try_join(command.iter().map(String::as_str)).map_err(|error| error.to_string())?;
        words.push(line);
    }
    Ok(Job {
        verb: "compare",
        options,
        words,
        starts: asked.commands,
        json: true,
        stop_after: Some(Duration::from_secs(LONGEST_S)),
        ..Job::default()
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShowArguments {
    id: String,
    #[serde(default)]
    verbose: bool,
    #[serde(default)]
    causes: bool,
    #[serde(default)]
    flame: bool,
}

fn show(arguments: Value) -> Result<Job, String> {
    let asked: ShowArguments = typed(arguments)?;
    let options = look(&[(asked.verbose, "--verbose"), (asked.causes, "--causes"), (asked.flame, "--flame")]);
    Ok(Job { verb: "show", options, words: vec![named(&asked.id)?], json: true, ..Job::default() })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExplainArguments {
    cause: Option<String>,
}

fn explain(arguments: Value) -> Result<Job, String> {
    let asked: ExplainArguments = typed(arguments)?;
    if let Some(cause) = asked.cause.as_deref().filter(|cause| Cause::named(cause).is_none()) {
        return Err(format!("there is no cause {cause:?}; without a cause, this tool lists all"));
    }
    Ok(Job {
        verb: "explain",
        options: look(&[]),
        words: asked.cause.into_iter().collect(),
        ..Job::default()
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WhatIfArguments {
    id: String,
    edits: Vec<String>,
}

fn what_if(arguments: Value) -> Result<Job, String> {
    let asked: WhatIfArguments = typed(arguments)?;
    if asked.edits.is_empty() || asked.edits.len() > EDITS {
        return Err(format!("there are 1 to {EDITS} edits"));
    }
    let mut options = look(&[]);
    options.extend(asked.edits.iter().map(|edit| format!("--what-if={edit}")));
    Ok(Job { verb: "show", options, words: vec![named(&asked.id)?], json: true, ..Job::default() })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListArguments {
    number: Option<u64>,
    verb: Option<String>,
    command: Option<String>,
    tag: Option<String>,
    since: Option<String>,
}

fn list(arguments: Value) -> Result<Job, String> {
    let asked: ListArguments = typed(arguments)?;
    let mut options = look(&[]);
    options.push(format!("--number={}", within("number", asked.number.unwrap_or(LISTED), ROWS)?));
    let texts =
        [("verb", asked.verb), ("command", asked.command), ("tag", asked.tag), ("since", asked.since)];
    options.extend(texts.into_iter().filter_map(|(name, text)| Some(format!("--{name}={}", text?))));
    Ok(Job { verb: "list", options, json: true, ..Job::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;

    fn refused(tool: &str, arguments: Value) -> String {
        (Tool::named(tool).unwrap().job)(arguments).unwrap_err()
    }

    fn made(tool: &str, arguments: Value) -> Job {
        (Tool::named(tool).unwrap().job)(arguments).unwrap()
    }

    /// What a client may send is what the types take: each property of a schema, and no other.
    #[test]
    fn the_schemas_are_those_of_the_types() {
        for tool in &ALL {
            let error = refused(tool.name, json!({"no such": 1}));
            let told = tool.told();
            let properties = told["inputSchema"]["properties"].as_object().unwrap();
            for name in properties.keys() {
                assert!(error.contains(&format!("`{name}`")), "{}: {name}: {error}", tool.name);
            }
            assert_eq!(error.matches('`').count() / 2, properties.len() + 1, "{}: {error}", tool.name);
            for name in told["inputSchema"]["required"].as_array().unwrap() {
                assert!(properties.contains_key(name.as_str().unwrap()));
            }
        }
    }

    #[test]
    fn each_call_is_a_command_line_of_a_verb() {
        for (tool, arguments) in [
            ("run", json!({"command": ["true", "--json", "-"], "verbose": true, "causes": true})),
            ("attach", json!({"target": "nginx"})),
            ("attach", json!({"target": "service=nginx", "for_s": 3})),
            ("compare", json!({"commands": [["a b", "--pairs"], ["c"]], "pairs": 3, "predicted": "last"})),
            ("show", json!({"id": "last-1", "flame": true})),
            ("explain", json!({})),
            ("explain", json!({"cause": "sync-writes"})),
            ("what_if", json!({"id": "afdce522", "edits": ["--json=0", "lock=0"]})),
            ("list", json!({"verb": "run", "tag": "--x", "since": "7d"})),
        ] {
            let job = made(tool, arguments);
            let words = ["dwell", job.verb].into_iter().map(str::to_owned);
            let words = words.chain(job.options).chain(["--".to_owned()]).chain(job.words);
            let words: Vec<String> = words.collect();
            let parsed = cli::command().try_get_matches_from(&words);
            assert!(parsed.is_ok(), "{words:?}: {}", parsed.unwrap_err());
        }
    }

    #[test]
    fn what_is_compared_are_the_words_that_were_allowed() {
        let commands = json!([["a b", "$x", "'", "{y}", ""], ["c;d"]]);
        let job = made("compare", json!({"commands": commands}));
        let split: Vec<_> = job.words.iter().map(|line| shlex::split(line).unwrap()).collect();
        assert_eq!(split, job.starts);
    }

    #[test]
    fn arguments_are_bounded() {
        for (tool, arguments) in [
            ("run", json!({"command": []})),
            ("run", json!({"command": [""]})),
            ("run", json!({"command": ["a\u{0}"]})),
            ("run", json!({"command": "true"})),
            ("run", json!({"command": ["true"], "stop_after_s": 0})),
            ("run", json!({"command": ["true"], "stop_after_s": -1})),
            ("run", json!([])),
            ("attach", json!({"target": "x", "for_s": 100_000})),
            ("attach", json!({})),
            ("compare", json!({"commands": [["true"], []]})),
            ("compare", json!({"commands": vec![["true"]; 9]})),
            ("compare", json!({"commands": [["true"]], "pairs": 3, "for_s": 3})),
            ("compare", json!({"commands": [["true"]], "predicted": "/etc/passwd"})),
            ("show", json!({"id": "/etc/passwd"})),
            ("show", json!({"id": "--help"})),
            ("explain", json!({"cause": "--help"})),
            ("what_if", json!({"id": "last", "edits": []})),
            ("list", json!({"number": 1_000_000})),
        ] {
            refused(tool, arguments);
        }
    }
}
