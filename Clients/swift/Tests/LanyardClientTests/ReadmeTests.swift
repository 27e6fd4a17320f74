import Foundation
import Testing

@testable import LanyardClient

@Suite("The examples of the README", .timeLimit(.minutes(1))) struct ReadmeTests {
  private static let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
  private static let examples = ["token", "http", "errors", "events", "sign-in"]

  private func example(_ name: String) throws -> String {
    try String(contentsOf: Self.package.appending(path: "examples/\(name)/main.swift"), encoding: .utf8)
  }

  /// Runs an example's program against the agent.
  private func run(_ name: String, _ agent: ScriptedAgent, _ arguments: [String] = []) async throws -> String {
    let process = Process()
    let directory = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    process.executableURL = URL(filePath: directory).deletingLastPathComponent().appending(path: "example-\(name)")
    process.arguments = arguments
    process.environment = ["LANYARD_SOCKET": agent.path, "LANYARD_NO_START": "1"]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = await Task.detached {
      String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }
    .value
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return text
  }

  @Test("Every example is a program of `examples`, word by word")
  func examplesArePrograms() throws {
    let readme = try String(contentsOf: Self.package.appending(path: "README.md"), encoding: .utf8)
    let blocks = readme.components(separatedBy: "```swift\n").dropFirst()
      .map { $0.components(separatedBy: "```")[0] }.filter { $0.hasPrefix("import ") }
    #expect(try blocks == Self.examples.map(example))
  }

  @Test("The examples run")
  func examplesRun() async throws {
    let agent = try ScriptedAgent()
    agent.on("token.get") { request, peer in
      guard request["params"]?["account"] == "retired" else { return ScriptedAgent.token }
      let data: [String: JSON] = [
        "account": "acc_retired", "reason": "outcomeUnknown", "remedies": ["reauthenticate"],
      ]
      peer.fail(request, 2004, "reauthenticationRequired", data)
      return nil
    }
    agent.on("event.subscribe") { request, peer in
      peer.answer(request, ["subscription": "sub-1", "epoch": "epoch-1", "sequence": 0, "gap": false])
      peer.event(1, "session.expired", ["reason": "refreshTokenRejected"])
      peer.event(2, "event.gap", ["from": 2, "to": 2])
      peer.event(3, "account.switched")
      return nil
    }
    agent.on("signIn.begin") { _, _ in
      [
        "signIn": "s1", "flow": "device", "expiresAt": "2030-01-01T00:00:00.000Z", "userCode": "ABCD-EFGH",
        "verificationUri": "https://idp.example/device",
      ]
    }
    agent.on("signIn.wait") { _, _ in ["status": "completed", "account": "acc_alice"] }
    // People copy an example: it prints no token.
    #expect(try await run("token", agent) == "30 bytes for acc_alice, for 300 s\n")
    #expect(try await run("errors", agent).hasPrefix("acc_retired outcomeUnknown ["))
    #expect(
      try await run("events", agent)
        == "acc_alice has to sign in again: refreshTokenRejected\nsomething was missed: look at everything again\n")
    #expect(try await run("sign-in", agent).hasSuffix("Signed in: acc_alice\n"))
  }
}
