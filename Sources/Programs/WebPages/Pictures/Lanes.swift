internal import AgentModel

/// Bars over time, a lane for each program. The words stand beside the picture in HTML: a picture that is as wide as the
/// page has no text that shrinks with it.
struct RequestLanes {
  struct Lane {
    var program: String
    var isAgent = false
    var allowed: [Int64]
    var refused: [Int64]
    var total: Int64 { allowed.reduce(0, +) + refused.reduce(0, +) }
    var totalRefused: Int64 { refused.reduce(0, +) }
  }

  static let buckets = 60
  let since: Timestamp
  let until: Timestamp
  private(set) var lanes: [Lane] = []

  /// Programs with a lane of their own; the others share one.
  private static let most = 8

  init(_ entries: some Sequence<AuditEntry>, since: Timestamp, until: Timestamp, agents: Set<String>) {
    (self.since, self.until) = (since, until)
    var byProgram: [String: Lane] = [:]
    for entry in entries where entry.isRequest && entry.lastAt >= since && entry.at <= until {
      let none = [Int64](repeating: 0, count: Self.buckets)
      var lane = byProgram[entry.program] ?? Lane(program: entry.program, allowed: none, refused: none)
      lane.isAgent = agents.contains(entry.program)
      spread(entry) { bucket, count in
        if entry.verdict == .allowed { lane.allowed[bucket] += count } else { lane.refused[bucket] += count }
      }
      byProgram[entry.program] = lane
    }
    let sorted = byProgram.values.filter { $0.total > 0 }
      .sorted { ($1.total, $0.program) < ($0.total, $1.program) }
    lanes = Array(sorted.prefix(Self.most))
    if sorted.count > Self.most { lanes.append(Self.joined(Array(sorted.dropFirst(Self.most)))) }
  }

  private static func joined(_ lanes: [Lane]) -> Lane {
    func sums(_ counts: (Lane) -> [Int64]) -> [Int64] {
      (0..<buckets).map { bucket in lanes.reduce(0) { $0 + counts($1)[bucket] } }
    }
    return Lane(
      program: Words.count(lanes.count, "other program"), allowed: sums(\.allowed), refused: sums(\.refused))
  }

  /// Repeats that are one entry happened some time between its first and its last.
  private func spread(_ entry: AuditEntry, _ add: (Int, Int64) -> Void) {
    let (first, last) = (max(entry.at, since), min(entry.lastAt, until))
    let (from, to) = (bucket(first), bucket(last))
    let whole = (entry.lastAt - entry.at).count
    let within = whole == 0 ? entry.count : max(1, entry.count * ((last - first).count + 1) / (whole + 1))
    let places = Int64(to - from + 1)
    for bucket in from...to {
      let index = Int64(bucket - from)
      let share = within * (index + 1) / places - within * index / places
      if share > 0 { add(bucket, share) }
    }
  }

  private func bucket(_ moment: Timestamp) -> Int {
    let part = (moment - since).count * Int64(Self.buckets) / max(1, (until - since).count)
    return Int(min(max(0, part), Int64(Self.buckets - 1)))
  }

  func write(to html: inout HTML, _ time: LocalTime) {
    let highest = max(1, lanes.flatMap { lane in zip(lane.allowed, lane.refused).map { $0 + $1 } }.max() ?? 1)
    html.literal("<div class=\"lanes\">")
    for (index, lane) in lanes.enumerated() { write(lane, index, highest, to: &html, time) }
    html.literal("<div class=\"axis\" aria-hidden=\"true\">")
    for step in 0...3 {
      let moment = Timestamp(milliseconds: since.milliseconds + (until - since).count * Int64(step) / 3)
      html.element("span", [:], step == 3 ? "now" : time.short(moment))
    }
    html.literal("</div></div>\n")
  }

  private func write(_ lane: Lane, _ index: Int, _ highest: Int64, to html: inout HTML, _ time: LocalTime) {
    let words =
      "\(Words.count(lane.total, "request")), "
      + (lane.totalRefused == 0 ? "none refused" : "\(lane.totalRefused.grouped) refused")
    html.literal("<div class=\"lane\"><div class=\"lane-name\">")
    html.element("b", [:]) { $0.name(lane.program) }
    if lane.isAgent {
      html.literal(" ")
      html.element("span", ["class": "tag"], "AI agent")
    }
    html.small(words)
    html.literal("</div>")
    html.element(
      "svg",
      [
        "class": "bars", "viewBox": "0 0 240 40", "preserveAspectRatio": "none", "role": "img",
        "aria-labelledby": "lane-\(index)-title lane-\(index)-desc",
      ]
    ) { html in
      html.element("title", ["id": "lane-\(index)-title"], "Requests of \(lane.program)")
      html.element(
        "desc", ["id": "lane-\(index)-desc"],
        "From \(time.short(since)) to \(time.short(until)): \(words). \(busiest(lane, time))")
      html.literal("<line class=\"ground\" x1=\"0\" y1=\"39.5\" x2=\"240\" y2=\"39.5\"/>")
      for bucket in 0..<Self.buckets {
        let (allowed, refused) = (lane.allowed[bucket], lane.refused[bucket])
        guard allowed + refused > 0 else { continue }
        let lower = Self.height(allowed, highest)
        let upper = Self.height(refused, highest)
        if allowed > 0 { Self.bar(&html, "allow", bucket, lower, over: 0) }
        if refused > 0 { Self.bar(&html, "deny", bucket, upper, over: lower) }
      }
    }
    html.literal("</div>\n")
  }

  private func busiest(_ lane: Lane, _ time: LocalTime) -> String {
    let sums = zip(lane.allowed, lane.refused).map { $0 + $1 }
    guard let most = sums.max(), most > 0, let bucket = sums.firstIndex(of: most) else { return "" }
    let moment = since.milliseconds + (until - since).count * Int64(bucket) / Int64(Self.buckets)
    return "Most at \(time.clock(Timestamp(milliseconds: moment))): \(most.grouped)."
  }

  /// In tenths of the picture's 39: one request is still seen beside a thousand.
  private static func height(_ count: Int64, _ highest: Int64) -> Int64 {
    count == 0 ? 0 : max(25, 380 * count / highest)
  }

  private static func bar(_ html: inout HTML, _ look: String, _ bucket: Int, _ height: Int64, over lower: Int64) {
    let top = max(0, 395 - lower - height)
    html.element(
      "rect",
      [
        "class": look, "x": String(bucket * 4), "width": "3", "y": decimal(top), "height": decimal(height),
      ], "")
  }

  private static func decimal(_ tenths: Int64) -> String { "\(tenths / 10).\(tenths % 10)" }
}
