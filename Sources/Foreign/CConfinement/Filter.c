// The filter of system calls (seccomp(2)). docs/decisions/0017-the-agent-confines-itself.md says why it is a list of what
// is refused, and why it is written by hand.
#define _GNU_SOURCE
#include "CConfinement.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "Name the audit architecture, and check which calls it has."
#endif

enum {
  // Calls of the x32 interface have this bit set.
  first_x32_call = 0x40000000,
  // open_tree_attr of Linux 6.15. glibc takes ENOSYS for an older kernel and uses an older call.
  last_known_call = 467,
  clone3_call = 435,
};

// Refused whatever the arguments are. Calls that one architecture lacks are left out there; calls that the headers of the
// build may lack are numbers, the same on both architectures.
static const int refused[] = {
  // Starting programs, and reaching into other processes.
  SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_tkill,
  434 /* pidfd_open */, 438 /* pidfd_getfd */, 424 /* pidfd_send_signal */, 440 /* process_madvise */,
  448 /* process_mrelease */,
  // A wide way around filters, and faults that a program serves itself, which exploits use to win races.
  425 /* io_uring_setup */, 426 /* io_uring_enter */, 427 /* io_uring_register */, SYS_userfaultfd, SYS_bpf,
  SYS_perf_event_open, SYS_memfd_create,
  // Other processes of this user, and attributes of files, which Landlock does not restrict.
  SYS_setpriority, SYS_shmget, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr,
  SYS_fremovexattr, SYS_utimensat,
  // Mounts, namespaces, files past their paths.
  SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, 428 /* open_tree */, 429 /* move_mount */, 430 /* fsopen */,
  431 /* fsconfig */, 432 /* fsmount */, 433 /* fspick */, 442 /* mount_setattr */, 467 /* open_tree_attr */,
  SYS_setns, SYS_unshare, SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_mknodat, SYS_fanotify_init,
  // The machine.
  SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, 443 /* quotactl_fd */, SYS_quotactl, SYS_reboot,
  SYS_swapon, SYS_swapoff, SYS_acct, SYS_syslog, SYS_sethostname, SYS_setdomainname, SYS_settimeofday,
  SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime, SYS_vhangup,
  // Users, rights, the kind of process.
  SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid, SYS_setfsuid, SYS_setfsgid,
  SYS_setgroups, SYS_capset, SYS_personality, SYS_request_key,
  // Where memory lies.
  SYS_mbind, SYS_set_mempolicy, SYS_migrate_pages, SYS_move_pages,
#ifdef SYS_lookup_dcookie
  SYS_lookup_dcookie,
#endif
#ifdef SYS_kexec_file_load
  SYS_kexec_file_load,
#endif
#ifdef __x86_64__
  SYS_utime, SYS_utimes, SYS_futimesat, SYS_fork, SYS_vfork, SYS_mknod, SYS_ioperm, SYS_iopl, SYS_modify_ldt, SYS_uselib, SYS_ustat, SYS_sysfs, SYS__sysctl,
  SYS_create_module, SYS_get_kernel_syms, SYS_query_module,
#endif
};

// Bytes of a program that is being written.
enum { most_instructions = 400 };
struct program {
  struct sock_filter code[most_instructions];
  unsigned short count;
};

// A program that does not fit has one instruction more than there is room for, and is not installed.
static void emit(struct program *program, struct sock_filter instruction) {
  if (program->count < most_instructions) program->code[program->count] = instruction;
  if (program->count <= most_instructions) program->count++;
}

static void give(struct program *program, uint32_t verdict) {
  emit(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict));
}

static void load(struct program *program, size_t offset) {
  emit(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

// The low half of an argument: the kernel reads these as int, or knows no flag in the upper half. Both architectures are
// little-endian.
static void load_argument(struct program *program, int number) {
  load(program, offsetof(struct seccomp_data, args) + 8 * (size_t)number);
}

// If the loaded word passes the test, `verdict`; else the program goes on.
static void give_if(struct program *program, unsigned short test, uint32_t operand, uint32_t verdict) {
  emit(program, (struct sock_filter)BPF_JUMP(BPF_JMP | test | BPF_K, operand, 0, 1));
  give(program, verdict);
}

enum { refuse = SECCOMP_RET_ERRNO | EPERM, unknown = SECCOMP_RET_ERRNO | ENOSYS };

// Begins what is asked of the arguments of a call; `end` ends it, and sets the length of the jump over it.
static unsigned short begin(struct program *program, int call) {
  emit(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 0));
  return program->count;
}

static void end(struct program *program, unsigned short start, uint32_t otherwise) {
  give(program, otherwise);
  if (start <= most_instructions) program->code[start - 1].jf = (uint8_t)(program->count - start);
}

// A call that is allowed only with one of these values of an argument.
static void only_with(
    struct program *program, int call, int argument, const uint32_t *values, size_t count, uint32_t otherwise) {
  unsigned short start = begin(program, call);
  load_argument(program, argument);
  for (size_t index = 0; index < count; index++) give_if(program, BPF_JEQ, values[index], SECCOMP_RET_ALLOW);
  end(program, start, otherwise);
}

// A call that is refused if all of `bits` are set in an argument.
static void not_with_all(struct program *program, int call, int argument, uint32_t bits) {
  unsigned short start = begin(program, call);
  load_argument(program, argument);
  emit(program, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits));
  give_if(program, BPF_JEQ, bits, refuse);
  end(program, start, SECCOMP_RET_ALLOW);
}

// A call that is refused with one of these values of an argument.
static void not_with(struct program *program, int call, int argument, const uint32_t *values, size_t count) {
  unsigned short start = begin(program, call);
  load_argument(program, argument);
  for (size_t index = 0; index < count; index++) give_if(program, BPF_JEQ, values[index], refuse);
  end(program, start, SECCOMP_RET_ALLOW);
}

#define VALUES(...) (const uint32_t[]){__VA_ARGS__}, sizeof(uint32_t[]){__VA_ARGS__} / sizeof(uint32_t)

static void write_arguments(struct program *program) {
  // Threads, but no processes. Of clone3(2) the flags lie in memory, which a filter can't read; glibc then uses clone(2).
  give_if(program, BPF_JEQ, clone3_call, unknown);
  unsigned short start = begin(program, SYS_clone);
  load_argument(program, 0);
  give_if(program, BPF_JSET, CLONE_THREAD, SECCOMP_RET_ALLOW);
  end(program, start, refuse);
  only_with(
      program, SYS_socket, 0, VALUES(AF_UNIX, AF_INET, AF_INET6, AF_NETLINK), SECCOMP_RET_ERRNO | EAFNOSUPPORT);
  // Memory that this process wrote is not executed. A file that it may write can still be mapped so.
  not_with_all(program, SYS_mmap, 2, PROT_WRITE | PROT_EXEC);
  not_with_all(program, SYS_mprotect, 2, PROT_EXEC);
  not_with_all(program, SYS_pkey_mprotect, 2, PROT_EXEC);
  not_with_all(program, SYS_shmat, 2, SHM_EXEC);
  // Typing into the terminal of a --stdio agent; TIOCLINUX.
  not_with(program, SYS_ioctl, 1, VALUES(TIOCSTI, 0x541C));
  // The keyring's anchor (CPlatform, Keyring.c): set permissions, link, unlink, search, read.
  only_with(program, SYS_keyctl, 0, VALUES(5, 8, 9, 10, 11), refuse);
  // Signals to itself only.
  uint32_t own = (uint32_t)getpid();
  only_with(program, SYS_kill, 0, VALUES(own), refuse);
  only_with(program, SYS_prlimit64, 0, VALUES(0, own), refuse);
  not_with(program, SYS_fcntl, 1, VALUES(F_SETOWN, F_SETOWN_EX, F_SETSIG));
  only_with(program, SYS_tgkill, 0, VALUES(own), refuse);
  only_with(program, SYS_rt_sigqueueinfo, 0, VALUES(own), refuse);
  only_with(program, SYS_rt_tgsigqueueinfo, 0, VALUES(own), refuse);
  not_with(program, SYS_prctl, 0, VALUES(PR_SET_DUMPABLE));
}

static void write_program(struct program *program) {
  program->count = 0;
  load(program, offsetof(struct seccomp_data, arch));
  emit(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
  give(program, SECCOMP_RET_KILL_PROCESS);
  load(program, offsetof(struct seccomp_data, nr));
  give_if(program, BPF_JGE, first_x32_call, refuse);
  give_if(program, BPF_JGT, last_known_call, unknown);
  for (size_t index = 0; index < sizeof refused / sizeof *refused; index++)
    give_if(program, BPF_JEQ, (uint32_t)refused[index], refuse);
  write_arguments(program);
  give(program, SECCOMP_RET_ALLOW);
}

int lanyard_filter_install(void) {
  struct program program;
  write_program(&program);
  if (program.count > most_instructions) return -E2BIG;
  struct sock_fprog whole = {.len = program.count, .filter = program.code};
  // To all threads. A positive result is the id of a thread that can't be filtered.
  long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &whole);
  return result < 0 ? -errno : result > 0 ? -ESRCH : 0;
}
