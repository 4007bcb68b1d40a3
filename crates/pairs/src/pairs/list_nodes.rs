//! A linked list of a million nodes: an allocation for each, or memory taken all at once.
#![allow(unsafe_code)]

use crate::work::keep;
use crate::{Pair, Run, Setting, Size, Way, Writing};
use std::alloc::{Layout, alloc, handle_alloc_error};
use std::{io, ptr};

pub(super) static PAIR: Pair = Pair {
    name: "list-nodes",
    title: "a list of a million nodes: malloc for each, or one block",
    cause: Some("allocation"),
    size: Size { unit: "nodes", usual: 10_000_000, least: 4_000_000, most: 10_000_000 },
    ways: &[
        Way { name: "malloc", what: "malloc for each node", run: Run::Native(malloc) },
        Way { name: "bump", what: "nodes from one block, one after another", run: Run::Native(bump) },
        Way { name: "arena", what: "blocks of 1 MiB, as they are needed", run: Run::Native(arena) },
        Way { name: "pool", what: "a list of free nodes, filled by thousands", run: Run::Native(pool) },
    ],
    source: include_str!("list_nodes.rs"),
    needs: &[],
    lesson: "malloc finds a free piece, writes its size before it, and keeps lists of what is free: some twenty to fifty \
             nanoseconds for a node of 28 bytes, several times what the loop itself does. The pages behind it are cleared by \
             the kernel the first time they are touched, which no allocator avoids. Nodes that live and die together can \
             come from one block: taking one is an addition.",
    writing: Some(Writing {
        title: "How latency impacts performance, parts 1 and 2 (Arm)",
        theirs: "a million nodes took 29,473 us with malloc (malloc 24.6 %, _int_malloc 23.7 %, clear_page 17.1 %) and 5,374 \
                 us from one block: more than 5 times as fast",
    }),
};

#[repr(C)]
struct Node {
    next: *mut Node,
    payload: [u8; 20],
}

fn malloc(setting: &Setting) -> io::Result<()> {
    let mut head: *mut Node = ptr::null_mut();
    for at in 0..setting.size {
        // SAFETY: the size is not zero; the node is written before it is read.
        let node = unsafe { libc::malloc(size_of::<Node>()) }.cast::<Node>();
        if node.is_null() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        // SAFETY: it was just allocated, and nothing else knows of it.
        unsafe { node.write(Node { next: head, payload: [at as u8; 20] }) };
        head = node;
    }
    keep(head);
    Ok(())
}

fn bump(setting: &Setting) -> io::Result<()> {
    let nodes = block(setting.size as usize)?;
    let mut head: *mut Node = ptr::null_mut();
    for at in 0..setting.size {
        // SAFETY: the block holds this many nodes, and nothing else knows of this one.
        let node = unsafe { nodes.add(at as usize) };
        // SAFETY: within the block.
        unsafe { node.write(Node { next: head, payload: [at as u8; 20] }) };
        head = node;
    }
    keep(head);
    Ok(())
}

fn arena(setting: &Setting) -> io::Result<()> {
    let (mut nodes, mut left) = (ptr::null_mut::<Node>(), 0);
    let mut head: *mut Node = ptr::null_mut();
    for at in 0..setting.size {
        if left == 0 {
            (nodes, left) = (block(IN_ARENA)?, IN_ARENA);
        }
        left -= 1;
        // SAFETY: the block holds more nodes than are left of it; this one is nobody else's.
        let node = unsafe { nodes.add(left) };
        // SAFETY: within the block.
        unsafe { node.write(Node { next: head, payload: [at as u8; 20] }) };
        head = node;
    }
    keep(head);
    Ok(())
}

fn pool(setting: &Setting) -> io::Result<()> {
    let mut free: *mut Node = ptr::null_mut();
    let mut head: *mut Node = ptr::null_mut();
    for at in 0..setting.size {
        if free.is_null() {
            free = filled()?;
        }
        let node = free;
        // SAFETY: it is a free node, which nothing else knows of.
        free = unsafe { (*node).next };
        // SAFETY: the same.
        unsafe { node.write(Node { next: head, payload: [at as u8; 20] }) };
        head = node;
    }
    keep(head);
    Ok(())
}

/// Nodes of a block of an arena: 1 MiB.
const IN_ARENA: usize = (1 << 20) / size_of::<Node>();
/// Nodes that a pool makes at a time.
const IN_POOL: usize = 1000;

/// Memory for this many nodes, which holds none.
fn block(nodes: usize) -> io::Result<*mut Node> {
    let layout = Layout::array::<Node>(nodes.max(1)).map_err(io::Error::other)?;
    // SAFETY: the layout has a size.
    let block = unsafe { alloc(layout) }.cast::<Node>();
    if block.is_null() {
        handle_alloc_error(layout);
    }
    Ok(block)
}

/// A list of free nodes.
fn filled() -> io::Result<*mut Node> {
    let nodes = block(IN_POOL)?;
    let mut free = ptr::null_mut();
    for at in (0..IN_POOL).rev() {
        // SAFETY: the block holds this many nodes.
        let node = unsafe { nodes.add(at) };
        // SAFETY: within the block, and nothing else knows of it.
        unsafe { node.write(Node { next: free, payload: [0; 20] }) };
        free = node;
    }
    Ok(free)
}
