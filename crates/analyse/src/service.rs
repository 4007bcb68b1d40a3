//! The name of a program as a service: one that it also has after it was started again, and on
//! other hosts.

use model::window::targets;

/// A program that executes the script that is its argument.
struct Interpreter {
    /// Its names, without a version.
    names: &'static [&'static str],
    /// Letters of short options after which code follows, or no script at all.
    code: &'static str,
    /// Letters of short options whose value is the next word, unless it follows at once.
    value: &'static str,
    /// Options of one word with a value in the next one.
    words: &'static [&'static str],
    /// Whether the script may follow the word `run`.
    runs: bool,
}

const NONE: Interpreter = Interpreter { names: &[], code: "", value: "", words: &[], runs: false };

#[rustfmt::skip]
const INTERPRETERS: &[Interpreter] = &[
    Interpreter { names: &["bash", "dash", "ksh", "sh", "zsh"], code: "cs", value: "oO",
        words: &["--init-file", "--rcfile"], ..NONE },
    // `-m NAME` names what is executed; where it is one word, what follows does not.
    Interpreter { names: &["pypy", "python"], code: "cm", value: "WX",
        words: &["--check-hash-based-pycs"], ..NONE },
    Interpreter { names: &["perl"], code: "eE", value: "IMm", ..NONE },
    Interpreter { names: &["ruby"], code: "e", value: "CEIr", ..NONE },
    Interpreter { names: &["php"], code: "BERr", value: "Scdtz", ..NONE },
    Interpreter { names: &["lua"], code: "e", value: "l", ..NONE },
    Interpreter { names: &["Rscript"], code: "e", ..NONE },
    Interpreter { names: &["node", "nodejs"], code: "ep", value: "Cr",
        words: &["--conditions", "--experimental-loader", "--import", "--loader", "--require"], ..NONE },
    Interpreter { names: &["bun"], code: "ep", value: "cr", words: &["--config", "--cwd", "--preload"],
        runs: true },
    Interpreter { names: &["deno"], value: "c", words: &["--config", "--import-map"], runs: true, ..NONE },
    Interpreter { names: &["java"], words: &["--add-exports", "--add-modules", "--add-opens", "--class-path",
        "--module-path", "-classpath", "-cp", "-p"], ..NONE },
    Interpreter { names: &["uv"], value: "p", words: &["--directory", "--extra", "--group", "--project",
        "--python", "--with"], runs: true, ..NONE },
];

impl Interpreter {
    /// That of this name, with a version or without.
    fn of(program: &str) -> Option<&'static Self> {
        let plain = program.trim_end_matches(|char: char| char.is_ascii_digit() || matches!(char, '.' | '-'));
        INTERPRETERS.iter().find(|one| one.names.contains(&plain))
    }

    /// What follows this option, which begins with one `-` or `+`.
    fn after(&self, option: &str) -> After {
        let letters = &option[1..];
        for (at, letter) in letters.char_indices() {
            let is_last = at + 1 == letters.len();
            if self.code.contains(letter) && !(letter == 'm' && is_last) {
                return After::Code;
            }
            if self.value.contains(letter) {
                return if is_last { After::Value } else { After::Words };
            }
        }
        After::Words
    }
}

/// What follows an option.
enum After {
    /// Code, which may have secrets in it; or words that are no script.
    Code,
    /// Its value.
    Value,
    /// Other options, or the script.
    Words,
}

/// The name, from the target of a window in words ([`model::recording::AttachWindow::target`]) and
/// the command. None where both are empty.
pub fn name(target: Option<&str>, command: &[String]) -> Option<String> {
    let names = match target {
        Some(target) => {
            let parts = targets(target);
            // The command is that of the first of several.
            let command = if parts.len() == 1 { command } else { &[] };
            parts.into_iter().map(|part| of_part(part, command)).collect::<Vec<_>>()
        }
        None => vec![program(command)],
    };
    Some(names.join(",")).filter(|name| !name.is_empty())
}

fn of_part(part: &str, command: &[String]) -> String {
    let last = |path: &str| path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    if let Some(unit) = part.strip_prefix("service ") {
        return if unit.contains('.') { unit.to_owned() } else { format!("{unit}.service") };
    }
    if let Some(id) = part.strip_prefix("container ") {
        return id.to_owned();
    }
    if let Some(pod) = part.strip_prefix("pod ") {
        return without_replica(&last(pod)).to_owned();
    }
    if let Some(path) = part.strip_prefix("cgroup ") {
        // That of the whole host has no name.
        return Some(last(path)).filter(|name| !name.is_empty()).unwrap_or_else(|| "/".to_owned());
    }
    match part.rsplit_once(" (") {
        // By its PID alone: its command says what it is.
        Some((name, pid)) if pid.starts_with("PID ") => {
            let program = program(command);
            if program.is_empty() || Interpreter::of(name).is_none() { name.to_owned() } else { program }
        }
        // By its port, or its script.
        Some((name, _)) => name.to_owned(),
        None => part.to_owned(),
    }
}

/// The name of a pod without what Kubernetes adds to that of its Deployment (the number of the
/// template, and of the replica), DaemonSet (of the replica) or CronJob (the minute in which it is
/// due, in minutes since 1970, and the number of the try).
fn without_replica(pod: &str) -> &str {
    /// What random names are made of there: no vowels, and nothing that looks like one.
    const LETTERS: &str = "bcdfghjklmnpqrstvwxz2456789";
    let cut = |name, lengths: std::ops::RangeInclusive<usize>| -> Option<&str> {
        let (front, end): (&str, &str) = str::rsplit_once(name, '-')?;
        let is_random = lengths.contains(&end.len()) && end.chars().all(|char| LETTERS.contains(char));
        (is_random && !front.is_empty()).then_some(front)
    };
    let minute = |name| -> Option<&str> {
        let (front, end): (&str, &str) = str::rsplit_once(name, '-')?;
        (end.len() == 8 && end.bytes().all(|byte| byte.is_ascii_digit()) && !front.is_empty())
            .then_some(front)
    };
    let Some(set) = cut(pod, 5..=5) else { return pod };
    cut(set, 6..=10).or_else(|| minute(set)).unwrap_or(set)
}

/// The script that a command runs, else its program, without the directory. Never code, nor the
/// value of an option.
fn program(command: &[String]) -> String {
    let base = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let own = command.first().map(|word| base(word)).unwrap_or_default();
    let Some(interpreter) = Interpreter::of(&own) else { return own };
    let mut words = command.iter().skip(1);
    let mut runs = interpreter.runs;
    while let Some(word) = words.next() {
        let after = match word.as_str() {
            // It reads the script, or it is told the code.
            "-" | "--eval" | "--print" => After::Code,
            word if interpreter.words.contains(&word) => After::Value,
            word if word.starts_with("--") => After::Words,
            word if word.starts_with(['-', '+']) => interpreter.after(word),
            "run" if runs => {
                runs = false;
                After::Words
            }
            script => return Some(base(script)).filter(|name| !name.is_empty()).unwrap_or(own),
        };
        match after {
            After::Code => break,
            After::Value => {
                words.next();
            }
            After::Words => {}
        }
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(target: Option<&str>, command: &str) -> Option<String> {
        let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        name(target, &words)
    }

    #[test]
    fn a_window_is_of_a_unit_a_container_a_group_a_port_or_a_script() {
        for (target, command, service) in [
            ("service nginx", "nginx -g x", "nginx.service"),
            ("service db@1.service", "postgres", "db@1.service"),
            ("container 4f2a", "java -jar /a.jar", "4f2a"),
            ("cgroup /system.slice/x.service", "x", "x.service"),
            ("cgroup /", "init", "/"),
            ("pod shop/web-7d9f8b6c5-x2x4z", "nginx", "web"),
            ("pod log-agent-w9q2k", "agent", "log-agent"),
            ("pod db-0", "postgres", "db-0"),
            ("pod shop/nightly-29912345-x7k2p", "backup", "nightly"),
            ("pod 20261130-x7k2p", "x", "20261130"),
            ("pod my-nginx", "nginx", "my-nginx"),
            ("pod 0f1e2d3c-1111-2222-3333-444455556666", "x", "0f1e2d3c-1111-2222-3333-444455556666"),
            (":8080 (python3, PID 12)", "python3 server.py", ":8080"),
            ("server.py (python3, PID 12)", "python3 server.py", "server.py"),
            ("python3 (PID 12)", "/usr/bin/python3 -u /srv/server.py 80", "server.py"),
            ("postgres (PID 12)", "/usr/lib/postgres -D /x", "postgres"),
            ("nginx", "nginx", "nginx"),
            (":80 (nginx, PID 1), redis (PID 22)", "nginx", ":80,redis"),
            ("python3 (PID 12), python3 (PID 13)", "python3 a.py", "python3,python3"),
        ] {
            assert_eq!(named(Some(target), command).as_deref(), Some(service), "{target}");
        }
    }

    #[test]
    fn a_run_is_of_its_script_or_program() {
        for (command, service) in [
            ("/usr/bin/make -j2", "make"),
            ("python3.12 /a/b.py c", "b.py"),
            ("python -m http.server", "http.server"),
            ("java -Xmx1g -jar /opt/app.jar", "app.jar"),
            ("sh -c sleep", "sh"),
            ("java -cp /opt/lib.jar Main", "Main"),
            ("bash --noprofile --norc -eo pipefail /tmp/step.sh", "step.sh"),
            ("bash +x a.sh", "a.sh"),
            ("deno run --allow-net main.ts", "main.ts"),
            ("uv run --with requests main.py", "main.py"),
            ("node -r ts-node/register server.ts", "server.ts"),
            ("python3 -X dev -Wignore -um http.server", "http.server"),
            ("perl -Ilib/e -w /srv/a.pl", "a.pl"),
            ("ruby -I lib run", "run"),
            ("node", "node"),
            ("/", ""),
        ] {
            assert_eq!(named(None, command), Some(service.to_owned()).filter(|name| !name.is_empty()));
        }
        assert_eq!(name(None, &[]), None);
    }

    /// They may have secrets in them.
    #[test]
    fn code_and_values_are_no_name() {
        for command in [
            "bash -euxc secret",
            "sh -ec secret",
            "bash -s secret",
            "python3 -Ic secret",
            "python3 -mtool secret",
            "python3 - secret",
            "perl -ne secret",
            "perl -wE secret",
            "ruby -rjson -e secret",
            "node -pe secret",
            "node --eval secret",
            "php -d secret -r secret",
            "bash -o secret",
        ] {
            let program = command.split(' ').next().unwrap();
            assert_eq!(named(None, command).as_deref(), Some(program), "{command}");
        }
    }

    #[test]
    fn odd_names_do_no_harm() {
        assert_eq!(named(Some(")), (("), ""), Some(")),((".to_owned()));
        assert_eq!(named(Some("x (PID 3"), ""), Some("x".to_owned()));
    }
}
