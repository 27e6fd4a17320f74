/// Which methods a grant names (`Schemas/types/methodPattern.json`): `token.get`, `token.*`, or `*`.
public struct MethodPattern: Hashable, Sendable {
  private enum Shape: Hashable, Sendable {
    case every
    /// With its dot: `token.`.
    case nameSpace(String)
    case method(String)
  }

  /// As it was written.
  public let text: String
  private let shape: Shape

  /// Nil for what names nothing: `to*`, `*.get`, `.get`.
  public init?(_ text: String) {
    self.text = text
    if text == "*" {
      shape = .every
    } else if text.hasSuffix(".*") {
      guard Self.isName(text.dropLast(2)) else { return nil }
      shape = .nameSpace(String(text.dropLast()))
    } else {
      let parts = text.split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count == 2, parts.allSatisfy({ Self.isName($0) }) else { return nil }
      shape = .method(text)
    }
  }

  private static func isName(_ text: some StringProtocol) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { $0 | 0x20 >= UInt8(ascii: "a") && $0 | 0x20 <= UInt8(ascii: "z") }
  }

  /// `mustBeNamed`: a method about the agent as a whole, which `*` does not mean.
  public func covers(_ method: String, mustBeNamed: Bool) -> Bool {
    switch shape {
    case .every: !mustBeNamed
    case .nameSpace(let start): method.hasPrefix(start)
    case .method(let name): method == name
    }
  }
}
