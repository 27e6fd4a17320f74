import CommandSupport
import Glibc

/// `lanyard`: runs `lanyard token`, `lanyard prompt` and the plain `lanyard exec` itself, because programs and shells call
/// them often and they must be fast. For every other command it becomes `lanyard-cli` (`execv`).
@main enum Lanyard {
  static func main() {
    let arguments = CommandLine.arguments
    if let words = CredentialHelperName.arguments(of: arguments) { ExecReplacement.toFullProgram(words) }
    if let request = TokenRequest(arguments: arguments.dropFirst()) {
      Interruption.prepare(json: request.json)
      end(json: request.json) { () throws(CommandFailure) in try request.run(begun: .begunInC()) }
    }
    if let request = PromptRequest(arguments: arguments.dropFirst()) {
      request.run()
      Process.exit(.success)
    }
    if let request = ExecRequest(arguments: arguments.dropFirst()) {
      Interruption.prepare()
      if let code = code(of: request) { exit(code) }
    }
    ExecReplacement.toFullProgram(arguments)
  }

  /// The exit code of the command; nil if `lanyard-cli` has to run it.
  private static func code(of request: ExecRequest) -> Int32? {
    do throws(CommandFailure) {
      return try request.run()
    } catch {
      Output.tell(error, json: false)
      return error.status.rawValue
    }
  }

  private static func end(json: Bool, after body: () throws(CommandFailure) -> Void) -> Never {
    Process.exit(status(json: json, of: body), json: json)
  }

  // A function of its own: the buffers that held the token are wiped on return, before the process exits.
  private static func status(json: Bool, of body: () throws(CommandFailure) -> Void) -> ExitStatus {
    do throws(CommandFailure) {
      try body()
      return .success
    } catch {
      Output.tell(error, json: json)
      return error.status
    }
  }
}
