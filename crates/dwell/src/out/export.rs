//! A kept result in the format of another tool, as a result.

use super::render::{Form, Render};
use report::Look;

/// The file that was made.
#[derive(Debug)]
pub(crate) struct ExportResult(pub(crate) Vec<u8>);

impl Render for ExportResult {
    fn page(&self, _: Look) -> String {
        String::new()
    }

    const FORMS: &'static [Form<Self>] = &[
        form("json"),
        form("csv"),
        form("markdown"),
        form("hyperfine"),
        form("hyperfine-1"),
        form("pprof"),
        form("perfetto"),
        form("otlp"),
        form("hdr"),
        form("firefox"),
        form("speedscope"),
        form("folded"),
        form("svg"),
        form("png"),
        form("junit"),
    ];
}

const fn form(name: &'static str) -> Form<ExportResult> {
    Form::new(name, "", |result: &ExportResult| result.0.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ExportFormat;
    use clap::ValueEnum;

    #[test]
    fn each_format_has_its_form() {
        let forms: Vec<_> = ExportResult::FORMS.iter().map(|form| form.name).collect();
        let formats: Vec<_> = ExportFormat::value_variants().iter().map(|format| format.name()).collect();
        // Tables are many files.
        let formats = &formats[..formats.len() - ["parquet", "rows"].len()];
        assert_eq!(forms, formats);
        for format in ExportFormat::value_variants() {
            assert_eq!(format.to_possible_value().unwrap().get_name(), format.name());
        }
    }
}
