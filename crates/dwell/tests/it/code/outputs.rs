//! The same stacks in every form, kept or not, at the rate that was asked for, and from every
//! source that has them.

use crate::support::kit::{Code, c, coded_by, done, folded, hold_code};
use crate::support::{self, alone, fresh, utf8};
use serde_json::Value;
use std::process::Command;

fn read(path: &std::path::Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    std::fs::remove_file(path).expect("the file can be removed");
    text
}

/// Sum of the weights of a speedscope profile that stands for all threads, and of the others.
fn speedscope(text: &str) -> (u64, u64) {
    let file: Value = serde_json::from_str(text).expect("speedscope's file is JSON");
    assert_eq!(file["$schema"], "https://www.speedscope.app/file-format-schema.json");
    let frames = file["shared"]["frames"].as_array().expect("frames").len() as u64;
    let mut sums = Vec::new();
    for profile in file["profiles"].as_array().expect("profiles") {
        assert_eq!((&profile["type"], &profile["unit"]), (&"sampled".into(), &"nanoseconds".into()));
        let (samples, weights) =
            (profile["samples"].as_array().unwrap(), profile["weights"].as_array().unwrap());
        assert_eq!(samples.len(), weights.len());
        let known =
            |stack: &Value| stack.as_array().unwrap().iter().all(|frame| frame.as_u64().unwrap() < frames);
        assert!(samples.iter().all(known), "a stack leads through a frame that is not there");
        let sum: u64 = weights.iter().map(|weight| weight.as_u64().unwrap()).sum();
        assert_eq!(profile["endValue"].as_u64().unwrap() - profile["startValue"].as_u64().unwrap(), sum);
        sums.push(sum);
    }
    (sums[0], sums[1..].iter().sum())
}

/// Sum of the weights of a Firefox profile's samples, in ns: they are of all threads.
fn firefox(text: &str) -> f64 {
    let file: Value = serde_json::from_str(text).expect("Firefox's file is JSON");
    assert!(file["meta"]["preprocessedProfileVersion"].as_u64().is_some(), "{}", file["meta"]);
    let stacks = file["shared"]["stackTable"]["length"].as_u64().expect("the table of stacks has a length");
    let mut sum = 0.0;
    for thread in file["threads"].as_array().expect("threads") {
        let samples = &thread["samples"];
        let weights = samples["weight"].as_array().expect("weights");
        assert_eq!(samples["length"].as_u64(), Some(weights.len() as u64));
        for (stack, weight) in samples["stack"].as_array().unwrap().iter().zip(weights) {
            assert!(stack.is_null() || stack.as_u64().is_some_and(|stack| stack < stacks));
            sum += weight.as_f64().unwrap();
        }
    }
    sum * 1e6
}

#[test]
fn all_forms_have_the_same_time_and_a_kept_recording_gives_them_again() {
    let _alone = alone();
    let program = c("waits");
    let names = ["json", "folded", "firefox", "speedscope"];
    let files = |of: &str| names.map(|name| fresh(&format!("{of}.{name}")));
    let options = |files: &[std::path::PathBuf; 4]| -> Vec<String> {
        names
            .iter()
            .zip(files)
            .flat_map(|(name, file)| [format!("--{name}"), utf8(file).to_owned()])
            .collect()
    };
    let (live, kept, recording) = (files("live"), files("kept"), fresh("kept.dwell"));
    let mut run = Command::new(support::dwell());
    run.args(["run", "-q", "--keep", utf8(&recording)]).args(options(&live)).args(["--", utf8(&program)]);
    done(&mut run);
    let mut show = Command::new(support::dwell());
    show.args(["show", utf8(&recording), "-o", "/dev/null"]).args(options(&kept));
    done(&mut show);
    std::fs::remove_file(recording).expect("the recording can be removed");
    let (live, kept) = (live.map(|path| read(&path)), kept.map(|path| read(&path)));
    for (name, (live, kept)) in names.iter().zip(live.iter().zip(&kept)) {
        assert!(live == kept, "{name} of the kept recording differs");
    }
    let sum: u64 = folded(&live[1]).iter().map(|stack| stack.ns).sum();
    assert!(sum > 700_000_000, "the program waits longer than {sum} ns");
    let (all, threads) = speedscope(&live[3]);
    assert_eq!((all, threads), (sum, sum), "speedscope");
    let off = (firefox(&live[2]) - sum as f64).abs();
    assert!(off < 1e-3 * sum as f64, "the Firefox profile is off by {off} ns of {sum}");
}

#[test]
fn samples_come_at_the_rate_that_was_asked_for() {
    let spin = ["timeout", "1", "sh", "-c", "while :; do :; done"];
    for rate in [199.0, 999.0] {
        hold_code(&["--rate", &rate.to_string()], &spin, |told, code, claims| {
            let samples: u64 = code.functions().iter().map(|(_, row)| row.samples).sum();
            let cpu = ["user_ns", "kernel_ns"].map(|part| told.run[part].as_f64().unwrap_or(0.0));
            let want = rate * cpu.iter().sum::<f64>() * 1e-9;
            let so = (samples as f64 - want).abs() <= 0.15 * want + 3.0;
            claims.that(so, format!("{samples} samples, not {want:.0}"));
        });
    }
}

fn knows_shares(told: &support::Told, code: &Code) -> Vec<String> {
    let truth = told.truth("shares");
    let mut wrong = Vec::new();
    for name in ["add_up", "multiply", "divide"] {
        let want = truth.ns(name) as f64 / truth.ns("all") as f64;
        let got = code.share(|s| s.chain(&["main", "outer", "middle", "innermost", name]));
        if (got - want).abs() > 0.08 {
            wrong.push(format!("{name} is {got:.3}, not {want:.3}"));
        }
        let of_lines = code.lines().into_iter().filter(|l| l.0.ends_with("shares.c") && l.2 == name);
        let lines: f64 = of_lines.map(|l| l.4.share).sum();
        if (lines - got).abs() > 0.05 {
            wrong.push(format!("lines of {name} are {lines:.3} of {got:.3}"));
        }
    }
    wrong
}

/// Without BPF some claims about the account are weaker, so only the code is judged.
fn knows_shares_in_one_of_three(run: impl Fn() -> (support::Told, Code)) {
    let _alone = alone();
    let mut wrong = Vec::new();
    for _ in 0..3 {
        let (told, code) = run();
        wrong = knows_shares(&told, &code);
        if wrong.is_empty() {
            return;
        }
        wrong.push(code.describe());
    }
    panic!("{}", wrong.join("\n"));
}

#[test]
fn perf_events_alone_have_functions_and_lines() {
    let program = c("shares");
    let run = || crate::support::kit::coded(&["--source", "perf"], &[utf8(&program)]);
    knows_shares_in_one_of_three(run);
}

#[test]
fn an_ordinary_user_has_functions_and_lines_too() {
    use std::os::unix::fs::PermissionsExt;
    let dir = std::env::temp_dir().join(format!("dwell-code-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory");
    for (from, to) in [(support::dwell(), "dwell"), (utf8(&c("shares")), "shares")] {
        std::fs::copy(from, dir.join(to)).expect("a copy");
        std::fs::set_permissions(dir.join(to), PermissionsExt::from_mode(0o755)).expect("a mode");
    }
    std::fs::set_permissions(&dir, PermissionsExt::from_mode(0o777)).expect("a mode");
    let run = || {
        let (json, folded) = (dir.join("run.json"), dir.join("folded"));
        let mut launcher = Command::new("setpriv");
        launcher.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(dir.join("dwell"));
        launcher
            .args(["run", "-v", "--json", utf8(&json), "--folded", utf8(&folded), "--"])
            .arg(dir.join("shares"));
        let output = launcher.current_dir("/").output().expect("setpriv starts");
        let page = String::from_utf8_lossy(&output.stderr).into_owned();
        let json = std::fs::read_to_string(&json).unwrap_or_else(|error| panic!("{error}: {page}"));
        let run: Value = serde_json::from_str(&json).expect("JSON");
        let code = Code::new(&run, std::fs::read_to_string(&folded).expect("folded stacks"));
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        (support::Told { run, page, out, code: output.status.code() }, code)
    };
    knows_shares_in_one_of_three(run);
    std::fs::remove_dir_all(&dir).expect("the directory can be removed");
}

#[test]
fn looks_alone_say_that_they_see_no_code() {
    let looks = || {
        let mut launcher = Command::new("timeout");
        coded_by(launcher.args(["60", support::dwell()]), &["--source", "proc"], &["sleep", "0.1"])
    };
    let _alone = alone();
    let (told, code) = looks();
    assert!(told.run["functions"]["unseen"].is_string() && told.run["lines"]["unseen"].is_string());
    assert_eq!(code.text, "");
}
