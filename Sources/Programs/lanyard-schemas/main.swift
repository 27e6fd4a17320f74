import Foundation
import SchemaKit

// `lanyard-schemas generate | check | freeze [DIRECTORY]`: writes what is made from Schemas/, or says what drifted.

/// Tells on stderr and ends.
func stop(_ text: String, code: Int32) -> Never {
  FileHandle.standardError.write(Data((text + "\n").utf8))
  exit(code)
}

let usage = "usage: lanyard-schemas generate | check | freeze [DIRECTORY]"
let arguments = CommandLine.arguments.dropFirst()
guard let command = arguments.first, arguments.count <= 2 else { stop(usage, code: 64) }
let top = URL(filePath: arguments.dropFirst().first ?? FileManager.default.currentDirectoryPath)

do {
  let workshop = try ContractRepository(top: top)
  switch command {
  case "generate":
    for path in try workshop.generate() { print("wrote \(path)") }
  case "check":
    let problems = workshop.drift() + (try workshop.incompatibilities())
    guard problems.isEmpty else { stop(problems.joined(separator: "\n"), code: 1) }
  case "freeze":
    print("froze \(try workshop.freeze())")
  default: stop(usage, code: 64)
  }
} catch {
  stop("\(error)", code: 1)
}
