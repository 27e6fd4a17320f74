import CommandSupport

/// `lanyard`: the hot verb by hand, so that a token costs little more than the question; everything else, help and
/// mistakes included, is `lanyard-cli` beside it, which takes this process's place.
@main enum Lanyard {
  static func main() {
    let arguments = CommandLine.arguments
    guard let request = TokenRequest(arguments: arguments.dropFirst()) else { ExecReplacement.toFullProgram(arguments) }
    Interruption.prepare()
    let status = run(request)
    Process.exit(status)
  }

  // The connection and the buffers that held the token end, and are wiped, before the process does.
  private static func run(_ request: TokenRequest) -> ExitStatus {
    do throws(CommandFailure) {
      try request.run()
      return .success
    } catch {
      Output.tell(error, json: request.json)
      return error.status
    }
  }
}
