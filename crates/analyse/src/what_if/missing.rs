//! An edit that names nothing in a recording: what there is instead.

use super::edit::{Change, Edit, SiteName};
use super::refused::{Refused, with_time};
use super::result::Given;
use super::sites::{all_of, nearest};
use model::Ns;

/// Sites that are listed.
const NEAREST: usize = 6;

impl Given<'_> {
    /// The error of such an edit.
    pub(super) fn no_such_site(&self, edit: &Edit) -> Refused {
        let refused = |why: String, nearest: Vec<String>| {
            let nearest =
                if nearest.is_empty() { vec!["an edit of something else".to_owned()] } else { nearest };
            Refused::NoSuchSite { edit: edit.text.clone(), why, nearest }
        };
        let Change::Time(site, _) = &edit.change else {
            return refused("it was never out of quota".to_owned(), Vec::new());
        };
        let name = edit.text.rsplit_once('=').map_or(edit.text.as_str(), |(name, _)| name);
        let why = match site {
            SiteName::Locks => "no thread waited for a futex lock".to_owned(),
            SiteName::State(state) => format!("no time is {}", state.name()),
            SiteName::NameLookups => "no thread waited for an answer to a name lookup".to_owned(),
            site => format!("no {} of that name or address has any time", site.kind()),
        };
        let like = |site: &SiteName| nearest(name, all_of(site, self.program, self.names), NEAREST);
        let found = match site {
            SiteName::Function(_) => self.functions(name),
            SiteName::NameLookups => like(&SiteName::Peer(String::new())),
            site => like(site),
        };
        // Where there is none of its kind, of the most usual one.
        let found = if found.is_empty() { like(&SiteName::Call(String::new())) } else { found };
        refused(why, found.into_iter().map(|(name, ns)| with_time(&name, ns)).collect())
    }

    /// Functions with user time, as edits name them.
    fn functions(&self, name: &str) -> Vec<(String, Ns)> {
        let rows = self.run.tables.functions.value().into_iter().flatten().filter(|row| row.mode == "user");
        let cpu_ns = self
            .run
            .user_ns
            .value()
            .zip(self.run.kernel_ns.value())
            .map_or(0, |(user, kernel)| user + kernel);
        let row = |row: &model::run::FunctionRow| {
            (format!("user:{}", row.name), (row.share.value * cpu_ns as f64) as Ns)
        };
        nearest(name, rows.map(row).collect(), NEAREST)
    }
}
