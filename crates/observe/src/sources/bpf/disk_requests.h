/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What each process asked of each disk: how large its requests were, how far each lay from the one
 * before, and how many of the tree's were under way when each was issued.
 *
 * A request is of the thread that made it. Since Linux 6.5 the kernel says which that is
 * (`block_io_start`); before, it is the thread that ran when the request was issued to the driver,
 * which of a disk with a scheduler may be another one. Requests of the kernel's own threads, such
 * as those that write back pages later, are nobody's.
 *
 * It is for the file of the call that the thread is in, by its descriptor, or of the page fault: so
 * what the kernel reads ahead for a call is too. Calls by a path, those whose first descriptor is
 * none of a file or directory (`sendfile`, io_uring), and page faults without a file have none.
 *
 * Requests are known by their address. Of two of the tree whose addresses share an entry the older
 * one no longer counts as under way. Nor does one that the kernel no longer has in flight: where
 * its completion was not traced it would seem to be under way until the kernel uses its place
 * again, which for a queue of another CPU may be never.
 */
#pragma once
#include "files.h"
#include "requests.h"
#include "results.h"

struct { MAP_UINT(type, BPF_MAP_TYPE_LRU_HASH); MAP_UINT(max_entries, DISK_USES_MAX); MAP_TYPE(key, struct disk_key); MAP_TYPE(value, struct disk_counts); } disk_uses SEC(".maps");

#define ASKERS 1024 /* a power of two */
struct asker {
	u64 request;
	u32 pid;   /* 0: nobody of the tree */
	u32 place; /* in `under_way`, plus 1, from its issue to its completion; else 0 */
	struct file_key file; /* its pid is 0 where none is known */
	u64 at;    /* when it was issued */
};
struct asker askers[ASKERS] = {};
/* A bit for each of `askers` that has a place. */
#define ASKER_WORDS (ASKERS / 64) /* a power of two */
u64 placed[ASKER_WORDS] = {};

/* Requests of the tree that are under way, by a hash of their disk. */
#define DISKS 64 /* a power of two */
u32 under_way[DISKS] = {};

/* The kernel says who makes a request. Set by user space before loading, so that the verifier
 * checks what finds it out in one program only. */
volatile const u32 told_by_start = 0;

INLINE u32 entry_of(u64 request)
{
	return request * 0x9e3779b97f4a7c15ull >> 54 & (ASKERS - 1);
}

INLINE struct asker *asker_of(u64 request)
{
	return &askers[entry_of(request)];
}

/* Its completion and a request that takes its entry may come at once, on two CPUs: one of them
 * counts. */
INLINE void not_under_way(u32 entry)
{
	u32 place = __sync_lock_test_and_set(&askers[entry & (ASKERS - 1)].place, 0);
	if (!place)
		return;
	__sync_fetch_and_and(&placed[entry / 64 & (ASKER_WORDS - 1)], ~(1ull << entry % 64));
	__sync_fetch_and_add(&under_way[(place - 1) & (DISKS - 1)], -1);
}

INLINE u32 lowest_bit(u64 bits)
{
	return __builtin_popcountll((bits & -bits) - 1);
}

/* The kernel no longer has this request in flight. It says that it has just after the issue is
 * traced: one that was issued a moment ago is believed to be. */
#define JUST_ISSUED 5000 /* ns */
INLINE bool has_ended(struct asker *asker, u64 now)
{
	if (now - asker->at < JUST_ISSUED)
		return 0;
	struct request *request = (void *)asker->request;
	return READ(request, state) != MQ_RQ_IN_FLIGHT;
}

/* Of the requests that seem to be under way a few are looked at for each that is issued, by turns:
 * those of a thread that has one at a time are found at once, and a deep queue costs no more. */
#define LOOKS 4
u32 looked_at = 0;
__attribute__((noinline)) int forget_ended(u64 now)
{
	u32 at = looked_at, looks = 0;
	for (u32 steps = 0; steps < ASKER_WORDS + 1 + LOOKS && looks < LOOKS; steps++) {
		u64 bits = placed[at / 64 & (ASKER_WORDS - 1)] & ~0ull << at % 64;
		if (!bits) {
			at = (at / 64 + 1) * 64;
			continue;
		}
		u32 entry = ((at & -64) + lowest_bit(bits)) & (ASKERS - 1);
		if (has_ended(&askers[entry], now))
			not_under_way(entry);
		at = entry + 1;
		looks++;
	}
	looked_at = at & (ASKERS - 1);
	return 0;
}

/* The running thread makes a request: which file it is for. */
__attribute__((noinline)) int made_for(struct asker *asker, struct thread *thread)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct inode *inode = 0;
	struct file *file = 0;
	if (!asker || !thread)
		return 0;
	u32 call = calls_are_off() ? saved_call(task) : thread->call;
	if (call == NO_CALL) {
		if (thread->page_faults == READ(task, min_flt) + READ(task, maj_flt))
			inode = (void *)thread->page_inode;
	} else if (arg_kind[index_of(call) & (2 * CALLS - 1)] == ARG_FD) {
		struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
		bool compat __attribute__((unused)) = call & COMPAT;
		file = own_file(task, ARG0(regs, compat));
		inode = READ(file, f_inode);
	}
	u32 type = READ(inode, i_mode) & 0170000;
	if (!inode || (type != REGULAR && type != DIRECTORY && type != BLOCK_DEVICE))
		return 0;
	u64 now = bpf_ktime_get_ns();
	if (file)
		counts_of(task, file, inode, now);
	else
		counts_of_page(task, inode, now);
	asker->file = key_of(task, inode);
	return 0;
}

/* The running thread makes this request. */
__attribute__((noinline)) int made_by(u64 request)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct asker *asker = asker_of(request);
	struct cpu *cpu = this_cpu();
	if (!cpu)
		return 0;
	u32 place = in_interrupt(cpu) ? 0 : place_of_running(cpu, task);
	bool ours = place;
	if (!ours && asker->request != request)
		return 0;
	not_under_way(entry_of(request));
	asker->request = request;
	asker->pid = ours ? process_of(task) : 0;
	asker->file.pid = 0;
	return ours ? made_for(asker, thread_at(place)) : 0;
}

/* A request is issued that was made for this file. */
__attribute__((noinline)) int count_for_file(struct file_key *file, u32 write, u32 bytes)
{
	if (!file || !file->pid)
		return 0;
	struct file_key key = *file;
	struct file_counts *counts = bpf_map_lookup_elem(&files, &key);
	if (!counts)
		return 0;
	__sync_fetch_and_add(write ? &counts->disk_writes : &counts->disk_reads, 1);
	__sync_fetch_and_add(write ? &counts->disk_written_bytes : &counts->disk_read_bytes, (u64)bytes);
	return 0;
}

__attribute__((noinline)) int count_request(struct disk_key *key, u64 sector, u32 bytes, u32 depth)
{
	struct cpu *cpu = this_cpu();
	if (!key || !cpu)
		return 0;
	cpu->disk_requests++;
	struct disk_key own = *key; /* see `note_connection` */
	struct disk_counts *counts = bpf_map_lookup_elem(&disk_uses, &own);
	if (!counts) {
		struct disk_counts none = {};
		bpf_map_update_elem(&disk_uses, &own, &none, BPF_NOEXIST);
		counts = bpf_map_lookup_elem(&disk_uses, &own);
		if (!counts)
			return 0;
	}
	u64 end = counts->end;
	counts->end = sector + (bytes >> 9);
	if (end) {
		u64 distance = sector > end ? sector - end : end - sector;
		u32 octave = distance ? octave_of(distance) + 1 : 0;
		barrier_var(octave); /* or the bound is put in terms that the verifier does not follow */
		if (octave >= DISTANCES)
			octave = DISTANCES - 1;
		__sync_fetch_and_add(&counts->distances[octave], 1);
	}
	u32 size = octave_of(bytes);
	barrier_var(size);
	if (size >= SIZES)
		size = SIZES - 1;
	__sync_fetch_and_add(&counts->sizes[size], 1);
	__sync_fetch_and_add(&counts->requests, 1);
	__sync_fetch_and_add(&counts->bytes, (u64)bytes);
	__sync_fetch_and_add(&counts->depths, (u64)depth);
	if (depth == 1)
		__sync_fetch_and_add(&counts->alone, 1);
	if (counts->depth_max < depth)
		counts->depth_max = depth;
	return 0;
}

/* A request is issued to the driver, perhaps once more. */
__attribute__((noinline)) int is_issued(u64 address, u32 dev, u32 op, u64 sector, u32 bytes)
{
	struct asker *asker = asker_of(address);
	bool again = asker->request == address && asker->place;
	if (!told_by_start && !again)
		made_by(address);
	if (asker->request != address || !asker->pid || again)
		return 0;
	/* Of the operations, REQ_OP_READ and REQ_OP_WRITE move bytes. A flush has none. */
	if (op > 1 || !bytes)
		return 0;
	struct disk_key key = { .dev = dev, .pid = asker->pid, .write = op };
	u32 place = dev * 0x9e3779b1u >> 26 & (DISKS - 1);
	u64 now = bpf_ktime_get_ns();
	if (under_way[place])
		forget_ended(now);
	u32 before = __sync_fetch_and_add(&under_way[place], 1);
	u32 entry = entry_of(address);
	asker->at = now;
	__sync_fetch_and_or(&placed[entry / 64 & (ASKER_WORDS - 1)], 1ull << entry % 64);
	asker->place = place + 1;
	count_for_file(&asker->file, op, bytes);
	return count_request(&key, sector, bytes, before + 1);
}

INLINE void is_done(u64 request)
{
	struct asker *asker = asker_of(request);
	if (asker->request == request) {
		not_under_way(entry_of(request));
		asker->pid = 0;
	}
}

/* Since 6.5: the running thread makes a request, which may wait before it is issued. */
SEC("tp_btf/block_io_start")
int block_io_start(u64 *ctx)
{
	return made_by(address_in(ctx));
}

/* A request is issued to a driver. */
SEC("tp_btf/block_rq_issue")
int block_rq_issue(u64 *ctx)
{
	u64 address = address_in(ctx);
	/* Of a tracepoint's argument fields are loaded, which is faster than to READ them; not
	 * pointers (see `sched_switch`). */
	struct request *request = (void *)ctx[0];
	struct request_queue *queue = READ(request, q);
	struct gendisk *disk = READ(queue, disk);
	struct issue *issue = issue_of(address);
	issue->request = address;
	issue->at = bpf_ktime_get_ns();
	return is_issued(address, (u32)READ(disk, major) << 20 | (u32)READ(disk, first_minor), request->cmd_flags & 0xff, request->__sector, request->__data_len);
}
