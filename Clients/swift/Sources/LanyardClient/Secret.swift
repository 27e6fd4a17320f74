internal import CLanyardClient

/// A secret text, such as an access token.
///
/// No way of printing shows it: `description`, `debugDescription`, `dump` and `Mirror` tell `Secret(…)` alone, and it
/// is not `Codable`. ``reveal()`` is the one way to its text. Its memory is overwritten when the last copy is released;
/// the strings that ``reveal()`` returns are not.
public struct Secret: Sendable, Equatable {
  private final class Storage: Sendable {
    let bytes: WireBuffer
    init(_ bytes: WireBuffer) { self.bytes = bytes }
  }

  private let storage: Storage

  /// Takes the text. The string itself stays where it is: read secrets from a file or a terminal as late as you can.
  public init(_ text: String) {
    let bytes = WireBuffer(capacity: text.utf8.count)
    bytes.append(text)
    self.init(bytes: bytes)
  }

  init(bytes: WireBuffer) { storage = Storage(bytes) }

  /// The text. Keep it no longer than you need it.
  public func reveal() -> String { storage.bytes.text }

  /// Passes the bytes of the text to `body`, without a copy.
  public func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try storage.bytes.withBytes(body)
  }

  /// True if both have the same text. Takes the same time wherever they differ.
  public static func == (one: Secret, other: Secret) -> Bool {
    one.withBytes { left in
      other.withBytes { right in
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
      }
    }
  }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// `Secret(…)`.
  public var description: String { "Secret(…)" }
  /// `Secret(…)`.
  public var debugDescription: String { description }
  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: [], displayStyle: .struct) }
}
