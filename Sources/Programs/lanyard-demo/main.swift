import Foundation
import UsageWords

let arguments = Array(CommandLine.arguments.dropFirst())
Terminal.begin()
signal(SIGPIPE, SIG_IGN)
exit(Terminal.status(after: status(of: arguments)))

func status(of arguments: [String]) -> Int32 {
  switch arguments.first {
  case nil: return DemoCommand.run([])
  case "run": return DemoCommand.run(Array(arguments.dropFirst()))
  case "provider": return ProviderCommand.run(Array(arguments.dropFirst()))
  case "--help", "-h", "help":
    Terminal.print(Usage.text)
    return 0
  case let other?:
    let message = other.hasPrefix("-") ? Mistake.unknown(other) : Mistake.unknownCommand(other)
    return Usage.tell(message, among: arguments)
  }
}
