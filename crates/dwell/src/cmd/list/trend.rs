//! `dwell list --trend`: the wall clock of one command, result by result.
//!
//! Of `dwell run` that is in the row of the store; of `dwell compare` it is in the JSON, which is
//! read only where a row names the command.

use crate::cli::{ListArgs, VERSION};
use crate::cmd::named;
use crate::exit;
use crate::keep::ResultStore;
use crate::out::{Outputs, Page, Paths, TrendResult};
use crate::suggest;
use model::compare::commands::ComparedCommand;
use model::timing::Figure;
use model::trend::{ComparedSides, LeftOut, SCHEMA_TREND, Trend, TrendInterval, TrendRow, TrendSide};
use std::collections::BTreeSet;
use store::results::{Filter, ResultRow, Store};
use sys::clock::rfc3339;

/// Of other commands, those that are compared with a name that none has.
const OTHERS_MAX: usize = 1000;

/// Shows the trend; returns the exit status, which no figure changes.
pub(super) fn trend(
    args: &ListArgs,
    command: &str,
    filter: &Filter,
    most: usize,
    keeper: &ResultStore,
) -> anyhow::Result<u8> {
    let json = args.json.iter().map(|path| ("json".to_owned(), path.clone()));
    let outputs = Outputs::open(&Paths::from_iter(json), Page::Stdout, None, &[])?;
    let result = keeper.at_length(|place| gathered(&named::read(place)?, command, filter, most))?;
    Ok(if outputs.write(&result, &args.look).complain() { exit::DWELL_FAILED } else { 0 })
}

fn gathered(store: &Store, command: &str, filter: &Filter, most: usize) -> anyhow::Result<TrendResult> {
    let wanted = Wanted::of(command);
    let mut found = Found::default();
    let mut others = BTreeSet::new();
    let mut results = 0;
    let mut more = false;
    store.each(filter, usize::MAX, |row| {
        if !wanted.may_be(&row) {
            if others.len() < OTHERS_MAX && ["run", "compare"].contains(&row.verb.as_str()) {
                others.insert(row.command);
            }
            return true;
        }
        // Newest first, so that what is too much is the oldest.
        more = results == most;
        if !more && found.take(store, row, &wanted) {
            results += 1;
        }
        !more
    })?;
    found.rows.reverse();
    let near = match found.rows.is_empty() {
        true => suggest::nearest(command, others.iter().map(String::as_str)),
        false => Vec::new(),
    };
    let near = near.into_iter().map(str::to_owned).collect();
    let trend = Trend {
        schema: SCHEMA_TREND.to_owned(),
        dwell: VERSION.to_owned(),
        command: command.to_owned(),
        results: found.rows,
        more,
        left_out: found.left_out,
    };
    Ok(TrendResult { trend, near })
}

/// What was found so far, the newest first.
#[derive(Default)]
struct Found {
    rows: Vec<TrendRow>,
    left_out: LeftOut,
}

impl Found {
    /// Takes what a result has of the command; returns whether it has any.
    fn take(&mut self, store: &Store, row: ResultRow, wanted: &Wanted) -> bool {
        if row.verb == "run" {
            let Some(wall_ns) = row.wall_ns else { return false };
            self.rows.push(TrendRow {
                side: None,
                runs: 1,
                median_ns: wall_ns,
                interval_ns: None,
                ..of_row(&row)
            });
            return true;
        }
        let read = store.json(&row).ok();
        let read = read.and_then(|json| serde_json::from_slice::<ComparedSides>(&json).ok());
        let Some(compared) = read else {
            self.left_out.unreadable += 1;
            return false;
        };
        let sides: Vec<_> =
            compared.commands.iter().enumerate().filter(|(_, side)| wanted.is_side(side)).collect();
        if compared.settings.on != Figure::Wall {
            self.left_out.other_figure += u64::from(!sides.is_empty());
            return false;
        }
        let before = self.rows.len();
        // All are put the other way round in the end.
        for (place, side) in sides.into_iter().rev() {
            match &side.figure {
                None => self.left_out.without_runs += 1,
                Some(figure) => self.rows.push(TrendRow {
                    side: Some(TrendSide {
                        place: place as u32,
                        name: side.name.clone(),
                        parameters: side.parameters.clone(),
                    }),
                    runs: side.runs,
                    median_ns: whole(figure.median),
                    interval_ns: Some(TrendInterval { lo: whole(figure.lo), hi: whole(figure.hi) }),
                    ..of_row(&row)
                }),
            }
        }
        self.rows.len() > before
    }
}

/// Whole nanoseconds.
fn whole(ns: f64) -> u64 {
    ns.max(0.0).round() as u64
}

fn of_row(row: &ResultRow) -> TrendRow {
    TrendRow {
        id: row.id.clone(),
        at: rfc3339(row.at_s),
        verb: row.verb.clone(),
        side: None,
        host: row.host.clone(),
        kernel: row.kernel.clone(),
        runs: 0,
        median_ns: 0,
        interval_ns: None,
    }
}

/// The command that is wanted: its words, however they are quoted.
struct Wanted<'a> {
    text: &'a str,
    words: Option<Vec<String>>,
}

impl<'a> Wanted<'a> {
    fn of(text: &'a str) -> Self {
        Self { text, words: shlex::split(text) }
    }

    fn is(&self, text: &str) -> bool {
        text == self.text || (self.words.is_some() && shlex::split(text) == self.words)
    }

    /// Whether a row may have a figure of the command: that of a comparison has the names of all
    /// commands, as far as there is room.
    fn may_be(&self, row: &ResultRow) -> bool {
        match row.verb.as_str() {
            "run" => self.is(&row.command),
            "compare" => match shlex::split(&row.command) {
                Some(names) => {
                    names.iter().any(|name| self.is(name) || self.is(unmade(name)) || name.ends_with('…'))
                }
                None => true,
            },
            _ => false,
        }
    }

    /// Whether a side is of the command: by its name without the parameters that it was made with.
    fn is_side(&self, side: &ComparedCommand) -> bool {
        let made = !side.parameters.is_empty();
        self.is(&side.name) || (made && self.is(unmade(&side.name)))
    }
}

/// A name without its parameters: `./prog` of `./prog (rev=main)`.
fn unmade(name: &str) -> &str {
    let made = name.ends_with(')').then(|| name.rfind(" (")).flatten();
    made.map_or(name, |at| &name[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(verb: &str, command: &str) -> ResultRow {
        ResultRow { verb: verb.to_owned(), command: command.to_owned(), ..ResultRow::default() }
    }

    #[test]
    fn a_command_is_found_by_its_words_however_they_are_quoted() {
        let wanted = Wanted::of("sh -c 'sleep 1'");
        assert!(wanted.may_be(&row("run", "sh -c 'sleep 1'")));
        assert!(wanted.may_be(&row("run", "sh -c \"sleep 1\"")));
        assert!(!wanted.may_be(&row("run", "sh -c 'sleep 1' x")) && !wanted.may_be(&row("run", "sh")));
        assert!(!wanted.may_be(&row("attach", "sh -c 'sleep 1'")));
        // What is no line of a shell is itself.
        assert!(Wanted::of("it's").may_be(&row("run", "it's")));
        assert!(!Wanted::of("it's").may_be(&row("run", "that's")));
    }

    #[test]
    fn a_side_of_a_comparison_is_found_without_its_parameters() {
        let wanted = Wanted::of("./prog x");
        for found in ["'./prog x' true", "'true' './prog x (rev=main)'", "'./prog y…"] {
            assert!(wanted.may_be(&row("compare", found)), "{found}");
        }
        assert!(!wanted.may_be(&row("compare", "'./prog xy' './prog'")));
        assert_eq!(unmade("./prog x (rev=main, n=2)"), "./prog x");
        assert_eq!(unmade("(a) b"), "(a) b");
    }

    /// A comparison of these commands, as far as a trend reads it.
    fn comparison(on: &str, commands: &[(&str, Option<f64>)]) -> Vec<u8> {
        let command = |(name, median): &(&str, Option<f64>)| {
            let figure = median.map(|ns| serde_json::json!({ "median": ns, "lo": ns - 1.0, "hi": ns + 2.4 }));
            let rev = name.contains("(rev=").then_some(["rev", "main"]);
            serde_json::json!({
                "name": name, "command": ["./prog"], "parameters": rev.into_iter().collect::<Vec<_>>(),
                "runs": 9, "failed": 0, "figure": figure, "range": null, "user_ns": 0, "kernel_ns": 0,
                "memory_bytes": 0, "memory_at_most": false, "faults": 0,
            })
        };
        let settings = serde_json::json!({
            "on": on, "metric": null, "margin": 0.01, "alpha": 0.05, "pairs": null, "for_ns": null,
            "shell": null, "seed": 1,
        });
        let commands: Vec<_> = commands.iter().map(command).collect();
        serde_json::json!({ "settings": settings, "commands": commands }).to_string().into_bytes()
    }

    /// A store with these results, the oldest first: verb, command, wall clock, JSON.
    fn store(results: &[(&str, &str, u64, Vec<u8>)]) -> (tempfile::TempDir, Store) {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("results.sqlite");
        let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
        let mut store = Store::open(&path, sys::user::effective_uid(), true, until).unwrap();
        for (at, (verb, command, wall_ns, json)) in results.iter().enumerate() {
            let new = store::results::NewResult {
                verb: (*verb).to_owned(),
                command: (*command).to_owned(),
                host: format!("host{}", at / 3),
                at_s: 1000 * at as u64,
                wall_ns: Some(*wall_ns),
                json: json.clone(),
                ..Default::default()
            };
            store.put(&new).unwrap();
        }
        (top, store)
    }

    #[test]
    fn runs_and_sides_of_comparisons_are_figures_the_oldest_first() {
        let both = [("./prog (rev=main)", Some(50.0)), ("./prog (rev=other)", Some(70.0))];
        let (_top, store) = store(&[
            ("run", "./prog", 10, b"{}".to_vec()),
            ("run", "./prog x", 11, b"{}".to_vec()),
            ("compare", "'./prog (rev=main)' './prog (rev=other)'", 12, comparison("wall", &both)),
            ("compare", "true ./prog", 13, comparison("wall", &[("true", Some(1.0)), ("./prog", None)])),
            ("compare", "./prog", 14, comparison("memory", &[("./prog", Some(1.0))])),
            ("compare", "./prog", 15, b"{}".to_vec()),
            ("attach", "./prog", 16, b"{}".to_vec()),
            ("run", "./prog", 17, b"{}".to_vec()),
        ]);
        let all = |most| gathered(&store, "./prog", &Filter::default(), most).unwrap();
        let found = all(usize::MAX);
        let figures: Vec<_> = found.trend.results.iter().map(|row| (row.median_ns, row.runs)).collect();
        assert_eq!(figures, [(10, 1), (50, 9), (70, 9), (17, 1)]);
        let [first, main, other, last] = &found.trend.results[..] else { panic!("{found:?}") };
        assert_eq!((first.at.as_str(), first.host.as_str()), ("1970-01-01T00:00:00Z", "host0"));
        assert_eq!(last.host, "host2");
        assert_eq!(main.interval_ns, Some(TrendInterval { lo: 49, hi: 52 }));
        let side = |row: &TrendRow| row.side.as_ref().map(|side| (side.place, side.parameters.len()));
        assert_eq!((side(main), side(other), side(last)), (Some((0, 1)), Some((1, 1)), None));
        assert_eq!(found.trend.left_out, LeftOut { other_figure: 1, without_runs: 1, unreadable: 1 });
        assert!(!found.trend.more && found.near.is_empty());
        // The newest ones; which are still in order.
        let newest = all(2).trend;
        let figures: Vec<_> = newest.results.iter().map(|row| row.median_ns).collect();
        assert_eq!((figures, newest.more), (vec![50, 70, 17], true));
    }

    #[test]
    fn where_there_is_none_commands_are_named_that_are_nearly_so() {
        let (_top, store) = store(&[("run", "./program x", 10, b"{}".to_vec())]);
        let found = gathered(&store, "./progam x", &Filter::default(), 20).unwrap();
        assert!(found.trend.results.is_empty());
        assert_eq!(found.near, ["./program x"]);
    }
}
