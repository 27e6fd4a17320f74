/// The parameters of a query string, in order and with duplicates kept: a redirect that repeats `code` or `state` must
/// be refused (RFC 6749 §3.1), which needs both values.
public struct HTTPQuery: Sendable {
  /// Decoded names and values, in the order of the query string.
  public let items: [(name: String, value: String)]

  /// Upper bound for the number of parameters; a redirect has fewer than ten.
  public static let maximumItems = 64

  /// Parses the text after `?`; nil for an incomplete escape, invalid UTF-8 or more than `maximumItems` parameters.
  public init?(_ query: String) {
    var items: [(name: String, value: String)] = []
    for pair in query.utf8.split(separator: UInt8(ascii: "&")) {
      let name = pair.prefix { $0 != UInt8(ascii: "=") }
      let value = pair.dropFirst(name.count + 1)
      guard items.count < Self.maximumItems, let name = PercentCoding.decode(name, form: true),
        let value = PercentCoding.decode(value, form: true)
      else { return nil }
      items.append((name, value))
    }
    self.items = items
  }

  /// The value of a parameter that occurs exactly once; nil if it is missing or repeated.
  public subscript(name: String) -> String? {
    let values = values(name)
    return values.count == 1 ? values[0] : nil
  }

  /// All values of a parameter, in order.
  public func values(_ name: String) -> [String] { items.filter { $0.name == name }.map(\.value) }

  /// Encodes parameters as a query string without `?`.
  public static func encode(_ items: some Sequence<(String, String)>) -> String {
    items.map { PercentCoding.encode($0, form: true) + "=" + PercentCoding.encode($1, form: true) }
      .joined(separator: "&")
  }
}
