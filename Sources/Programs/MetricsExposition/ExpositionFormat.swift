/// A format in which figures leave the machine.
public enum ExpositionFormat: String, CaseIterable, Hashable, Sendable {
  /// OpenMetrics 1.0.
  case openMetrics = "openmetrics"
  /// Prometheus's text format 0.0.4, which older scrapers, collectors of text files and `promtool check metrics` read.
  case text

  public var contentType: String {
    switch self {
    case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
    case .text: "text/plain; version=0.0.4; charset=utf-8"
    }
  }

  /// The format that an `Accept` field wants most (RFC 9110 §12.5.1). OpenMetrics where the field names it and wants
  /// nothing more than it; text without a field and in all other cases, as programs expect that know no negotiation.
  public init(accept: String?) {
    let ranges = accept?.split(separator: ",").compactMap { MediaRange($0) } ?? []
    let openMetrics = MediaRange.quality(of: .openMetrics, in: ranges)
    self = openMetrics > 0 && openMetrics >= MediaRange.quality(of: .text, in: ranges) ? .openMetrics : .text
  }
}

/// One element of an `Accept` field.
private struct MediaRange {
  var type: String
  var version: String?
  /// In thousandths.
  var quality = 1000

  init?(_ text: Substring) {
    let parts = text.split(separator: ";", omittingEmptySubsequences: false).map { trimmed($0).lowercased() }
    guard let first = parts.first, first.contains("/") else { return nil }
    type = first
    for part in parts.dropFirst() {
      if part.hasPrefix("version=") { version = String(part.dropFirst(8).filter { $0 != "\"" }) }
      if part.hasPrefix("q=") {
        guard let quality = Self.quality(part.dropFirst(2)) else { return nil }
        self.quality = quality
      }
    }
  }

  /// `0`, `1`, or with up to three digits behind the point (RFC 9110 §12.4.2).
  private static func quality(_ text: Substring) -> Int? {
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = parts.first.flatMap({ Int($0) }), (0...1).contains(whole) else { return nil }
    let digits = parts.count > 1 ? parts[1] : ""
    guard digits.utf8.count <= 3, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    let fraction = Int(digits + String(repeating: "0", count: 3 - digits.utf8.count)) ?? 0
    return min(1000, whole * 1000 + fraction)
  }

  /// The quality of a format: of the element that names it most exactly.
  static func quality(of format: ExpositionFormat, in ranges: [MediaRange]) -> Int {
    let (types, version) =
      switch format {
      case .openMetrics: (["application/openmetrics-text", "application/*"], "1.0.0")
      case .text: (["text/plain", "text/*", "*/*"], "0.0.4")
      }
    for type in types {
      let fitting = ranges.filter { $0.type == type && ($0.version == nil || $0.version == version) }
      if let best = fitting.map(\.quality).max() { return best }
    }
    return 0
  }
}

private func trimmed(_ text: Substring) -> Substring {
  var text = text
  while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
  while let last = text.last, last == " " || last == "\t" { text.removeLast() }
  return text
}
