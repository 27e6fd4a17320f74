internal import AgentPorts
internal import AgentProtocol
internal import AgentWire
internal import JSONRPC
internal import Synchronization

/// The destination of the answer to one request: a line of its own, its place in a batch, or nowhere.
enum AnswerSlot: Sendable {
  case line(any ConnectionOutput)
  case batch(BatchAnswers, index: Int)

  func fill(_ object: consuming JSONWriter) {
    switch self {
    case .line(let output):
      object.byte(0x0A)
      output.send(object.finish())
    case .batch(let batch, let index):
      batch.fill(index, object.finish())
    }
  }

  /// Answers an invalid request. A batch may have tens of thousands of them: those without an id share one answer.
  func fill(_ id: UnsafeRawBufferPointer?, _ refusal: FixedRefusal) {
    if case .batch(let batch, let index) = self, id == nil { return batch.fill(index, refusal.withoutID) }
    fill(AnswerObject.error(id: id, refusal))
  }
}

/// Gathers the answers of a batch in the order of its requests; the array is sent when the last one is complete.
final class BatchAnswers: Sendable {
  private struct State {
    var answers: [WireBytes?]
    var missing: Int
  }
  private let state: Mutex<State>
  private let output: any ConnectionOutput

  /// `count`: the number of requests that get an answer.
  init(count: Int, output: any ConnectionOutput) {
    state = Mutex(State(answers: Array(repeating: nil, count: count), missing: count))
    self.output = output
  }

  func fill(_ index: Int, _ answer: WireBytes) {
    let whole = state.withLock { state -> [WireBytes]? in
      state.answers[index] = answer
      state.missing -= 1
      return state.missing == 0 ? state.answers.compactMap { $0 } : nil
    }
    guard let whole else { return }
    var writer = JSONWriter(capacity: 4096)
    writer.beginArray()
    for answer in whole { writer.raw(answer) }
    writer.endArray()
    writer.byte(0x0A)
    output.send(writer.finish())
  }
}

/// An error answer that differs only in its id.
struct FixedRefusal: Sendable {
  /// The bytes of the answer after the id.
  let rest: SharedBytes
  let withoutID: WireBytes

  init(_ error: RPCError) {
    rest = SharedBytes { writer in
      writer.verbatim(",\"error\":")
      error.write(to: &writer)
      writer.byte(UInt8(ascii: "}"))
    }
    var writer = JSONWriter(capacity: 64)
    writer.verbatim("{\"jsonrpc\":\"2.0\",\"id\":null")
    writer.verbatim(rest)
    withoutID = writer.finish()
  }
}

/// The two shapes of an answer (JSON-RPC 2.0 §5).
enum AnswerObject {
  static func result(id: UnsafeRawBufferPointer, _ result: any WireWritable) -> JSONWriter {
    var writer = begin(id, capacity: 1024)
    writer.verbatim(",\"result\":")
    result.write(to: &writer)
    writer.byte(UInt8(ascii: "}"))
    return writer
  }

  /// `id` nil is answered with null (§5: the id could not be determined).
  static func error(id: UnsafeRawBufferPointer?, _ error: RPCError) -> JSONWriter {
    var writer = begin(id, capacity: 384)
    writer.verbatim(",\"error\":")
    error.write(to: &writer)
    writer.byte(UInt8(ascii: "}"))
    return writer
  }

  static func error(id: UnsafeRawBufferPointer?, _ refusal: FixedRefusal) -> JSONWriter {
    var writer = begin(id, capacity: 64)
    writer.verbatim(refusal.rest)
    return writer
  }

  private static func begin(_ id: UnsafeRawBufferPointer?, capacity: Int) -> JSONWriter {
    var writer = JSONWriter(capacity: capacity)
    writer.verbatim("{\"jsonrpc\":\"2.0\",\"id\":")
    if let id { writer.verbatim(id) } else { writer.verbatim("null") }
    return writer
  }
}
