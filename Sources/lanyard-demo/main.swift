import Foundation

let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case "provider": exit(ProviderCommand.run(Array(arguments.dropFirst())))
case "--help", "-h", "help":
  Terminal.print(Usage.text)
  exit(0)
case let other:
  Terminal.complain(other.map { "unknown command: \($0)" } ?? "a command is missing")
  Terminal.complain(Usage.text)
  exit(Usage.exitStatus)
}

enum Usage {
  /// EX_USAGE of sysexits.h.
  static let exitStatus: Int32 = 64

  static let text = """
    lanyard-demo: try Lanyard without an account anywhere

    Usage: lanyard-demo COMMAND

    Commands:
      provider   run the practice provider: an OpenID provider on this machine
                 (lanyard-demo provider --help tells more)
    """
}
