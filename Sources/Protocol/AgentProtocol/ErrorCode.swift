/// The code of an error on the wire. Open: a later agent may have more of them.
public struct ErrorCode: RawRepresentable, Hashable, Sendable {
  public let rawValue: Int

  public init(rawValue: Int) { self.rawValue = rawValue }
}
