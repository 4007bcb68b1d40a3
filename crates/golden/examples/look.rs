//! local
use dwell_golden::Case;
use std::path::Path;
fn main() {
    for path in std::env::args().skip(1) {
        let case = match Case::read(Path::new(&path)) {
            Ok(case) => case,
            Err(error) => {
                println!("== {path}: {error}");
                continue;
            }
        };
        println!("== {path}");
        let text = case.forms().into_iter().find(|(name, _)| *name == "diagnosis.txt").unwrap().1;
        let short = std::env::var_os("SHORT").is_some();
        for line in text.lines() {
            if short
                && (line.starts_with("ruled out")
                    || line.starts_with("not looked")
                    || line.starts_with("  action")
                    || line.starts_with("  assumes")
                    || line.starts_with("  verify"))
            {
                continue;
            }
            println!("{line}");
        }
    }
}
