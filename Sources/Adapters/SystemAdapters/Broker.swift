internal import CConfinement
internal import CPlatform
internal import Glibc
internal import Synchronization
internal import Threads

/// The agent's end of the broker: a small process that was forked before the agent confined itself, and that does the few
/// things which the agent then can't (docs/callers.md, Confinement).
///
/// The broker holds no secret. It performs requests of fixed kinds, and decides by itself which program runs and which
/// file is opened. It ends with the agent and is not started again: without it, what it does fails, and the agent goes on.
public final class Broker: Sendable {
  public enum Kind: UInt32, Sendable, CaseIterable {
    case prompt = 1, browser, directoryAccount, backupCheck, backupWrite, backupRead, authorities, commandLine,
      subjectToken

    /// How long the agent waits for the answer; 0: as long as it takes. A file system that does not answer holds up no
    /// thread of the agent for longer. Prompts and browsers are answered when they have begun, a backup when it is
    /// written.
    var patienceSeconds: Int32 { self == .backupWrite ? 0 : 10 }
  }

  /// An answer to a request.
  public final class Answer: Sendable {
    public let bytes: [UInt8]
    /// A descriptor that came along, or -1. The receiver closes it.
    public let descriptor: Int32
    /// The asking thread's end of the request's socket.
    private let reply: Int32

    fileprivate init(bytes: [UInt8], descriptor: Int32, reply: Int32) {
      self.bytes = bytes
      self.descriptor = descriptor
      self.reply = reply
    }

    /// Tells the broker that the agent has done with what the answer stands for, and waits until the broker has, too.
    func release() {
      shutdown(reply, Int32(SHUT_WR))
      var byte: UInt8 = 0
      while read(reply, &byte, 1) < 0, errno == EINTR {}
    }

    public var text: String { String(decoding: bytes, as: UTF8.self) }

    deinit { close(reply) }
  }

  private let descriptor: Int32
  private let isGone: Atomic<Bool>
  private let waitingAside = Atomic(0)

  /// - Parameter descriptor: of the agent's end; -1 if there is no broker.
  private init(descriptor: Int32) {
    self.descriptor = descriptor
    isGone = Atomic(descriptor < 0)
  }

  /// Forks the broker. Call it before the first thread and before the first secret.
  public static func start(_ works: [Kind: @Sendable (BrokerRequest) -> Void]) -> Broker {
    // The broker keeps the works as long as it runs.
    let context = Unmanaged.passRetained(Works(works)).toOpaque()
    let descriptor = lanyard_broker_start(
      { kind, text, length, reply, handed, context in
        let works = Unmanaged<Works>.fromOpaque(context!).takeUnretainedValue().works
        guard let kind = Kind(rawValue: kind), let work = works[kind], let text else { return }
        let bytes = UnsafeRawBufferPointer(start: text, count: length)
        guard !bytes.contains(0) else { return }
        work(BrokerRequest(text: String(decoding: bytes, as: UTF8.self), handed: handed, reply: reply))
      }, context, CommandLine.unsafeArgv)
    return Broker(descriptor: descriptor)
  }

  private final class Works: Sendable {
    let works: [Kind: @Sendable (BrokerRequest) -> Void]
    init(_ works: [Kind: @Sendable (BrokerRequest) -> Void]) { self.works = works }
  }

  /// False if the broker has ended, as far as requests have shown.
  public var isRunning: Bool { !isGone.load(ordering: .relaxed) }

  /// Sends a request and waits for its answer: nil if the broker refuses, or has ended.
  ///
  /// - Parameter handed: a descriptor for the broker; -1 for none.
  public func ask(_ kind: Kind, _ text: String, handing handed: Int32 = -1) -> Answer? {
    var text = text
    let reply = text.withUTF8 { utf8 in
      utf8.withMemoryRebound(to: CChar.self) {
        lanyard_broker_ask(descriptor, kind.rawValue, $0.baseAddress, $0.count, handed, kind.patienceSeconds)
      }
    }
    guard reply >= 0 else {
      if [-EPIPE, -ECONNRESET, -ENOTCONN].contains(reply) { noteEnd() }
      return nil
    }
    var passed: Int32 = -1
    let bytes = [UInt8](unsafeUninitializedCapacity: Int(LANYARD_BROKER_BYTES)) { buffer, count in
      count = max(0, lanyard_broker_receive(reply, buffer.baseAddress, buffer.count, &passed))
    }
    guard !bytes.isEmpty else {
      if passed >= 0 { close(passed) }
      close(reply)
      return nil
    }
    return Answer(bytes: bytes, descriptor: passed, reply: reply)
  }

  /// The same on a thread of its own, for requests about files, which may lie on a file system that does not answer: the
  /// threads that serve requests do not wait. Nil also where `mostAside` wait already.
  public func askAside(_ kind: Kind, _ text: String) async -> Answer? {
    guard waitingAside.add(1, ordering: .relaxed).newValue <= Self.mostAside else {
      waitingAside.subtract(1, ordering: .relaxed)
      return nil
    }
    let answer: Answer? = await withCheckedContinuation { continuation in
      let isStarted = DetachedThread.start { continuation.resume(returning: self.ask(kind, text)) }
      if !isStarted { continuation.resume(returning: nil) }
    }
    waitingAside.subtract(1, ordering: .relaxed)
    return answer
  }

  private static let mostAside = 16

  private func noteEnd() {
    guard !isGone.exchange(true, ordering: .relaxed) else { return }
    let line = "lanyard-agent: \(Self.whatIsGone)\n"
    _ = write(STDERR_FILENO, line, line.utf8.count)
  }

  /// For standard error and for `agent.diagnose`.
  public static let whatIsGone = """
    the broker of this agent has ended, so prompts, browsers, backups and `.lanyard` files are unavailable. \
    `lanyard stop` ends the agent, and the next command starts it again; until then it serves tokens.
    """
}

/// A request, in the process that performs it.
public struct BrokerRequest: Sendable {
  public let text: String
  /// A descriptor of the agent, or -1.
  public let handed: Int32
  let reply: Int32

  /// Answers; an answer is not empty.
  public func answer(_ text: String, passing descriptor: Int32 = -1) {
    _ = lanyard_broker_answer(reply, text, text.utf8.count, descriptor)
  }

  /// Waits until the agent has done with the answer, or has ended.
  func waitForRelease() {
    var byte: UInt8 = 0
    while read(reply, &byte, 1) < 0, errno == EINTR {}
  }
}
