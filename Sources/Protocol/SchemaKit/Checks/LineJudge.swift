/// Judges the lines of one connection by the contract: what golden transcripts and their kin check each line with.
///
/// It remembers what was asked, so that an answer is judged as the result of its method; an answer that nobody asked
/// for is a problem, and so is a result for params that the contract refuses.
public struct LineJudge {
  private struct Asked {
    var method: String
    var params: JSONValue
    /// Params as an array, or `params` of another type: answered by an error whatever the method says.
    var isByName: Bool
  }

  private let contract: Contract
  /// By the text of the id. A client may send an id again once it was answered.
  private var asked: [String: Asked] = [:]

  public init(_ contract: Contract) { self.contract = contract }

  /// Notes a line of the client. Lines that are no requests are sent on purpose: their answers are judged, not they.
  public mutating func sent(_ line: [UInt8]) {
    guard let value = try? JSONValue(parsing: line) else { return }
    for request in value.elements ?? [value] {
      guard let id = request["id"], let method = request["method"]?.string else { continue }
      // An id in flight that is used again is refused with id null; the first request keeps it.
      guard asked[id.compact] == nil else { continue }
      let params = request["params"]
      asked[id.compact] = Asked(
        method: method, params: params ?? .object([]), isByName: params == nil || params?.members != nil)
    }
  }

  /// Judges a line of the agent. Empty if the contract allows it.
  public mutating func received(_ line: [UInt8]) -> [Problem] {
    guard let value = try? JSONValue(parsing: line) else { return [Problem("", "is not JSON")] }
    guard let elements = value.elements else { return judge(value) }
    if elements.isEmpty { return [Problem("", "an answer to a batch is never empty")] }
    return elements.enumerated().flatMap { index, element in
      judge(element).map { Problem("/\(index)" + $0.pointer, $0.text) }
    }
  }

  private mutating func judge(_ value: JSONValue) -> [Problem] {
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
    case (let result?, nil): problems += judge(result: result, asked)
    case (nil, let error?): problems += judge(error: error, asked, id: id)
    default: problems.append(Problem("", "expected either result or error"))
    }
    return problems
  }

  private func judge(result: JSONValue, _ asked: Asked?) -> [Problem] {
    guard let asked else { return [Problem("/id", "nobody asked")] }
    guard let method = contract.method(asked.method) else { return [Problem("", "\(asked.method) is no method")] }
    let wrongParams =
      asked.isByName ? contract.validate(asked.params, against: method.params) : [Problem("", "not by name")]
    return wrongParams.map { Problem("", "a result for params that the contract refuses: \($0)") }
      + contract.validate(result, against: method.result).map { Problem("/result" + $0.pointer, $0.text) }
  }

  private func judge(error: JSONValue, _ asked: Asked?, id: JSONValue) -> [Problem] {
    if asked == nil, id != .null { return [Problem("/id", "nobody asked")] }
    return contract.problems(inError: error, of: asked?.method)
  }
}
