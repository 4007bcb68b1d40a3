/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Wait targets of blocked threads, from the arguments of their calls: files, sockets and their
 * ends; and throttling of their cgroups.
 */
#pragma once
#include "paths.h"

/* The word of a bit field at an offset, of a size, shifted to the left and back. */
INLINE u64 bits(void *at, u32 size, u32 left, u32 right)
{
	u64 word = 0;
	switch (size) {
	case 1: word = *(u8 *)at; break;
	case 2: word = *(u16 *)at; break;
	case 4: word = *(u32 *)at; break;
	case 8: word = *(u64 *)at; break;
	}
	return word << left >> right;
}

/* A bit field: CO-RE gives its byte offset, size and shifts. */
#define BITS(of, field)                                                                                               \
	bits((void *)(of) + __builtin_preserve_field_info((of)->field, 0), __builtin_preserve_field_info((of)->field, 1), \
	     __builtin_preserve_field_info((of)->field, 4), __builtin_preserve_field_info((of)->field, 5))

INLINE bool in_iowait(struct task_struct *task)
{
	return BITS(task, in_iowait);
}

/* Of `task_struct.__state`. */
#define STATE_INTERRUPTIBLE 0x1
#define STATE_STOPPED 0xc
#define STATE_FROZEN 0x8000
#define STATE_DEAD 0x80
#define STATE_WAKING 0x200

/* Held by a frozen control group: of the first version, or of the second, which marks the task. The
 * mark is also there in other waits that count as frozen, which a signal does not end (vfork). */
INLINE bool is_frozen(struct task_struct *task, u32 state)
{
	if (state & STATE_FROZEN)
		return 1;
	return state & STATE_INTERRUPTIBLE && FIELD_EXISTS((struct task_struct *)0, frozen) && BITS(task, frozen);
}

INLINE u32 known(u32 call)
{
	return call < CALLS ? call : OTHER_CALL;
}

/* A kernel-created worker of a program's io_uring: it runs only kernel code. */
#define PF_IO_WORKER 0x10

/* The current call of a thread, from its saved registers. */
INLINE u32 call_in(struct task_struct *task, struct pt_regs *regs)
{
	/* It is in none, and runs work deferred from calls. */
	if (task->flags & PF_IO_WORKER)
		return nr_io_uring_enter;
	if (!CAME_BY_CALL(regs))
		return NO_CALL;
	return known(CALL_OF(regs)) | (IS_COMPAT(task) ? COMPAT : 0);
}

/* The call that the running thread returns from, by its registers alone: its entry need not have
 * been traced. The return from a signal's handler puts back the registers of what was interrupted,
 * and leaves no number in them. */
INLINE u32 returned_from(struct pt_regs *regs)
{
	bool compat = IS_COMPAT(bpf_get_current_task_btf());
	u32 call = CAME_BY_CALL(regs) ? known(CALL_OF(regs)) : nr_rt_sigreturn[compat];
	return call | (compat ? COMPAT : 0);
}

INLINE u32 saved_call(struct task_struct *task)
{
	return call_in(task, (struct pt_regs *)bpf_task_pt_regs(task));
}

INLINE void read_ends(struct sock *sk, struct ends *ends)
{
	struct sock_common *common = __builtin_preserve_access_index(&sk->__sk_common);
	u16 family = READ(common, skc_family);
	ends->family = family;
	ends->protocol = READ(sk, sk_protocol);
	ends->local_port = READ(common, skc_num);
	u16 port = READ(common, skc_dport);
	ends->remote_port = port >> 8 | (u16)(port << 8);
	if (family == 10 && FIELD_EXISTS(common, skc_v6_rcv_saddr)) { /* else without CONFIG_IPV6 */
		bpf_probe_read_kernel(ends->local, 16, __builtin_preserve_access_index(&common->skc_v6_rcv_saddr));
		bpf_probe_read_kernel(ends->remote, 16, __builtin_preserve_access_index(&common->skc_v6_daddr));
	} else {
		ends->local[10] = ends->local[11] = ends->remote[10] = ends->remote[11] = 0xff;
		bpf_probe_read_kernel(ends->local + 12, 4, __builtin_preserve_access_index(&common->skc_rcv_saddr));
		bpf_probe_read_kernel(ends->remote + 12, 4, __builtin_preserve_access_index(&common->skc_daddr));
	}
}

/* The same of a socket that the verifier knows, a tracepoint's argument: loads, which cost a tenth
 * of the helper's reads and are made for each packet. */
INLINE void load_ends(struct sock *sk, struct ends *ends)
{
	struct sock_common *common = &sk->__sk_common;
	u16 family = common->skc_family, port = common->skc_dport;
	if (family == 10) {
		read_ends(sk, ends);
		return;
	}
	ends->family = family;
	ends->protocol = sk->sk_protocol;
	ends->local_port = common->skc_num;
	ends->remote_port = port >> 8 | (u16)(port << 8);
	ends->local[10] = ends->local[11] = ends->remote[10] = ends->remote[11] = 0xff;
	u32 local = common->skc_rcv_saddr, remote = common->skc_daddr;
	__builtin_memcpy(ends->local + 12, &local, 4);
	__builtin_memcpy(ends->remote + 12, &remote, 4);
}

/* The name that a local socket is bound to; its length, 0 without one. */
INLINE u32 read_name(struct unix_sock *sk, char *to)
{
	struct unix_address *address = READ(sk, addr);
	/* Behind the length of both stand the family and the name. */
	int *length_of_both = __builtin_preserve_access_index(&address->len);
	u32 length = (u32)READ(address, len) - sizeof(u16);
	if (!address || length > SOCKET_NAME_MAX)
		return 0;
	bpf_probe_read_kernel(to, length, (void *)(length_of_both + 1) + sizeof(u16));
	return length;
}

/* The names of a local socket and of its other end tell which of them serves: an accepted socket
 * has the name of the one that listens, and who connects has none as a rule. */
__attribute__((noinline)) int tell_socket_names(u64 sk_, u64 number, u64 now, u32 tid)
{
	struct unix_sock *sk = (void *)sk_;
	struct unix_sock *peer = (void *)READ(sk, peer);
	if (!READ(sk, addr) && !READ(peer, addr))
		return 0;
	struct socket_names_record *record = reserve(sizeof(*record), NOT_ALONE);
	if (!record)
		return 0;
	struct head head = HEAD(K_SOCKET_NAMES, 0, tid, now);
	record->head = head;
	record->ino = number;
	record->own_len = read_name(sk, record->own);
	record->peer_len = read_name(peer, record->peer);
	ready(record, sizeof(*record));
	return 0;
}

INLINE int tell_names(u64 file_, u64 now, u32 tid)
{
	struct file *file = (void *)file_;
	struct inode *inode = READ(file, f_inode);
	struct socket *socket = READ(file, private_data);
	return tell_socket_names((u64)READ(socket, sk), READ(inode, i_ino), now, tid);
}

INLINE u64 inode_of(struct sock *sk)
{
	struct socket *socket = READ(sk, sk_socket);
	struct file *file = READ(socket, file);
	struct inode *inode = READ(file, f_inode);
	return READ(inode, i_ino);
}

INLINE bool is_local(u64 key)
{
	struct sock_common *common = __builtin_preserve_access_index(&((struct sock *)key)->__sk_common);
	return READ(common, skc_family) == FAMILY_LOCAL;
}

#define PIPEFS_MAGIC 0x50495045
#define ANON_INODE_MAGIC 0x09041934

/* What else there is to tell of an object. */
enum more { MORE_NONE, MORE_PATH, MORE_NAMES };

/* Pipes, sockets and the like have no path. What is more is told by the caller: this record would
 * stand on the stack, of 512 bytes, below it. */
__attribute__((noinline)) int tell_kind(u64 file_, u64 now, u32 tid)
{
	struct file *file = (void *)file_;
	struct object_record record = { .head = HEAD(K_OBJECT, OBJECT_FILE, tid, now), .object = (u64)file };
	struct inode *inode = READ(file, f_inode);
	struct super_block *sb = READ(inode, i_sb);
	struct path *path = __builtin_preserve_access_index(&file->f_path);
	struct dentry *dentry = READ(path, dentry);
	struct qstr *name = __builtin_preserve_access_index(&dentry->d_name);
	record.mode = READ(inode, i_mode);
	record.ino = READ(inode, i_ino);
	record.magic = READ(sb, s_magic);
	record.dev = READ(sb, s_dev);
	u16 type = record.mode & 0170000;
	if (type == 0020000 || type == 0060000)
		record.dev = READ(inode, i_rdev);
	bpf_probe_read_kernel_str(record.name, sizeof(record.name), READ(name, name));
	if (type == 0140000) {
		struct socket *socket = READ(file, private_data);
		struct sock *sk = READ(socket, sk);
		struct sock_common *common = __builtin_preserve_access_index(&sk->__sk_common);
		u16 family = READ(common, skc_family);
		record.head.a = OBJECT_OTHER_SOCKET;
		record.ends.family = family;
		if (family == FAMILY_LOCAL) {
			record.head.a = OBJECT_UNIX;
			record.peer = inode_of(READ((struct unix_sock *)sk, peer));
		} else if (family == 2 || family == 10) {
			record.head.a = OBJECT_NET;
			read_ends(sk, &record.ends);
		}
	}
	EMIT(record);
	if (record.head.a == OBJECT_UNIX)
		return MORE_NAMES;
	bool has_path = type != 0140000 && type != 0 && record.magic != PIPEFS_MAGIC && record.magic != ANON_INODE_MAGIC;
	return has_path ? MORE_PATH : MORE_NONE;
}

__attribute__((noinline)) int tell_object(u64 file_, u64 now, u32 tid)
{
	struct file *file = (void *)file_;
	int more = tell_kind(file_, now, tid);
	if (more == MORE_NAMES)
		tell_names(file_, now, tid);
	if (more != MORE_PATH)
		return 0;
	struct path *path = __builtin_preserve_access_index(&file->f_path);
	tell_path((u64)READ(file, f_inode), (u64)READ(path, dentry), (u64)READ(path, mnt), now, tid);
	return 0;
}

/* The wait target of a call with a path argument. */
__attribute__((noinline)) u64 path_of(struct thread *thread, u32 kind, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mm_struct *mm = READ(task, mm);
	if (!thread)
		return 0;
	if (!thread->mm)
		thread->mm = (u64)mm;
	if (thread->mm == (u64)mm)
		return tell_argument(thread, kind, now);
	/* During execve the old image is gone, and with it the argument. */
	u64 image = (u64)READ(mm, exe_file);
	if (image)
		tell_object(image, now, TID(thread, task));
	return image;
}

/* The file of a descriptor; null for none. */
INLINE struct file *open_file(struct files_struct *files, u32 fd)
{
	struct fdtable *table = files->fdt;
	struct file *file = 0;
	if (fd >= table->max_fds)
		return 0;
	struct file **array = table->fd;
	bpf_probe_read_kernel(&file, sizeof(file), array + fd);
	return file;
}

/* The same for the running thread, where it is rare: the verifier looks up types by name among all
 * of the kernel's wherever a program follows a pointer of a task, which takes it as long as 2,000
 * instructions do, and not where it reads one. */
INLINE struct file *own_file(struct task_struct *task, u32 fd)
{
	struct files_struct *files = READ(task, files);
	struct fdtable *table = READ(files, fdt);
	struct file *file = 0;
	if (fd >= READ(table, max_fds))
		return 0;
	bpf_probe_read_kernel(&file, sizeof(file), READ(table, fd) + fd);
	return file;
}

/* Whether this file is to be reported to user space: a thread remembers the last two. */
INLINE bool is_news(struct thread *thread, u32 fd, struct file *file)
{
	u64 inode = (u64)READ(file, f_inode);
	if (thread->file[fd & 1] == (u64)file && thread->inode[fd & 1] == inode)
		return 0;
	thread->file[fd & 1] = (u64)file;
	thread->inode[fd & 1] = inode;
	return 1;
}

/* While calls are not traced, a descriptor in the same call of the same thread is assumed to be the
 * same file for this time: it is looked up for every seventh switch where there are 700,000 a
 * second. A descriptor that is closed and reopened in this time keeps the old name. */
#define HELD_NS 20000

/* The object of the call of a thread that is switched out; a new one is reported to user space.
 * While calls are not traced (`hold`) it is kept for a while. */
INLINE u64 object_of(struct task_struct *task, struct pt_regs *regs, struct files_struct *files, struct thread *thread, u32 call,
		     bool hold, u64 now)
{
	u8 kind = arg_kind[index_of(call) & (2 * CALLS - 1)];
	if (kind == ARG_NONE)
		return 0;
	if (kind == ARG_PATH || kind == ARG_PATH_AT)
		return path_of(thread, kind, now);
	if (kind == ARG_SELECT || (kind == ARG_RING && task->flags & PF_IO_WORKER))
		return 0;
	bool compat __attribute__((unused)) = call & COMPAT;
	u64 arg = ARG0(regs, compat);
	if (kind == ARG_FUTEX)
		return arg;
	if (kind == ARG_POLL) {
		/* One descriptor can be named; for several, only the waker shows which. */
		s32 one = -1;
		if (ARG1(regs, compat) != 1 || bpf_probe_read_user(&one, sizeof(one), (void *)arg))
			return 0;
		arg = (u32)one;
	}
	if (hold && thread->held_fd == (u32)arg && thread->held_call == call && now - thread->held_at < HELD_NS)
		return thread->held;
	struct file *file = open_file(files, arg);
	if (file && is_news(thread, arg, file))
		tell_object((u64)file, now, TID(thread, task));
	if (hold) {
		thread->held = (u64)file;
		thread->held_at = now;
		thread->held_fd = arg;
		thread->held_call = call;
	}
	return (u64)file;
}

/* A thread that waits for several objects is woken from within a call: the object of that call is
 * the one that became ready. */
__attribute__((noinline)) int tell_through(u32 tid, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	u32 call = saved_call(task);
	if (call == NO_CALL || arg_kind[index_of(call) & (2 * CALLS - 1)] != ARG_FD)
		return 0;
	bool compat __attribute__((unused)) = call & COMPAT;
	u64 file = (u64)own_file(task, ARG0(regs, compat));
	struct through_record record = { .head = HEAD(K_THROUGH, 0, tid, now), .object = file };
	if (!file)
		return 0;
	/* A path would come too late, and such wait targets rarely have one. */
	if (tell_kind(file, now, number_of(task)) == MORE_NAMES)
		tell_names(file, now, number_of(task));
	EMIT(record);
	return 0;
}

/* Shorter waits get no stack of their waker; and stacks of one waker are at least this far apart,
 * except for waits longer than that. */
#define ENDED_NS 100000
#define WAKER_STACK_NS 5000000

/* The running thread, not an interrupt, ends another thread's wait. Its stack is taken at the exit
 * of its own call, if that call is a wake-up. */
__attribute__((noinline)) int tell_ended(struct thread *thread, struct thread *waker, u32 tid, u64 now)
{
	if (!thread || thread->left != LEFT_BLOCKED)
		return 0;
	if (thread->kind >= ARG_SEVERAL)
		return tell_through(tid, now);
	u64 waited = now - thread->left_at;
	if (!waker || waited < ENDED_NS)
		return 0;
	u64 *period = setting(SETTING_WAIT_PERIOD_NS);
	u64 since = now - waker->ended_at;
	u64 least = period && *period > WAKER_STACK_NS ? *period : WAKER_STACK_NS;
	if (since < ENDED_NS || (since < least && waited < least))
		return 0;
	if (waker->call == NO_CALL || arg_kind[index_of(waker->call) & (2 * CALLS - 1)] != ARG_FUTEX)
		return 0;
	waker->ended_at = now;
	waker->ended_in = waker->entered;
	waker->ended_tid = tid;
	waker->blocked_ns |= ENDED_WAIT;
	return 0;
}

/* Total time that this cgroup and its ancestors were throttled. */
__attribute__((noinline)) u64 throttled_in(u64 address)
{
	u64 sum = 0;
	if (!FIELD_EXISTS((struct task_group *)0, cfs_bandwidth))
		return 0;
	struct task_group *group = (void *)address;
	for (int i = 0; i < 4; i++) {
		if (!group)
			break;
		struct cfs_bandwidth *bandwidth = __builtin_preserve_access_index(&group->cfs_bandwidth);
		sum += READ(bandwidth, throttled_time);
		group = READ(group, parent);
	}
	return sum;
}

INLINE u64 throttled_time(struct task_struct *task)
{
	if (!FIELD_EXISTS((struct task_struct *)0, sched_task_group))
		return 0;
	return throttled_in((u64)READ(task, sched_task_group));
}
