internal import Glibc

/// Replaces this process by another program of the project (`execv`).
public enum ExecReplacement {
  /// Becomes `lanyard-cli`, with the same arguments.
  public static func toFullProgram(_ arguments: [String]) -> Never { become("lanyard-cli", arguments) }

  /// Becomes a companion program. Exits with 1 and a message if it is missing.
  public static func become(_ program: String, _ arguments: [String]) -> Never {
    guard let path = AgentPaths.companion(program) else {
      stop("The program \(program) is missing beside this program. \(remedy(program))")
    }
    stop(SystemError.whyNotRun(path, replace(by: path, arguments)))
  }

  private static func remedy(_ program: String) -> String {
    // A Debian package of its own.
    guard program == "lanyard-demo" else { return "Install it again." }
    return "Install it as you installed lanyard. On Debian, `apt install lanyard-demo` brings it from a repository "
      + "that has it, and `apt install ./lanyard-demo_*.deb` from its file."
  }

  /// Becomes the program at `path`, also one of others.
  public static func run(_ path: String, _ arguments: [String]) -> Never {
    stop("\(path) can't be run: \(SystemError.message(replace(by: path, arguments))).")
  }

  /// Returns the error if it fails.
  private static func replace(by path: String, _ arguments: [String]) -> Int32 {
    var pointers = arguments.map { strdup($0) } + [nil]
    signal(SIGPIPE, SIG_DFL)  // an ignored signal stays ignored through `execv`
    execv(path, &pointers)
    return errno
  }

  private static func stop(_ message: String) -> Never {
    Output.instruction("lanyard: \(message)")
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
