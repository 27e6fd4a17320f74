/// Checks the lines of a connection against the contract, such as those of golden transcripts.
///
/// It remembers requests, so that a response is checked as the result of its method. A response without a request is a
/// problem, and so is a result for params that the contract refuses.
public struct LineValidator {
  private struct Asked {
    var method: String
    var params: JSONValue
    /// False if `params` is no object, which every method answers with an error.
    var isByName: Bool
  }

  private let contract: Contract
  /// Open requests by the text of their id. A client may reuse an id after its response.
  private var asked: [String: Asked] = [:]

  /// Makes a judge for a new connection.
  public init(_ contract: Contract) { self.contract = contract }

  /// Records a line of the client. A line that is no request is ignored; only its response is checked.
  public mutating func sent(_ line: [UInt8]) {
    guard let value = try? JSONValue(parsing: line) else { return }
    for request in value.elements ?? [value] {
      guard let id = request["id"], let method = request["method"]?.string else { continue }
      // The agent refuses a duplicate id in flight with a null id; the first request keeps the id.
      guard asked[id.compact] == nil else { continue }
      let params = request["params"]
      asked[id.compact] = Asked(
        method: method, params: params ?? .object([]), isByName: params == nil || params?.members != nil)
    }
  }

  /// Checks a line of the agent; empty if the contract allows it.
  public mutating func received(_ line: [UInt8]) -> [Problem] {
    guard let value = try? JSONValue(parsing: line) else { return [Problem("", "is not JSON")] }
    guard let elements = value.elements else { return validate(value) }
    if elements.isEmpty { return [Problem("", "an answer to a batch is never empty")] }
    return elements.enumerated().flatMap { index, element in
      validate(element).map { Problem("/\(index)" + $0.pointer, $0.text) }
    }
  }

  private mutating func validate(_ value: JSONValue) -> [Problem] {
    guard let members = value.members else { return [Problem("", "expected object")] }
    var problems: [Problem] = []
    if value["jsonrpc"] != "2.0" { problems.append(Problem("/jsonrpc", "expected \"2.0\"")) }
    if value["method"] != nil {
      for member in members where !["jsonrpc", "method", "params"].contains(member.name) {
        problems.append(Problem("/" + member.name, "does not belong to a notification"))
      }
      return problems + contract.problems(inNotification: value)
    }
    for member in members where !["jsonrpc", "id", "result", "error"].contains(member.name) {
      problems.append(Problem("/" + member.name, "does not belong to an answer"))
    }
    guard let id = value["id"] else { return problems + [Problem("/id", "is missing")] }
    let asked = asked.removeValue(forKey: id.compact)
    switch (value["result"], value["error"]) {
    case (let result?, nil): problems += validate(result: result, asked)
    case (nil, let error?): problems += validate(error: error, asked, id: id)
    default: problems.append(Problem("", "expected either result or error"))
    }
    return problems
  }

  private func validate(result: JSONValue, _ asked: Asked?) -> [Problem] {
    guard let asked else { return [Problem("/id", "no open request has this id")] }
    guard let method = contract.method(asked.method) else { return [Problem("", "\(asked.method) is no method")] }
    let wrongParams =
      asked.isByName ? contract.validate(asked.params, against: method.params) : [Problem("", "not by name")]
    return wrongParams.map { Problem("", "a result for params that the contract refuses: \($0)") }
      + contract.validate(result, against: method.result).map { Problem("/result" + $0.pointer, $0.text) }
  }

  private func validate(error: JSONValue, _ asked: Asked?, id: JSONValue) -> [Problem] {
    if asked == nil, id != .null { return [Problem("/id", "no open request has this id")] }
    return contract.problems(inError: error, of: asked?.method)
  }
}
