//! How short a machine is of CPUs and memory: what the kernel says of stalls in `/proc/pressure`
//! (its pressure stall information), and the load average.

use crate::{Error, Roots, text};
use std::path::Path;

/// The percentage of the last 10 s in which some task waited for a resource (`cpu`, `memory`,
/// `io`). Of CPUs it is that of one CPU on average, however many there are.
///
/// # Errors
/// The kernel has no such file, or it does not say so.
pub fn some_percent(roots: Roots<'_>, resource: &str) -> Result<f64, Error> {
    let path = roots.proc.join("pressure").join(resource);
    let said = text(&path)?;
    let line = said.lines().find_map(|line| line.strip_prefix("some "));
    let percent =
        line.and_then(|line| line.split_ascii_whitespace().find_map(|word| word.strip_prefix("avg10=")));
    number(percent, &path, "avg10 of some")
}

/// The number of tasks that ran, waited for a CPU or for a disk in the last minute, on average:
/// the load of one minute.
///
/// # Errors
/// The file cannot be read, or does not say so.
pub fn load(roots: Roots<'_>) -> Result<f64, Error> {
    let path = roots.proc.join("loadavg");
    let said = text(&path)?;
    number(said.split_ascii_whitespace().next(), &path, "the load of one minute")
}

fn number(word: Option<&str>, path: &Path, what: &'static str) -> Result<f64, Error> {
    let number = word.and_then(|word| word.parse::<f64>().ok()).filter(|number| number.is_finite());
    number.ok_or_else(|| Error::Missing { path: path.to_owned(), what })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_last_ten_seconds_and_the_last_minute_are_read() {
        let top = tempfile::tempdir().unwrap();
        let roots = Roots { proc: top.path(), sys: top.path() };
        assert!(some_percent(roots, "cpu").unwrap_err().is_not_found());
        fs::create_dir(top.path().join("pressure")).unwrap();
        let write = |name: &str, said: &str| fs::write(top.path().join(name), said).unwrap();
        write(
            "pressure/cpu",
            "some avg10=41.25 avg60=2.00 avg300=1.00 total=9\nfull avg10=3.00 avg60=0 avg300=0 total=0\n",
        );
        write("loadavg", "12.50 3.00 1.00 2/300 4711\n");
        assert_eq!(some_percent(roots, "cpu"), Ok(41.25));
        assert_eq!(load(roots), Ok(12.5));
        for odd in ["", "full avg10=1.00\n", "some avg60=1.00\n", "some avg10=nan\n", "some avg10=x\n"] {
            write("pressure/cpu", odd);
            assert!(some_percent(roots, "cpu").is_err(), "{odd:?}");
        }
        write("loadavg", "");
        assert!(load(roots).is_err());
    }
}
