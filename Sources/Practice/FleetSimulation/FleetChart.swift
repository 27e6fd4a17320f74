/// Draws requests a second over time as an SVG picture that is readable on a light and on a dark page.
public struct FleetChart {
  /// One run, drawn as a line.
  public struct Line {
    let name: String
    /// Of the style sheet in the picture.
    let style: String
    let report: FleetReport
    /// Of a run with all agents.
    let rates: [Double]

    /// `agents` is the number of agents that the line stands for: a tenth may have been simulated.
    public init(_ name: String, style: String, _ report: FleetReport, agents: Int) {
      self.name = name
      self.style = style
      self.report = report
      let scale = Double(agents) / Double(report.plan.agents)
      rates = report.rates.map { $0 * scale }
    }
  }

  let title: String
  let subtitle: String
  let lines: [Line]
  /// Requests a second of a steady state of the first line's fleet: drawn as a horizontal line, and twice as many as
  /// another.
  let steady: Double
  /// Seconds of the run, in which the picture begins and ends.
  let range: Range<Int64>

  private let width = 860.0
  private let height = 400.0
  private let left = 64.0
  private let right = 16.0
  private let top = 72.0
  private let bottom = 48.0

  public init(title: String, subtitle: String, lines: [Line], range: Range<Int64>) {
    self.title = title
    self.subtitle = subtitle
    self.lines = lines
    self.range = range
    steady = (lines.first?.report.plan.steadyState).map { FleetReport.of($0).meanOfLastHour } ?? 1
  }

  /// Decades: what a naive client does is a thousand times more than a quiet day.
  private var highest: Double {
    let most = lines.flatMap(\.rates).max() ?? 1
    var decade = 1.0
    while decade < most { decade *= 10 }
    return decade
  }
  private var lowest: Double { steady >= 10 ? 1 : 0.1 }

  private func x(_ second: Int64) -> Double {
    left + (width - left - right) * Double(second - range.lowerBound) / Double(range.upperBound - range.lowerBound)
  }

  private func y(_ rate: Double) -> Double {
    let part = (Logarithm.natural(max(rate, lowest)) - Logarithm.natural(lowest)) / Logarithm.natural(highest / lowest)
    return height - bottom - (height - top - bottom) * part
  }

  public var svg: String {
    let size = "\(Self.text(width)) \(Self.text(height))"
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(size)" role="img" aria-label="\(title). \(subtitle)">
      <style>\(Self.styles)</style>
      <rect class="page" width="100%" height="100%"/>
      <text class="title" x="16" y="24">\(title)</text>
      <text class="note" x="16" y="42">\(subtitle)</text>
      \(legend)
      \(event)
      \(axes)
      \(lines.reversed().map(path).joined(separator: "\n"))
      </svg>

      """
  }

  private static let styles = """
    .page{fill:#fff}text{font:12px system-ui,sans-serif;fill:#444}.title{font-size:15px;font-weight:600;fill:#111}\
    .note{fill:#666}.grid{stroke:#e2e2e2}.event{fill:#f3e6d8}.level{stroke:#888;stroke-dasharray:5 4}\
    path{fill:none;stroke-width:1.6;stroke-linejoin:round}.a{stroke:#0b6bcb}.b{stroke:#c2410c}.c{stroke:#7c3aed}\
    @media (prefers-color-scheme:dark){.page{fill:#0d1117}text{fill:#b5bdc6}.title{fill:#f0f3f6}.note{fill:#8b949e}\
    .grid{stroke:#2a3038}.event{fill:#2d2418}.level{stroke:#7d8590}.a{stroke:#58a6ff}.b{stroke:#fb923c}.c{stroke:#b794f6}}
    """

  private var legend: String {
    var at = 16.0
    return lines.map { line in
      let drawn = """
        <path class="\(line.style)" d="M\(Self.text(at)) 58h18"/><text x="\(Self.text(at + 24))" y="62">\(line.name)</text>
        """
      at += 44 + Double(line.name.count) * 6.6
      return drawn
    }.joined(separator: "\n")
  }

  /// The time in which the provider is down, or all wake.
  private var event: String {
    guard let plan = lines.first?.report.plan else { return "" }
    let end =
      switch plan.scenario {
      case .morning: FleetPlan.beginning + FleetPlan.morning
      case .signOut, .signOutOffline: FleetPlan.beginning + FleetPlan.push
      default: plan.eventEnds
      }
    let (from, to) = (x(FleetPlan.beginning), x(end))
    let extent = "y=\"\(Self.text(top))\" height=\"\(Self.text(height - top - bottom))\""
    return "<rect class=\"event\" x=\"\(Self.text(from))\" width=\"\(Self.text(max(to - from, 2)))\" \(extent)/>"
  }

  private var axes: String {
    var drawn: [String] = []
    var decade = lowest
    while decade <= highest * 1.001 {
      let at = Self.text(y(decade))
      drawn.append("<path class=\"grid\" d=\"M\(Self.text(left)) \(at)H\(Self.text(width - right))\"/>")
      drawn.append(
        "<text x=\"\(Self.text(left - 8))\" y=\"\(Self.text(y(decade) + 4))\" text-anchor=\"end\">\(Self.text(decade))</text>"
      )
      decade *= 10
    }
    for (level, name) in [(steady, "steady"), (steady * 2, "twice")] {
      drawn.append(
        "<path class=\"level\" d=\"M\(Self.text(left)) \(Self.text(y(level)))H\(Self.text(width - right))\"/>")
      drawn.append(
        "<text class=\"note\" x=\"\(Self.text(width - right - 2))\" y=\"\(Self.text(y(level) + (level == steady ? 14 : -4)))\" text-anchor=\"end\">\(name)</text>"
      )
    }
    let minutes = (range.upperBound - range.lowerBound) / 60
    let step: Int64 = minutes > 100 ? 20 : 10
    var minute = (range.lowerBound - FleetPlan.beginning) / 60
    minute -= minute % step
    while FleetPlan.beginning + minute * 60 <= range.upperBound {
      let second = FleetPlan.beginning + minute * 60
      if second >= range.lowerBound {
        drawn.append(
          "<text x=\"\(Self.text(x(second)))\" y=\"\(Self.text(height - 28))\" text-anchor=\"middle\">\(minute)</text>")
      }
      minute += step
    }
    drawn.append(
      "<text class=\"note\" x=\"\(Self.text(width - right))\" y=\"\(Self.text(height - 10))\" text-anchor=\"end\">minutes; requests a second, each point the mean of \(FleetPlan.bin) s; the upward scale is by tens</text>"
    )
    return drawn.joined(separator: "\n")
  }

  private func path(_ line: Line) -> String {
    var steps = ""
    for (bin, rate) in line.rates.enumerated() {
      let second = Int64(bin) * FleetPlan.bin
      guard range.contains(second) else { continue }
      steps += "\(steps.isEmpty ? "M" : "L")\(Self.text(x(second))) \(Self.text(y(rate)))"
    }
    return "<path class=\"\(line.style)\" d=\"\(steps)\"/>"
  }

  /// At most one digit after the point.
  static func text(_ number: Double) -> String {
    let tenths = Int((number * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(abs(tenths % 10))"
  }
}
