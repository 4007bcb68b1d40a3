//! The user that the program runs as, when not the caller: from `/etc/passwd` and `/etc/group`.
//!
//! The files are read directly and not through the C library, whose other sources of users (LDAP,
//! SSSD) are not available in a static binary.

use std::fs;
use std::io;
use std::path::Path;

/// Whether this process has root's rights over files.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The user whose rights over files this process has.
pub fn effective_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The group whose rights over files this process has.
pub fn effective_gid() -> u32 {
    rustix::process::getegid().as_raw()
}

/// A user to run the program as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Login name.
    pub name: String,
    /// User id.
    pub uid: u32,
    /// Primary group.
    pub gid: u32,
    /// All groups, the primary one first.
    pub groups: Vec<u32>,
    /// Home directory.
    pub home: String,
}

/// Why a program cannot be run as another user.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No user has this name or ID.
    #[error(
        "cannot run as user {0:?}: /etc/passwd has no such user\ntry: --user with a name or number from: cut -d: -f1,3 /etc/passwd"
    )]
    Unknown(String),
    /// A table could not be read.
    #[error("cannot look up user {user:?}: {path}: {source}")]
    Unreadable {
        /// The user.
        user: String,
        /// The table.
        path: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// Only root may change to another user.
    #[error(
        "cannot run as user {0:?}: only root may start a program as another user\ntry: the same command with sudo in front"
    )]
    NotRoot(String),
}

impl User {
    /// The user with this name or ID, with all groups.
    ///
    /// # Errors
    /// See [`Error`]; it also checks the right to become that user.
    pub fn look_up(name_or_uid: &str) -> Result<Self, Error> {
        let read = |path: &'static str| {
            fs::read(Path::new(path))
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                .map_err(|source| Error::Unreadable { user: name_or_uid.to_owned(), path, source })
        };
        let passwd = read("/etc/passwd")?;
        // Without /etc/group, users have no supplementary groups.
        let group = read("/etc/group").unwrap_or_default();
        let user =
            parse(&passwd, &group, name_or_uid).ok_or_else(|| Error::Unknown(name_or_uid.to_owned()))?;
        let us = rustix::process::geteuid();
        if !us.is_root() && us.as_raw() != user.uid {
            return Err(Error::NotRoot(name_or_uid.to_owned()));
        }
        Ok(user)
    }
}

impl User {
    /// Whether it is not dwell's own.
    pub fn is_another(&self) -> bool {
        self.uid != effective_uid()
    }

    /// The user with this ID, with all groups, if the tables can be read and have it.
    pub fn of_uid(uid: u32) -> Option<Self> {
        let read = |path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let passwd = read("/etc/passwd").ok()?;
        let name = passwd.lines().filter_map(user_of_line).find(|user| user.uid == uid)?.name;
        parse(&passwd, &read("/etc/group").unwrap_or_default(), &name).filter(|user| user.uid == uid)
    }
}

/// Finds a user by name, else by ID, and the groups that list the name.
fn parse(passwd: &str, group: &str, name_or_uid: &str) -> Option<User> {
    let users: Vec<User> = passwd.lines().filter_map(user_of_line).collect();
    let by_name = users.iter().find(|user| user.name == name_or_uid);
    let by_uid = || name_or_uid.parse().ok().and_then(|uid: u32| users.iter().find(|user| user.uid == uid));
    let mut user = by_name.or_else(by_uid)?.clone();
    for line in group.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        let &[_, _, gid, members] = fields.as_slice() else { continue };
        let Ok(gid) = gid.parse() else { continue };
        if members.split(',').any(|member| member.trim() == user.name) && !user.groups.contains(&gid) {
            user.groups.push(gid);
        }
    }
    Some(user)
}

/// `name:password:uid:gid:comment:home:shell`; anything else is not a user.
fn user_of_line(line: &str) -> Option<User> {
    let fields: Vec<&str> = line.split(':').collect();
    let &[name, _, uid, gid, _, home, _] = fields.as_slice() else { return None };
    let gid = gid.parse().ok()?;
    Some(User {
        name: name.to_owned(),
        uid: uid.parse().ok()?,
        gid,
        groups: vec![gid],
        home: home.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\n# no user\n+::::::\nada:x:1000:1000::/home/ada:/bin/sh\n\
                          1000:x:7:7::/odd:/bin/sh\n";
    const GROUP: &str = "root:x:0:\nada:x:1000:\naudio:x:29:bob,ada\ndisk:x:6:root\nbroken\nagain:x:29:ada\n";

    #[test]
    fn a_name_comes_with_all_its_groups_once() {
        let ada = parse(PASSWD, GROUP, "ada").unwrap();
        assert_eq!((ada.uid, ada.gid, ada.home.as_str()), (1000, 1000, "/home/ada"));
        assert_eq!(ada.groups, [1000, 29]);
    }

    #[test]
    fn a_number_is_a_name_first() {
        assert_eq!(parse(PASSWD, GROUP, "1000").unwrap().uid, 7);
        assert_eq!(parse(PASSWD, GROUP, "0").unwrap().name, "root");
    }

    #[test]
    fn who_is_not_listed_is_unknown() {
        assert_eq!(parse(PASSWD, GROUP, "eve"), None);
        assert_eq!(parse(PASSWD, GROUP, ""), None);
        assert_eq!(parse(PASSWD, GROUP, "4294967296"), None);
        assert!(matches!(User::look_up("no such user"), Err(Error::Unknown(_))));
    }
}
