/// One value of a scanned line: where it stands in the bytes, and where the next sibling stands on the tape.
///
/// An object's children alternate key, value, key, value; an array's children are its elements.
public struct JSONTapeEntry: Sendable {
  /// What a JSON value can be (RFC 8259 §3).
  public enum Kind: UInt8, Sendable { case object, array, string, number, `true`, `false`, null }

  public var kind: Kind
  /// A string that holds at least one escape, so that its bytes are not its value.
  public var escaped: Bool
  /// An object that names one key twice, itself or below: the scanner goes on, the envelope refuses it.
  public var duplicateKeys: Bool
  /// First byte of the value; for a string, its opening quote.
  public var start: UInt32
  /// One past the last byte of the value; for a string, past its closing quote.
  public var end: UInt32
  /// Index on the tape of what follows this value and all that it contains.
  public var next: UInt32
}

/// The index of a scanned line. A connection keeps one and reuses its memory for every line.
public struct JSONTape: Sendable {
  public internal(set) var entries: [JSONTapeEntry] = []
  /// Some object of the line names a key twice. RFC 8259 §4 leaves its meaning open, so the contract refuses it.
  public internal(set) var hasDuplicateKeys = false

  /// An empty tape with room for an ordinary request.
  public init() { entries.reserveCapacity(64) }
}
