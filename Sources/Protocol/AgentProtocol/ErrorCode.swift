/// An error code on the wire. The set is open: a later agent may send others.
public struct ErrorCode: RawRepresentable, Hashable, Sendable {
  /// The number in `error.code`.
  public let rawValue: Int

  public init(rawValue: Int) { self.rawValue = rawValue }
}
