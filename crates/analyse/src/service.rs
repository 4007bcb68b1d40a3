//! The name of a program as a service: one that it also has after it was started again, and on
//! other hosts.

/// Programs that execute the script that is their argument.
const INTERPRETERS: &[&str] = &[
    "bash", "bun", "dash", "deno", "java", "ksh", "lua", "node", "nodejs", "perl", "php", "pypy", "python",
    "Rscript", "ruby", "sh", "uv", "zsh",
];

/// The name, from the target of a window in words ([`model::recording::AttachWindow::target`]) and
/// the command. None where both are empty.
pub fn name(target: Option<&str>, command: &[String]) -> Option<String> {
    let names = match target {
        Some(target) => parts(target).into_iter().map(|part| of_part(part, command)).collect::<Vec<_>>(),
        None => vec![program(command)],
    };
    Some(names.join(",")).filter(|name| !name.is_empty())
}

/// The targets of a window, which are joined by `, `; `, PID 7)` is the end of one.
fn parts(target: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut from, mut depth) = (0, 0_i32);
    for (at, char) in target.char_indices() {
        match char {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth <= 0 => {
                parts.push(target[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(target[from..].trim());
    parts
}

fn of_part(part: &str, command: &[String]) -> String {
    let last = |path: &str| path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    if let Some(unit) = part.strip_prefix("service ") {
        return if unit.contains('.') { unit.to_owned() } else { format!("{unit}.service") };
    }
    if let Some(id) = part.strip_prefix("container ") {
        return id.to_owned();
    }
    if let Some(path) = part.strip_prefix("cgroup ") {
        // That of the whole host has no name.
        return Some(last(path)).filter(|name| !name.is_empty()).unwrap_or_else(|| "/".to_owned());
    }
    match part.rsplit_once(" (") {
        // By its PID alone: its command says what it is.
        Some((name, pid)) if pid.starts_with("PID ") => {
            let program = program(command);
            if program.is_empty() || !interprets(name) { name.to_owned() } else { program }
        }
        // By its port, or its script.
        Some((name, _)) => name.to_owned(),
        None => part.to_owned(),
    }
}

/// The script that a command runs, else its program, without the directory.
fn program(command: &[String]) -> String {
    let base = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let own = command.first().map(|word| base(word)).unwrap_or_default();
    if !interprets(&own) {
        return own;
    }
    let mut words = command.iter().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            // What follows is the code itself.
            "-c" | "-e" | "-lc" | "-ec" | "--eval" => return own,
            "-jar" | "-m" | "run" => return words.next().map_or(own, |script| base(script)),
            option if option.starts_with('-') => {}
            script => return Some(base(script)).filter(|name| !name.is_empty()).unwrap_or(own),
        }
    }
    own
}

/// Whether it is an interpreter, with a version or without.
fn interprets(program: &str) -> bool {
    let plain = program.trim_end_matches(|char: char| char.is_ascii_digit() || matches!(char, '.' | '-'));
    INTERPRETERS.contains(&plain)
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
            (":8080 (python3, PID 12)", "python3 server.py", ":8080"),
            ("server.py (python3, PID 12)", "python3 server.py", "server.py"),
            ("python3 (PID 12)", "/usr/bin/python3 -u /srv/server.py 80", "server.py"),
            ("postgres (PID 12)", "/usr/lib/postgres -D /x", "postgres"),
            ("nginx", "nginx", "nginx"),
            (":80 (nginx, PID 1), redis (PID 22)", "nginx", ":80,redis"),
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
            ("node", "node"),
            ("/", ""),
        ] {
            assert_eq!(named(None, command), Some(service.to_owned()).filter(|name| !name.is_empty()));
        }
        assert_eq!(name(None, &[]), None);
    }

    #[test]
    fn odd_names_do_no_harm() {
        assert_eq!(named(Some(")), (("), ""), Some(")),((".to_owned()));
        assert_eq!(named(Some("x (PID 3"), ""), Some("x".to_owned()));
    }
}
