//! The loopback interface, which nobody else sets up here: by the protocol of the kernel
//! (rtnetlink), since there is no `ip`.

use rustix::io;
use rustix::net::{AddressFamily, SendFlags, SocketType, send, socket};

const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST: u16 = 1;
const IFF_UP: u32 = 1;
/// The first interface of every network namespace.
const LOOPBACK: u32 = 1;
/// The length of the message: a `nlmsghdr` and an `ifinfomsg`.
const BYTES: u32 = 32;

/// Sets it up.
///
/// # Errors
/// The kernel has no netlink.
pub(crate) fn up() -> io::Result<()> {
    // Without a protocol it is that of routes and interfaces.
    let socket = socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    send(&socket, &message(), SendFlags::empty()).map(drop)
}

fn message() -> Vec<u8> {
    let kind = u32::from(RTM_NEWLINK) | u32::from(NLM_F_REQUEST) << 16;
    // Length, kind and flags, number, sender; family and type, interface, flags, which of them.
    let words = [BYTES, kind.to_le(), 1, 0, 0, LOOPBACK, IFF_UP, IFF_UP];
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_as_long_as_it_says() {
        assert_eq!(message().len() as u32, BYTES);
        assert_eq!(message()[4..8], [16, 0, 1, 0]);
    }
}
