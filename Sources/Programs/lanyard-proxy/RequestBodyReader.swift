import AgentCore
import ProxyCore
import StreamingHTTP
import Threads

/// Reads the body of one request from its client.
final class RequestBodyReader {
  private let client: ClientStream
  private var decoder: BodyDecoder
  private var form: FormNames?
  private var owesContinue: Bool
  /// The form is judged once all of it is there.
  private var judgesWhole = false
  /// The beginning of a form in chunks, and how much of it has been sent.
  private var beginning: (bytes: WipedBytes, sent: Int)?
  private var piece = [UInt8](repeating: 0, count: 16 << 10)
  let framing: RequestHead.Framing
  /// What the client did wrong.
  private(set) var refusal: Refusal?

  /// So much of a body is kept, so that the request can be sent again after a 401.
  static let mostKept: Int64 = 64 << 10
  /// A client that sends nothing of a small body for so long is let go.
  private static let patienceMilliseconds: Int = 60_000

  /// - Parameter form: reads the body's parameters; nil for a body that is no form.
  init(_ head: RequestHead, _ client: ClientStream, form: FormNames?) {
    self.form = form
    self.client = client
    framing = head.framing
    decoder = BodyDecoder(head.framing)
    owesContinue = head.expectsContinue
  }

  /// The client has sent all of it, so that the next bytes are another request.
  var isComplete: Bool { decoder.isComplete }

  /// The body to send. A small one is read at once, others while they are sent.
  ///
  /// - Returns: nil if the client did not send it, or not by the rules (`refusal`).
  func body() -> (body: RequestBody, canBeSentAgain: Bool)? {
    switch framing {
    case .none: return (.none, true)
    case .length(let length) where length <= Self.mostKept:
      judgesWhole = true
      guard let bytes = whole(Int(length)), let judged = judged(bytes) else { return nil }
      return (.bytes(judged), true)
    case .length(let length): return (.stream(stream(Int(length))), false)
    case .chunked where form?.isEncoded == true: return formInChunks()
    case .chunked: return (.stream(stream(nil)), false)
    }
  }

  /// A form whose length only its end tells: one as small as is kept is read at once, too.
  private func formInChunks() -> (body: RequestBody, canBeSentAgain: Bool)? {
    judgesWhole = true
    // One byte more tells a longer one.
    guard let bytes = whole(Int(Self.mostKept) + 1) else { return nil }
    if isComplete {
      guard let judged = judged(bytes) else { return nil }
      return (.bytes(judged), true)
    }
    judgesWhole = false
    do throws(Refusal) {
      try bytes.withBytes { (bytes) throws(Refusal) in try judge(bytes) }
    } catch {
      refusal = error
      return nil
    }
    beginning = (bytes: bytes, sent: 0)
    return (.stream(stream(nil)), false)
  }

  /// The whole body, or so much of it; nil if it does not come.
  private func whole(_ length: Int) -> WipedBytes? {
    let bytes = WipedBytes(capacity: length)
    var isThere = true
    while isThere, !isComplete, bytes.count < length {
      bytes.append(capacity: length - bytes.count) { memory in
        switch read(into: memory, until: MonotonicTime.now.milliseconds + Self.patienceMilliseconds) {
        case .bytes(let count): return count
        case .end: return 0
        case .later, .failed:
          isThere = false
          return 0
        }
      }
    }
    return isThere ? bytes : nil
  }

  private func stream(_ length: Int?) -> BodyStream {
    BodyStream(length: length, descriptor: client.socket) { [self] memory in
      readBeginning(into: memory) ?? read(into: memory, until: nil)
    }
  }

  /// Nil once the beginning has been sent.
  private func readBeginning(into memory: UnsafeMutableRawBufferPointer) -> BodyStream.Piece? {
    guard let (bytes, sent) = beginning else { return nil }
    let count = min(memory.count, bytes.count - sent)
    bytes.withBytes { memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[sent..<(sent + count)])) }
    beginning = sent + count < bytes.count ? (bytes: bytes, sent: sent + count) : nil
    return .bytes(count)
  }

  /// - Parameter deadline: waits for bytes until then; nil: `later` if none are there.
  private func read(into memory: UnsafeMutableRawBufferPointer, until deadline: Int?) -> BodyStream.Piece {
    if owesContinue {
      owesContinue = false
      guard client.write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) else { return .failed }
    }
    while !decoder.isComplete {
      let reading = piece.withUnsafeMutableBytes { piece in
        deadline.map { client.readWaiting(into: piece, until: $0) } ?? client.read(into: piece)
      }
      guard case .bytes(let count) = reading else {
        if case .later = reading { return .later }
        return .failed
      }
      do throws(Refusal) {
        let (taken, copied) = try decoder.take(piece[..<count], into: memory)
        if taken < count { client.putBack(Array(piece[taken..<count])) }
        if !judgesWhole { try judge(UnsafeRawBufferPointer(start: memory.baseAddress, count: copied)) }
        if copied > 0 { return .bytes(copied) }
      } catch {
        refusal = error
        return .failed
      }
    }
    return .end
  }

  /// A whole body, without the placeholders of a form; nil if it is refused. One without a type may be a form.
  private func judged(_ bytes: WipedBytes) -> WipedBytes? {
    guard var form else { return bytes }
    var body = bytes
    if !form.isMultipart, let kept = bytes.withBytes({ Placeholder.removed(fromForm: $0) }) {
      body = WipedBytes(capacity: kept.count)
      kept.withUnsafeBytes { body.append($0) }
    }
    do throws(FormNames.Refusal) {
      try body.withBytes { (bytes) throws(FormNames.Refusal) in try form.takeAll(bytes) }
      return body
    } catch {
      refusal = Refusal(error)
      return nil
    }
  }

  /// A parameter that is refused does not go on, nor the end of the body: the server gets no whole request.
  private func judge(_ body: UnsafeRawBufferPointer) throws(Refusal) {
    do throws(FormNames.Refusal) {
      try form?.take(body)
      if decoder.isComplete { try form?.finish() }
    } catch {
      throw Refusal(error)
    }
  }
}
