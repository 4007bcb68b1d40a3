/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What each process read and wrote of each regular file, by its calls: bytes, CPU time, how large
 * the file is and how it was opened.
 *
 * To find the file of a descriptor takes longer than a small read, so this is a sample by bytes.
 * A transfer of half of POINT_BYTES or more is counted as it is. Of all smaller ones of a CPU one
 * is taken each POINT_BYTES bytes on average and stands for so many; the gap between two is drawn
 * between half of that and half more, so that no program is in step with it. Each byte has the same
 * chance, whoever moves it, so sums are unbiased. The shortest gap is no less than the largest
 * small transfer, so that none is taken twice.
 *
 * A write to a file that syncs each one (O_SYNC, O_DSYNC) waits for the device. Of writes that left
 * their CPU these are counted all, beside the sample: each has taken longer than finding its file.
 *
 * The table forgets the files that were not used for the longest time. `file_bytes` of all CPUs
 * less what the table has is what was forgotten.
 */
#pragma once
#include "objects.h"
#include "results.h"

struct { MAP_UINT(type, BPF_MAP_TYPE_LRU_HASH); MAP_UINT(max_entries, FILES_MAX); MAP_TYPE(key, struct file_key); MAP_TYPE(value, struct file_counts); } files SEC(".maps");

#define REGULAR 0100000
#define DIRECTORY 0040000
#define BLOCK_DEVICE 0060000

/* The first sample of a CPU is anywhere in the first POINT_BYTES: at its first transfer it would
 * stand for what never was. Returns whether the sample is due; the next is then drawn. */
__attribute__((noinline)) u32 is_point(struct cpu *cpu, u32 moved)
{
	if (!cpu)
		return 0;
	u32 drawn = bpf_get_prandom_u32() & (POINT_BYTES - 1);
	if (!cpu->gap)
		cpu->gap = drawn + 1;
	if (moved < cpu->gap) {
		cpu->moved = moved;
		return 0;
	}
	cpu->moved = moved - cpu->gap;
	cpu->gap = POINT_BYTES / 2 + drawn;
	return 1;
}

/* The bytes that a transfer stands for; 0 when it is not of the sample. */
INLINE u64 stands_for(struct cpu *cpu, u64 bytes)
{
	if (bytes >= POINT_BYTES / 2)
		return bytes;
	u32 moved = cpu->moved + (u32)bytes;
	if (likely(moved < cpu->gap)) {
		cpu->moved = moved;
		return 0;
	}
	return is_point(cpu, moved) ? POINT_BYTES : 0;
}

/* A process uses a file for the first time, or again after it was forgotten. */
__attribute__((noinline)) int note_file(struct file_key *key, u64 inode_, u64 dentry_)
{
	struct inode *inode = (void *)inode_;
	struct dentry *dentry = (void *)dentry_;
	struct file_counts counts = {};
	if (!key)
		return 0;
	struct file_key own = *key; /* see `note_connection` */
	struct super_block *sb = READ(inode, i_sb);
	struct qstr *name = __builtin_preserve_access_index(&dentry->d_name);
	counts.magic = READ(sb, s_magic);
	bpf_probe_read_kernel_str(counts.name, sizeof(counts.name), READ(name, name));
	bpf_map_update_elem(&files, &own, &counts, BPF_NOEXIST);
	return 0;
}

INLINE void add_transfer(struct transfers *sum, u32 call, u64 bytes, u64 stands_for, u64 ns)
{
	u64 calls = 1024;
	if (bytes != stands_for) {
		ns = ns * stands_for / bytes;
		calls = stands_for * 1024 / bytes;
		__sync_fetch_and_add(&sum->points, 1);
	}
	__sync_fetch_and_add(&sum->bytes, stands_for);
	__sync_fetch_and_add(&sum->ns, ns);
	__sync_fetch_and_add(&sum->calls, calls);
	sum->call = call;
}

/* A file and the running thread's process. */
INLINE struct file_key key_of(struct task_struct *task, struct inode *inode)
{
	struct super_block *sb = READ(inode, i_sb);
	struct file_key key = { .ino = READ(inode, i_ino), .dev = READ(sb, s_dev) };
	key.generation = READ(inode, i_generation);
	key.pid = process_of(task);
	return key;
}

/* What is counted of a file for the running thread's process; a new entry where there is none. */
INLINE struct file_counts *counts_of(struct task_struct *task, struct file *file, struct inode *inode, u64 now)
{
	struct file_key key = key_of(task, inode);
	struct file_counts *counts = bpf_map_lookup_elem(&files, &key);
	if (!counts) {
		struct path *path = __builtin_preserve_access_index(&file->f_path);
		u64 dentry = (u64)READ(path, dentry);
		note_file(&key, (u64)inode, dentry);
		tell_path((u64)inode, dentry, (u64)READ(path, mnt), now, number_of(task));
		counts = bpf_map_lookup_elem(&files, &key);
		if (!counts)
			return 0;
	}
	u64 size = READ(inode, i_size);
	if (counts->size < size)
		counts->size = size;
	u32 flags = READ(file, f_flags);
	counts->flags |= (flags & O_SYNC_ONLY ? FILE_SYNC : 0) | (flags & O_DSYNC ? FILE_DSYNC : 0) |
			 (flags & O_DIRECT ? FILE_DIRECT : 0);
	return counts;
}

/* The same for a file of which a page is needed: it is named as within its filesystem. */
INLINE struct file_counts *counts_of_page(struct task_struct *task, struct inode *inode, u64 now)
{
	struct file_key key = key_of(task, inode);
	struct file_counts *counts = bpf_map_lookup_elem(&files, &key);
	if (counts)
		return counts;
	u64 dentry = first_name(inode);
	note_file(&key, (u64)inode, dentry);
	if (dentry)
		tell_path((u64)inode, dentry, 0, now, number_of(task));
	counts = bpf_map_lookup_elem(&files, &key);
	return counts;
}

/* The running thread's call has left its CPU and moved bytes in so much time. */
__attribute__((noinline)) int count_durable(u32 call, u64 bytes, u64 ns, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	bool compat __attribute__((unused)) = call & COMPAT;
	if (!(result_kind[index_of(call) & (2 * CALLS - 1)] & WRITES_FILE))
		return 0;
	struct file *file = own_file(task, ARG0(regs, compat));
	if (!file || !(READ(file, f_flags) & (O_SYNC_ONLY | O_DSYNC)))
		return 0;
	struct inode *inode = READ(file, f_inode);
	if ((READ(inode, i_mode) & 0170000) != REGULAR)
		return 0;
	struct file_counts *counts = counts_of(task, file, inode, now);
	if (!counts)
		return 0;
	__sync_fetch_and_add(&counts->durable_calls, 1);
	__sync_fetch_and_add(&counts->durable_bytes, bytes);
	__sync_fetch_and_add(&counts->durable_ns, ns);
	counts->durable_call = call;
	return 0;
}

/* The running thread's call, which is in the sample, has moved bytes in so much CPU time. Of wall
 * time, one call that had to wait would stand for as many waits as it stands for calls. */
__attribute__((noinline)) int count_file(u32 call, u64 bytes, u64 stands_for, u64 ns, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	bool compat __attribute__((unused)) = call & COMPAT;
	struct file *file = own_file(task, ARG0(regs, compat));
	struct cpu *cpu = this_cpu();
	if (!file || !cpu)
		return 0;
	struct inode *inode = READ(file, f_inode);
	if ((READ(inode, i_mode) & 0170000) != REGULAR)
		return 0;
	cpu->file_bytes += stands_for;
	struct file_counts *counts = counts_of(task, file, inode, now);
	if (!counts)
		return 0;
	if (result_kind[index_of(call) & (2 * CALLS - 1)] & READS_FILE)
		add_transfer(&counts->read, call, bytes, stands_for, ns);
	else
		add_transfer(&counts->written, call, bytes, stands_for, ns);
	return 0;
}
