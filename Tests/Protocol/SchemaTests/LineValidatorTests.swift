import SchemaKit
import Testing

/// `LineValidator` checks each line of the agent against the request it answers.
struct LineValidatorTests {
  private static let lock = #"{"jsonrpc":"2.0","id":1,"method":"agent.lock"}"#
  private static let get = #"{"jsonrpc":"2.0","id":"a","method":"token.get","params":{"account":"work"}}"#

  private func problems(_ sent: [String], _ received: String) -> [String] {
    var validator = LineValidator(RepositoryFixture.contract)
    for line in sent { validator.sent([UInt8](line.utf8)) }
    return validator.received([UInt8](received.utf8)).map(\.pointer)
  }

  @Test(
    arguments: [
      (#"{"jsonrpc":"2.0","id":1,"result":{"locked":true}}"#, []),
      (#"{"jsonrpc":"2.0","id":1,"result":{"locked":true,"since":"later"}}"#, []),
      (#"{"jsonrpc":"2.0","id":1,"result":{"locked":"yes"}}"#, ["/result/locked"]),
      (#"{"jsonrpc":"2.0","id":1,"result":{}}"#, ["/result/locked"]),
      (#"{"jsonrpc":"2.0","id":2,"result":{"locked":true}}"#, ["/id"]),
      (#"{"jsonrpc":"2.0","id":1,"result":{"locked":true},"error":null}"#, [""]),
      (#"{"id":1,"result":{"locked":true}}"#, ["/jsonrpc"]),
      (#"{"jsonrpc":"2.0","id":1,"result":{"locked":true},"extra":1}"#, ["/extra"]),
      ("nonsense", [""]),
    ] as [(String, [String])])
  func result_isCheckedAgainstItsMethod(_ line: String, _ pointers: [String]) {
    #expect(problems([Self.lock], line) == pointers)
  }

  @Test(
    arguments: [
      (#"{"code":2003,"message":"m","data":{"name":"signedOut","retryable":false}}"#, []),
      (#"{"code":2003,"message":"m","data":{"name":"signedout","retryable":false}}"#, ["/error/data/name"]),
      (#"{"code":2003,"message":"m","data":{"name":"signedOut"}}"#, ["/error/data/retryable"]),
      (#"{"code":2003,"message":"m"}"#, ["/error/data"]),
      (#"{"code":2099,"message":"m","data":{"name":"x","retryable":false}}"#, ["/error/code"]),
      (#"{"code":4003,"message":"m","data":{"name":"stepUpFailed","retryable":false}}"#, ["/error/code"]),
      (
        #"{"code":1003,"message":"m","data":{"name":"overloaded","retryable":true,"retryAfterMs":-1}}"#,
        ["/error/data/retryAfterMs"]
      ),
      (#"{"code":-32602,"message":"m","data":{"name":"invalidParams","retryable":false}}"#, ["/error/data"]),
    ] as [(String, [String])])
  func error_isCheckedAgainstTheErrorTable(_ error: String, _ pointers: [String]) {
    #expect(problems([Self.get], #"{"jsonrpc":"2.0","id":"a","error":\#(error)}"#) == pointers)
  }

  @Test func resultForInvalidParams_isAProblem() {
    let sent = #"{"jsonrpc":"2.0","id":1,"method":"agent.lock","params":{"now":true}}"#
    #expect(problems([sent], #"{"jsonrpc":"2.0","id":1,"result":{"locked":true}}"#).count == 1)
  }

  @Test func secondAnswerToOneRequest_isAProblem() {
    var validator = LineValidator(RepositoryFixture.contract)
    validator.sent([UInt8](Self.lock.utf8))
    let answer = [UInt8](#"{"jsonrpc":"2.0","id":1,"result":{"locked":true}}"#.utf8)
    #expect(validator.received(answer).isEmpty)
    #expect(validator.received(answer).map(\.pointer) == ["/id"])
  }

  @Test func batchMembers_areCheckedSeparately() {
    let line =
      #"[{"jsonrpc":"2.0","id":1,"result":{"locked":1}},{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"m","data":{"name":"invalidRequest","retryable":false}}}]"#
    #expect(problems(["[\(Self.lock),1]"], line) == ["/0/result/locked"])
  }

  @Test(
    arguments: [
      (
        #"{"type":"token.refreshed","account":"acc_c2ztq4xk7m3vwy5ndhb6rfgupa","data":{"generation":8,"expiresAt":"2030-01-01T00:05:00.000Z"}"#,
        []
      ),
      (
        #"{"type":"token.refreshed","data":{"generation":8,"expiresAt":"2030-01-01T00:05:00.000Z"}"#,
        ["/params/account"]
      ),
      (
        #"{"type":"token.refreshed","account":"acc_c2ztq4xk7m3vwy5ndhb6rfgupa","data":{"generation":8,"expiresAt":"2030-01-01T00:05:00Z"}"#,
        ["/params/data/expiresAt", "/params/data/expiresAt"]
      ),
      (#"{"type":"token.stolen","data":{}"#, ["/params/type"]),
    ] as [(String, [String])])
  func event_isCheckedAgainstItsType(_ params: String, _ pointers: [String]) {
    let rest = #","subscription":"sub_1","epoch":"e1","sequence":1,"at":"2030-01-01T00:00:00.000Z"}"#
    #expect(problems([], #"{"jsonrpc":"2.0","method":"event","params":\#(params)\#(rest)}"#) == pointers)
  }
}
