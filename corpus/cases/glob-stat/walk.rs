//! Counts the files of a tree twenty times.
use std::path::Path;

fn count(folder: &Path, stat: bool) -> u64 {
    let mut n = 0;
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let is_folder = if stat { path.is_dir() } else { entry.file_type().unwrap().is_dir() };
        if is_folder {
            n += count(&path, stat);
        } else if (!stat || path.exists()) && path.extension().is_some_and(|e| e == "rs") {
            n += 1;
        }
    }
    n
}

fn main() {
    let stat = std::env::args().nth(1).as_deref() == Some("stat");
    let n: u64 = (0..20).map(|_| count(Path::new("tree"), stat)).sum();
    println!("{n}");
}
