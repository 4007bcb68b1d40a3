//! `dwell explain`: the manual of a cause, or the list of all.

use crate::cli::ExplainArgs;
use crate::look::{OutputKind, look};
use crate::output;
use crate::suggest;
use analyse::judge::causes::{ALL, Cause};
use anyhow::bail;

/// Prints it; returns the exit status.
pub(crate) fn explain(args: &ExplainArgs) -> anyhow::Result<u8> {
    let look = look(&args.look, OutputKind::Stdout);
    let mut names: Vec<_> = ALL.iter().map(|cause| cause.name.clone()).collect();
    names.sort();
    let text = match &args.cause {
        None => report::list_causes(&names, look),
        Some(id) => match Cause::named(id) {
            Some(cause) => report::explain(&cause.name, &cause.manual.paragraphs(), look),
            None => {
                let all = format!("dwell explain (lists all {})", names.len());
                let near = suggest::nearest(id, names.iter().map(|name| &*name.id));
                bail!("there is no cause {id:?}\ntry: {}", suggest::or_all("dwell explain", &near, &all))
            }
        },
    };
    output::to_stdout(&text)?;
    Ok(0)
}
