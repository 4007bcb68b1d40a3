//! Functions of the C library, by their names: where it is linked into the program, no file tells
//! them from the program's own.

/// Names that begin with two underscores are the implementation's (ISO C, 7.1.3), but for those of
/// Cython, which is the program's own code.
pub(super) fn is_reserved(function: &str) -> bool {
    function.starts_with("__") && !function.starts_with("__pyx")
}

/// Whether the C library has a function of that name that programs spend time in: of memory, of
/// strings, of sorting, or around a system call.
pub(super) fn has(function: &str) -> bool {
    function.strip_suffix("64").is_some_and(|name| FUNCTIONS.contains(&name)) || FUNCTIONS.contains(&function)
}

const FUNCTIONS: &[&str] = &[
    // Memory and strings.
    "memccpy",
    "memchr",
    "memcmp",
    "memcpy",
    "memmem",
    "memmove",
    "mempcpy",
    "memrchr",
    "memset",
    "bcmp",
    "stpcpy",
    "strcasecmp",
    "strcat",
    "strchr",
    "strchrnul",
    "strcmp",
    "strcpy",
    "strdup",
    "strlen",
    "strncasecmp",
    "strncmp",
    "strncpy",
    "strnlen",
    "strrchr",
    "strspn",
    "strcspn",
    "strstr",
    "strtok",
    "strtol",
    "strtoul",
    "strtoll",
    "strtoull",
    "strtod",
    "qsort",
    "qsort_r",
    "bsearch",
    // Around system calls.
    "sccp",
    "accept",
    "accept4",
    "access",
    "clock_nanosleep",
    "close",
    "connect",
    "creat",
    "dup",
    "epoll_pwait",
    "epoll_wait",
    "execve",
    "faccessat",
    "fcntl",
    "fdatasync",
    "flock",
    "fork",
    "fstat",
    "fstatat",
    "fsync",
    "ftruncate",
    "getdents",
    "ioctl",
    "lseek",
    "lstat",
    "madvise",
    "mkdir",
    "mmap",
    "mprotect",
    "munmap",
    "nanosleep",
    "open",
    "openat",
    "pipe",
    "pipe2",
    "poll",
    "posix_spawn",
    "ppoll",
    "pread",
    "preadv",
    "pselect",
    "pwrite",
    "pwritev",
    "read",
    "readdir",
    "readlink",
    "readv",
    "recv",
    "recvfrom",
    "recvmsg",
    "rename",
    "rmdir",
    "sched_yield",
    "select",
    "send",
    "sendfile",
    "sendmsg",
    "sendto",
    "shutdown",
    "socket",
    "socketpair",
    "stat",
    "statx",
    "sync_file_range",
    "unlink",
    "unlinkat",
    "usleep",
    "vfork",
    "wait4",
    "waitid",
    "waitpid",
    "write",
    "writev",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_c_library_that_is_linked_in_is_known_by_names() {
        for name in ["__syscall_cp_c", "__syscall6", "__timedwait_cp", "__libc_start_main"] {
            assert!(is_reserved(name), "{name}");
        }
        for name in ["memcpy", "read", "pread64", "sccp"] {
            assert!(has(name), "{name}");
        }
        for name in ["__pyx_pf_step", "readers", "my_read", "program::read", "_start"] {
            assert!(!has(name) && !is_reserved(name), "{name}");
        }
    }
}
