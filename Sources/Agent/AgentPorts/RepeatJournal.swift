/// Slots in a file beside the store, which keep the counts of repeated decisions between two commits.
///
/// A write is in the kernel when it returns: it outlives a kill of the agent, and no power cut. Any thread may call it.
public protocol RepeatJournal: Sendable {
  /// Replaces a slot. `bytes` are `slotBytes` at most, `slot` is below `slots`.
  ///
  /// - Returns: false if the file took nothing or only a part.
  func write(_ bytes: [UInt8], slot: Int) -> Bool
  /// All slots, filled up with zeros; nil if there is no file, or it can't be read.
  func read() -> [[UInt8]]?
}

/// The size of a `RepeatJournal`.
public enum RepeatJournalSize {
  /// For two batches of 256 entries.
  public static let slots = 512
  public static let slotBytes = 128
}
