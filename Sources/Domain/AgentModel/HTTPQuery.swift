/// The parameters of a query string, in order and with those that came twice: a redirect that names `code` or
/// `state` twice is an attack or an accident (RFC 6749 §3.1), so nobody should see only the first.
public struct HTTPQuery: Sendable {
  /// As they came, decoded.
  public let items: [(name: String, value: String)]

  /// No more parameters than this are read: a redirect has a handful.
  public static let maximumItems = 64

  /// Reads what stands after the `?`; nil for a broken escape, for what is not UTF-8, for too many parameters.
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

  /// The value of a parameter that came exactly once; nil if it is missing or came twice.
  public subscript(name: String) -> String? {
    let values = values(name)
    return values.count == 1 ? values[0] : nil
  }

  public func values(_ name: String) -> [String] { items.filter { $0.name == name }.map(\.value) }

  /// Names that came more than once, in order.
  public var duplicates: [String] {
    var seen: Set<String> = []
    var twice: Set<String> = []
    for item in items where !seen.insert(item.name).inserted { twice.insert(item.name) }
    return twice.sorted()
  }

  /// The query string of these parameters, without a `?`.
  public static func encode(_ items: some Sequence<(String, String)>) -> String {
    items.map { PercentCoding.encode($0, form: true) + "=" + PercentCoding.encode($1, form: true) }
      .joined(separator: "&")
  }
}
