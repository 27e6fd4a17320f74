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
