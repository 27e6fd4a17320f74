/// A pattern for the methods of a grant (`Schemas/types/methodPattern.json`): `token.get`, `token.*` or `*`.
public struct MethodPattern: Hashable, Sendable {
  private enum Shape: Hashable, Sendable {
    case every
    /// The prefix with its dot: `token.`.
    case nameSpace(String)
    case method(String)
  }

  /// The pattern as written.
  public let text: String
  private let shape: Shape

  /// Parses a pattern; nil for any other form, such as `to*`, `*.get` or `.get`.
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

  /// True if the pattern covers `method`. `mustBeNamed` marks a method about the whole agent, which `*` does not cover.
  public func covers(_ method: String, mustBeNamed: Bool) -> Bool {
    switch shape {
    case .every: !mustBeNamed
    case .nameSpace(let start): method.hasPrefix(start)
    case .method(let name): method == name
    }
  }
}
