internal import JSONRPC

/// How far a destination has come. It is stored after each batch, so that a kill repeats one batch at most.
public struct ExportCursor: Hashable, Sendable {
  /// An entry that was exported.
  public struct Checkpoint: Hashable, Sendable {
    public var sequence: Int64
    public var digest: UInt64

    public init(sequence: Int64, digest: UInt64) {
      self.sequence = sequence
      self.digest = digest
    }
  }

  /// The last sequence that was exported, or was counted as dropped.
  public private(set) var sequence: Int64 = 0
  /// 1, and one more each time the log went back.
  public private(set) var log: Int64 = 1
  /// Oldest first; the last one is the last entry that was exported. They find the place where a log went another way.
  public private(set) var checkpoints: [Checkpoint] = []
  /// Entries that the collector has.
  public private(set) var exported: Int64 = 0
  /// Entries that left the log before they could be exported.
  public private(set) var dropped: Int64 = 0
  /// Entries that the collector refused for good.
  public internal(set) var refused: Int64 = 0
  /// When the last item was exported, as RFC 3339; nil for none.
  public var exportedAt: String?

  public init() {}

  /// Notes items that the collector has, oldest first.
  public mutating func advance(over items: some Sequence<ExportItem>) {
    for item in items {
      switch item {
      case .entry(let entry):
        sequence = entry.sequence
        exported += 1
        checkpoints.append(Checkpoint(sequence: entry.sequence, digest: entry.digest))
      case .dropped(let first, let last, _):
        sequence = last
        dropped += last - first + 1
      case .wentBack: break
      }
      // Between two thinnings, a page at most.
      if checkpoints.count >= 2 * Self.mostCheckpoints { thin() }
    }
    thin()
  }

  /// Counts entries, which `advance` has counted as exported, as refused.
  public mutating func refuse(_ count: Int64) {
    let count = min(max(count, 0), exported)
    exported -= count
    refused += count
  }

  /// The log went back: goes on after a checkpoint that it still has, or from its beginning.
  public mutating func goBack(to checkpoint: Checkpoint?) {
    sequence = checkpoint?.sequence ?? 0
    checkpoints.removeAll { $0.sequence > sequence }
    log += 1
  }

  /// Keeps the newest few, and of the older ones the first of each block of sequences whose size is about their distance.
  /// The first of a block is the first of each smaller block that it begins, so it stays until the blocks grow
  /// beyond it: a fork is found within a few times its distance, however long the log becomes.
  private mutating func thin() {
    guard checkpoints.count > Self.newest, let last = checkpoints.last else { return }
    var kept: [Checkpoint] = []
    for (index, checkpoint) in checkpoints.enumerated() {
      let distance = UInt64(max(last.sequence - checkpoint.sequence, 1))
      let bits = 63 - distance.leadingZeroBitCount
      let isFirst = index == 0 || checkpoints[index - 1].sequence >> bits != checkpoint.sequence >> bits
      if isFirst || index >= checkpoints.count - Self.newest { kept.append(checkpoint) }
    }
    checkpoints = kept
  }

  static let newest = 8
  /// 8, and three for each doubling up to 2^53.
  public static let mostCheckpoints = 168
}

extension ExportCursor {
  /// The form in which it is stored.
  public var json: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("version", 1)
    writer.member("sequence", sequence)
    writer.member("log", log)
    writer.member("exported", exported)
    writer.member("dropped", dropped)
    writer.member("refused", refused)
    writer.member("exportedAt", exportedAt)
    writer.key("checkpoints")
    writer.beginArray()
    for checkpoint in checkpoints {
      writer.beginObject()
      writer.member("sequence", checkpoint.sequence)
      writer.member("digest", String(checkpoint.digest, radix: 16))
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
    return writer.withBytes { Array($0) } + [0x0A]
  }

  /// Nil for anything else than `json` wrote: a cursor is not guessed.
  public init?(json: [UInt8]) {
    let read = json.withUnsafeBytes { bytes -> ExportCursor? in
      var tape = JSONTape()
      guard (try? JSONScanner.scan(bytes, onto: &tape)) != nil else { return nil }
      return tape.withRoot(of: bytes) { root in root.kind == .object ? ExportCursor(root) : nil }
    }
    guard let read else { return nil }
    self = read
  }

  private init?(_ root: JSONNode) {
    guard root["version"]?.integer == 1, let sequence = root["sequence"]?.integer, sequence >= 0,
      let log = root["log"]?.integer, log >= 1, let list = root["checkpoints"], list.kind == .array,
      let exported = root["exported"]?.integer, let dropped = root["dropped"]?.integer,
      let refused = root["refused"]?.integer, min(exported, dropped, refused) >= 0
    else { return nil }
    (self.sequence, self.log) = (sequence, log)
    (self.exported, self.dropped, self.refused) = (exported, dropped, refused)
    exportedAt = root["exportedAt"]?.string
    for node in list.elements {
      guard let number = node["sequence"]?.integer, number > checkpoints.last?.sequence ?? 0, number <= sequence,
        let digest = node["digest"]?.string.flatMap({ UInt64($0, radix: 16) }),
        checkpoints.count < Self.mostCheckpoints
      else { return nil }
      checkpoints.append(Checkpoint(sequence: number, digest: digest))
    }
    // Only entries that were dropped are beyond the last one that was exported. A larger sequence would wait for entries
    // that the log does not have, and tell no one.
    guard sequence - (checkpoints.last?.sequence ?? 0) <= dropped else { return nil }
  }
}
