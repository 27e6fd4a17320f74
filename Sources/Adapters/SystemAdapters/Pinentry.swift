public import AgentPorts
internal import CPlatform
internal import Glibc
internal import Secrets
internal import Synchronization
internal import Threads

/// Prompts by `pinentry`, GnuPG's program for it: the typed text goes from `pinentry` to the agent and to no other
/// program.
///
/// The broker starts the program (`PinentryProgram`).
public final class Pinentry: Prompter {
  /// A prompt that stands longer is closed: the person has left.
  private static let patienceSeconds: Int64 = 120
  private let broker: Broker
  private let patience: Int64
  private let lastTrouble = Mutex<PromptTrouble?>(nil)
  /// One prompt at a time.
  private let isAsking = Atomic(false)

  public convenience init(broker: Broker) {
    self.init(broker: broker, patienceMilliseconds: Self.patienceSeconds * 1000)
  }

  init(broker: Broker, patienceMilliseconds: Int64) {
    self.broker = broker
    patience = patienceMilliseconds
  }

  public var trouble: PromptTrouble? { lastTrouble.withLock { $0 } }

  public func ask(_ question: PromptQuestion) async -> PromptAnswer {
    guard !isAsking.exchange(true, ordering: .acquiring) else { return .unavailable }
    defer { isAsking.store(false, ordering: .releasing) }
    let cancel = lanyard_eventfd()
    guard cancel >= 0 else { return .unavailable }
    defer { close(cancel) }
    let deadline = lanyard_boot_milliseconds() + patience
    let broker = broker
    let (answer, trouble) = await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<(PromptAnswer, PromptTrouble?), Never>) in
        let isStarted = DetachedThread.start {
          continuation.resume(returning: Self.ask(question, through: broker, until: deadline, cancel: cancel))
        }
        if !isStarted { continuation.resume(returning: (.unavailable, nil)) }
      }
    } onCancel: {
      lanyard_eventfd_signal(cancel)
    }
    lastTrouble.withLock { $0 = trouble }
    return answer
  }

  /// Blocks its thread until the person has answered.
  private static func ask(
    _ question: PromptQuestion, through broker: Broker, until deadline: Int64, cancel: Int32
  ) -> (PromptAnswer, PromptTrouble?) {
    // That the broker has ended is told as such (`Broker.whatIsGone`).
    guard let child = PromptingProgram(through: broker) else {
      return (.unavailable, broker.isRunning ? .noProgram : nil)
    }
    defer { child.end() }
    var answer = PromptAnswer.unavailable
    var trouble: PromptTrouble?
    // Every line is read into guarded memory, since one of them is the typed text.
    _ = SecretBytes(capacity: AssuanClient.longestLine) { buffer in
      var client = AssuanClient(socket: child.socket, cancel: cancel, deadline: deadline, buffer: buffer)
      do throws(AssuanClient.Failure) {
        answer = try converse(question, with: &client)
      } catch {
        switch error {
        case .cancelled: answer = .cancelled
        case .timedOut: answer = .timedOut
        case .broken, .refused: (answer, trouble) = (.unavailable, .notShown)
        }
      }
      return 0
    }
    return (answer, trouble)
  }

  private static func converse(
    _ question: PromptQuestion, with client: inout AssuanClient
  ) throws(AssuanClient.Failure) -> PromptAnswer {
    try client.greeting()
    if let terminal = getenv("GPG_TTY") {
      try client.offer("OPTION ttyname", String(cString: terminal))
      if let kind = getenv("TERM") { try client.offer("OPTION ttytype", String(cString: kind)) }
    }
    try client.offer("SETTITLE", "Lanyard")
    try client.offer("SETDESC", question.description)
    if question.isConfirmation {
      try client.offer("SETOK", "Allow")
      try client.offer("SETCANCEL", "Refuse")
      try client.confirmed()
      return .confirmed
    }
    try client.offer("SETPROMPT", question.label)
    let first = try client.typed()
    guard question.isNew else { return .typed(first) }
    // Not every pinentry asks for a repetition by itself.
    for _ in 0..<3 {
      try client.offer("SETDESC", "Once more, to be sure.")
      if try client.typed().equals(first) { return .typed(first) }
      try client.offer("SETERROR", "That was not the same.")
    }
    throw .cancelled
  }
}

/// The agent's side of a program that the broker started: a socket for its input and output.
private struct PromptingProgram {
  let socket: Int32
  private let started: Broker.Answer

  init?(through broker: Broker) {
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      return nil
    }
    let answer = broker.ask(.prompt, "", handing: ends[1])
    close(ends[1])
    guard let answer else {
      close(ends[0])
      return nil
    }
    started = answer
    socket = ends[0]
  }

  /// Closes the socket, which asks the program to end and to restore its terminal, and waits until it has ended. If it
  /// does not end, the broker kills it.
  func end() {
    close(socket)
    started.release()
  }
}
