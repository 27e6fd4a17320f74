extension FigurePage {
  /// The page in a format, with the newline at its end.
  public func text(_ format: ExpositionFormat) -> String {
    var writer = ExpositionWriter(format: format, createdMs: createdMs)
    for family in families where !family.samples.isEmpty { writer.write(family) }
    return writer.finish()
  }
}

/// Writes metric families: OpenMetrics 1.0, or the text format 0.0.4.
///
/// The two differ in the name of a counter's family, in the info type, in the time of creation, and in a quote within a
/// help. Units and the end mark are comments in the text format. With the mark a reader knows that it has all.
struct ExpositionWriter {
  let format: ExpositionFormat
  let createdMs: Int64?
  private var text = ""

  init(format: ExpositionFormat, createdMs: Int64?) { (self.format, self.createdMs) = (format, createdMs) }

  mutating func write(_ family: FigurePage.Family) {
    writeMetadata(of: family)
    for sample in family.samples {
      switch sample.value {
      case .number(let value): line(Self.sampleName(family), sample.labels, String(value))
      case .histogram(let bounds, let counts, let sum): write(family.name, sample.labels, bounds, counts, sum)
      }
      if format == .openMetrics, family.kind == .counter || family.kind == .histogram, let createdMs {
        line(family.name + "_created", sample.labels, Self.seconds(createdMs))
      }
    }
  }

  func finish() -> String {
    text + "# EOF\n"
  }

  private mutating func writeMetadata(of family: FigurePage.Family) {
    let name = format == .openMetrics ? family.name : Self.sampleName(family)
    let type =
      switch family.kind {
      case .counter: "counter"
      case .gauge: "gauge"
      case .histogram: "histogram"
      case .info: format == .openMetrics ? "info" : "gauge"
      }
    text += "# HELP \(name) \(Self.escaped(family.help, quotes: format == .openMetrics))\n"
    text += "# TYPE \(name) \(type)\n"
    if let unit = family.unit { text += "# UNIT \(name) \(unit)\n" }
  }

  private mutating func write(
    _ name: String, _ labels: [FigurePage.Label], _ bounds: [Int64], _ counts: [Int64], _ sum: Int64
  ) {
    var cumulated: Int64 = 0
    for (bound, count) in zip(bounds.map(Self.seconds) + ["+Inf"], counts) {
      cumulated += count
      line(name + "_bucket", labels + [FigurePage.Label("le", bound)], String(cumulated))
    }
    line(name + "_count", labels, String(cumulated))
    line(name + "_sum", labels, Self.seconds(sum))
  }

  private mutating func line(_ name: String, _ labels: [FigurePage.Label], _ value: String) {
    text += name
    if !labels.isEmpty {
      text += "{" + labels.map { "\($0.name)=\"\(Self.escaped($0.value, quotes: true))\"" }.joined(separator: ",") + "}"
    }
    text += " \(value)\n"
  }

  /// The name of the sample of a counter or an info has a suffix.
  private static func sampleName(_ family: FigurePage.Family) -> String {
    switch family.kind {
    case .counter: family.name + "_total"
    case .info: family.name + "_info"
    case .gauge, .histogram: family.name
    }
  }

  /// Seconds as a decimal number, exactly, with a point.
  static func seconds(_ milliseconds: Int64) -> String {
    let (whole, rest) = milliseconds.magnitude.quotientAndRemainder(dividingBy: 1000)
    var fraction = String(rest + 1000).dropFirst()
    while fraction.count > 1, fraction.last == "0" { fraction.removeLast() }
    return "\(milliseconds < 0 ? "-" : "")\(whole).\(fraction)"
  }

  static func escaped(_ text: String, quotes: Bool) -> String {
    var escaped = ""
    for character in text.unicodeScalars {
      switch character {
      case "\\": escaped += "\\\\"
      case "\n": escaped += "\\n"
      case "\"" where quotes: escaped += "\\\""
      default: escaped.unicodeScalars.append(character)
      }
    }
    return escaped
  }
}
