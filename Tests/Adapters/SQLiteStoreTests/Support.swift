import AgentPorts
import Foundation
import SQLiteStore
import StorageFaults

extension PartitionID {
  static let alice = PartitionID(bytes: Array(repeating: 0xa1, count: 16))!
  static let bob = PartitionID(bytes: Array(repeating: 0xb0, count: 16))!
}

extension RecordKind {
  static let grant = RecordKind(rawValue: 1)
  static let snapshot = RecordKind(rawValue: 2)
  static let note = RecordKind(rawValue: 300)
}

func record(
  _ partition: PartitionID, _ kind: RecordKind, id: [UInt8] = [], generation: UInt64 = 1, _ text: String
) -> SealedRecord {
  SealedRecord(
    key: RecordKey(partition: partition, kind: kind, id: id), schema: 1, keyEpoch: 1, generation: generation,
    sealed: Array(text.utf8))
}

let slot = KeySlotRow(
  number: 0, protection: "keyFile", parameters: [], commitment: [1, 2, 3], keyEpoch: 1, wrappedRootKey: [9, 9])

/// A directory with the agent's mode 0700, removed at the end of the test.
final class PrivateDirectory {
  let path: String

  init(below parent: String = NSTemporaryDirectory()) {
    let template = parent + "/lanyard-store-XXXXXX"
    path = template.withCString { template in
      let copy = strdup(template)!
      defer { free(copy) }
      return String(cString: mkdtemp(copy))
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  var database: String { path + "/store.db" }

  func mode(_ name: String) -> UInt32? {
    var status = stat()
    return lstat(path + "/" + name, &status) == 0 ? status.st_mode & 0o7777 : nil
  }

  var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }
}

/// The whole content of a store, for comparing.
struct Contents: Equatable {
  var records: [[SealedRecord]]
  var slots: [KeySlotRow]
  var metadata: [UInt8]?

  init(of store: SQLiteStore) throws {
    records = try store.partitions().map { try store.records(in: $0) }
    slots = try store.keySlots()
    metadata = try store.metadata("head")
  }
}
