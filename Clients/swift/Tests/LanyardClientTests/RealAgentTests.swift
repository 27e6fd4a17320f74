import Foundation
import LanyardClient
import LanyardHTTP
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private let environment = ProcessInfo.processInfo.environment
private let hasAgent = environment["LANYARD_AGENT"] != nil && environment["LANYARD_DEMO"] != nil

/// One agent, one provider, alice and bob signed in.
@Suite("The client and the real agent", .enabled(if: hasAgent), .timeLimit(.minutes(1)))
final class RealAgentTests {
  private let process = Process()
  private let input = Pipe()
  private let issuer: String
  private let accounts: [String]
  private let lanyard: Lanyard

  init() throws {
    let output = Pipe()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "python3", URL(filePath: #filePath).deletingLastPathComponent().appending(path: "real_agent.py").path,
    ]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    var line = Data()
    while line.last != 0x0A {
      let piece = output.fileHandleForReading.availableData
      guard !piece.isEmpty else { throw CocoaError(.fileReadUnknown) }
      line += piece
    }
    let told = try JSON(parsing: String(decoding: line, as: UTF8.self))
    issuer = told["issuer"]?.string ?? ""
    accounts = told["accounts"]?.array?.compactMap(\.string) ?? []
    lanyard = Lanyard(socketPath: told["socket"]?.string ?? "", callTimeout: .seconds(20))
  }

  deinit {
    lanyard.close()
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  @Test("Tokens, errors, events and requests")
  func everyday() async throws {
    let hello = try await lanyard.connect()
    #expect(hello.protocol == "1")
    #expect(hello.limits.requestsInFlight == 128)
    #expect(Set(try await lanyard.account.list().accounts.map(\.id)) == Set(accounts))

    let first = try await lanyard.token.get(account: "alice")
    let again = try await lanyard.token.get(account: accounts[0])
    #expect(first.accessToken == again.accessToken)
    #expect(again.source == .cache)

    let events = try await lanyard.events(types: [.accountSwitched, .tokenRefreshed])
    let replaced = try await lanyard.token.reject(account: "alice", fingerprint: first.fingerprint)
    #expect(replaced.fingerprint != first.fingerprint)
    let event = try #require(try await events.next())
    #expect(event.tokenRefreshed?.generation == replaced.generation)
    #expect(event.account == accounts[0])

    do {
      _ = try await lanyard.token.get(account: "carol")
      Issue.record("carol has no account")
    } catch LanyardError.accountNotFound {
    }
    await #expect { try await lanyard.call("no.such", [:]) } throws: {
      ($0 as? LanyardError)?.code == .methodNotFound
    }

    let calls = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<300 { group.addTask { [lanyard] in try await lanyard.token.get(account: "bob").generation } }
      return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
    }
    #expect(calls.count == 1)

    let session = LanyardSession(lanyard, account: "alice", origins: [issuer])
    let (data, response) = try await session.data(from: #require(URL(string: issuer + "/userinfo")))
    #expect(response.statusCode == 200)
    #expect(String(decoding: data, as: UTF8.self).contains("alice"))
  }

  @Test("A wait that is cancelled ends in the agent, too")
  func cancelledWait() async throws {
    let begun = try await lanyard.signIn.begin(provider: "practice", flow: .browser, openBrowser: false)
    let lanyard = lanyard
    let task = Task { try await lanyard.signIn.wait(signIn: begun.signIn, timeoutSeconds: 300) }
    try await Task.sleep(for: .milliseconds(100))
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try await lanyard.signIn.cancel(signIn: begun.signIn)
    #expect(try await lanyard.agent.status().locked == false)
  }
}
