/// An address with words in capitals for what is the customer's: `https://HOST/realms/REALM`.
public struct IssuerTemplate: Sendable, Equatable {
  private enum Part: Sendable, Equatable {
    case literal(String)
    case word(String)
  }

  private var parts: [Part] = []

  public init(_ text: String) {
    var rest = text[...]
    while !rest.isEmpty {
      let word = rest.prefix(while: Self.isOfWord)
      if word.utf8.count >= Self.shortestWord {
        parts.append(.word(String(word)))
        rest = rest.dropFirst(word.count)
        continue
      }
      let next = word.isEmpty ? rest.prefix { !Self.isOfWord($0) } : word
      if case .literal(let before)? = parts.last {
        parts[parts.count - 1] = .literal(before + next)
      } else {
        parts.append(.literal(String(next)))
      }
      rest = rest.dropFirst(next.count)
    }
  }

  private static let shortestWord = 3

  /// No word is the customer's.
  public var isComplete: Bool {
    parts.allSatisfy { part in
      if case .word = part { false } else { true }
    }
  }

  private static func isOfWord(_ character: Character) -> Bool { ("A"..."Z").contains(character) || character == "-" }

  /// What stands in an address for each word; nil if the address is none of the template. A word stands for one label
  /// or more of a host, or for one segment of a path.
  public func words(of address: String) -> [String: String]? {
    var words: [String: String] = [:]
    var rest = address[...]
    for (index, part) in parts.enumerated() {
      switch part {
      case .literal(let text):
        guard rest.hasPrefix(text) else { return nil }
        rest = rest.dropFirst(text.count)
      case .word(let name):
        var end = rest.firstIndex(of: "/") ?? rest.endIndex
        if case .literal(let next)? = parts.dropFirst(index + 1).first, !next.hasPrefix("/") {
          guard let found = rest[..<end].ranges(of: next.prefix { $0 != "/" }).last else { return nil }
          end = found.lowerBound
        }
        guard end > rest.startIndex, words[name] == nil || words[name] == String(rest[..<end]) else { return nil }
        words[name] = String(rest[..<end])
        rest = rest[end...]
      }
    }
    return rest.isEmpty ? words : nil
  }

  /// The address with these words; nil if one is missing.
  public func filled(with words: [String: String]) -> String? {
    var text = ""
    for part in parts {
      switch part {
      case .literal(let literal): text += literal
      case .word(let name):
        guard let word = words[name] else { return nil }
        text += word
      }
    }
    return text
  }
}
