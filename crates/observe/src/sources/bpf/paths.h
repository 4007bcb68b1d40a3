/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Paths of files: built from the names of directory entries across mounts, or as the program gave
 * it to a call; and the file of a page fault.
 *
 * A file is reported once, as far as a small table remembers. A record has the components in the
 * order of the walk up, the last one first; user space reverses them (`paths.rs`).
 */
#pragma once
#include "threads.h"

/* The limits of a name and of a path; longer ones are cut at the front. */
#define NAME_MAX 256
#define PATH_ROOM 448
/* The limit of steps up: directories and mounts together. */
#define DEPTH 48

/* Scratch for building a path, one per CPU: too large for the stack. */
struct walk {
	u64 dentry;
	u64 mnt;  /* 0: only within its filesystem */
	u32 at;   /* bytes of `text` */
	u16 cut;
	u16 busy; /* a switch may come while the path of a fault is built */
	char text[PATH_ROOM + NAME_MAX];
};
struct { MAP_UINT(type, BPF_MAP_TYPE_PERCPU_ARRAY); MAP_UINT(max_entries, 1); MAP_TYPE(key, u32); MAP_TYPE(value, struct walk); } walks SEC(".maps");

/* Files that were reported, by a hash of their identity. */
#define TOLD 1024 /* a power of two */
u64 told[TOLD] = {};

INLINE u64 mix(u64 word)
{
	word *= 0x9e3779b97f4a7c15ull;
	return word ^ word >> 29;
}

/* Adds one component and goes one step up. 0 at the top, or when there is no more space. */
__attribute__((noinline)) int step(struct walk *walk)
{
	if (!walk)
		return 0;
	struct dentry *dentry = (void *)walk->dentry;
	struct dentry *parent = READ(dentry, d_parent);
	struct vfsmount *mnt = (void *)walk->mnt;
	if (mnt && READ(mnt, mnt_root) == dentry) {
		struct mount *mount = (void *)mnt - __builtin_preserve_field_info(((struct mount *)0)->mnt, 0);
		struct mount *above = READ(mount, mnt_parent);
		if (above == mount || !above)
			return 0;
		walk->dentry = (u64)READ(mount, mnt_mountpoint);
		walk->mnt = (u64)__builtin_preserve_access_index(&above->mnt);
		return 1;
	}
	if (parent == dentry || !parent)
		return 0;
	struct qstr *name = __builtin_preserve_access_index(&dentry->d_name);
	u32 at = walk->at;
	if (at >= PATH_ROOM)
		return 0;
	long size = bpf_probe_read_kernel_str(walk->text + at, NAME_MAX, READ(name, name));
	if (size <= 1 || at + size > PATH_ROOM) {
		walk->cut = 1;
		return 0;
	}
	walk->at = at + size;
	walk->dentry = (u64)parent;
	return 1;
}

__attribute__((noinline)) int walk_up(struct walk *walk)
{
	if (!walk)
		return 0;
	for (int i = 0; i < DEPTH; i++) {
		if (!step(walk))
			return 0;
	}
	walk->cut = 1;
	return 0;
}

INLINE struct walk *start_walk(u64 dentry, u64 mnt)
{
	u32 zero = 0;
	struct walk *walk = bpf_map_lookup_elem(&walks, &zero);
	if (!walk || walk->busy)
		return 0;
	walk->busy = 1;
	walk->dentry = dentry;
	walk->mnt = mnt;
	walk->at = 0;
	walk->cut = 0;
	return walk;
}

/* Emits the path: the caller provides head, device and inode. */
__attribute__((noinline)) int tell_walk(struct walk *walk, struct path_record *about)
{
	if (!walk || !about)
		return 0;
	u32 length = walk->at;
	walk->busy = 0;
	if (length > PATH_ROOM)
		return 0;
	u32 size = sizeof(*about) + ((length + 7) & ~7u);
	struct path_record *record = reserve(size, NOT_ALONE);
	if (!record)
		return 0;
	*record = *about;
	record->length = length;
	if (walk->cut)
		record->head.flags |= PATH_CUT;
	bpf_probe_read_kernel(record->text, length, walk->text);
	ready(record, size);
	return 1;
}

/* A file's path, unless it was reported already: across mounts with `mnt`, else from the root of
 * its filesystem. */
__attribute__((noinline)) int tell_path(u64 inode_, u64 dentry, u64 mnt, u64 now, u32 tid)
{
	struct inode *inode = (void *)inode_;
	struct super_block *sb = READ(inode, i_sb);
	struct path_record about = { .head = HEAD(K_PATH, mnt ? PATH_OF_FILE : PATH_IN_FILESYSTEM, tid, now) };
	about.dev = READ(sb, s_dev);
	about.ino = READ(inode, i_ino);
	u16 type = READ(inode, i_mode) & 0170000;
	if (type == 0020000 || type == 0060000)
		about.dev = READ(inode, i_rdev);
	/* Inode numbers are reused, but with another generation. Deletion changes the path. */
	u32 links = READ(inode, i_nlink);
	u64 hash = mix(mix(about.ino) + about.dev) + READ(inode, i_generation);
	hash = mix(hash + (links ? 0 : 1) + dentry);
	u64 *known = &told[hash >> 16 & (TOLD - 1)];
	if (*known == hash)
		return 0;
	if (!links)
		about.head.flags |= PATH_DELETED;
	struct walk *walk = start_walk(dentry, mnt);
	if (!walk)
		return 0;
	walk_up(walk);
	if (tell_walk(walk, &about))
		*known = hash;
	return 0;
}

/* The wait target of a thread in a call with a path argument: that path. A relative one is prefixed
 * with the working directory of the process, or with the directory that it is relative to. */
__attribute__((noinline)) u64 tell_argument(struct thread *thread, u32 kind, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	if (!thread)
		return 0;
	if (thread->path_told == thread->entered)
		return GIVEN_PATH;
	bool compat __attribute__((unused)) = thread->call & COMPAT;
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	s32 dir = kind == ARG_PATH_AT ? (s32)ARG0(regs, compat) : AT_FDCWD;
	u64 from = kind == ARG_PATH_AT ? ARG1(regs, compat) : ARG0(regs, compat);
	struct walk *walk = start_walk(0, 0);
	if (!walk)
		return 0;
	long size = bpf_probe_read_user_str(walk->text, NAME_MAX, (void *)from);
	if (size <= 1 || size > NAME_MAX) {
		walk->busy = 0;
		return 0;
	}
	walk->at = size;
	struct path_record about = { .head = HEAD(K_PATH, PATH_GIVEN, TID(thread, task), now) };
	if (walk->text[0] != '/') {
		struct path *path = 0;
		if (dir == AT_FDCWD) {
			struct fs_struct *fs = READ(task, fs);
			path = __builtin_preserve_access_index(&fs->pwd);
		} else {
			struct files_struct *files = READ(task, files);
			struct fdtable *table = READ(files, fdt);
			struct file **array = READ(table, fd);
			struct file *file = 0;
			if ((u32)dir < READ(table, max_fds))
				bpf_probe_read_kernel(&file, sizeof(file), array + (u32)dir);
			if (file)
				path = __builtin_preserve_access_index(&file->f_path);
		}
		if (path) {
			walk->dentry = (u64)READ(path, dentry);
			walk->mnt = (u64)READ(path, mnt);
			walk_up(walk);
		} else
			walk->cut = 1;
	}
	if (!tell_walk(walk, &about))
		return 0;
	thread->path_told = thread->entered;
	return GIVEN_PATH;
}

/* The running thread, outside any call, needs a page of this file. Its number of page faults shows
 * later whether it is still in the same one. */
__attribute__((noinline)) int needs_page(u64 inode)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cpu *cpu = this_cpu();
	if (!cpu)
		return 0;
	struct thread *thread = thread_at(place_of_running(cpu, task));
	if (!thread || thread->call != NO_CALL)
		return 0;
	thread->page_inode = inode;
	thread->page_faults = task->min_flt + task->maj_flt;
	return 0;
}

/* A name of the file with this list of names, null for none. Its place in the list is in a union
 * that has lost its own name. */
INLINE u64 first_name(struct inode *inode)
{
	struct hlist_head *names = __builtin_preserve_access_index(&inode->i_dentry);
	u64 name = (u64)READ(names, first);
	if (!name)
		return 0;
	if (FIELD_EXISTS((struct dentry___named *)0, d_u))
		return name - __builtin_preserve_field_info(((struct dentry___named *)0)->d_u, 0);
	if (FIELD_EXISTS((struct dentry *)0, d_alias))
		return name - __builtin_preserve_field_info(((struct dentry *)0)->d_alias, 0);
	return 0;
}

/* A page fault blocks: reports its file, or that no file is known. */
__attribute__((noinline)) int tell_page(struct thread *thread, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	if (!thread)
		return 0;
	struct page_record record = { .head = HEAD(K_PAGE, 0, TID(thread, task), now) };
	if (thread->page_inode && thread->page_faults == task->min_flt + task->maj_flt) {
		struct inode *inode = (void *)thread->page_inode;
		struct super_block *sb = READ(inode, i_sb);
		u64 dentry = first_name(inode);
		record.dev = READ(sb, s_dev);
		record.ino = READ(inode, i_ino);
		if (dentry)
			tell_path((u64)inode, dentry, 0, now, TID(thread, task));
	}
	EMIT(record);
	return 0;
}
