import CommandSupport
import Glibc
import MetricsExposition
import Threads

/// Asks the agent for its figures.
enum FigureReader {
  /// Less than scrapers wait for an answer.
  private static let patience: Int = 5_000

  /// The page of now. Without an agent that answers it says so, and the failure says why.
  static func page(interruption: Interruption?) -> (FigurePage, CommandFailure?) {
    do throws(CommandFailure) {
      return (try read(interruption), nil)
    } catch {
      var failure = error
      if failure.name == "noAgent" { failure.hints = ["`lanyard status` starts one; this command never does."] }
      return (FigurePage.down(nowSeconds: Int64(time(nil))), failure)
    }
  }

  private static func read(_ interruption: Interruption?) throws(CommandFailure) -> FigurePage {
    let deadline = MonotonicTime.now.milliseconds + patience
    var agent = try Agent.connect(mayStart: false)
    let request = try agent.send("metrics.read")
    var line = WaitingLine()
    while true {
      let page = try agent.answer(to: request) { (result) throws(CommandFailure) in
        guard let page = FigurePage(result: result) else { throw CommandFailure.notUnderstood }
        return page
      }
      if let page { return page }
      let left = Int32(clamping: deadline - MonotonicTime.now.milliseconds)
      guard left > 0 else { throw silent }
      switch try agent.wait(
        interruption: interruption, milliseconds: line.pause < 0 ? left : min(line.pause, left))
      {
      case .bytes: line.clear()
      // A server has no person who waits.
      case .timeout: if interruption == nil { line.show("the agent") }
      case .interrupted, .other: throw silent
      }
    }
  }

  private static var silent: CommandFailure {
    CommandFailure(.noAgent, name: "noAnswer", "The agent did not answer within \(patience / 1000) seconds.")
  }
}
