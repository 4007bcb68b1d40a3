//! Pages, pictures and JSON of wake-ups, sheets and their comparisons: against golden files,
//! against the schemas, and against what must hold for every page.
//!
//! `BLESS=1 cargo test -p dwell-report` writes the golden files anew; review them as a diff.

// Samples, golden files and the schemas are read here, by the tests, not by the crate.
#![allow(clippy::disallowed_methods)]

use crate::support::{beside, check_golden, check_lines, close, errors, schema};
use crate::wakes;
use crate::wakes::{HOSTILE, board, diff, gap, odd, sheet, sheet_diff, vm};
use ::png as png_crate;
use dwell_report::Look;
use dwell_report::compare::{wakes, wakes_png, wakes_screen, wakes_svg};
use dwell_report::json;
use dwell_report::units::{count, duration};
use dwell_report::wake::{png, screen, sheet_png, sheet_svg, sheet_terminal, svg, terminal};
use jsonschema::Validator;
use model::compare::wake::{CaseName, WakeComparison};
use model::wake::sheet::Sheet;
use model::wake::spike::Cause;
use model::wake::{Policy, Wakeups};
use model::{Ns, Seen};
use serde_json::{Value, json as literal};
use std::sync::LazyLock;

const PLAIN: Look = Look { width: 80, colour: false, unicode: true, height: Look::HEIGHT };

/// Made once: their distributions take a while.
static SAMPLES: LazyLock<Vec<(&str, Wakeups)>> = LazyLock::new(|| {
    let mut samples = wakes::all().to_vec();
    samples.push(("real", real()));
    samples
});
static SHEETS: LazyLock<[(&str, Sheet); 3]> =
    LazyLock::new(|| [("sheet", sheet(5)), ("sheet-partial", sheet(2)), ("sheet-empty", sheet(0))]);
static DIFFS: LazyLock<[(&str, WakeComparison); 3]> = LazyLock::new(wakes::diffs);

/// All pages that there are, at a width.
fn pages(look: Look) -> Vec<(&'static str, String)> {
    let mut pages: Vec<_> = SAMPLES.iter().map(|(name, wakeups)| (*name, terminal(wakeups, look))).collect();
    pages.extend(SHEETS.iter().map(|(name, sheet)| (*name, sheet_terminal(sheet, look, None))));
    pages.extend(DIFFS.iter().map(|(name, diff)| (*name, wakes(diff, look))));
    pages
}

/// What `dwell wake --deadline 125us --json` wrote on a virtual machine with two CPUs while they
/// compiled.
fn real() -> Wakeups {
    let text = std::fs::read_to_string(beside("samples/wakes/vm.json")).expect("the sample can be read");
    serde_json::from_str(&text).expect("the sample is of wake-ups")
}

#[test]
fn memory_is_locked_in_part_or_unknown_where_that_is_so() {
    let page = |locked_bytes: Seen<u64>, locked_all| {
        let mut wakeups = board();
        for thread in &mut wakeups.settings.in_force {
            (thread.locked_bytes, thread.locked_all) = (locked_bytes.clone(), Seen::Value(locked_all));
        }
        terminal(&wakeups, Look { width: 120, ..PLAIN }).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let unseen = || Seen::unseen("masked");
    assert!(page(Seen::Value(4096), false).contains(", memory locked in part,"));
    assert!(page(Seen::Value(0), false).contains(", memory not locked,"));
    assert!(page(unseen(), true).contains(", memory locked,"));
    assert!(page(unseen(), false).contains(", memory locking unknown,"));
}

#[test]
fn pages_are_as_they_were() {
    for width in [80, 120] {
        for (name, page) in pages(Look { width, ..PLAIN }) {
            check_golden(&format!("wake-{name}-{width}.txt"), &page);
        }
    }
    check_golden("wake-board-40.txt", &terminal(&board(), Look { width: 40, ..PLAIN }));
    check_golden("wake-vm-ascii-100.txt", &terminal(&vm(), Look { width: 100, unicode: false, ..PLAIN }));
    let coloured = terminal(&vm(), Look { colour: true, ..PLAIN });
    check_golden("wake-vm-colour-80.txt", &coloured.replace('\x1b', "\\e"));
}

#[test]
fn on_a_screen_the_table_and_the_histogram_come_before_settings_and_caveats() {
    for (name, wakeups) in &*SAMPLES {
        let page = screen(wakeups, PLAIN);
        assert!(page.lines().count() <= 28, "{name}\n{page}");
        let whole = terminal(wakeups, PLAIN);
        assert_eq!(page.lines().next(), whole.lines().next(), "{name}");
        assert!(page == whole || page.contains("\n-v: "), "{name}\n{page}");
    }
    check_golden("wake-screen-80.txt", &screen(&board(), PLAIN));
}

#[test]
fn no_line_is_wider_than_the_terminal_and_nothing_is_left_to_obey() {
    for width in (40..=124).step_by(4) {
        for unicode in [true, false] {
            let look = Look { width, colour: false, unicode, height: Look::HEIGHT };
            for (name, page) in pages(look) {
                check_lines(name, &page, look);
            }
        }
    }
}

/// The page as one line: sentences may be broken anywhere.
fn said(page: &str) -> String {
    page.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_first_sentence_has_the_result_and_the_second_its_cause() {
    let says = |wakeups: &Wakeups, sentence: &str| {
        let page = said(&terminal(wakeups, PLAIN));
        assert!(page.contains(sentence), "{sentence}\n{page}");
    };
    let mut wakeups = board();
    let cycles = count(wakeups.all.cycles);
    says(&wakeups, &format!("maximum latency 84.0 us in {cycles} cycles on 4 CPUs; deadline 125 us"));
    says(&wakeups, "deadline 125 us less 20 % met");
    says(&wakeups, "max latency: CPU 2 at 660 s, 61.0 us of it softirq net_rx");
    // The cause of a smaller spike is not shown as that of the maximum.
    wakeups.all.max_ns = Seen::Value(97_000);
    says(&wakeups, "largest traced spike: 84.0 us on CPU 2");
    wakeups.all.missed = Seen::Value(1);
    wakeups.spikes = Seen::unseen("no BPF");
    says(&wakeups, "on 4 CPUs, 1 period missed; deadline");
    says(&wakeups, "causes of spikes unknown: no BPF");
    says(&vm(), "deadline 125 us less 20 % missed");
    says(&odd(), "met so far, undecided");
    says(&gap(), "longest gap 31.0 us in 299,970,910 readings on 1 CPU");
    says(&wakes::empty(), "no wake-up was measured");
}

#[test]
fn settings_are_those_in_force_and_what_was_asked_for_only_where_it_differs() {
    let mut wakeups = board();
    let page = said(&terminal(&wakeups, PLAIN));
    assert!(page.contains("in force: SCHED_FIFO 80, interval 200 us by clock_nanosleep"), "{page}");
    assert!(!page.contains("requested"), "{page}");
    wakeups.settings.in_force[3].policy = Policy::Fifo(2);
    let page = said(&terminal(&wakeups, PLAIN));
    let both = "SCHED_FIFO 80 on CPUs 0-2, SCHED_FIFO 2 on CPU 3 (SCHED_FIFO 80 requested)";
    assert!(page.contains(both), "{page}");
}

#[test]
fn every_cpu_has_its_figures_or_is_among_the_rest() {
    let wakeups = board();
    let page = terminal(&wakeups, Look { width: 120, ..PLAIN });
    for wakes in &wakeups.threads {
        let name = format!("  cpu {} ", wakes.cpu.unwrap());
        let line = page.lines().find(|line| line.starts_with(&name)).expect("it has a line");
        let value = |seen: &Seen<Ns>| duration(*seen.value().expect("it was seen"));
        for figure in
            [count(wakes.cycles), value(&wakes.p50_ns), value(&wakes.p9999_ns), value(&wakes.max_ns)]
        {
            assert!(line.contains(&figure), "{figure} is not in {line}");
        }
    }
    let page = terminal(&odd(), PLAIN);
    let lines = page.lines().filter(|line| line.starts_with("  cpu ")).count();
    assert!(lines == 16 && page.contains("  all 70 ") && page.contains("  cpu 69 "), "{page}");
}

#[test]
fn what_was_not_counted_is_no_zero() {
    let mut wakeups = vm();
    for wakes in wakeups.threads.iter_mut().chain([&mut wakeups.all]) {
        wakes.missed = Seen::unseen("it was not counted");
        wakes.p9999_ns = Seen::unseen("59,534 wake-ups are too few");
    }
    let page = terminal(&wakeups, PLAIN);
    let line = page.lines().find(|line| line.starts_with("  cpu 1 ")).expect("it has a line");
    let cells: Vec<&str> = line.split_whitespace().collect();
    assert_eq!((cells[2], cells[3]), ("59,534", "–"), "{line}");
    assert_eq!(line.matches('–').count(), 2, "{line}");
}

#[test]
fn every_cause_has_a_word_of_its_own() {
    let causes: Vec<Cause> =
        ["idle-exit", "interrupts-off", "steal", "interrupt", "softirq", "timer-interrupt"]
            .into_iter()
            .chain([
                "timer-slack",
                "task",
                "preemption-off",
                "switching",
                "migration",
                "stopped",
                "return-to-user",
            ])
            .chain(["unexplained"])
            .map(|name| serde_json::from_value(literal!(name)).expect(name))
            .collect();
    let mut pages = std::collections::BTreeSet::new();
    for cause in &causes {
        let mut wakeups = board();
        let Seen::Value(spikes) = &mut wakeups.spikes else { panic!("the board has spikes") };
        spikes.truncate(1);
        spikes[0].shares.truncate(1);
        (spikes[0].cause, spikes[0].who) = (*cause, None);
        (spikes[0].shares[0].cause, spikes[0].shares[0].who) = (*cause, None);
        pages.insert(terminal(&wakeups, PLAIN));
    }
    assert_eq!(pages.len(), causes.len());
    let named = schema("wake")["$defs"]["Cause"]["oneOf"].as_array().unwrap().len();
    assert_eq!(named, causes.len(), "the schema has other causes");
}

#[test]
fn a_sheet_has_the_case_with_the_maximum_and_the_cases_not_run_yet() {
    let mut whole = sheet(5);
    for at in [1, 2] {
        whole.results[at].limits.push("steal".to_owned());
    }
    whole.results[2].loads[0].limits.push("64 MiB instead of 256: the control group has no more".to_owned());
    whole.results[2].loads[0].failures.push("1 of 80 workers ended early".to_owned());
    let page = said(&sheet_terminal(&whole, PLAIN, None));
    assert!(page.contains("1 of 80 workers ended early"), "{page}");
    assert!(page.contains("maximum latency 141 us in case memory-8;"), "{page}");
    assert!(page.contains("memory-4: run 3.00 h more"), "{page}");
    assert!(
        page.contains(
            "load of memory-4: memory 1.00 MiB/s; 1 mismatch: data read back differs from data written"
        ),
        "{page}"
    );
    // A caveat of all cases is there once, one of some cases with their names; what a load could
    // not do is beside its rate.
    assert_eq!(
        (page.matches("isolcpus").count(), page.matches("was interrupted by").count()),
        (1, 5),
        "{page}"
    );
    assert!(page.contains("! memory-8: CPU 0 was interrupted by eth0 (5000)"), "{page}");
    assert!(page.contains("! sched, memory-2: steal"), "{page}");
    assert!(page.contains("64 MiB instead of 256: the control group has no more"), "{page}");
    // If a file has all caveats, only those of the worst case.
    let page = said(&sheet_terminal(&whole, PLAIN, Some("s\u{1b}[2J.json")));
    assert_eq!(page.matches("was interrupted by").count(), 1, "{page}");
    assert!(page.contains("5 caveats of other cases in s"), "{page}");
    assert!(!page.contains('\u{1b}'), "{page}");
    let page = sheet_terminal(&sheet(2), PLAIN, None);
    assert_eq!(page.matches("not run").count(), 4, "{page}");
    assert!(page.contains("3 cases not run yet"), "{page}");
    assert!(sheet_terminal(&sheet(0), PLAIN, None).starts_with("no case of the sheet was measured"));
}

#[test]
fn a_screen_has_all_percentiles_of_a_comparison() {
    let page = wakes_screen(&diff(), PLAIN);
    let has = |row: &str| page.lines().any(|line| line.trim_start().starts_with(row));
    assert!(["p50 ", "p99.99 ", "max ", "missed ", "cycles "].iter().all(|row| has(row)), "{page}");
    assert!(page.lines().count() <= 28 && page.contains("-v: histograms"), "{page}");
}

#[test]
fn a_comparison_leads_with_the_maximum() {
    let page = said(&wakes(&diff(), PLAIN));
    assert!(page.contains("B against A: lower max (84.0 us instead of 201 ms)"), "{page}");
    assert!(page.contains("differs: interval 1 ms and 200 us"), "{page}");
    assert!(page.contains("7 wake-ups of A have a higher latency than any of B"), "{page}");
    let page = said(&wakes(&sheet_diff(), PLAIN));
    assert!(page.contains("sched higher max (97.0 us instead of 62.0 us)"), "{page}");
    assert!(page.contains("only in A: memory-2"), "{page}");
    let mut called_all = sheet_diff();
    called_all.cases[1].name = CaseName::OfSheet("all".into());
    let page = said(&wakes(&called_all, PLAIN));
    assert!(page.contains("all higher max (97.0 us instead of 62.0 us)"), "{page}");
}

/// All pictures.
fn pictures() -> Vec<(&'static str, String)> {
    let mut pictures: Vec<_> = SAMPLES.iter().map(|(name, wakeups)| (*name, svg(wakeups))).collect();
    pictures.extend(SHEETS.iter().map(|(name, sheet)| (*name, sheet_svg(sheet))));
    pictures.extend(DIFFS.iter().map(|(name, diff)| (*name, wakes_svg(diff))));
    pictures
}

/// A file may say anything: it is shown, whatever that is.
#[test]
fn counts_without_end_are_shown() {
    let mut diff = diff();
    let case = &mut diff.cases[0];
    for wakes in [&mut case.a, &mut case.b] {
        wakes.cycles = u64::MAX;
        wakes.max_ns = Seen::Value(u64::MAX);
        wakes.histogram =
            vec![(1 << 40, 0, u64::MAX).into(), (5, u64::MAX, u64::MAX).into(), (7, 8, u64::MAX).into()];
    }
    let cycles = count(u64::MAX);
    assert!(wakes(&diff, PLAIN).contains(&cycles) && wakes_svg(&diff).contains(&cycles));
    assert!(!wakes_png(&diff).is_empty());
}

#[test]
fn pictures_are_as_they_were_and_nothing_in_them_is_markup_of_others() {
    check_golden("wake-board.svg", &svg(&board()));
    let mut hostile = odd();
    hostile.host.name = "</text><script>alert(1)</script>&".to_owned();
    let drawn = svg(&hostile);
    assert!(!drawn.contains("<script") && drawn.contains("&lt;script&gt;"), "{drawn}");
    for (name, svg) in pictures() {
        assert!(svg.is_ascii() && !svg.contains(|c: char| c.is_control() && c != '\n'), "{name}");
    }
}

#[test]
fn a_png_has_the_size_of_its_picture_and_ink_on_it() {
    let (name, wakeups) = &SAMPLES[0];
    let mut pictures = vec![(*name, svg(wakeups), png(wakeups))];
    pictures.extend(SHEETS.iter().take(1).map(|(name, sheet)| (*name, sheet_svg(sheet), sheet_png(sheet))));
    pictures.extend(DIFFS.iter().take(1).map(|(name, diff)| (*name, wakes_svg(diff), wakes_png(diff))));
    for (name, svg, png) in pictures {
        let mut reader =
            png_crate::Decoder::new(std::io::Cursor::new(&png)).read_info().expect("it is a PNG");
        let mut pixels = vec![0; reader.output_buffer_size().expect("it fits in memory")];
        let frame = reader.next_frame(&mut pixels).expect("it can be read");
        // Two pixels a unit.
        let size = format!("width=\"{}\" height=\"{}\"", frame.width / 2, frame.height / 2);
        assert!(svg.contains(&size), "{name}: not {size}");
        let inked = pixels.chunks(4).filter(|pixel| **pixel != [255; 4]).count();
        assert!(inked > 400, "{name}: {inked} pixels");
    }
}

#[test]
fn the_deadline_is_drawn_where_it_is_near() {
    let dashes = |wakeups: &Wakeups| svg(wakeups).matches("stroke=\"#cc0000\"").count();
    let mut wakeups = board();
    assert!(dashes(&wakeups) > 50, "{}", dashes(&wakeups));
    let deadline = wakeups.settings.asked.deadline.as_mut().expect("the board has one");
    deadline.deadline_ns = 10_000_000;
    // Only the legend's is left.
    assert!(dashes(&wakeups) < 5 && svg(&wakeups).contains("deadline 10 ms, beyond the axis"));
    wakeups.settings.asked.deadline = None;
    assert_eq!(dashes(&wakeups), 0);
}

fn validator(what: &str, closed: bool) -> Validator {
    let mut schema = schema(what);
    if closed {
        close(&mut schema);
    }
    crate::support::validator(&schema)
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("what is written can be read")
}

/// Every JSON there is, by the schema that describes it.
fn written() -> Vec<(&'static str, &'static str, String)> {
    let mut all: Vec<_> = SAMPLES.iter().map(|(name, wakeups)| ("wake", *name, json(wakeups))).collect();
    all.extend(SHEETS.iter().map(|(name, sheet)| ("wake-sheet", *name, json(sheet))));
    all.extend(DIFFS.iter().map(|(name, diff)| ("wake-diff", *name, json(diff))));
    all
}

#[test]
fn what_is_written_is_valid_and_every_field_is_described() {
    for what in ["wake", "wake-sheet", "wake-diff"] {
        let (open, closed) = (validator(what, false), validator(what, true));
        let mut seen = 0;
        for (_, name, text) in written().into_iter().filter(|(of, ..)| *of == what) {
            let mut value = parsed(&text);
            assert_eq!(errors(&closed, &value), [""; 0], "{name}");
            value["later"] = literal!({"any": ["thing"]});
            assert!(open.is_valid(&value) && !closed.is_valid(&value), "{name}: closing closed nothing");
            assert!(
                !text.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'),
                "{name} is not safe to show"
            );
            seen += 1;
        }
        assert!(seen >= 3, "{what}");
    }
}

#[test]
fn json_comes_back_as_it_was() {
    for (name, wakeups) in SAMPLES.iter() {
        assert_eq!(serde_json::from_str::<Wakeups>(&json(wakeups)).unwrap(), *wakeups, "{name}");
    }
    for (name, sheet) in SHEETS.iter() {
        assert_eq!(serde_json::from_str::<Sheet>(&json(sheet)).unwrap(), *sheet, "{name}");
    }
    for (name, diff) in DIFFS.iter() {
        assert_eq!(serde_json::from_str::<WakeComparison>(&json(diff)).unwrap(), *diff, "{name}");
    }
    assert_eq!(parsed(&json(&odd()))["host"]["name"], literal!(HOSTILE));
}

#[test]
fn what_is_broken_is_refused() {
    let refused = |what: &str, good: &str, broken: &[(&str, &str, Value)]| {
        let (validator, good) = (validator(what, false), parsed(good));
        assert!(validator.is_valid(&good));
        for (why, at, broken) in broken {
            let mut value = good.clone();
            *value.pointer_mut(at).expect(at) = broken.clone();
            assert!(!validator.is_valid(&value), "{why} was accepted at {at}");
        }
    };
    let of_wakes = [
        ("another version", "/schema", literal!("dwell.wake/2")),
        ("local time", "/started_at", literal!("2026-11-20 10:47:33")),
        ("a negative latency", "/all/max_ns", literal!(-1)),
        ("a latency in words", "/all/p50_ns", literal!("1 us")),
        ("unseen without a reason", "/all/p999999_ns", literal!({"unseen": null})),
        ("half a bin", "/all/histogram/0", literal!([1, 2])),
        ("a bin of nothing's size", "/all/histogram/0", literal!([0, 0, 7])),
        ("a policy without a priority", "/settings/in_force/0/policy", literal!("fifo")),
        ("two policies", "/settings/asked/policy", literal!({"fifo": 1, "rr": 1})),
        ("an unknown load", "/loads/0/load/kind", literal!("gpu")),
        ("a sched load without groups", "/loads/0/load", literal!({"kind": "sched"})),
        ("an unknown cause", "/spikes/0/cause", literal!("moon")),
        ("an unknown answer", "/verdict/answer", literal!("perhaps")),
        ("a margin of more than all", "/verdict/deadline/margin", literal!(1.5)),
        ("no limit of real time", "/environment/rt_runtime_us", literal!([950_000])),
    ];
    refused("wake", &json(&board()), &of_wakes);
    let of_sheets = [
        ("another version", "/schema", literal!("dwell.wake/1")),
        ("a case without a name", "/cases/0", literal!({"loads": []})),
        ("a broken result", "/results/0/all/cycles", literal!("many")),
    ];
    refused("wake-sheet", &json(&sheet(2)), &of_sheets);
    let of_diffs = [
        ("another version", "/schema", literal!("dwell.wake-diff/2")),
        ("an unknown change", "/cases/0/quantiles/0/change", literal!("nicer")),
        ("half a figure", "/cases/0/quantiles/0/a", literal!({"ns": 1})),
        ("a chance of more than one", "/cases/0/maxima/chance", literal!(1.5)),
        ("a third side", "/uncompared/0/only", literal!("c")),
    ];
    refused("wake-diff", &json(&sheet_diff()), &of_diffs);
}
