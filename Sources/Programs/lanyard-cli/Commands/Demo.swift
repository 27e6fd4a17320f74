import ArgumentParser
import CommandSupport

/// `lanyard demo`
struct Demo: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run a demo with a practice provider on this machine.",
    discussion: "Runs `lanyard-demo` with the arguments that follow. `lanyard demo --help` shows its help.")

  @Argument(parsing: .captureForPassthrough, help: "Arguments for lanyard-demo.")
  var words: [String] = []

  func run() { ExecReplacement.become("lanyard-demo", ["lanyard-demo"] + words) }
}
