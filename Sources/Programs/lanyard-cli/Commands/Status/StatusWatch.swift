import CommandSupport

/// `lanyard status --watch`: prints the report after every event. On a terminal a report replaces the last one;
/// elsewhere an empty line separates them.
struct StatusWatch {
  let status: Status

  func run() throws(CommandFailure) {
    let interruption = try Interruption()
    // Two connections: a call drops events that arrive before its answer.
    var events = try status.common.connect()
    var agent = try status.common.connect()
    try events.perform("event.subscribe")
    var shown = 0
    while true {
      shown = show(try status.report(via: &agent), replacing: shown)
      guard !Output.takesNothing else { return }
      // Changes that arrive together make one report.
      while try !drain(&events) {
        if try events.wait(interruption: interruption, milliseconds: -1) == .interrupted { throw Interruption.failure }
      }
    }
  }

  /// Drops the events that have arrived; false if there was none.
  private func drain(_ events: inout AgentConnection) throws(CommandFailure) -> Bool {
    var any = false
    while try events.event({ _ in true }) == true { any = true }
    return any
  }

  /// Returns the number of lines that the next report replaces.
  private func show(_ report: StatusReport, replacing lines: Int) -> Int {
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
    // Move to the first line of the last report and clear the screen below.
    if lines > 0 { Output.answer(laidOut: "\u{1B}[\(lines)A\r\u{1B}[J") }
    for line in text { Output.answer(line) }
    return text.count
  }
}
