internal import Glibc

/// One program that takes the place of another.
public enum ExecReplacement {
  /// Becomes `lanyard-cli`, with the same words.
  public static func toFullProgram(_ arguments: [String]) -> Never { become("lanyard-cli", arguments) }

  /// Becomes a program of ours that stands beside this one, or ends with 1 saying that it does not.
  public static func become(_ program: String, _ arguments: [String]) -> Never {
    guard let path = AgentPaths.companion(program) else {
      Output.warning("The program \(program), which belongs beside this one, is not there. Install it again.")
      exit(ExitStatus.other.rawValue)
    }
    var pointers = arguments.map { strdup($0) } + [nil]
    signal(SIGPIPE, SIG_DFL)  // what is ignored stays so through exec, and the other program may count on it
    execv(path, &pointers)
    Output.warning("\(path) can't be run: \(SystemError.words(errno)).")
    exit(ExitStatus.other.rawValue)
  }
}

/// This process.
public enum Process {
  /// Ends it.
  public static func exit(_ status: ExitStatus) -> Never { Glibc.exit(status.rawValue) }
}
