/// How long refreshes took: a bar for each span of `metrics.read`'s histogram, beside its numbers in a table.
struct LatencyBars {
  struct Bar {
    let words: String
    let count: Int64
  }
  let bars: [Bar]
  let total: Int64
  /// Of all refreshes.
  let meanMs: Int64

  /// Nil without a refresh since the agent's start.
  init?(_ metrics: JSONValue?) {
    guard
      let histogram = metrics?["histograms"]?.elements.first(where: {
        $0["name"]?.string == "lanyard_exchange_duration_seconds"
      }),
      let sample = histogram["samples"]?.elements.first, let total = sample["count"]?.integer, total > 0
    else { return nil }
    let bounds = histogram["boundsMs"]?.elements.compactMap(\.integer) ?? []
    let counts = sample["counts"]?.elements.compactMap(\.integer) ?? []
    var bars: [Bar] = []
    for (index, count) in counts.enumerated() {
      let words =
        index < bounds.count ? "up to \(Self.duration(bounds[index]))" : "more than \(Self.duration(bounds.last ?? 0))"
      bars.append(Bar(words: words, count: count))
    }
    let used = bars.indices.filter { bars[$0].count > 0 }
    guard let first = used.first, let last = used.last else { return nil }
    self.bars = Array(bars[max(0, first - 1)...min(bars.count - 1, last + 1)])
    self.total = total
    meanMs = (sample["sumMs"]?.integer ?? 0) / total
  }

  func write(to html: inout HTML) {
    let most = max(1, bars.map(\.count).max() ?? 1)
    html.literal(
      "<table class=\"bars-table\" id=\"latency\"><caption>How long refreshes took, since the agent's start</caption><thead><tr><th scope=\"col\">Time</th><th scope=\"col\">Share</th><th scope=\"col\">Refreshes</th></tr></thead><tbody>"
    )
    for bar in bars {
      html.literal("<tr>")
      html.element("th", ["scope": "row"], bar.words)
      html.element("td", [:]) { html in
        html.element("svg", ["class": "bar", "viewBox": "0 0 100 10", "preserveAspectRatio": "none", "role": "img"]) {
          html in
          html.element(
            "title", [:],
            "\(bar.words): \(Words.count(bar.count, "refresh", "refreshes")), \(bar.count * 100 / total) of 100")
          html.literal("<rect class=\"ground\" width=\"100\" height=\"10\"/>")
          if bar.count > 0 {
            html.element(
              "rect", ["class": "allow", "width": String(max(1, bar.count * 100 / most)), "height": "10"], "")
          }
        }
      }
      html.element("td", [:]) { $0.number(bar.count) }
      html.literal("</tr>")
    }
    html.literal("</tbody></table>")
  }

  static func duration(_ milliseconds: Int64) -> String {
    if milliseconds < 1000 { return "\(milliseconds) ms" }
    return milliseconds % 1000 == 0
      ? "\(milliseconds / 1000) s" : "\(milliseconds / 1000).\(milliseconds % 1000 / 100) s"
  }
}
