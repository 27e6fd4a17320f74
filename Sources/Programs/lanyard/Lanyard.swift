import CommandSupport

/// `lanyard`: runs `lanyard token` itself, because programs call it often and it must be fast. For every other command
/// it becomes `lanyard-cli` (`execv`).
@main enum Lanyard {
  static func main() {
    let arguments = CommandLine.arguments
    if let words = CredentialHelperName.arguments(of: arguments) { ExecReplacement.toFullProgram(words) }
    guard let request = TokenRequest(arguments: arguments.dropFirst()) else { ExecReplacement.toFullProgram(arguments) }
    Interruption.prepare()
    let status = run(request)
    Process.exit(status)
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
