//! The commands that the command line asks for: each with its parameters filled in, split into
//! words, with its name and what runs before and after it. Nothing is run here.

use super::parameters::{Parameter, combinations, parameters, substituted};
use super::revisions::Tree;
use crate::cli::CommandArgs;
use anyhow::{Context, bail};
use std::collections::BTreeSet;

/// The shell of -S, and of --setup, --prepare, --conclude and --cleanup.
const SHELL: &str = "sh";
/// More would take a day.
const COMMANDS_MAX: usize = 100;
/// Parameters of commands in trees: the revision, and where it lies.
const OF_TREES: [&str; 2] = ["rev", "tree"];
/// Words that mean something to a shell.
const FOR_A_SHELL: [&str; 12] = ["|", "||", "&", "&&", ";", ">", ">>", "<", "<<", "2>&1", "2>", "(("];

/// A command with its parameters filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExpandedCommand {
    /// As it is called on the page.
    pub(super) name: String,
    /// The text that was split.
    pub(super) line: String,
    /// The program and its arguments, the shell included.
    pub(super) words: Vec<String>,
    pub(super) parameters: Vec<(String, String)>,
    pub(super) prepare: Option<Vec<String>>,
    pub(super) conclude: Option<Vec<String>>,
    pub(super) env: Vec<(String, String)>,
}

/// All of them, the reference first.
#[derive(Debug)]
pub(super) struct ExpandedCommands {
    pub(super) commands: Vec<ExpandedCommand>,
    /// Run before everything else, in this order.
    pub(super) setup: Vec<Vec<String>>,
    /// Run after everything else.
    pub(super) cleanup: Vec<Vec<String>>,
    /// The shell that runs the commands, with its arguments.
    pub(super) shell: Option<Vec<String>>,
    /// What to tell before anything runs.
    pub(super) notes: Vec<String>,
}

/// Makes the commands of these texts, in each tree where there are some.
pub(super) fn expand(
    texts: &[String],
    args: &CommandArgs,
    floor: bool,
    trees: &[Tree],
) -> anyhow::Result<ExpandedCommands> {
    let mut parameters = parameters(args)?;
    let combined = in_trees(combinations(&parameters), trees);
    if !trees.is_empty() {
        if let Some(taken) = parameters.iter().find(|parameter| OF_TREES.contains(&parameter.name.as_str())) {
            bail!("{{{0}}} is a part of --rev\ntry: another name than {0}", taken.name);
        }
        parameters.extend(OF_TREES.map(|name| Parameter { name: name.to_owned(), values: Vec::new() }));
    }
    let shell = shell(args)?;
    let mut making =
        Making { args, texts, parameters: &parameters, shell: shell.as_deref(), unknown: BTreeSet::new() };
    let mut commands: Vec<(usize, ExpandedCommand)> = Vec::new();
    for values in &combined {
        for at in 0..texts.len() {
            let command = making.command(at, values)?;
            // One that no parameter changes is run once.
            let same = |(of, other): &(usize, ExpandedCommand)| *of == at && runs_the_same(other, &command);
            if !commands.iter().any(same) {
                commands.push((at, command));
            }
        }
    }
    if commands.len() > COMMANDS_MAX {
        bail!("{} commands are too many\ntry: at most {COMMANDS_MAX}, by fewer values", commands.len());
    }
    name(&mut commands, args, texts.len())?;
    let mut commands: Vec<ExpandedCommand> = commands.into_iter().map(|(_, command)| command).collect();
    let setup = making.once(args.setup.as_deref(), &combined);
    let cleanup = making.once(args.cleanup.as_deref(), &combined);
    let mut notes = making.notes()?;
    let lines: BTreeSet<&str> = commands.iter().map(|command| command.line.as_str()).collect();
    if setup.len() > 1 && lines.len() < setup.len() {
        notes.push(
            "all of --setup runs before the first run, so a later one may undo an earlier one\n\
             try: --prepare, or --rev for revisions"
                .to_owned(),
        );
    }
    if floor {
        let again = ExpandedCommand { name: format!("{} (again)", commands[0].name), ..commands[0].clone() };
        commands.insert(1, again);
    }
    Ok(ExpandedCommands { commands, setup, cleanup, shell, notes })
}

/// Each combination in each tree; trees change fastest.
fn in_trees(combined: Vec<Vec<(String, String)>>, trees: &[Tree]) -> Vec<Vec<(String, String)>> {
    if trees.is_empty() {
        return combined;
    }
    let with = |values: Vec<(String, String)>| {
        trees.iter().map(move |tree| {
            let of_tree = OF_TREES.into_iter().zip([&tree.revision, &tree.directory]);
            let of_tree = of_tree.map(|(name, value)| (name.to_owned(), value.clone()));
            values.iter().cloned().chain(of_tree).collect()
        })
    };
    combined.into_iter().flat_map(with).collect()
}

struct Making<'a> {
    args: &'a CommandArgs,
    texts: &'a [String],
    parameters: &'a [Parameter],
    shell: Option<&'a [String]>,
    /// Names in braces that are no parameters.
    unknown: BTreeSet<String>,
}

impl Making<'_> {
    fn command(&mut self, at: usize, values: &[(String, String)]) -> anyhow::Result<ExpandedCommand> {
        let line = self.filled(&self.texts[at], values);
        let mut words = match self.shell {
            Some(shell) => in_shell(shell, &line),
            None => words(&line).with_context(|| format!("command {}", at + 1))?,
        };
        if let Some((_, tree)) = values.iter().find(|(name, _)| name == OF_TREES[1]) {
            self.place_in_tree(&mut words, at, tree)?;
        }
        let (prepare, conclude) = (&self.args.prepare, &self.args.conclude);
        let prepare = self.beside(at, prepare, "--prepare", values)?;
        let conclude = self.beside(at, conclude, "--conclude", values)?;
        let env =
            self.args.env.iter().map(|(name, value)| (name.clone(), self.filled(value, values))).collect();
        let is_shown = |(name, _): &&(String, String)| name != OF_TREES[1];
        Ok(ExpandedCommand {
            name: String::new(),
            line,
            words,
            parameters: values.iter().filter(is_shown).cloned().collect(),
            prepare,
            conclude,
            env,
        })
    }

    /// Takes the program from the tree. A command that uses the tree itself stays as it is.
    fn place_in_tree(&self, words: &mut [String], at: usize, tree: &str) -> anyhow::Result<()> {
        let text = &self.texts[at];
        if text.contains("{tree}") || text.contains("{rev}") {
            return Ok(());
        }
        if self.shell.is_some() || words[0].starts_with('/') || !words[0].contains('/') {
            bail!("{text:?} is the same in each revision\ntry: ./{0}, or {{tree}}/{0}", words[0]);
        }
        words[0] = format!("{tree}/{}", words[0]);
        Ok(())
    }

    fn filled(&mut self, text: &str, values: &[(String, String)]) -> String {
        let filled = substituted(text, values);
        self.unknown.extend(filled.unknown);
        filled.text
    }

    /// What runs before or after each run: one for all commands, or one for each.
    fn beside(
        &mut self,
        at: usize,
        given: &[String],
        option: &str,
        values: &[(String, String)],
    ) -> anyhow::Result<Option<Vec<String>>> {
        let text = match given {
            [] => return Ok(None),
            [one] => one,
            many if many.len() == self.texts.len() => &many[at],
            many => bail!(
                "{option} is given {} times, and there are {} commands\ntry: once, or once for each",
                many.len(),
                self.texts.len()
            ),
        };
        let text = self.filled(text, values);
        Ok(Some(in_shell(self.shell_of_others(), &text)))
    }

    /// The texts that the parameters make of it, each once.
    fn once(&mut self, text: Option<&str>, combined: &[Vec<(String, String)>]) -> Vec<Vec<String>> {
        let mut all = Vec::new();
        for values in combined {
            let Some(text) = text else { break };
            let command = in_shell(self.shell_of_others(), &self.filled(text, values));
            if !all.contains(&command) {
                all.push(command);
            }
        }
        all
    }

    fn shell_of_others(&self) -> Vec<String> {
        self.shell.map_or_else(|| vec![SHELL.to_owned()], <[String]>::to_vec)
    }

    /// Names in braces that are no parameters: an error where there are parameters.
    fn notes(&self) -> anyhow::Result<Vec<String>> {
        let known: Vec<&str> = self.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let note = |name: &String| format!("{{{name}}} is no parameter");
        match self.unknown.first() {
            Some(name) if !known.is_empty() => bail!(
                "{}: there {} {}\ntry: -L {name} VALUES, or -L {name} '{{{name}}}' to leave it as it is",
                note(name),
                if known.len() == 1 { "is only" } else { "are only" },
                known.join(", ")
            ),
            _ => {
                let stays = |name| format!("{} and stays as it is\ntry: -L {name} VALUES", note(name));
                Ok(self.unknown.iter().map(stays).collect())
            }
        }
    }
}

fn runs_the_same(a: &ExpandedCommand, b: &ExpandedCommand) -> bool {
    (&a.words, &a.prepare, &a.conclude, &a.env) == (&b.words, &b.prepare, &b.conclude, &b.env)
}

/// The shell that commands run in, if any.
fn shell(args: &CommandArgs) -> anyhow::Result<Option<Vec<String>>> {
    match args.shell.as_deref() {
        None if args.default_shell => Ok(Some(vec![SHELL.to_owned()])),
        None | Some("none") => Ok(None),
        Some("default") => Ok(Some(vec![SHELL.to_owned()])),
        Some(shell) => split(shell).context("--shell").map(Some),
    }
}

fn in_shell(shell: impl AsRef<[String]>, text: &str) -> Vec<String> {
    let mut words = shell.as_ref().to_vec();
    words.extend(["-c".to_owned(), text.to_owned()]);
    words
}

/// The words of a command that runs without a shell.
fn words(line: &str) -> anyhow::Result<Vec<String>> {
    let words = split(line)?;
    // Only what is not quoted is a part of the text between blanks.
    let bare: BTreeSet<&str> = line.split_whitespace().collect();
    let is_for_a_shell =
        |word: &&String| FOR_A_SHELL.contains(&word.as_str()) && bare.contains(word.as_str());
    if let Some(word) = words.iter().find(is_for_a_shell) {
        bail!("{line:?} has {word:?}, which is for a shell, and runs without one\ntry: -S, or quote it");
    }
    if let Some((variable, _)) = words[0].split_once('=').filter(|(name, _)| !name.contains('/')) {
        bail!("{line:?} sets {variable} as in a shell, and runs without one\ntry: --env {}, or -S", words[0]);
    }
    Ok(words)
}

/// Splits a text into words as a shell does. An unclosed quote is an error that shows its place.
fn split(text: &str) -> anyhow::Result<Vec<String>> {
    let Some(words) = shlex::split(text) else {
        // What is before the quote can be split, and nothing longer.
        let ends = text.char_indices().map(|(at, _)| at);
        let open = ends.rev().find(|end| shlex::split(&text[..*end]).is_some()).unwrap_or(0);
        let (before, after) = text.split_at(open);
        let what = match after.chars().next() {
            Some('\\') => "a backslash with nothing after it".to_owned(),
            quote => format!("the quote {} is not closed", quote.unwrap_or('"')),
        };
        let column = before.chars().count();
        bail!("{what}:\n  {text}\n  {}^\ntry: close it, or a backslash before it", " ".repeat(column));
    };
    if words.is_empty() {
        bail!("{text:?} has no word\ntry: the name of a program");
    }
    Ok(words)
}

/// Gives each command its name.
fn name(commands: &mut [(usize, ExpandedCommand)], args: &CommandArgs, texts: usize) -> anyhow::Result<()> {
    let names = &args.command_name;
    if names.len() > commands.len() {
        let (names, commands) = (names.len(), commands.len());
        bail!("--command-name is given {names} times, and there are {commands} commands\ntry: once for each");
    }
    let lines: Vec<String> = commands.iter().map(|(_, command)| command.line.clone()).collect();
    let per_text = names.len() <= texts;
    for (at, (of, command)) in commands.iter_mut().enumerate() {
        let given = if per_text { names.get(*of) } else { names.get(at) };
        let twice = lines.iter().filter(|line| **line == command.line).count() > 1;
        command.name = match given {
            Some(name) => substituted(name, &command.parameters).text,
            None if twice && !command.parameters.is_empty() => {
                let values = command.parameters.iter().map(|(name, value)| format!("{name}={value}"));
                format!("{} ({})", command.line, values.collect::<Vec<_>>().join(", "))
            }
            None => command.line.clone(),
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str], args: &CommandArgs) -> anyhow::Result<ExpandedCommands> {
        expand(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>(), args, false, &[])
    }

    fn error(texts: &[&str], args: &CommandArgs) -> String {
        format!("{:#}", of(texts, args).unwrap_err())
    }

    fn lists(lists: &[&str]) -> CommandArgs {
        CommandArgs {
            parameter_list: lists.iter().map(|word| (*word).to_owned()).collect(),
            ..CommandArgs::default()
        }
    }

    fn lines(made: &ExpandedCommands) -> Vec<&str> {
        made.commands.iter().map(|command| command.line.as_str()).collect()
    }

    #[test]
    fn a_command_is_split_as_a_shell_does() {
        let made = of(&[r#"grep -e 'a b' "c d" e\ f"#], &CommandArgs::default()).unwrap();
        assert_eq!(made.commands[0].words, ["grep", "-e", "a b", "c d", "e f"]);
        assert_eq!(made.commands[0].name, r#"grep -e 'a b' "c d" e\ f"#);
        assert_eq!(made.shell, None);
    }

    #[test]
    fn an_unclosed_quote_is_shown() {
        let said = error(&["true", "echo it's"], &CommandArgs::default());
        assert!(
            said.starts_with("command 2: the quote ' is not closed:\n  echo it's\n         ^\n"),
            "{said}"
        );
        let said = error(&["echo \"a\" \"b"], &CommandArgs::default());
        assert!(said.contains("\n  echo \"a\" \"b\n           ^\n"), "{said}");
        assert!(error(&["echo a\\"], &CommandArgs::default()).contains("backslash"));
        assert!(error(&["  "], &CommandArgs::default()).contains("no word"));
    }

    #[test]
    fn what_is_for_a_shell_asks_for_one() {
        for line in ["a | b", "a > b", "a && b", "X=1 a"] {
            assert!(error(&[line], &CommandArgs::default()).contains("-S"), "{line}");
        }
        for line in ["grep '|' b", "awk '{ a | b }'", "find . -exec ls {} \\;", "./a=b c"] {
            assert!(of(&[line], &CommandArgs::default()).is_ok(), "{line}");
        }
        let made = of(&["a | b"], &CommandArgs { default_shell: true, ..CommandArgs::default() }).unwrap();
        assert_eq!(made.commands[0].words, ["sh", "-c", "a | b"]);
        let args = CommandArgs { shell: Some("bash --norc".to_owned()), ..CommandArgs::default() };
        assert_eq!(of(&["a"], &args).unwrap().commands[0].words, ["bash", "--norc", "-c", "a"]);
    }

    #[test]
    fn parameters_are_combined_and_the_first_changes_fastest() {
        let args = lists(&["x", "1,2", "y", "a,b"]);
        let made = of(&["p {x} {y}"], &args).unwrap();
        assert_eq!(lines(&made), ["p 1 a", "p 2 a", "p 1 b", "p 2 b"]);
        assert_eq!(made.commands[1].parameters, [("x".into(), "2".into()), ("y".into(), "a".into())]);
        // One that has none is there once, and all are compared with it.
        assert_eq!(lines(&of(&["base", "p {x}"], &lists(&["x", "1,2"])).unwrap()), ["base", "p 1", "p 2"]);
    }

    #[test]
    fn the_same_command_twice_stays_twice() {
        assert_eq!(lines(&of(&["a", "a"], &CommandArgs::default()).unwrap()), ["a", "a"]);
        let args = CommandArgs { env: vec![("N".into(), "{n}".into())], ..lists(&["n", "1,2"]) };
        let made = of(&["a"], &args).unwrap();
        let names: Vec<_> = made.commands.iter().map(|command| command.name.as_str()).collect();
        assert_eq!(names, ["a (n=1)", "a (n=2)"]);
        assert_eq!(made.commands[1].env, [("N".to_owned(), "2".to_owned())]);
    }

    #[test]
    fn an_unknown_name_is_named() {
        let said = error(&["a {y}"], &lists(&["x", "1,2"]));
        assert!(said.contains("{y} is no parameter") && said.contains("try: -L y VALUES"), "{said}");
        let made = of(&["sleep {delay}"], &CommandArgs::default()).unwrap();
        assert!(made.notes[0].contains("{delay} is no parameter"), "{:?}", made.notes);
        // A variable of a shell, and braces around anything else.
        assert!(of(&["a ${y} {} {1,2} {a b}"], &lists(&["x", "1,2"])).is_ok());
    }

    #[test]
    fn what_runs_beside_is_one_for_all_or_one_for_each() {
        let with = |prepare: &[&str]| CommandArgs {
            prepare: prepare.iter().map(|text| (*text).to_owned()).collect(),
            ..CommandArgs::default()
        };
        let made = of(&["a", "b"], &with(&["sync"])).unwrap();
        assert!(made.commands.iter().all(|command| command.prepare.as_ref().unwrap()[2] == "sync"));
        let made = of(&["a", "b"], &with(&["1", "2"])).unwrap();
        assert_eq!(made.commands[1].prepare.as_ref().unwrap()[2], "2");
        assert!(error(&["a", "b"], &with(&["1", "2", "3"])).contains("given 3 times"));
    }

    #[test]
    fn setup_runs_once_for_each_text() {
        let setup = |text: &str| CommandArgs { setup: Some(text.to_owned()), ..lists(&["x", "1,2"]) };
        assert_eq!(of(&["a {x}"], &setup("make")).unwrap().setup.len(), 1);
        let made = of(&["a {x}"], &setup("make {x}")).unwrap();
        assert_eq!((made.setup.len(), made.notes.len()), (2, 0));
        let made = of(&["a"], &CommandArgs { prepare: vec!["{x}".into()], ..setup("make {x}") }).unwrap();
        assert!(made.notes[0].contains("undo"), "{:?}", made.notes);
    }

    #[test]
    fn names_are_given_by_text_or_by_command() {
        let named = |names: &[&str]| CommandArgs {
            command_name: names.iter().map(|name| (*name).to_owned()).collect(),
            ..lists(&["x", "1,2"])
        };
        let names = |args: &CommandArgs| {
            let made = of(&["a {x}"], args).unwrap();
            made.commands.into_iter().map(|command| command.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&named(&["with {x}"])), ["with 1", "with 2"]);
        assert_eq!(names(&named(&["one", "two"])), ["one", "two"]);
        assert!(error(&["a {x}"], &named(&["1", "2", "3"])).contains("given 3 times"));
    }

    #[test]
    fn a_command_runs_in_each_revision() {
        let tree = |revision: &str, directory: &str| Tree {
            revision: revision.into(),
            directory: directory.into(),
            lock: None,
        };
        let trees = [tree("main", "/kept/1"), tree(".", "/here")];
        let of = |text: &str| expand(&[text.to_owned()], &CommandArgs::default(), false, &trees);
        let made_ = of("target/prog in").unwrap();
        assert_eq!(made_.commands[0].words, ["/kept/1/target/prog", "in"]);
        assert_eq!(made_.commands[1].words, ["/here/target/prog", "in"]);
        assert_eq!(made_.commands[0].name, "target/prog in (rev=main)");
        assert_eq!(made_.commands[0].parameters, [("rev".to_owned(), "main".to_owned())]);
        assert_eq!(of("python3 {tree}/a.py").unwrap().commands[1].words, ["python3", "/here/a.py"]);
        for same in ["make test", "/bin/true"] {
            let said = of(same).unwrap_err().to_string();
            assert!(said.contains("is the same in each revision"), "{said}");
        }
    }

    #[test]
    fn the_floor_is_the_first_again() {
        let made = expand(&["a".to_owned(), "b".to_owned()], &CommandArgs::default(), true, &[]).unwrap();
        let names: Vec<_> = made.commands.iter().map(|command| command.name.as_str()).collect();
        assert_eq!(names, ["a", "a (again)", "b"]);
    }
}
