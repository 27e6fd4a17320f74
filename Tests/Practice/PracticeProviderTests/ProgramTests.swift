import Foundation
import Testing

/// `lanyard-demo provider`, run as a program.
@Suite struct ProgramTests {
  /// Programs are built into the directory of the tests.
  private static var program: URL {
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("lanyard-demo")
  }

  private func start(_ arguments: [String]) throws -> (process: Process, output: Pipe, errors: Pipe) {
    let process = Process()
    process.executableURL = Self.program
    process.arguments = arguments
    let (output, errors) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    process.standardInput = FileHandle.nullDevice
    try process.run()
    return (process, output, errors)
  }

  private func run(_ arguments: [String]) throws -> (status: Int32, output: String, errors: String) {
    let (process, output, errors) = try start(arguments)
    let text = output.fileHandleForReading.readDataToEndOfFile()
    let complaints = errors.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (
      process.terminationStatus, String(decoding: text, as: UTF8.self), String(decoding: complaints, as: UTF8.self)
    )
  }

  @Test(arguments: [SIGTERM, SIGINT])
  func demoProvider_printsItsIssuerFirstAndEndsOnASignal(signal: Int32) throws {
    let (process, output, _) = try start(["provider", "--path=/realms/acme", "--auto-approve", "alice"])
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    let issuer = try #require(line.wholeMatch(of: /http:\/\/127\.0\.0\.1:(\d+)\/realms\/acme\n/))
    let port = try #require(UInt16(issuer.1))
    let client = try Client(port: port)
    try client.send("GET /realms/acme/jwks HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
    #expect(client.readToEnd().hasPrefix("HTTP/1.1 200"))
    kill(process.processIdentifier, signal)
    process.waitUntilExit()
    #expect(process.terminationReason == .exit)
    #expect(process.terminationStatus == 0)
    #expect(output.fileHandleForReading.readDataToEndOfFile().isEmpty)
  }

  @Test func demoProviderHelp_namesEveryOption() throws {
    let help = try run(["provider", "--help"])
    #expect(help.status == 0)
    #expect(help.errors.isEmpty)
    for option in ["--port", "--users", "--rotation", "--access-token-lifetime", "--auto-approve"] {
      #expect(help.output.contains(option))
    }
    let lines = help.output.split(separator: "\n")
    #expect(lines.allSatisfy { $0.count <= 100 })
  }

  @Test(arguments: [
    ["provider", "--port", "99999"], ["provider", "--rotation", "daily"], ["provider", "--port"],
    ["provider", "--speed", "1"], ["provider", "--auto-approve", "nobody"], ["provider", "--users", "/nonexistent"],
    ["provider", "--access-token-lifetime", "0"], ["provider", "--as", "nobody"],
    ["provider", "--as", "keycloak", "--path", "/elsewhere"], ["nonsense"], ["run", "--fast"],
  ])
  func demoProviderWithAWrongArgument_isAUsageError(arguments: [String]) throws {
    let result = try run(arguments)
    #expect(result.status == 2)
    #expect(result.output.isEmpty)
    #expect(!result.errors.isEmpty)
  }

  @Test func demoProviderInAGuise_tellsHowItIsAdded() throws {
    let listed = try run(["provider", "--as", "list"])
    #expect(listed.status == 0)
    #expect(listed.output.contains("\nkeycloak            Keycloak\n"))
    let (process, output, errors) = try start(["provider", "--as=keycloak", "--rotation", "strict"])
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    let issuer = line.trimmingCharacters(in: .whitespacesAndNewlines)
    #expect(issuer.hasSuffix("/realms/acme"))
    process.terminate()
    let told = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(told.contains("curl -s \(issuer)/practice/provider | lanyard provider add keycloak --from -"))
  }

  @Test func demoProviderOnABusyPort_failsWithAMessage() throws {
    let (process, output, _) = try start(["provider"])
    defer { process.terminate() }
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    let port = try #require(line.split(separator: ":").last).trimmingCharacters(in: .whitespacesAndNewlines)
    let second = try run(["provider", "--port", port])
    #expect(second.status == 1)
    #expect(second.errors.contains("port \(port) is in use"))
  }

  @Test func demoProvider_readsPeopleFromAFile() throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("people-\(UUID().uuidString).json")
    try Data(#"{"users":[{"name":"dora","tenant":"initech"}]}"#.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let (process, output, errors) = try start(["provider", "--users", file.path, "--auto-approve", "dora"])
    _ = output.fileHandleForReading.availableData
    process.terminate()
    #expect(String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self).contains("dora@initech"))
    process.waitUntilExit()
  }
}
