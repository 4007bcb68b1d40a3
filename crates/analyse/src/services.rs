//! Which services are usual behind which ports.

/// What is usually behind a port: IANA's name, or the program that took it. Programs need not keep
/// to it.
pub(crate) fn service(port: u16) -> Option<&'static str> {
    Some(match port {
        21 => "ftp",
        22 => "ssh",
        25 => "smtp",
        53 => "domain",
        80 => "http",
        110 => "pop3",
        111 => "rpcbind",
        143 => "imap",
        389 => "ldap",
        443 => "https",
        445 => "smb",
        465 | 587 => "submission",
        636 => "ldaps",
        853 => "domain-tls",
        873 => "rsync",
        993 => "imaps",
        995 => "pop3s",
        1433 => "mssql",
        1883 => "mqtt",
        2049 => "nfs",
        3306 => "mysql",
        5432 => "postgresql",
        5672 => "amqp",
        6379 => "redis",
        8080 => "http-alt",
        9092 => "kafka",
        9200 => "elasticsearch",
        9418 => "git",
        11211 => "memcached",
        27017 => "mongodb",
        _ => return None,
    })
}
