/// One part of a long list, which the address names by `page`.
struct Pager {
  let number: Int
  let count: Int
  let range: Range<Int>

  init(_ query: [String: String], total: Int, size: Int) {
    count = max(1, (total + size - 1) / size)
    number = min(max(1, query["page"].flatMap { Int($0) } ?? 1), count)
    range = (number - 1) * size..<min(number * size, total)
  }

  /// Writes links to the part before and the part after. `query`: of the address, without `page`.
  func write(to html: inout HTML, path: String, query: [String: String]) {
    guard count > 1 else { return }
    html.literal("<nav class=\"pager\" aria-label=\"Parts of the list\">")
    link(&html, "‹ Before", to: number - 1, path, query)
    html.element("span", [:], "\(number) of \(count)")
    link(&html, "After ›", to: number + 1, path, query)
    html.literal("</nav>\n")
  }

  private func link(_ html: inout HTML, _ words: String, to page: Int, _ path: String, _ query: [String: String]) {
    guard (1...count).contains(page) else { return }
    html.element(
      "a", ["href": Address.of(path, query.merging(["page": String(page)]) { _, new in new })], words)
  }
}

/// Addresses on this server.
enum Address {
  /// A path with a query, in the order of its names; empty values are left out.
  static func of(_ path: String, _ query: [String: String]) -> String {
    let pairs = query.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }
      .map { "\(encoded($0.key))=\(encoded($0.value))" }
    return pairs.isEmpty ? path : "\(path)?\(pairs.joined(separator: "&"))"
  }

  /// Percent-encodes all but unreserved characters (RFC 3986 §2.3).
  private static func encoded(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF")
    var encoded = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      default: encoded += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
      }
    }
    return encoded
  }
}
