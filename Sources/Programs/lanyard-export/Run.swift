internal import AgentModel
internal import AuditExport
internal import CommandSupport
internal import Glibc
internal import Synchronization
internal import Threads
internal import WatchedFiles

/// One run of the program: a thread for each destination, and this one for signals.
struct Run {
  private let options: Options
  private let interruption: Interruption

  init(_ options: Options) throws(CommandFailure) {
    self.options = options
    // Before the first thread: threads inherit the signal mask.
    interruption = try Interruption()
  }

  /// What a thread leaves behind.
  private final class Outcome: Sendable {
    let failure = Mutex<CommandFailure?>(nil)
    let left: Mutex<Int>
    let ended = WakeUp()
    init(_ count: Int) { left = Mutex(count) }
  }

  /// Batches on their way may end; a kill costs a repeat.
  private static let endMilliseconds: Int32 = 2000

  func toItsEnd() throws(CommandFailure) -> ExitStatus {
    ProgramWatch.start()
    let directory = try ExportDirectory()
    let ending = Ending()
    guard let destinations = try destinations(ending) else { return .interrupted }
    let exporters = try exporters(destinations, directory, ending)
    let outcome = Outcome(exporters.count)
    for exporter in exporters {
      let isStarted = DetachedThread.start {
        do throws(CommandFailure) {
          try exporter.run()
        } catch {
          outcome.failure.withLock { $0 = $0 ?? error }
        }
        outcome.left.withLock { $0 -= 1 }
        outcome.ended.signal()
      }
      guard isStarted else {
        throw CommandFailure(.other, name: "system", "The system has no thread left. Nothing was exported.")
      }
    }
    let isInterrupted = wait(for: outcome)
    ending.begin()
    if isInterrupted { wait(for: outcome, milliseconds: Self.endMilliseconds) }
    if let failure = outcome.failure.withLock({ $0 }) { throw failure }
    // A service manager ends a service by SIGTERM: that is no failure.
    return .success
  }

  /// One destination that can't be served, such as one that another process serves, does not keep the others from it.
  private func exporters(
    _ destinations: [AuditDestination], _ directory: ExportDirectory, _ ending: Ending
  ) throws(CommandFailure) -> [Exporter] {
    var (exporters, failures): ([Exporter], [CommandFailure]) = ([], [])
    for destination in destinations {
      do throws(CommandFailure) {
        exporters.append(try Exporter(destination, options, directory, ending))
      } catch {
        failures.append(error)
      }
    }
    if exporters.isEmpty, let failure = failures.first { throw failure }
    for failure in failures { Output.warning(failure.message) }
    return exporters
  }

  /// Asks the agent only for what the command line does not say; waits for it. Nil: a signal came first.
  private func destinations(_ ending: Ending) throws(CommandFailure) -> [AuditDestination]? {
    if let own = try options.described() { return [own] }
    var isTold = false
    while true {
      do throws(CommandFailure) {
        guard let settings = try settings() else { return nil }
        return try options.destinations(configured: settings.destinations ?? [])
      } catch {
        guard error.status == .noAgent, !options.once else { throw error }
        if !isTold { Output.warning("\(error.message) The export waits for it.") }
        isTold = true
      }
      if wait(milliseconds: 5000) { return nil }
    }
  }

  /// What the agent's configuration says. Nil: a signal came before an agent that hangs answered.
  private func settings() throws(CommandFailure) -> AuditSettings? {
    let answer = Answer()
    let mayStart = options.mayStart
    let isStarted = DetachedThread.start {
      let result: Result<AuditSettings, CommandFailure>
      do throws(CommandFailure) {
        result = .success(try LogReader(mayStart: mayStart).begin())
      } catch {
        result = .failure(error)
      }
      answer.result.withLock { $0 = result }
      answer.isThere.signal()
    }
    guard isStarted else {
      throw CommandFailure(.other, name: "system", "The system has no thread left. Nothing was exported.")
    }
    var watched = [
      pollfd(fd: answer.isThere.descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: interruption.descriptor, events: Int16(POLLIN), revents: 0),
    ]
    while poll(&watched, 2, -1) <= 0 {}
    guard watched[1].revents == 0 else { return nil }
    return try answer.result.withLock { $0 }?.get()
  }

  /// What a thread asked the agent.
  private final class Answer: Sendable {
    let result = Mutex<Result<AuditSettings, CommandFailure>?>(nil)
    let isThere = WakeUp()
  }

  /// True if a signal came within the time.
  private func wait(milliseconds: Int32) -> Bool {
    var watched = pollfd(fd: interruption.descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&watched, 1, milliseconds) > 0
  }

  /// Until every thread has ended; true if a signal came first.
  private func wait(for outcome: Outcome) -> Bool {
    while outcome.left.withLock({ $0 }) > 0 {
      var watched = [
        pollfd(fd: outcome.ended.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: interruption.descriptor, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&watched, 2, -1) > 0 else { continue }
      if watched[1].revents != 0 { return true }
      outcome.ended.clear()
    }
    return false
  }

  private func wait(for outcome: Outcome, milliseconds: Int32) {
    let deadline = Moment.boot.milliseconds + Int64(milliseconds)
    while outcome.left.withLock({ $0 }) > 0 {
      let left = deadline - Moment.boot.milliseconds
      var watched = pollfd(fd: outcome.ended.descriptor, events: Int16(POLLIN), revents: 0)
      guard left > 0, poll(&watched, 1, Int32(left)) > 0 else { return }
      outcome.ended.clear()
    }
  }
}
