//! Writes all schemas into a directory: `dwell-schema DIR`.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let directory = env::args_os().nth(1).ok_or_else(|| io::Error::other("dwell-schema DIR"))?;
    let directory = Path::new(&directory);
    fs::create_dir_all(directory)?;
    for one in dwell_schema::ALL {
        fs::write(directory.join(format!("{}.json", one.file())), format!("{:#}\n", one.schema()))?;
    }
    Ok(())
}
