internal import Foundation
internal import LanyardClient

/// Standard output: one message a line.
enum Output {
  private static let lock = Locked(())

  static func say(_ id: String, _ member: String, _ value: JSON) {
    let line = Data((JSON.object(["id": .string(id), member: value]).text + "\n").utf8)
    lock.withLock { _ in try? FileHandle.standardOutput.write(contentsOf: line) }
  }
}

extension JSON {
  /// An error as the run expects it.
  init(_ error: any Error) {
    guard let error = error as? LanyardError else {
      let kind = error is CancellationError ? "cancelled" : "connectionLost"
      self = ["kind": .string(kind), "name": .string(kind), "message": .string("\(error)"), "retryable": false]
      self = adding("remedies", []).adding("data", [:])
      return
    }
    self = [
      "kind": .string(error.code.number == nil ? error.code.name : "agent"), "name": .string(error.code.name),
      "message": .string(error.message), "retryable": .bool(error.retryable), "data": .object(error.data),
      "remedies": .array((error.remedies ?? []).map { .string($0.rawValue) }),
    ]
    self = adding("code", error.code.number.map(JSON.integer)).adding("reason", error.reason.map(JSON.string))
      .adding("retryAfterMs", error.retryAfterMs.map(JSON.integer))
      .adding("account", error.account.map(JSON.string))
  }

  func adding(_ name: String, _ value: JSON?) -> JSON {
    guard var members = object, let value else { return self }
    members[name] = value
    return .object(members)
  }
}
