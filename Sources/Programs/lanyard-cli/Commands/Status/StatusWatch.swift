import CommandSupport

/// `lanyard status --watch`: the report again after every event. On a terminal it stays in its place; elsewhere the
/// reports follow each other, with an empty line between.
struct StatusWatch {
  let status: Status

  func run() throws(CommandFailure) {
    let interruption = try Interruption()
    // Two connections: calls drop what arrives before their answer, and no event may be dropped.
    var events = try status.common.connect()
    var agent = try status.common.connect()
    try events.perform("event.subscribe")
    var shown = 0
    while true {
      shown = show(try status.report(over: &agent), over: shown)
      // What changed together is shown together.
      while try !drain(&events) {
        if try events.wait(interruption: interruption, milliseconds: -1) == .interrupted { throw Interruption.failure }
      }
    }
  }

  /// Takes all events that have arrived; false if there was none.
  private func drain(_ events: inout AgentConnection) throws(CommandFailure) -> Bool {
    var any = false
    while try events.event({ _ in true }) == true { any = true }
    return any
  }

  /// Returns the lines that the next report is to replace.
  private func show(_ report: StatusReport, over lines: Int) -> Int {
    guard !status.common.json else {
      status.show(report)
      return 0
    }
    guard Terminal.showsAnswers else {
      if lines > 0 { Output.answer("") }
      status.show(report)
      return 1
    }
    let text = report.lines
    // Back to the first line, and everything below it gone.
    if lines > 0 { Output.write("\u{1B}[\(lines)A\r\u{1B}[J", to: 1) }
    for line in text { Output.answer(line) }
    return text.count
  }
}
