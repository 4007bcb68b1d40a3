//! Programs of other languages: written into the current directory, compiled there if need be, and
//! executed in place of this process.

use crate::{Setting, between};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, io};

/// The source of a program that has all ways of a pair. It is called with the way, the size, and
/// the port of the server.
#[derive(Debug)]
pub struct Source {
    /// Its language.
    pub language: Language,
    /// The name of its file.
    pub file: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// A language, with what runs its programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// `python3`.
    Python,
    /// `cc -O2 -g`.
    C,
}

impl Language {
    /// The program in `$PATH` that it needs.
    pub fn needs(self) -> &'static str {
        match self {
            Language::Python => "python3",
            Language::C => "cc",
        }
    }
}

/// The name of a compiled program.
const COMPILED: &str = "program";

impl Source {
    /// The text of a function: of C one that returns nothing.
    pub(crate) fn function(&self, name: &str) -> Option<&'static str> {
        match self.language {
            Language::Python => between(self.text, &format!("\ndef {name}("), "\n\n\n", 0),
            Language::C => between(self.text, &format!("\nstatic void {name}("), "\n}\n", 2),
        }
    }

    /// Writes it into the current directory and compiles it: before it is timed.
    ///
    /// # Errors
    /// The directory cannot be written, or the compiler fails.
    pub fn prepare(&self, directory: &Path) -> io::Result<()> {
        fs::write(directory.join(self.file), self.text)?;
        if self.language == Language::C {
            let mut compiler = Command::new("cc");
            compiler.args(["-O2", "-g", "-o", COMPILED, self.file, "-lpthread"]).current_dir(directory);
            let done = compiler.stdin(Stdio::null()).output()?;
            if !done.status.success() {
                let said = String::from_utf8_lossy(&done.stderr);
                return Err(io::Error::other(format!("cc cannot compile {}: {said}", self.file)));
            }
        }
        Ok(())
    }

    /// The words that run it in that directory.
    pub fn words(&self, way: &str, setting: &Setting) -> Vec<String> {
        let program = match self.language {
            Language::Python => vec!["python3".to_owned(), self.file.to_owned()],
            Language::C => vec![format!("./{COMPILED}")],
        };
        let arguments = [way.to_owned(), setting.size.to_string(), setting.port.to_string()];
        program.into_iter().chain(arguments).collect()
    }

    /// Becomes the program, which was prepared in the current directory.
    pub(crate) fn run(&self, way: &str, setting: &Setting) -> io::Result<()> {
        let words = self.words(way, setting);
        let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        Err(Command::new(program).args(arguments).exec())
    }
}
