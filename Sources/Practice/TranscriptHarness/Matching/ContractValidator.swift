internal import Foundation
internal import JSONRPC
internal import SchemaKit

/// Checks every line of a conversation against `Schemas/`: params of accepted requests, results, errors with their
/// data, and events.
struct ContractValidator {
  let contract: Contract
  /// Methods of unanswered requests, by connection and the id as written.
  private var waiting: [String: [String: [Asked]]] = [:]

  /// Incomplete lines.
  private var begun: [String: [UInt8]] = [:]

  private struct Asked {
    var method: String
    var params: JSONValue?
  }

  init(contract: Contract) { self.contract = contract }

  /// Takes the client's bytes, in any pieces.
  mutating func sent(_ bytes: [UInt8], on connection: String) {
    var lines = (begun[connection, default: []] + bytes).split(separator: 0x0A, omittingEmptySubsequences: false)
    begun[connection] = Array(lines.removeLast())
    for line in lines { sentLine(Array(line), on: connection) }
  }

  /// Ignores anything that is not a request.
  private mutating func sentLine(_ line: [UInt8], on connection: String) {
    // Duplicate keys are accepted here: the other requests of the batch are answered.
    var tape = JSONTape()
    let scanned = line.withUnsafeBytes { bytes in
      (try? JSONScanner.scan(bytes, onto: &tape, duplicateKeys: .allowed)).map {
        tape.withRoot(of: bytes) { JSONValue($0) }
      }
    }
    guard let value = scanned else { return }
    for request in value.elements ?? [value] {
      guard let method = request["method"]?.string, let id = request["id"] else { continue }
      waiting[connection, default: [:]][id.compact, default: []].append(
        Asked(method: method, params: request["params"]))
    }
  }

  /// Whether a request of this connection is unanswered.
  func isWaiting(on connection: String) -> Bool { waiting[connection]?.contains { !$0.value.isEmpty } ?? false }

  /// The name now stands for a new connection.
  mutating func opened(_ connection: String) {
    waiting[connection] = nil
    begun[connection] = nil
  }

  /// The errors in a line of the agent; empty if it is valid.
  mutating func received(_ line: JSONValue, on connection: String) -> [Problem] {
    if let batch = line.elements {
      return batch.flatMap { received($0, on: connection) }
    }
    guard line["jsonrpc"] == "2.0" else { return [Problem("", "is no JSON-RPC 2.0 message")] }
    if line["method"] != nil { return notification(line) }
    guard let id = line["id"] else { return [Problem("", "is neither an answer nor a notification")] }
    guard (line["result"] == nil) != (line["error"] == nil) else {
      return [Problem("", "an answer has a result or an error, and not both")]
    }
    let known: Set = ["jsonrpc", "id", "result", "error"]
    var problems = (line.members ?? []).filter { !known.contains($0.name) }.map {
      Problem("/" + $0.name, "is not known")
    }
    // With two equal ids in a batch, or a duplicate `id`, the request is ambiguous: the first one counts.
    var asked: Asked?
    if waiting[connection]?[id.compact]?.isEmpty == false { asked = waiting[connection]?[id.compact]?.removeFirst() }
    if let error = line["error"] { return problems + validate(error, of: asked) }
    guard let asked, let method = contract.method(asked.method), let result = line["result"] else {
      return problems + [Problem("", "answers nothing that was asked")]
    }
    problems += contract.validate(asked.params ?? .object([]), against: method.params).map {
      Problem("/params" + $0.pointer, "was taken, and its schema says: " + $0.text)
    }
    return problems
      + contract.validate(result, against: method.result).map { Problem("/result" + $0.pointer, $0.text) }
  }

  private func notification(_ line: JSONValue) -> [Problem] {
    guard line["method"] == "event", line["id"] == nil, let params = line["params"],
      let notification = contract.type("eventNotification")
    else { return [Problem("/method", "is no notification of the contract")] }
    var problems = contract.validate(params, against: notification).map { Problem("/params" + $0.pointer, $0.text) }
    guard let kind = params["type"]?.string.flatMap({ contract.event($0) }), let data = params["data"] else {
      return problems
    }
    problems += contract.validate(data, against: kind.data).map { Problem("/params/data" + $0.pointer, $0.text) }
    if kind.accountScoped != (params["account"] != nil) {
      problems.append(Problem("/params/account", kind.accountScoped ? "is missing" : "does not belong here"))
    }
    return problems
  }

  /// Errors that are valid for every method (JSON-RPC 2.0 §5.1).
  private static let ofTheEnvelope: Set = ["parseError", "invalidRequest", "methodNotFound"]

  private func validate(_ error: JSONValue, of asked: Asked?) -> [Problem] {
    guard let code = error["code"]?.integer, let kind = contract.errors.first(where: { $0.code == code }) else {
      return [Problem("/error/code", "is not in errors.json")]
    }
    guard error["message"]?.string?.isEmpty == false else { return [Problem("/error/message", "is missing")] }
    guard let data = error["data"], let schema = contract.type("errorData") else {
      return [Problem("/error/data", "is missing")]
    }
    var problems = contract.validate(data, against: schema).map { Problem("/error/data" + $0.pointer, $0.text) }
    if data["name"]?.string != kind.name { problems.append(Problem("/error/data/name", "expected \(kind.name)")) }
    for member in data.members ?? [] where !["name", "retryable"].contains(member.name) {
      if !kind.data.contains(member.name) {
        problems.append(Problem("/error/data/" + member.name, "errors.json does not list it for \(kind.name)"))
      }
    }
    if let method = asked.flatMap({ contract.method($0.method) }), !Self.ofTheEnvelope.contains(kind.name) {
      if !method.errors.contains(kind.name), !contract.commonErrors.contains(kind.name) {
        problems.append(Problem("/error/code", "\(method.name) does not list \(kind.name) among its errors"))
      }
    }
    return problems
  }
}
