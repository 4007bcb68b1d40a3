/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The few kernel types and BPF helpers that the kernel half uses, declared by hand.
 *
 * They have only the fields that are read. `preserve_access_index` makes each access a CO-RE
 * relocation: the loader looks up the real offset in the running kernel's BTF, so neither the order
 * here nor missing fields matter, and no generated vmlinux.h is needed. Helper numbers are the
 * kernel's ABI (include/uapi/linux/bpf.h).
 */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;
typedef _Bool bool;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define barrier_var(x) asm volatile("" : "+r"(x))
#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))
/* A store-release of `value`. x86 keeps stores in order; BPF has no store-release on all kernels.
 */
#if defined(__TARGET_ARCH_x86)
#define STORE_RELEASE(to, value)                                                                               \
	do {                                                                                                   \
		asm volatile("" ::: "memory");                                                                 \
		*(volatile typeof(*(to)) *)(to) = (value);                                                     \
	} while (0)
#else
#define STORE_RELEASE(to, value) (void)__sync_lock_test_and_set(to, value)
#endif

/* BTF-style map definitions. */
#define MAP_UINT(name, value) int(*name)[value]
#define MAP_TYPE(name, type) typeof(type) *name

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_STACK = 23,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
#define BPF_ANY 0
#define BPF_NOEXIST 1
#define BPF_F_NO_PREALLOC 1
#define BPF_RB_NO_WAKEUP 1
#define BPF_F_MMAPABLE (1 << 10)
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1
#define BPF_F_USER_STACK (1ull << 8)

struct task_struct;
struct vm_area_struct;
struct pt_regs;
static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static long (*bpf_map_push_elem)(void *map, const void *value, u64 flags) = (void *)87;
static long (*bpf_map_pop_elem)(void *map, void *value) = (void *)88;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*bpf_get_prandom_u32)(void) = (void *)7;
static u32 (*bpf_get_smp_processor_id)(void) = (void *)8;
static long (*bpf_get_stack)(void *ctx, void *to, u32 size, u64 flags) = (void *)67;
static long (*bpf_probe_read_user)(void *to, u32 size, const void *from) = (void *)112;
static long (*bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*bpf_probe_read_user_str)(void *to, u32 size, const void *from) = (void *)114;
static long (*bpf_probe_read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;
static long (*bpf_ringbuf_output)(void *ring, void *data, u64 size, u64 flags) = (void *)130;
static void *(*bpf_task_storage_get)(void *map, struct task_struct *task, void *value, u64 flags) = (void *)156;
static struct task_struct *(*bpf_get_current_task_btf)(void) = (void *)158;
static long (*bpf_snprintf)(char *to, u32 size, const char *format, u64 *data, u32 data_size) = (void *)165;
static long (*bpf_task_pt_regs)(struct task_struct *task) = (void *)175;
/* Since 5.17. */
static long (*bpf_find_vma)(struct task_struct *task, u64 address, void *each, void *data, u64 flags) = (void *)180;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct { int counter; } atomic_t;
struct in6_addr { u8 bytes[16]; };
struct qstr { const unsigned char *name; };
struct hlist_node { struct hlist_node *next; };
struct hlist_head { struct hlist_node *first; };
struct dentry { struct qstr d_name; struct dentry *d_parent; struct inode *d_inode; struct hlist_node d_alias; };
/* Until Linux 7.0. The suffix after three underscores is not part of the name. */
struct dentry___named { union { struct hlist_node d_alias; } d_u; };
struct vfsmount { struct dentry *mnt_root; };
struct mount { struct mount *mnt_parent; struct dentry *mnt_mountpoint; struct vfsmount mnt; };
struct path { struct vfsmount *mnt; struct dentry *dentry; };
struct fs_struct { struct path pwd; };
struct super_block { u32 s_dev; unsigned long s_magic; };
struct inode { u16 i_mode; s64 i_size; unsigned long i_ino; u32 i_rdev, i_nlink, i_generation; struct super_block *i_sb; struct hlist_head i_dentry; };
struct address_space { struct inode *host; };
struct folio { struct address_space *mapping; };
struct gendisk { int major, first_minor; };
struct request_queue { struct gendisk *disk; };
enum mq_rq_state { MQ_RQ_IDLE, MQ_RQ_IN_FLIGHT, MQ_RQ_COMPLETE };
struct request { struct request_queue *q; u32 cmd_flags, __data_len; u64 __sector, start_time_ns; enum mq_rq_state state; };
struct file { u32 f_flags; struct inode *f_inode; void *private_data; struct path f_path; };
struct fdtable { u32 max_fds; struct file **fd; };
struct files_struct { struct fdtable *fdt; };

struct net;
typedef struct { struct net *net; } possible_net_t;
struct sock_common {
	u16 skc_family;
	unsigned char skc_state;
	unsigned long skc_flags;
	possible_net_t skc_net;
	u32 skc_daddr, skc_rcv_saddr;
	u16 skc_dport, skc_num;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
};
struct socket;
struct sk_buff_head { u32 qlen; };
struct sock { struct sock_common __sk_common; u16 sk_protocol, sk_type; struct sk_buff_head sk_receive_queue; struct socket *sk_socket; };
struct socket { struct sock *sk; struct file *file; };
struct unix_address { int len; /* struct sockaddr_un name[] */ };
struct unix_sock { struct sock *peer; struct unix_address *addr; };
struct inet_sock { u16 inet_sport; };
struct minmax_sample { u32 v; };
struct minmax { struct minmax_sample s[3]; };
#define FAMILY_LOCAL 1 /* AF_UNIX */
#define SOCK_DGRAM 2
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17

struct tcp_sock {
	u64 bytes_acked, bytes_received;
	u32 srtt_us, total_retrans, mss_cache, snd_una, write_seq, rcv_nxt, copied_seq;
	struct minmax rtt_min;
	u8 nonagle : 4;
};
struct sk_buff { struct sock *sk; unsigned char *head, *data; u32 len, data_len; u16 protocol, network_header; };

struct cfs_bandwidth { u64 throttled_time; };
struct task_group { struct cfs_bandwidth cfs_bandwidth; struct task_group *parent; };
struct sched_entity { u64 exec_start, sum_exec_runtime; };
struct sched_info { unsigned long long run_delay; };
struct signal_struct { atomic_t live; int group_exit_code; unsigned long maxrss; };
struct thread_info { u32 status; unsigned long flags; };

struct mm_struct { unsigned long start_brk, brk, start_stack; struct file *exe_file; };
struct vm_area_struct { unsigned long vm_start, vm_end; struct file *vm_file; };
struct ns_common { u32 inum; };
struct pid_namespace { struct ns_common ns; };
struct upid { int nr; struct pid_namespace *ns; };
struct pid { u32 level; struct upid numbers[1]; };
#if defined(__TARGET_ARCH_x86)
struct thread_struct { unsigned long fsbase; };
#define THREAD_POINTER(task) ((task)->thread.fsbase)
#elif defined(__TARGET_ARCH_arm64)
struct thread_struct { struct { unsigned long tp_value; } uw; };
#define THREAD_POINTER(task) ((task)->thread.uw.tp_value)
#endif

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state, flags;
	int on_cpu;
	int pid, tgid, exit_code;
	struct sched_entity se;
	struct task_group *sched_task_group;
	struct sched_info sched_info;
	unsigned in_iowait : 1;
	unsigned frozen : 1;
	unsigned long nvcsw, nivcsw, min_flt, maj_flt;
	char comm[16];
	struct fs_struct *fs;
	struct files_struct *files;
	struct signal_struct *signal;
	struct pid *thread_pid;
	struct task_struct *group_leader;
	struct mm_struct *mm;
	struct thread_struct thread;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs { unsigned long r15, r14, r13, r12, r10, bp, bx, ax, cx, dx, si, di, orig_ax, ip, cs, sp; };
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs { u64 regs[31]; u64 sp, pc, pstate; };
struct pt_regs { u64 regs[31]; u64 sp, pc, pstate, orig_x0; s32 syscallno; };
#endif

#pragma clang attribute pop

/* The context of a perf_event program. Its layout is ABI, so it is not relocated. */
#if defined(__TARGET_ARCH_x86)
struct perf_regs {
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};
#define REGS_IP(regs) ((regs)->ip)
#define REGS_USER(regs) (((regs)->cs & 3) == 3)
#elif defined(__TARGET_ARCH_arm64)
struct perf_regs { u64 regs[31], sp, pc, pstate; };
#define REGS_IP(regs) ((regs)->pc)
#define REGS_USER(regs) (((regs)->pstate & 0xf) == 0)
#endif
struct bpf_perf_event_data { struct perf_regs regs; u64 sample_period; u64 addr; };

/* Read one field of a kernel object that the verifier does not trust. */
#define READ(object, field)                                                                                    \
	({                                                                                                     \
		typeof((object)->field) value_ = 0;                                                            \
		bpf_probe_read_kernel(&value_, sizeof(value_), __builtin_preserve_access_index(&(object)->field)); \
		value_;                                                                                        \
	})
#define AT_FDCWD (-100)
#define O_DSYNC 0x1000
#define O_SYNC_ONLY 0x100000 /* of O_SYNC, beside O_DSYNC */
#define FIELD_EXISTS(object, field) __builtin_preserve_field_info((object)->field, 2)

/* Arguments of the current call of a blocked thread. */
#if defined(__TARGET_ARCH_x86)
#define ARG0(regs, compat) ((compat) ? (u32)(regs)->bx : (regs)->di)
#define ARG1(regs, compat) ((compat) ? (u32)(regs)->cx : (regs)->si)
#define ARG2(regs) ((regs)->dx)
#define IS_COMPAT(task) ((task)->thread_info.status & 2) /* TS_COMPAT */
/* Exceptions set it to -1: there is no call to restart. */
#define CAME_BY_CALL(regs) ((s64)(regs)->orig_ax >= 0)
#define CALL_OF(regs) ((u32)(regs)->orig_ax)
#define REGS_SP(regs) ((regs)->sp)
#define O_DIRECT 0x4000
/* A function in user space: its first parameter, and its return value. */
#define PARAMETER0(regs) ((regs)->di)
/* The first parameters of a function of Go. */
#define GO_PARAMETER0(regs) ((regs)->ax)
#define GO_PARAMETER1(regs) ((regs)->bx)
#define GO_PARAMETER2(regs) ((regs)->cx)
#define GO_TASK(regs) ((regs)->r14)
#define RETURNED(regs) ((regs)->ax)
#define UPROBE_SP(regs) ((regs)->sp)
#define RETURNS_BY_STACK 1
/* Registers for unwinding: instruction, stack and frame pointer, and callee-saved ones. */
#define USER_REGS(regs, to)                                                                                    \
	do {                                                                                                   \
		(to)[0] = (regs)->ip, (to)[1] = (regs)->sp, (to)[2] = (regs)->bp, (to)[3] = (regs)->bx;         \
		(to)[4] = (regs)->r12, (to)[5] = (regs)->r13, (to)[6] = (regs)->r14, (to)[7] = (regs)->r15;     \
	} while (0)
/* The other general registers, of a sample: with them the address of a load is known. */
#define SCRATCH_REGS 9
#define TAKE_SCRATCH(regs, to)                                                                                 \
	do {                                                                                                   \
		(to)[0] = (regs)->ax, (to)[1] = (regs)->dx, (to)[2] = (regs)->cx;                               \
		(to)[3] = (regs)->si, (to)[4] = (regs)->di;                                                     \
		(to)[5] = (regs)->r8, (to)[6] = (regs)->r9, (to)[7] = (regs)->r10, (to)[8] = (regs)->r11;       \
	} while (0)
#elif defined(__TARGET_ARCH_arm64)
#define ARG0(regs, compat) ((regs)->orig_x0)
#define ARG1(regs, compat) ((regs)->regs[1])
#define ARG2(regs) ((regs)->regs[2])
#define IS_COMPAT(task) ((task)->thread_info.flags & (1ul << 22)) /* TIF_32BIT */
#define CAME_BY_CALL(regs) ((regs)->syscallno >= 0)
#define CALL_OF(regs) ((u32)(regs)->syscallno)
#define REGS_SP(regs) ((regs)->sp)
#define O_DIRECT 0x10000
#define PARAMETER0(user) (((struct user_pt_regs *)(user))->regs[0])
#define GO_PARAMETER0(user) (((struct user_pt_regs *)(user))->regs[0])
#define GO_PARAMETER1(user) (((struct user_pt_regs *)(user))->regs[1])
#define GO_PARAMETER2(user) (((struct user_pt_regs *)(user))->regs[2])
#define GO_TASK(user) (((struct user_pt_regs *)(user))->regs[28])
#define RETURNED(user) (((struct user_pt_regs *)(user))->regs[0])
#define UPROBE_SP(user) (((struct user_pt_regs *)(user))->sp)
#define RETURNS_BY_STACK 0
#define USER_REGS(user, to)                                                                                    \
	do {                                                                                                   \
		(to)[0] = (user)->pc, (to)[1] = (user)->sp, (to)[2] = (user)->regs[29], (to)[3] = (user)->regs[30]; \
		(to)[4] = (user)->regs[19], (to)[5] = (user)->regs[20];                                         \
		(to)[6] = (user)->regs[21], (to)[7] = (user)->regs[22];                                         \
	} while (0)
/* Of a sample: x0 to x18. With them the address of a load is known. */
#define SCRATCH_REGS 19
#define TAKE_SCRATCH(user, to)                                                                                 \
	do {                                                                                                   \
		(to)[0] = (user)->regs[0], (to)[1] = (user)->regs[1], (to)[2] = (user)->regs[2];                \
		(to)[3] = (user)->regs[3], (to)[4] = (user)->regs[4], (to)[5] = (user)->regs[5];                \
		(to)[6] = (user)->regs[6], (to)[7] = (user)->regs[7], (to)[8] = (user)->regs[8];                \
		(to)[9] = (user)->regs[9], (to)[10] = (user)->regs[10], (to)[11] = (user)->regs[11];            \
		(to)[12] = (user)->regs[12], (to)[13] = (user)->regs[13], (to)[14] = (user)->regs[14];          \
		(to)[15] = (user)->regs[15], (to)[16] = (user)->regs[16], (to)[17] = (user)->regs[17];          \
		(to)[18] = (user)->regs[18];                                                                    \
	} while (0)
#endif
