public import JSONRPC

/// The figures of one moment as metric families, ready to be written for scrapers (docs/metrics.md).
public struct FigurePage: Hashable, Sendable {
  public enum Kind: Hashable, Sendable { case counter, gauge, histogram, info }

  public struct Label: Hashable, Sendable {
    public var name: String
    public var value: String

    public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
  }

  public enum Value: Hashable, Sendable {
    case number(Int64)
    /// `counts`: one for each bound, and one for what is beyond the last; not cumulative.
    case histogram(boundsMs: [Int64], counts: [Int64], sumMs: Int64)
  }

  public struct Sample: Hashable, Sendable {
    public var labels: [Label]
    public var value: Value
  }

  /// Samples of one name.
  public struct Family: Hashable, Sendable {
    /// Without the suffix that counters and infos get.
    public var name: String
    public var kind: Kind
    public var unit: String?
    public var help: String
    public var samples: [Sample]

    init(_ name: String, _ kind: Kind, unit: String? = nil, _ help: String, _ samples: [Sample]) {
      (self.name, self.kind, self.unit, self.help, self.samples) = (name, kind, unit, help, samples)
    }
  }

  public private(set) var families: [Family]
  /// When counting began, in milliseconds since 1970; nil without an agent.
  public private(set) var createdMs: Int64?

  private static let upHelp = "1 if the agent told its figures, 0 if none answered."

  /// The page without an agent that answers, so that no old figures look alive. `nowSeconds` is of the wall clock.
  public static func down(nowSeconds: Int64) -> FigurePage {
    FigurePage(
      families: [
        Family("lanyard_up", .gauge, upHelp, [Sample(labels: [], value: .number(0))]),
        Family(
          "lanyard_read_time_seconds", .gauge, unit: "seconds", "When the figures were read, in seconds since 1970.",
          [Sample(labels: [], value: .number(nowSeconds))]),
      ], createdMs: nil)
  }

  private init(families: [Family], createdMs: Int64?) { (self.families, self.createdMs) = (families, createdMs) }

  /// From the result of `metrics.read`; nil if it is no such result.
  public init?(result: JSONNode) {
    guard let version = result["version"]?.string else { return nil }
    families = [
      Family("lanyard_up", .gauge, Self.upHelp, [Sample(labels: [], value: .number(1))]),
      Family(
        "lanyard_build", .info, "The agent's version.",
        [Sample(labels: [Label("version", version)], value: .number(1))]),
    ]
    for (member, kind): (StaticString, Kind) in [
      ("gauges", .gauge), ("counters", .counter), ("histograms", .histogram),
    ] {
      guard let nodes = result[member], nodes.kind == .array else { return nil }
      for node in nodes.elements {
        guard let family = Family(node, kind) else { return nil }
        families.append(family)
      }
    }
    guard Set(families.map(\.name)).count == families.count else { return nil }
    createdMs = families.first { $0.name == "lanyard_start_time_seconds" }.flatMap {
      guard case .number(let seconds)? = $0.samples.first?.value, abs(seconds) < 1 << 50 else { return nil }
      return seconds * 1000
    }
  }

  /// Adds labels to all samples, before their own.
  public func labeled(_ labels: [Label]) -> FigurePage {
    var page = self
    for family in page.families.indices {
      for sample in page.families[family].samples.indices {
        page.families[family].samples[sample].labels.insert(contentsOf: labels, at: 0)
      }
    }
    return page
  }
}

extension FigurePage.Label {
  /// The labels that the agent and the formats use.
  private static let taken: Set<String> = [
    "le", "quantile", "version", "state", "effect", "reason", "issuer", "outcome", "kind", "error",
  ]

  /// From `NAME=VALUE` of a command line; nil for a name that no label may have or that figures have already.
  public init?(argument: String) {
    guard let equals = argument.firstIndex(of: "="), argument.utf8.count <= 256 else { return nil }
    let name = String(argument[..<equals])
    guard Self.isName(name), !name.hasPrefix("__"), !Self.taken.contains(name) else { return nil }
    self.init(name, String(argument[argument.index(after: equals)...]))
  }

  static func isName(_ name: String) -> Bool {
    guard let first = name.utf8.first, name.utf8.count <= 64 else { return false }
    return !(0x30...0x39).contains(first)
      && name.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"): true
        default: false
        }
      }
  }
}

extension FigurePage.Family {
  fileprivate init?(_ node: JSONNode, _ kind: FigurePage.Kind) {
    guard let name = node["name"]?.string, name.hasPrefix("lanyard_"), FigurePage.Label.isName(name),
      let help = node["help"]?.string, let samples = node["samples"], samples.kind == .array
    else { return nil }
    let bounds = node["boundsMs"]?.elements.compactMap(\.integer) ?? []
    var read: [FigurePage.Sample] = []
    for sample in samples.elements {
      guard let sample = FigurePage.Sample(sample, kind, bounds) else { return nil }
      read.append(sample)
    }
    self.init(name, kind, unit: node["unit"]?.string, help, read)
    // The unit ends the name (OpenMetrics 1.0, Unit).
    if let unit, !name.hasSuffix("_" + unit) { return nil }
  }
}

extension FigurePage.Sample {
  fileprivate init?(_ node: JSONNode, _ kind: FigurePage.Kind, _ bounds: [Int64]) {
    var labels: [FigurePage.Label] = []
    guard let told = node["labels"], told.kind == .object else { return nil }
    for (name, value) in told.members {
      guard let name = name.string, FigurePage.Label.isName(name), let value = value.string else { return nil }
      labels.append(FigurePage.Label(name, value))
    }
    guard kind == .histogram else {
      guard let value = node["value"]?.integer else { return nil }
      self.init(labels: labels, value: .number(value))
      return
    }
    let counts = node["counts"]?.elements.compactMap(\.integer) ?? []
    guard counts.count == bounds.count + 1, counts.allSatisfy({ $0 >= 0 }), let sum = node["sumMs"]?.integer,
      zip(bounds, bounds.dropFirst()).allSatisfy({ $0 < $1 })
    else { return nil }
    self.init(labels: labels, value: .histogram(boundsMs: bounds, counts: counts, sumMs: sum))
  }
}
