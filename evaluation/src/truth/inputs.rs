//! Files that several programs read: made once, and kept below `target`.

use crate::bench::made;
use anyhow::{Context, Result};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Small files, in directories of as many each.
const FILES: usize = 2_000;
const FILES_EACH: usize = 100;

/// Files that a server on the loopback is asked for.
const PAGES: usize = 1_000;

/// Transactions of one statement.
const INSERTS: usize = 2_000;

/// Written last: what is there before may be a part.
const WHOLE: &str = "whole";

/// Makes them where they are not there yet.
///
/// # Errors
/// When a file cannot be written.
pub(crate) fn make(inputs: &Path) -> Result<()> {
    if inputs.join(WHOLE).exists() {
        return Ok(());
    }
    let write = |path: &Path, text: &str| {
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    let directory =
        |path: &Path| fs::create_dir_all(path).with_context(|| format!("cannot create {}", path.display()));
    directory(inputs)?;
    made::write_all(inputs)?;
    for file in 0..FILES {
        let parent = inputs.join(format!("tree/{}", file / FILES_EACH));
        directory(&parent)?;
        write(&parent.join(format!("{file}.txt")), &format!("file {file} of {FILES}\n").repeat(100))?;
    }
    directory(&inputs.join("pages"))?;
    for page in 0..PAGES {
        write(&inputs.join(format!("pages/{page}")), &format!("page {page}\n"))?;
    }
    directory(&inputs.join("units"))?;
    for unit in 0..UNITS {
        write(&inputs.join(format!("units/u{unit}.c")), &unit_source(unit))?;
    }
    write(&inputs.join("units/Makefile"), &makefile())?;
    write(&inputs.join("inserts.sql"), &inserts())?;
    write(&inputs.join(WHOLE), "")
}

/// Source files for make.
const UNITS: usize = 24;

fn unit_source(unit: usize) -> String {
    let mut text = String::from("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n");
    for function in 0..40 {
        let _ = writeln!(
            text,
            "int u{unit}_{function}(int n, char *text)\n{{\n\tint sum = {function};\n\
             \tfor (int i = 0; i < n; i++)\n\t\tsum += text[i % strlen(text)] * i;\n\
             \tif (sum % {} == 0)\n\t\tprintf(\"%d\\n\", sum);\n\treturn sum;\n}}",
            function + 2
        );
    }
    text
}

/// Objects go where make is started.
fn makefile() -> String {
    let objects: Vec<String> = (0..UNITS).map(|unit| format!("u{unit}.o")).collect();
    format!("all: {}\n%.o: $(SOURCES)/%.c\n\tcc -O2 -c -o $@ $<\n", objects.join(" "))
}

fn inserts() -> String {
    let mut text = String::from("create table t (id integer primary key, text);\n");
    for row in 0..INSERTS {
        let _ = writeln!(text, "insert into t (text) values ('row {row}');");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn make_has_an_object_for_each_source() {
        assert_eq!(makefile().matches(".o").count(), UNITS + 1);
        assert!(unit_source(3).contains("int u3_39(int n"));
    }

    #[test]
    fn each_row_is_a_transaction() {
        assert_eq!(inserts().matches("insert into").count(), INSERTS);
        assert!(!inserts().contains("begin"));
    }
}
