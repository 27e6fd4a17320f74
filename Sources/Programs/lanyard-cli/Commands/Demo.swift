import ArgumentParser
import CommandSupport

/// `lanyard demo`
struct Demo: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "See Lanyard at work, with a practice provider on this machine.",
    discussion: "Runs `lanyard-demo` with what follows; `lanyard demo --help` is its help.")

  @Argument(parsing: .captureForPassthrough, help: "What lanyard-demo is told.")
  var words: [String] = []

  func run() { ExecReplacement.become("lanyard-demo", ["lanyard-demo"] + words) }
}
