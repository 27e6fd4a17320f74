/// One value of a scanned line: its position in the bytes and the index of its next sibling.
///
/// The children of an object alternate key and value; the children of an array are its elements.
public struct JSONTapeEntry: Sendable {
  /// The types of JSON values (RFC 8259 §3).
  public enum Kind: UInt8, Sendable { case object, array, string, number, `true`, `false`, null }

  /// The value's type.
  public var kind: Kind
  /// True for a string with escapes, whose bytes differ from its text.
  public var escaped: Bool
  /// True for an object with duplicate keys. The scanner continues, so that the text is judged as a whole.
  public var duplicateKeys: Bool
  /// Index of the first byte of the value, including the opening quote of a string.
  public var start: UInt32
  /// Index after the last byte of the value, including the closing quote of a string.
  public var end: UInt32
  /// Index on the tape of the first entry after this value and its children.
  public var next: UInt32
}

/// The values of a scanned line in order. A connection reuses one tape for all its lines.
public struct JSONTape: Sendable {
  /// One entry a value, parents before children.
  public internal(set) var entries: [JSONTapeEntry] = []
  /// True if any object of the line has duplicate keys, whose meaning RFC 8259 §4 leaves open.
  public internal(set) var hasDuplicateKeys = false

  /// An empty tape with room for a usual request.
  public init() { entries.reserveCapacity(64) }
}
