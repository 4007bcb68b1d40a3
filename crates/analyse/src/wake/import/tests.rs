//! Reads real output of the tools: `crates/analyse/tests/data/wake/`.

use super::*;
use crate::compare::wakes as compare;

macro_rules! sample {
    ($name:literal) => {
        include_str!(concat!("../../../tests/data/wake/", $name))
    };
}

fn of(text: &str) -> Comparable {
    import(text).unwrap_or_else(|error| panic!("{error}"))
}

fn all(text: &str) -> Wakes {
    of(text).cases.remove(0).all
}

fn setting_of<'a>(settings: &'a [SettingText], what: &str) -> Option<&'a str> {
    settings.iter().find(|one| one.what == what).map(|one| one.value.as_str())
}

#[test]
fn all_of_cyclictests_json_is_read() {
    let found = of(sample!("cyclictest.json"));
    let value: Value = serde_json::from_str(sample!("cyclictest.json")).unwrap();
    assert_eq!((found.origin.host.as_str(), found.origin.kernel.as_str()), ("board", "6.18.44"));
    assert!(found.origin.started_at.starts_with("2026-11-21T2"), "{}", found.origin.started_at);
    assert_eq!(setting_of(&found.settings, "architecture"), Some("x86_64"));
    assert_eq!(setting_of(&found.cases[0].settings, "interval"), Some("1.00 ms"));
    for (at, wakes) in found.cases[0].threads.iter().enumerate() {
        let thread = &value["thread"][at.to_string()];
        assert_eq!(wakes.cycles, thread["cycles"].as_u64().unwrap());
        assert_eq!(wakes.max_ns, Seen::Value(thread["max"].as_u64().unwrap() * 1_000));
        assert_eq!(wakes.histogram.iter().map(|bin| bin.count).sum::<u64>(), wakes.cycles);
        // Its histogram ends at 59 us; what is later is in one bin.
        assert_eq!(wakes.histogram.last().unwrap().from_ns, 60_000);
        assert!(matches!(wakes.missed, Seen::Unseen(_)) && matches!(wakes.cpu_per_cycle_ns, Seen::Unseen(_)));
    }
}

#[test]
fn what_a_mail_made_of_a_result_is_read_as_well() {
    for text in [sample!("cyclictest.json"), CYCLICTEST_Q] {
        let plain = of(text).cases.remove(0).all;
        let each = |mark: &str| text.lines().map(|line| format!("{mark}{line}\n")).collect::<String>();
        let mail = format!("Hello,\n\non 7 November X wrote:\n{}\n\nBest\n", each("> "));
        let deeper = mail.lines().map(|line| format!("> {line}\n")).collect::<String>();
        for written in [each("    "), each("> "), each(">"), mail, deeper] {
            assert_eq!(all(&written), plain, "{written}");
        }
    }
}

const CYCLICTEST_Q: &str =
    "T: 0 ( 1911) P:80 I:1000 C:    800 Min:      9 Act:   29 Avg:   24 Max:      75\n";

#[test]
fn each_wake_up_of_a_verbose_cyclictest_counts() {
    let text = "Max CPUs = 2\nThread 0 Interval: 1000\n       0:       0:       7\n       0:       1:       9\n\
                       1:       0:      12\n";
    let found = all(text);
    assert_eq!((found.cycles, found.max_ns), (3, Seen::Value(12_000)));
    assert!(import("12:30:05 up 3 days\n").is_err());
}

#[test]
fn an_unescaped_command_line_is_read_and_other_broken_json_refused_with_its_line() {
    let text = sample!("cyclictest-unescaped.json");
    assert!(serde_json::from_str::<Value>(text).is_err());
    let found = of(text);
    assert_eq!(found.cases[0].all.cycles, 300);
    assert!(found.limits.iter().any(|limit| limit.contains("q\"x.json")), "{:?}", found.limits);
    let error = import("{\n \"thread\": {\n oops\n}").unwrap_err();
    assert!(error.to_string().starts_with("line 3: not JSON"), "{error}");
}

#[test]
fn without_a_histogram_there_are_no_percentiles() {
    for text in [sample!("cyclictest-plain.json"), sample!("cyclictest-quiet.txt")] {
        let wakes = all(text);
        assert_eq!(wakes.p50_ns, Seen::unseen("cyclictest kept no histogram"));
        assert!(wakes.max_ns.value().is_some() && wakes.avg_ns.value().is_some() && wakes.cycles > 1_000);
    }
    let quiet = of(sample!("cyclictest-quiet.txt"));
    // The threads have intervals of their own: -t2 puts 500 us between them.
    assert_eq!(setting_of(&quiet.cases[0].settings, "interval"), None);
    assert_eq!(setting_of(&quiet.cases[0].settings, "priority"), Some("80"));
    assert_eq!(quiet.cases[0].threads[1].max_ns, Seen::Value(1_573_000));
}

#[test]
fn a_histograms_text_has_its_overflows_counted() {
    let found = of(sample!("cyclictest-histogram.txt"));
    let threads = &found.cases[0].threads;
    assert_eq!(threads.len(), 2);
    for (wakes, (over, max_us)) in threads.iter().zip([(26, 3_085), (36, 1_764)]) {
        let last = wakes.histogram.last().unwrap();
        assert_eq!((last.from_ns, last.to_ns, last.count), (60_000, max_us * 1_000 + 1, over));
        assert_eq!(wakes.cycles, wakes.histogram.iter().map(|bin| bin.count).sum::<u64>());
        assert!(wakes.p50_ns.value().is_some_and(|ns| *ns < 60_000));
        assert_eq!(wakes.p99_ns, Seen::unseen("beyond the histogram, which ends at 60.0 us"));
    }
    let one = all(sample!("cyclictest-histfile.txt"));
    assert_eq!((one.cycles, &one.max_ns), (500, &Seen::Value(795_000)));
    assert_eq!(found.cases[0].all.cycles, threads.iter().map(|wakes| wakes.cycles).sum::<u64>());
}

#[test]
fn nanoseconds_show_only_in_the_width_of_columns() {
    let nsecs = of(sample!("cyclictest-nsecs.txt"));
    assert_eq!(nsecs.cases[0].threads[0].max_ns, Seen::Value(3_990_672));
    assert_eq!(nsecs.limits, [""; 0]);
    let quiet = of(sample!("cyclictest-quiet.txt"));
    assert_eq!(quiet.limits, [whole_microseconds()]);
    // A histogram does not show the unit, unless threads' lines are above it.
    let bare = sample!("cyclictest-histogram.txt");
    assert!(of(bare).limits[0].contains("the text does not show the unit"), "{:?}", of(bare).limits);
    let above = of(&format!("{}{bare}", sample!("cyclictest-nsecs.txt")));
    assert_eq!((above.limits.len(), &above.cases[0].threads[0].max_ns), (0, &Seen::Value(3_085)));
    assert_eq!(above.cases[0].threads[0].histogram.last().unwrap().from_ns, 60);
}

#[test]
fn a_column_of_all_threads_together_is_no_thread() {
    let found = of(sample!("cyclictest-histofall.txt"));
    let threads = &found.cases[0].threads;
    let read: Vec<_> = threads.iter().map(|one| (one.cycles, one.max_ns.value().copied())).collect();
    assert_eq!(read, [(200, Some(7_328_000)), (200, Some(1_221_000))]);
    // Later versions have one for a single thread too, and none in the total of it.
    let one = of("# Histogram\n000005 000200\t000200\n# Total: 000000200\n# Min Latencies: 00005\n\
        # Avg Latencies: 00005\n# Max Latencies: 00005\n# Histogram Overflows: 00000\n");
    assert_eq!((one.cases[0].threads.len(), one.cases[0].all.cycles), (1, 200));
}

#[test]
fn a_histogram_without_rows_has_all_beyond_it() {
    let found = of("# Histogram\n# Min Latencies: 00072\n# Avg Latencies: 00144\n# Max Latencies: 08505\n\
        # Histogram Overflows: 00200\n");
    let all = &found.cases[0].all;
    assert_eq!((all.cycles, &all.max_ns), (200, &Seen::Value(8_505_000)));
    assert!(matches!(all.p50_ns, Seen::Unseen(_)), "{:?}", all.p50_ns);
}

#[test]
fn numbers_without_end_are_read_or_refused_and_compared() {
    let greatest = |text: &str| {
        let mut made = String::new();
        for part in text.split_inclusive(|c: char| !c.is_ascii_digit()) {
            let digits = part.trim_end_matches(|c: char| !c.is_ascii_digit());
            made += if digits.len() > 2 { "18446744073709551615" } else { digits };
            made += &part[digits.len()..];
        }
        made
    };
    let texts = [
        sample!("cyclictest-histogram.txt"),
        sample!("cyclictest-quiet.txt"),
        sample!("cyclictest-plain.json"),
        sample!("rtla-timerlat-hist.txt"),
        sample!("rtla-osnoise-hist.txt"),
        sample!("rtla-timerlat-top.txt"),
        sample!("jitterdebugger.json"),
    ];
    let read: Vec<Comparable> = texts.iter().filter_map(|text| import(&greatest(text)).ok()).collect();
    assert!(read.len() >= 5, "{} of {} were read", read.len(), texts.len());
    let quiet = of(sample!("cyclictest-quiet.txt"));
    for one in &read {
        for (a, b) in [(one, one), (one, &quiet), (&quiet, one)] {
            assert_eq!(compare(a, b).cases.len(), 1);
        }
    }
}

#[test]
fn a_histogram_that_was_cut_is_refused() {
    let text = sample!("cyclictest-histogram.txt");
    let cut = &text[..text.find("# Min").unwrap()];
    assert_eq!(
        import(cut).unwrap_err(),
        Error::Whole("the summary below the histogram is missing: the text is cut off".into())
    );
    let odd = text.replacen("000001 000000\t000000", "000001 000000", 1);
    assert_ne!(odd, text);
    let error = import(&odd).unwrap_err().to_string();
    assert!(error.ends_with("figures of 1 threads, expected 2"), "{error}");
}

#[test]
fn values_beyond_jitterdebuggers_histogram_are_counted() {
    let found = of(sample!("jitterdebugger.json"));
    let first = &found.cases[0].threads[0];
    assert_eq!((first.cpu, first.cycles), (Some(0), 2_000));
    let last = first.histogram.last().unwrap();
    assert_eq!((last.from_ns, last.to_ns, last.count), (18_000, 1_203_001, 1));
    assert_eq!(found.cases[0].all.max_ns, Seen::Value(1_203_000));
    assert_eq!(found.cases[0].all.p50_ns, Seen::Value(3_499));
    assert_eq!(setting_of(&found.settings, "kernel"), Some("5.15.49-rt47"));
}

#[test]
fn timerlats_threads_are_read_and_its_sums_are_not() {
    let found = of(sample!("rtla-timerlat-hist.txt"));
    let threads = &found.cases[0].threads;
    let read: Vec<_> = threads.iter().map(|one| (one.cpu, one.cycles, one.max_ns.value().copied())).collect();
    assert_eq!(read, [(Some(0), 10_000, Some(2_411_000)), (Some(2), 10_000, Some(44_000))]);
    // Buckets of 5 us, the overflow behind the last.
    let bins: Vec<_> = threads[0].histogram.iter().map(|bin| (bin.from_ns, bin.to_ns, bin.count)).collect();
    assert_eq!(bins[..2], [(5_000, 10_000, 9_000), (10_000, 15_000, 900)]);
    assert_eq!(bins[3], (45_000, 2_411_001, 5));
    let noise = of(sample!("rtla-osnoise-hist.txt"));
    assert_eq!(noise.origin.tool, "rtla osnoise");
    let threads = &noise.cases[0].threads;
    assert_eq!((&threads[0].max_ns, &threads[0].avg_ns), (&Seen::Value(90_000), &Seen::Value(2_550)));
    assert_eq!((threads[0].cycles, threads[1].cycles), (60, 60));
    for said in ["rounded down", "12 (0.01%) events missed"] {
        assert!(noise.limits.iter().any(|limit| limit.contains(said)), "{:?}", noise.limits);
    }
}

#[test]
fn of_a_repeated_table_the_last_counts() {
    let wakes = all(sample!("rtla-timerlat-top.txt"));
    assert_eq!(
        (wakes.cycles, &wakes.min_ns, &wakes.max_ns),
        (19_999, &Seen::Value(3_000), &Seen::Value(41_000))
    );
    assert!(matches!(wakes.p99_ns, Seen::Unseen(_)));
}

#[test]
fn an_unknown_text_is_refused() {
    for text in ["", "hello\n", "{\"a\": 1}"] {
        assert_eq!(import(text).unwrap_err(), Error::Unknown, "{text:?}");
    }
    assert_eq!(import("# Histogram\n").unwrap_err(), Error::Whole("no wake-up in it".into()));
    let two = "# RTLA osnoise histogram\nIndex CPU-000\n0 1\nIndex CPU-000 CPU-001\n0 1 1\n";
    assert!(import(two).unwrap_err().to_string().contains("a second line begins with Index"));
    // Behind the sums of all CPUs as well.
    let one = sample!("rtla-timerlat-hist.txt");
    assert!(import(&one.repeat(2)).unwrap_err().to_string().contains("a second line begins with Index"));
    let odd = import(&one.replace("9500", "many")).unwrap_err();
    assert_eq!(odd, Error::Line { line: 5, why: "\"many\" is not a whole number".into() });
}

#[test]
fn two_tools_can_be_compared_and_unreported_settings_are_listed() {
    let (a, b) = (of(sample!("rtla-timerlat-hist.txt")), of(sample!("cyclictest.json")));
    let found = compare(&a, &b);
    assert_eq!(
        (found.cases.len(), found.a.tool.as_str(), found.b.tool.as_str()),
        (1, "rtla timerlat", "cyclictest")
    );
    let notes = &found.cases[0].notes;
    assert!(notes.iter().any(|note| note.starts_with("A does not report: interval")), "{notes:?}");
    let same = compare(&b, &b);
    assert_eq!((same.differences.len(), same.cases[0].maxima.beyond), (0, 0));
}

proptest::proptest! {
    /// Any text is read or refused.
    #[test]
    fn no_text_stops_it(cut in 0_usize..2_000, junk in "[0-9a-z:#|\\- \n\t]{0,40}", which in 0_usize..5) {
        let texts = [
            sample!("cyclictest-histogram.txt"),
            sample!("cyclictest.json"),
            sample!("rtla-timerlat-hist.txt"),
            sample!("rtla-timerlat-top.txt"),
            sample!("jitterdebugger.json"),
        ];
        let text = texts[which];
        let at = cut.min(text.len());
        let _ = import(&format!("{}{junk}{}", &text[..at], &text[at..]));
    }
}
