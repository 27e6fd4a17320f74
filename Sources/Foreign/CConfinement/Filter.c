// The filter of system calls (seccomp(2)). docs/decisions/0017-the-agent-confines-itself.md says why it is a list of what
// is refused, and why it is written by hand.
#define _GNU_SOURCE
#include "CConfinement.h"
#include "FilterProgram.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>

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

int lanyard_filter_install(void) {
  struct program program;
  begin_program(&program, refused, sizeof refused / sizeof *refused);
  write_arguments(&program);
  give(&program, SECCOMP_RET_ALLOW);
  return install(&program);
}
