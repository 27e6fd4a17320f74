// A disk in memory under SQLite that fails, fills up and dies on demand.
//
// A disk is an SQLite VFS of its own name. Its files have two images: the running system's view, and the medium. A sync
// copies the first to the second. A kill keeps the first image. A power loss keeps the second, plus each sector written
// since the last sync by chance.
//
// Operations that change something (creating, writing, truncating, syncing, deleting) are counted, and a plan names the
// operation that fails: a test runs a scenario with a plan at 1, 2, 3, … until a run ends without the fault.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct lanyard_disk lanyard_disk;

typedef enum lanyard_fault {
  /// No fault.
  LANYARD_FAULT_NONE,
  /// The operation fails; the next ones succeed.
  LANYARD_FAULT_FAIL_ONCE,
  /// The operation and all later ones fail.
  LANYARD_FAULT_FAIL_FROM,
  /// The process is killed: written data stays, every later call fails until the disk is revived.
  LANYARD_FAULT_KILL,
  /// The power is lost: the seed decides which unsynced sectors survive, and every later call fails until the disk is
  /// revived.
  LANYARD_FAULT_POWER_LOSS,
} lanyard_fault;

typedef enum lanyard_failure {
  /// An I/O error. A sync that fails so loses its sectors, and the next sync does not write them either (Linux marks
  /// the pages clean).
  LANYARD_FAILURE_INPUT_OUTPUT,
  /// No space. Syncs and deletions still succeed.
  LANYARD_FAILURE_FULL,
} lanyard_failure;

/// Creates an empty disk and registers it as the VFS `name`. Null if the name is taken.
lanyard_disk *lanyard_disk_create(const char *name);
/// Unregisters and frees it. Connections on it must be closed.
void lanyard_disk_destroy(lanyard_disk *disk);

/// The number of counted operations.
uint64_t lanyard_disk_operations(lanyard_disk *disk);
/// The number of syncs among them.
uint64_t lanyard_disk_syncs(lanyard_disk *disk);

/// Plans a fault at the operation with this number, counted from the creation of the disk (the first is 1). Replaces
/// the current plan. `seed` chooses which sectors a power loss keeps, how much of a failing write is done, and what a
/// failed sync has carried over; with 0 a failing write writes nothing.
void lanyard_disk_plan(
    lanyard_disk *disk, lanyard_fault fault, uint64_t operation, lanyard_failure failure, uint64_t seed);
/// True if the planned fault has happened.
int lanyard_disk_faulted(lanyard_disk *disk);

/// Kills the process now, as LANYARD_FAULT_KILL.
void lanyard_disk_kill(lanyard_disk *disk);
/// Loses the power now, as LANYARD_FAULT_POWER_LOSS.
void lanyard_disk_lose_power(lanyard_disk *disk, uint64_t seed);
/// Starts a new process: no plan, no locks. Connections of the old process keep failing.
void lanyard_disk_revive(lanyard_disk *disk);

/// Bytes that all files together may have; UINT64_MAX for no limit.
void lanyard_disk_set_capacity(lanyard_disk *disk, uint64_t bytes);
/// Makes the disk read-only, or writable again.
void lanyard_disk_set_read_only(lanyard_disk *disk, int read_only);

/// A copy of the running system's view, as if synced: a test restores it to simulate an old copy of the store.
typedef struct lanyard_snapshot lanyard_snapshot;
lanyard_snapshot *lanyard_disk_snapshot(lanyard_disk *disk);
/// Replaces all files by the snapshot's; open connections keep failing, as after a revival.
void lanyard_disk_restore(lanyard_disk *disk, const lanyard_snapshot *snapshot);
void lanyard_snapshot_destroy(lanyard_snapshot *snapshot);

/// The files, for scanning and for damaging. Names are valid until the next change.
size_t lanyard_disk_file_count(lanyard_disk *disk);
const char *lanyard_disk_file_name(lanyard_disk *disk, size_t index);
size_t lanyard_disk_file_size(lanyard_disk *disk, const char *name);
/// Copies up to `count` bytes from `offset`; returns how many there were.
size_t lanyard_disk_file_read(lanyard_disk *disk, const char *name, size_t offset, void *bytes, size_t count);
/// Overwrites or extends a file without counting an operation, on the medium too. Creates a missing file.
void lanyard_disk_file_write(lanyard_disk *disk, const char *name, size_t offset, const void *bytes, size_t count);
