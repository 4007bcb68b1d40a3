//! The page of commands that were compared.

use super::{blocks, svg};
use crate::compare::commands::{parts, picture};
use crate::compare::letters;
use crate::units::counted;
use model::compare::commands::Comparison;

/// The names of the commands.
pub(super) fn title(comparison: &Comparison) -> String {
    let names: Vec<&str> = comparison.commands.iter().map(|command| command.name.as_str()).collect();
    names.join(" against ")
}

/// The comparison.
pub(super) fn article(comparison: &Comparison, number: usize) -> String {
    let parts = parts(comparison);
    let mut pictures = String::new();
    for change in &comparison.comparisons {
        let of = format!("{} against A", letters(change.b as usize));
        let pairs = counted(change.pairs.len() as u64, "pair");
        if let Some(drawn) = picture::narrowing(comparison, change) {
            pictures +=
                &svg::picture(&drawn, &format!("ratio of {of} with its interval as it narrowed, {pairs}"));
        }
        if let Some(drawn) = picture::pairs(comparison, change) {
            pictures += &svg::picture(&drawn, &format!("the pairs of {of} in their order, {pairs}"));
        }
    }
    if let Some(drawn) = picture::distributions(comparison) {
        pictures += &svg::picture(&drawn, "the runs of each command; their figures are in the table");
    }
    let mut sections = blocks::sections(&[
        ("Pairs and runs", pictures + &blocks::lines(&parts.tables)),
        ("Where the difference lies", parts.why.iter().map(|part| blocks::lines(part)).collect()),
    ]);
    let runs = runs(comparison);
    sections += &format!(
        "<section class=\"coverage\">\n<h2>What qualifies it</h2>\n{}<details><summary>Each pair as a table</summary>\n\
         {runs}</details>\n</section>\n",
        blocks::lines(&parts.notes)
    );
    blocks::article(number, &heading(comparison), &parts.verdict, &sections)
}

fn heading(comparison: &Comparison) -> String {
    let name = |(at, command): (usize, &model::compare::commands::ComparedCommand)| {
        let text = crate::clean::fit(&crate::clean(&command.name, true), 200, true);
        format!("<span class=\"dim\">{}</span> {}", letters(at), super::escape::text(&text))
    };
    comparison.commands.iter().enumerate().map(name).collect::<Vec<_>>().join("<br>")
}

fn runs(comparison: &Comparison) -> String {
    use crate::paint::{Grid, Ink};
    use crate::units::duration;
    let amount = |value: f64| {
        if comparison.settings.on.is_time() {
            duration(value.max(0.0).round() as u64)
        } else {
            format!("{value}")
        }
    };
    let rows = comparison.comparisons.iter().flat_map(|change| {
        change.pairs.iter().take(crate::Look::DOCUMENT_ROWS).enumerate().map(move |(at, pair)| {
            let cells = vec![
                (Ink::Plain, (at + 1).to_string()),
                (Ink::Bold, letters(change.b as usize)),
                (Ink::Plain, amount(pair.a)),
                (Ink::Plain, amount(pair.b)),
                (Ink::Plain, format!("{:.4}", pair.b / pair.a)),
            ];
            (cells, false)
        })
    });
    let heads = [("", true), ("command", false), ("A", true), ("its own", true), ("ratio", true)];
    let heads = heads.map(|(head, figures)| (head.to_owned(), figures)).to_vec();
    blocks::table(&Grid { title: "pair".to_owned(), heads, rows: rows.collect() })
}
