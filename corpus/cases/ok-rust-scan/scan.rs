//! Counts the words of a file, in large pieces.
use std::fs::File;
use std::io::{Read, Write};

fn main() -> std::io::Result<()> {
    if std::env::args().nth(1).as_deref() == Some("make") {
        let line = b"one word and another of a few letters each in a line of text\n".repeat(2000);
        let mut file = File::create("words.txt")?;
        return (0..1000).try_for_each(|_| file.write_all(&line));
    }
    let mut buffer = vec![0; 1 << 20];
    let (mut words, mut within) = (0u64, false);
    let mut file = File::open("words.txt")?.chain(File::open("words.txt")?).chain(File::open("words.txt")?);
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        for byte in &buffer[..read] {
            let space = byte.is_ascii_whitespace();
            words += u64::from(within && space);
            within = !space;
        }
    }
    println!("{words}");
    Ok(())
}
