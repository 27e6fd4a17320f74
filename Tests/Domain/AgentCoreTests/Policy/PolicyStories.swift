import AgentCore
import AgentModel
import Foundation

/// Policy facts for tests, and the example that `Schemas` shows.
enum PolicyStories {
  static let fieldService = try! example("field-service")

  /// An example of `Schemas/examples`.
  static func example(_ name: String) throws -> PolicyDocument {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let file = root.appendingPathComponent("Schemas/examples/\(name).policy.json")
    return try PolicyDocument(parsing: [UInt8](Data(contentsOf: file)), expectedName: name)
  }

  static func document(_ capability: String, more: String = "") throws(PolicyProblems) -> PolicyDocument {
    try PolicyDocument(
      parsing: Array(#"{"name":"p","version":1,"capabilities":{"c":\#(capability)}\#(more)}"#.utf8))
  }

  static func problems(_ text: String) -> [PolicyProblem] {
    do throws(PolicyProblems) {
      _ = try PolicyDocument(parsing: Array(text.utf8))
      return []
    } catch { return error.list }
  }
}

extension PolicyFacts {
  /// A technician at work, confirmed just now.
  static func technician(_ change: (inout PolicyFacts) -> Void = { _ in }) -> PolicyFacts {
    var facts = PolicyFacts(
      state: .active, isOnline: true, confirmationAge: .zero, token: .unexpired(remaining: .seconds(300)),
      snapshot: Snapshot(
        roles: ["technician"], scopes: ["workorders:read", "workorders:write"], entitlements: ["north"], age: .zero,
        version: 3))
    change(&facts)
    return facts
  }

  /// The same person, `duration` after the provider became unreachable.
  static func offline(for duration: Milliseconds, stepUp: Milliseconds? = nil) -> PolicyFacts {
    technician {
      $0.isOnline = false
      $0.confirmationAge = duration
      $0.snapshot?.age = duration
      $0.token = duration < .seconds(300) ? .unexpired(remaining: .seconds(300) - duration) : .expired
      $0.state = duration < .seconds(300) ? .active : .offlineStale
      $0.stepUpAges[.pin] = stepUp
    }
  }
}

extension Milliseconds {
  static func hours(_ hours: Int64) -> Milliseconds { .seconds(hours * 3600) }
  static func days(_ days: Int64) -> Milliseconds { .hours(days * 24) }
}
