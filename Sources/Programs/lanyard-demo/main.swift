import Foundation

let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case nil: exit(DemoCommand.run([]))
case "run": exit(DemoCommand.run(Array(arguments.dropFirst())))
case "provider": exit(ProviderCommand.run(Array(arguments.dropFirst())))
case "--help", "-h", "help":
  Terminal.print(Usage.text)
  exit(0)
case let other?:
  Terminal.complain("unknown command: \(other)")
  Terminal.complain(Usage.text)
  exit(Usage.exitStatus)
}

enum Usage {
  /// EX_USAGE of sysexits.h.
  static let exitStatus: Int32 = 64

  static let text = """
    lanyard-demo: try Lanyard without an account anywhere

    Usage: lanyard-demo [run [--by-hand] [--keep]]
           lanyard-demo provider [OPTIONS]

    Commands:
      run        sign two people in, refresh, crash, sign out, and say what happens (what is done without a command)
        --by-hand  sign in yourself, in your browser, instead of letting the demo do it
        --keep     leave the temporary directory behind, to look at
      provider   run the practice provider: an OpenID provider on this machine
                 (lanyard-demo provider --help tells more)

    The demo touches no account, agent or file of yours: everything happens in a temporary directory, and ends with it.
    It ends with 0 if everything was as it tells, else with 1.
    """
}
