/// A regular expression of the dialect: `^`, optionally `(?!literal)`, then literals and classes, each optionally with
/// `{n}`, `{m,n}`, `*` or `+`, then `$`.
///
/// The syntax is a subset of ECMA-262, so other tools read it alike. No pattern needs backtracking: one greedy pass
/// over the bytes matches it.
public struct TextPattern: Hashable, Sendable {
  /// A set of ASCII characters, repeated `count` times.
  public struct Run: Hashable, Sendable {
    public var bytes: Set<UInt8>
    public var count: ClosedRange<Int>
  }

  /// The pattern as written.
  public var source: String
  /// The literal in `(?!literal)`; empty if absent.
  public var forbiddenPrefix: String
  /// The runs in order.
  public var runs: [Run]

  /// Parses a pattern; nil if it is not in the dialect.
  public init?(_ source: String) {
    var rest = source[...]
    guard rest.hasPrefix("^"), rest.hasSuffix("$"), source.utf8.allSatisfy({ 0x20..<0x7F ~= $0 }) else { return nil }
    rest = rest.dropFirst().dropLast()
    forbiddenPrefix = ""
    if rest.hasPrefix("(?!") {
      guard let end = rest.firstIndex(of: ")") else { return nil }
      forbiddenPrefix = String(rest[rest.index(rest.startIndex, offsetBy: 3)..<end])
      rest = rest[rest.index(after: end)...]
    }
    runs = []
    while let first = rest.first {
      let bytes: Set<UInt8>
      switch first {
      case "[":
        guard let found = Self.readClass(&rest) else { return nil }
        bytes = found
      case "\\":
        guard rest.count >= 2 else { return nil }
        bytes = [rest.dropFirst().utf8.first!]
        rest = rest.dropFirst(2)
      case "(", ")", "{", "}", "*", "+", "?", "|", ".", "]", "^", "$": return nil
      default:
        bytes = [first.asciiValue!]
        rest = rest.dropFirst()
      }
      guard let count = Self.readCount(&rest) else { return nil }
      runs.append(Run(bytes: bytes, count: count))
    }
    // A greedy match is correct only if no later run shares a character with a run of variable length.
    for (index, run) in runs.enumerated() where run.count.lowerBound != run.count.upperBound {
      guard runs.dropFirst(index + 1).allSatisfy({ $0.bytes.isDisjoint(with: run.bytes) }) else { return nil }
    }
    self.source = source
  }

  private static func readClass(_ rest: inout Substring) -> Set<UInt8>? {
    rest = rest.dropFirst()
    var bytes: Set<UInt8> = []
    var low: UInt8?
    while let first = rest.first {
      if first == "]" {
        rest = rest.dropFirst()
        return bytes.isEmpty ? nil : bytes
      }
      if first == "-", let from = low, rest.dropFirst().first != "]" {
        rest = rest.dropFirst()
        guard let to = readByte(&rest), from <= to else { return nil }
        bytes.formUnion(from...to)
        low = nil
      } else {
        guard let byte = readByte(&rest), !(bytes.isEmpty && byte == UInt8(ascii: "^")) else { return nil }
        bytes.insert(byte)
        low = byte
      }
    }
    return nil
  }

  private static func readByte(_ rest: inout Substring) -> UInt8? {
    if rest.first == "\\" { rest = rest.dropFirst() }
    return rest.popFirst()?.asciiValue
  }

  private static func readCount(_ rest: inout Substring) -> ClosedRange<Int>? {
    switch rest.first {
    case "*":
      rest = rest.dropFirst()
      return 0...Int.max
    case "+":
      rest = rest.dropFirst()
      return 1...Int.max
    case "{":
      guard let end = rest.firstIndex(of: "}") else { return nil }
      let bounds = rest[..<end].dropFirst().split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
      rest = rest[rest.index(after: end)...]
      guard let low = bounds.first ?? nil, let high = bounds.last ?? nil, low <= high, bounds.count <= 2 else {
        return nil
      }
      return low...high
    default: return 1...1
    }
  }

  /// True if the whole text matches.
  public func matches(_ text: String) -> Bool {
    guard forbiddenPrefix.isEmpty || !text.hasPrefix(forbiddenPrefix) else { return false }
    var rest = text.utf8[...]
    for run in runs {
      // `prefix` traps on an `upperBound` of `Int.max`, so limit it to the length of the rest.
      let eaten = rest.prefix(min(run.count.upperBound, rest.count)).prefix { run.bytes.contains($0) }.count
      guard eaten >= run.count.lowerBound else { return false }
      rest = rest.dropFirst(eaten)
    }
    return rest.isEmpty
  }
}
