internal import AgentModel
internal import Foundation

/// `name key=value key="two words"`: the arguments of a directive.
struct Arguments {
  /// Arguments without a key, in order.
  private(set) var words: [String] = []
  private(set) var options: [(key: String, value: String)] = []
  /// The text after `rest=`, to the end of the line.
  private(set) var rest: String?

  /// `rest` names the key whose value is the whole remainder of the line.
  init(_ text: String, rest restKey: String? = nil) {
    var left = text[...]
    while true {
      left = left.drop { $0 == " " }
      guard !left.isEmpty else { return }
      if let restKey, left.hasPrefix(restKey + "=") {
        rest = String(left.dropFirst(restKey.count + 1))
        return
      }
      var word = String(left.prefix { $0 != " " })
      left = left.dropFirst(word.count)
      if let quote = word.range(of: "=\""), let end = left.firstIndex(of: "\"") {
        word = word[..<quote.lowerBound] + "=" + word[quote.upperBound...] + left[..<end]
        left = left[left.index(after: end)...]
      }
      if let equals = word.firstIndex(of: "="), word.first?.isLetter == true {
        options.append((String(word[..<equals]), String(word[word.index(after: equals)...])))
      } else {
        words.append(word)
      }
    }
  }

  subscript(key: String) -> String? { options.first { $0.key == key }?.value }

  func word(_ index: Int, _ what: String) throws(Unreadable) -> String {
    guard words.indices.contains(index) else { throw Unreadable("expected \(what)") }
    return words[index]
  }

  /// Fails on an unknown key, so that a misspelled one is not taken for a default.
  func only(_ known: String...) throws(Unreadable) {
    if let unknown = options.first(where: { !known.contains($0.key) }) {
      throw Unreadable("\(unknown.key) is not known")
    }
  }

  /// `300s`, `20ms`, `2h`, `7d`.
  static func duration(_ text: String) throws(Unreadable) -> Milliseconds {
    let digits = text.prefix { $0.isNumber }
    let factors: [String: Int64] = ["ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000]
    guard let count = Int64(digits), let factor = factors[String(text.dropFirst(digits.count))] else {
      throw Unreadable("\(text) is no duration like 300s")
    }
    return Milliseconds(count * factor)
  }

  /// `+1h`, `-3d`, or `true` for none: a clock's difference from the true time.
  static func difference(_ text: String) throws(Unreadable) -> Milliseconds {
    guard text != "true" else { return .zero }
    guard let sign = text.first, "+-".contains(sign) else { throw Unreadable("\(text) is no difference like -3d") }
    return try duration(String(text.dropFirst())) * (sign == "-" ? -1 : 1)
  }
}
