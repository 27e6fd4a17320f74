internal import AgentModel
package import AgentPorts
internal import Secrets

/// The id of an operation: its place in the order of its account, and a mark that only ids of this account have. So a
/// list goes on behind an operation that has left it (`operation.list`, `after`).
///
/// Six bytes of the place, four random ones that tell apart what an old copy of the store enqueued at the same place,
/// and six of a hash over both and the partition.
package enum OperationName {
  static let byteCount = 16
  private static let prefix = "op_"

  package static func id(at sequence: Int64, of partition: PartitionID, random: [UInt8]) -> [UInt8] {
    let place = withUnsafeBytes(of: UInt64(clamping: sequence).bigEndian) { Array($0.suffix(6)) }
    let head = place + random.prefix(4)
    return head + mark(of: head, partition)
  }

  package static func text(_ id: [UInt8]) -> String { prefix + Base32.encode(id) }

  /// The place that the id names; nil if no operation of this partition had it.
  package static func sequence(in name: String, of partition: PartitionID) -> Int64? {
    guard name.hasPrefix(prefix), let id = Base32.decode(name.dropFirst(prefix.count)), id.count == byteCount,
      mark(of: Array(id.prefix(10)), partition) == Array(id.suffix(6))
    else { return nil }
    return id.prefix(6).reduce(0) { $0 << 8 | Int64($1) }
  }

  private static func mark(of head: [UInt8], _ partition: PartitionID) -> [UInt8] {
    Array((head + partition.bytes).withUnsafeBytes { sha256($0) }.prefix(6))
  }
}
