import Foundation
import SchemaKit

// `lanyard-schemas generate | check | freeze [DIRECTORY]`: generates code and documents from Schemas/, or checks them.

/// Prints a message to stderr and exits.
func stop(_ text: String, code: Int32) -> Never {
  FileHandle.standardError.write(Data((text + "\n").utf8))
  exit(code)
}

let usage = "usage: lanyard-schemas generate | check | freeze [DIRECTORY]"
let arguments = CommandLine.arguments.dropFirst()
guard let command = arguments.first, arguments.count <= 2 else { stop(usage, code: 64) }
let top = URL(filePath: arguments.dropFirst().first ?? FileManager.default.currentDirectoryPath)

do {
  let repository = try ContractRepository(top: top)
  switch command {
  case "generate":
    for path in try repository.generate() { print("wrote \(path)") }
  case "check":
    let problems = repository.drift() + (try repository.incompatibilities())
    guard problems.isEmpty else { stop(problems.joined(separator: "\n"), code: 1) }
  case "freeze":
    print("froze \(try repository.freeze())")
  default: stop(usage, code: 64)
  }
} catch {
  stop("\(error)", code: 1)
}
