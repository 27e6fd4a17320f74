import CommandSupport

/// `lanyard`: runs `lanyard token` and `lanyard prompt` itself, because programs and shells call them often and they must
/// be fast. For every other command it becomes `lanyard-cli` (`execv`).
@main enum Lanyard {
  static func main() {
    let arguments = CommandLine.arguments
    if let words = CredentialHelperName.arguments(of: arguments) { ExecReplacement.toFullProgram(words) }
    if let request = TokenRequest(arguments: arguments.dropFirst()) {
      Interruption.prepare()
      Process.exit(run(request))
    }
    if let request = PromptRequest(arguments: arguments.dropFirst()) { Process.exit(run(request)) }
    ExecReplacement.toFullProgram(arguments)
  }

  private static func run(_ request: PromptRequest) -> ExitStatus {
    do throws(CommandFailure) {
      try request.run()
      return .success
    } catch {
      Output.tell(error, json: request.json)
      return error.status
    }
  }

  // A function of its own: the buffers that held the token are wiped on return, before the process exits.
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
