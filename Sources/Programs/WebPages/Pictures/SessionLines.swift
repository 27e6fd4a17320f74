internal import AgentModel

/// When sessions end, a line for each account. Ends are minutes or months away, so that the scale is of ratios: each step is
/// about as long as all before it.
struct SessionLines {
  struct Line {
    let name: String
    let tone: Tone
    /// Nothing is left of it.
    let isOver: Bool
    /// What ends, and when.
    let ends: [(words: String, look: StaticString, at: Timestamp)]
  }
  let lines: [Line]

  /// Seconds from now at which the scale has its steps.
  private static let steps: [(seconds: Int64, words: String)] = [
    (0, "now"), (3600, "1 h"), (86_400, "1 day"), (604_800, "1 week"), (2_592_000, "1 month"), (31_536_000, "1 year"),
  ]
  private static let width: Int64 = 1000

  init(_ accounts: [Account], _ sessions: (String) -> Session?) {
    lines = accounts.compactMap { account in
      guard account.state != .signedOut else { return nil }
      let session = sessions(account.id)
      var ends: [(words: String, look: StaticString, at: Timestamp)] = []
      if account.kind == "openid", let at = session?.tokenEndsAt { ends.append(("token", "token", at)) }
      if let at = session?.sessionEndsAt { ends.append(("session", "session", at)) }
      if let at = account.expiresAt { ends.append(("key", "session", at)) }
      if let at = session?.offlineUntil { ends.append(("usable offline", "offline", at)) }
      return Line(
        name: account.label, tone: account.state.words.tone, isOver: account.state.words.tone == .bad,
        ends: account.state.words.tone == .bad ? [] : ends)
    }
  }

  func write(to html: inout HTML, _ time: LocalTime) {
    html.literal("<div class=\"lanes sessions\">")
    for (index, line) in lines.enumerated() { write(line, index, to: &html, time) }
    html.literal("<div class=\"axis steps\" aria-hidden=\"true\">")
    for step in Self.steps { html.element("span", [:], step.words) }
    html.literal("</div></div>\n")
  }

  private func write(_ line: Line, _ index: Int, to html: inout HTML, _ time: LocalTime) {
    html.literal("<div class=\"lane\"><div class=\"lane-name\">")
    html.element("b", [:]) { $0.name(line.name) }
    html.literal(" <small>")
    if line.isOver { html.literal("has ended") } else if line.ends.isEmpty { html.literal("no end is known") }
    for (place, end) in line.ends.enumerated() {
      if place > 0 { html.literal(" · ") }
      html.text("\(end.words) ")
      html.moment(end.at, time)
    }
    html.literal("</small></div>")
    html.element(
      "svg",
      [
        "class": "line", "viewBox": "0 0 1000 24", "preserveAspectRatio": "none", "role": "img",
        "aria-labelledby": "line-\(index)-title line-\(index)-desc",
      ]
    ) { html in
      html.element("title", ["id": "line-\(index)-title"], "Ends of \(line.name)")
      html.element(
        "desc", ["id": "line-\(index)-desc"],
        line.isOver
          ? "It has ended."
          : line.ends.isEmpty
            ? "No end is known." : line.ends.map { "\($0.words) \(time.short($0.at))" }.joined(separator: ", "))
      for step in 1..<Self.steps.count - 1 {
        let x = String(Self.width * Int64(step) / Int64(Self.steps.count - 1))
        html.open("line", ["class": "ground", "x1": x, "y1": "0", "x2": x, "y2": "24"])
        html.literal("</line>")
      }
      html.element(
        "rect",
        [
          "class": "whole \(line.tone.rawValue)", "x": "0", "y": "10", "height": "4",
          "width": String(end(of: line, time.now)),
        ], "")
      for end in line.ends where end.at > time.now {
        html.literal("<rect class=\"")
        html.literal(end.look)
        html.literal("\" y=\"4\" width=\"6\" height=\"16\" x=\"")
        html.text(String(max(0, Self.place(end.at, time.now) - 3)))
        html.literal("\"/>")
      }
    }
    html.literal("</div>\n")
  }

  private func end(of line: Line, _ now: Timestamp) -> Int64 {
    if line.isOver { return 6 }
    return line.ends.isEmpty ? Self.width : line.ends.map { Self.place($0.at, now) }.max() ?? 0
  }

  /// The place of a moment, from 0 to `width`.
  private static func place(_ moment: Timestamp, _ now: Timestamp) -> Int64 {
    let seconds = max(0, (moment - now).count / 1000)
    let part = width / Int64(steps.count - 1)
    for index in 1..<steps.count where seconds <= steps[index].seconds {
      let (from, to) = (steps[index - 1].seconds, steps[index].seconds)
      return Int64(index - 1) * part + part * (seconds - from) / (to - from)
    }
    return width
  }
}
