//! The profilers of Python that dwell is compared with, in an environment of their own below
//! `target`.

use std::path::Path;
use workshop::shell::{program, run};

/// The packages, by the names of the Python Package Index.
const PACKAGES: &[&str] = &["py-spy", "line_profiler"];

/// Installs them when they are not there; says why not when it cannot, since the rest can be
/// measured without.
pub(crate) fn install(place: &Path, python: &str) -> Result<(), String> {
    if Path::new(&path(place, "py-spy")).exists() && Path::new(&path(place, "kernprof")).exists() {
        return Ok(());
    }
    let environment = environment(place);
    let pip = path(place, "pip");
    let mut made = program(python, &["-m", "venv", &environment]);
    let mut packages = program(&pip, &["install", "--quiet", "--disable-pip-version-check"]);
    let done = run(&mut made).and_then(|()| run(packages.args(PACKAGES)));
    done.map_err(|error| format!("cannot install {}: {error:#}", PACKAGES.join(" and ")))
}

/// A program of the environment.
pub(crate) fn path(place: &Path, name: &str) -> String {
    format!("{}/bin/{name}", environment(place))
}

/// What to do so that the program is there, when it is not.
pub(crate) fn missing(place: &Path, name: &str) -> Option<String> {
    let absent = !Path::new(&path(place, name)).exists();
    absent.then(|| format!("{} install {}", path(place, "pip"), PACKAGES.join(" ")))
}

/// The words that run a script, `python SCRIPT…`, with its functions watched line by line: kernprof
/// runs it within itself, so the interpreter is exchanged for kernprof.
pub(crate) fn line_profiler(place: &Path, program: Vec<String>) -> Vec<String> {
    let kernprof = [path(place, "python"), path(place, "kernprof")];
    let how = ["-q", "-l", "-o"].map(str::to_owned).to_vec();
    let out = place.join("page").to_string_lossy().into_owned();
    [&kernprof[..], &how, &[out], &program[1..]].concat()
}

fn environment(place: &Path) -> String {
    place.join("python").to_string_lossy().into_owned()
}
