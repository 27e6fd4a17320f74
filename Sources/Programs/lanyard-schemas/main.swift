import Foundation
import SchemaKit
import UsageWords

// `lanyard-schemas generate | check | openrpc [DIRECTORY]`: generates code and documents from Schemas/, checks them, or prints
// the OpenRPC document.

/// Prints a message to stderr and exits.
func stop(_ text: String, code: Int32) -> Never {
  FileHandle.standardError.write(Data((text + "\n").utf8))
  exit(code)
}

let usage = "usage: lanyard-schemas generate | check | openrpc [DIRECTORY]"
let arguments = CommandLine.arguments.dropFirst()
guard let command = arguments.first, arguments.count <= 2 else { stop(usage, code: 64) }
guard ["generate", "check", "openrpc"].contains(command) else {
  let mistake = command.hasPrefix("-") ? Mistake.unknown(command) : Mistake.unknownCommand(command)
  stop("lanyard-schemas: \(mistake)\n\(usage)", code: 64)
}
let top = URL(filePath: arguments.dropFirst().first ?? FileManager.default.currentDirectoryPath)

do {
  let repository = try ContractRepository(top: top)
  switch command {
  case "generate":
    for path in try repository.generate() { print("wrote \(path)") }
  case "check":
    let release = try repository.lastRelease()
    let problems = repository.drift() + (release.map(repository.incompatibilities) ?? [])
    guard problems.isEmpty else { stop(problems.joined(separator: "\n"), code: 1) }
    print(
      release.map { "The contract keeps what \($0.tag) promised." }
        ?? "No contract was released yet: no tag v* in the history has schemas.")
  default: print(repository.contract.openRPC, terminator: "")
  }
} catch let error as CocoaError {
  let path = error.filePath ?? error.url?.path ?? top.path
  let isMissing = error.code == .fileReadNoSuchFile
  stop("lanyard-schemas: " + (isMissing ? "There is no \(path)." : "\(path): \(error.localizedDescription)"), code: 1)
} catch {
  stop("\(error)", code: 1)
}
