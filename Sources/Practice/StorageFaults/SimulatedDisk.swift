internal import CFaultVFS
internal import Synchronization

/// A disk in memory for SQLite that fails, fills up and dies on demand.
///
/// Operations that change something are counted from 1 (creating, writing, truncating, syncing, deleting). A test runs
/// a scenario with a fault at operation 1, 2, 3, … until a run ends before its fault:
///
///     let disk = SimulatedDisk()
///     disk.plan(.die(.powerLoss(seed: 7)), at: 12)
///     let store = try? SQLiteStore(path: "store", vfs: disk.vfsName)
///     …
///     disk.revive()
///
/// Connections must be closed before the disk ends.
public final class SimulatedDisk: @unchecked Sendable {
  // The C code locks; the pointer never changes.
  private let disk: OpaquePointer
  /// The VFS name for SQLite.
  public let vfsName: String

  private static let made = Atomic<Int>(0)

  public init() {
    vfsName = "lanyard-disk-\(Self.made.add(1, ordering: .relaxed).newValue)"
    guard let disk = lanyard_disk_create(vfsName) else { preconditionFailure("SQLite refused the disk") }
    self.disk = disk
  }

  deinit { lanyard_disk_destroy(disk) }

  /// A planned fault.
  public enum Fault: Sendable, Hashable {
    /// The operation fails; once, or with all later ones.
    case fail(Failure, once: Bool)
    /// Instead of the operation the process or the machine ends: every later call fails until `revive()`.
    case die(Death)
  }

  public enum Failure: Sendable, Hashable { case inputOutput, full }

  public enum Death: Sendable, Hashable {
    /// The process is killed: written data stays.
    case kill
    /// The power is lost: the seed decides which unsynced sectors survive.
    case powerLoss(seed: UInt64)
  }

  /// Operations since the disk was created.
  public var operations: Int { Int(lanyard_disk_operations(disk)) }
  /// The number of syncs among them.
  public var syncs: Int { Int(lanyard_disk_syncs(disk)) }
  /// True once the planned fault has happened.
  public var hasFaulted: Bool { lanyard_disk_faulted(disk) != 0 }

  /// Plans a fault at the operation with this number; replaces the current plan. `seed` chooses how much of a failing
  /// write is done and what a failing sync has carried over; with 0 a failing write writes nothing.
  public func plan(_ fault: Fault, at operation: Int, seed: UInt64 = 0) {
    let kind: lanyard_fault
    var failure = LANYARD_FAILURE_INPUT_OUTPUT
    var seed = seed
    switch fault {
    case .fail(let what, let once):
      kind = once ? LANYARD_FAULT_FAIL_ONCE : LANYARD_FAULT_FAIL_FROM
      if what == .full { failure = LANYARD_FAILURE_FULL }
    case .die(.kill): kind = LANYARD_FAULT_KILL
    case .die(.powerLoss(let chance)): (kind, seed) = (LANYARD_FAULT_POWER_LOSS, chance)
    }
    lanyard_disk_plan(disk, kind, UInt64(operation), failure, seed)
  }

  public func withdrawPlan() { lanyard_disk_plan(disk, LANYARD_FAULT_NONE, 0, LANYARD_FAILURE_INPUT_OUTPUT, 0) }

  /// Kills the process or loses the power now.
  public func die(_ death: Death) {
    switch death {
    case .kill: lanyard_disk_kill(disk)
    case .powerLoss(let seed): lanyard_disk_lose_power(disk, seed)
    }
  }

  /// Starts a new process: no plan, no locks. Connections of the old process keep failing.
  public func revive() { lanyard_disk_revive(disk) }

  /// Bytes that all files together may have; nil for no limit.
  public func setCapacity(_ bytes: Int?) { lanyard_disk_set_capacity(disk, bytes.map(UInt64.init) ?? .max) }

  public func setReadOnly(_ readOnly: Bool) { lanyard_disk_set_read_only(disk, readOnly ? 1 : 0) }
}

extension SimulatedDisk {
  /// A copy of all files at one instant.
  public final class Snapshot: @unchecked Sendable {
    fileprivate let snapshot: OpaquePointer
    fileprivate init(_ snapshot: OpaquePointer) { self.snapshot = snapshot }
    deinit { lanyard_snapshot_destroy(snapshot) }
  }

  public func snapshot() -> Snapshot { Snapshot(lanyard_disk_snapshot(disk)) }

  /// Restores an old copy. Open connections keep failing afterwards, as after `revive()`.
  public func restore(_ snapshot: Snapshot) { lanyard_disk_restore(disk, snapshot.snapshot) }

  public var fileNames: [String] {
    (0..<lanyard_disk_file_count(disk)).compactMap { index in
      lanyard_disk_file_name(disk, index).map { String(cString: $0) }
    }
  }

  /// The running system's view of a file; empty if there is none.
  public func bytes(of name: String) -> [UInt8] {
    let size = lanyard_disk_file_size(disk, name)
    return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      count = lanyard_disk_file_read(disk, name, 0, buffer.baseAddress, size)
    }
  }

  /// All files one after another, to be searched for secrets.
  public func bytes() -> [UInt8] { fileNames.flatMap { bytes(of: $0) } }

  /// Overwrites bytes of a file behind SQLite's back.
  public func overwrite(_ name: String, at offset: Int, with bytes: [UInt8]) {
    lanyard_disk_file_write(disk, name, offset, bytes, bytes.count)
  }
}
