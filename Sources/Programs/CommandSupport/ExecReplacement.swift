internal import Glibc

/// Replaces this process by another program of the project (`execv`).
public enum ExecReplacement {
  /// Becomes `lanyard-cli`, with the same arguments.
  public static func toFullProgram(_ arguments: [String]) -> Never { become("lanyard-cli", arguments) }

  /// Becomes a companion program. Exits with 1 and a message if it is missing.
  public static func become(_ program: String, _ arguments: [String]) -> Never {
    guard let path = AgentPaths.companion(program) else {
      Output.instruction("lanyard: The program \(program) is missing beside this program. Install it again.")
      exit(ExitStatus.other.rawValue)
    }
    run(path, arguments)
  }

  /// Becomes the program at `path`.
  public static func run(_ path: String, _ arguments: [String]) -> Never {
    var pointers = arguments.map { strdup($0) } + [nil]
    signal(SIGPIPE, SIG_DFL)  // an ignored signal stays ignored through `execv`
    execv(path, &pointers)
    Output.instruction("lanyard: \(path) can't be run: \(SystemError.message(errno)).")
    exit(ExitStatus.other.rawValue)
  }
}

/// The running process.
public enum Process {
  /// Ends the process: with a failure if its answer could not be written.
  public static func exit(_ status: ExitStatus, json: Bool = false) -> Never {
    Glibc.exit(Output.status(after: status, json: json).rawValue)
  }
}
