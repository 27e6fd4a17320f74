// A disk in memory under SQLite that fails, fills up and dies on demand.
//
// A disk is an SQLite VFS of its own name. Its files have two images: what a running system sees, and what is on the
// medium. Syncing carries the first over to the second. When the process is killed the first survives, when the power
// is lost only the second does, and of everything written since the last sync each sector by chance.
//
// Operations that change something (creating, writing, truncating, syncing, deleting) are counted, and a plan names
// the one at which something happens: a test runs a scenario with a plan at 1, 2, 3, … until a run ends without it.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct lanyard_disk lanyard_disk;

typedef enum lanyard_fault {
  /// Nothing happens.
  LANYARD_FAULT_NONE,
  /// The operation fails; the next ones succeed.
  LANYARD_FAULT_FAIL_ONCE,
  /// The operation and all that follow it fail.
  LANYARD_FAULT_FAIL_FROM,
  /// The process is killed instead: what was written stays, every later call fails until the disk is revived.
  LANYARD_FAULT_KILL,
  /// The power is lost instead: unsynced sectors are kept or lost by the seed, every later call fails likewise.
  LANYARD_FAULT_POWER_LOSS,
} lanyard_fault;

typedef enum lanyard_failure {
  /// An I/O error. A sync that fails so loses what it should have carried over, and the next sync does not know
  /// (as Linux has it: the pages are clean again).
  LANYARD_FAILURE_INPUT_OUTPUT,
  /// No space. Syncs and deletions still succeed.
  LANYARD_FAILURE_FULL,
} lanyard_failure;

/// Makes an empty disk and registers it as the VFS `name`. Null if the name is taken.
lanyard_disk *lanyard_disk_create(const char *name);
/// Unregisters and frees it. Connections on it must be closed.
void lanyard_disk_destroy(lanyard_disk *disk);

/// How many operations were counted.
uint64_t lanyard_disk_operations(lanyard_disk *disk);
/// How many syncs were among them.
uint64_t lanyard_disk_syncs(lanyard_disk *disk);

/// What happens at the operation with this number, counted from the making of the disk (the first is 1). Replaces the
/// plan there was. `seed` chooses which sectors a power loss keeps, how much of a failing write is done before it
/// fails, and what a failed sync has carried over; 0 does nothing of a failing write.
void lanyard_disk_plan(
    lanyard_disk *disk, lanyard_fault fault, uint64_t operation, lanyard_failure failure, uint64_t seed);
/// True if the plan's fault has happened.
int lanyard_disk_faulted(lanyard_disk *disk);

/// Kills the process now, as LANYARD_FAULT_KILL.
void lanyard_disk_kill(lanyard_disk *disk);
/// Loses the power now, as LANYARD_FAULT_POWER_LOSS.
void lanyard_disk_lose_power(lanyard_disk *disk, uint64_t seed);
/// A new process: no plan, no locks. Connections of the old one stay dead for ever.
void lanyard_disk_revive(lanyard_disk *disk);

/// Bytes that all files may have together; UINT64_MAX for no limit.
void lanyard_disk_set_capacity(lanyard_disk *disk, uint64_t bytes);
/// Mounted read-only from now on, or not.
void lanyard_disk_set_read_only(lanyard_disk *disk, int read_only);

/// A copy of what a running system sees, synced: for the simulation of an old copy brought back.
typedef struct lanyard_snapshot lanyard_snapshot;
lanyard_snapshot *lanyard_disk_snapshot(lanyard_disk *disk);
/// Replaces all files by the snapshot's; open connections die, as on revival.
void lanyard_disk_restore(lanyard_disk *disk, const lanyard_snapshot *snapshot);
void lanyard_snapshot_destroy(lanyard_snapshot *snapshot);

/// The files, for scanning and for damaging. Names are valid until the next change.
size_t lanyard_disk_file_count(lanyard_disk *disk);
const char *lanyard_disk_file_name(lanyard_disk *disk, size_t index);
size_t lanyard_disk_file_size(lanyard_disk *disk, const char *name);
/// Copies up to `count` bytes from `offset`; how many there were.
size_t lanyard_disk_file_read(lanyard_disk *disk, const char *name, size_t offset, void *bytes, size_t count);
/// Overwrites or extends a file past every count and plan, on the medium too. Makes it if there is none.
void lanyard_disk_file_write(lanyard_disk *disk, const char *name, size_t offset, const void *bytes, size_t count);
