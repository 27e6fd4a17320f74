internal import AgentServing
internal import AgentModel
internal import AgentPorts
internal import CPlatform
internal import Glibc
internal import Secrets
internal import SystemAdapters

/// Opening the vault at the start.
extension LanyardAgent {
  /// Read before the agent confines itself: the file lies anywhere.
  static func passphrase(_ options: Options) -> Secret? {
    guard let path = options.passphraseFile else { return nil }
    guard let read = PassphraseFile.read(path) else {
      end(.vaultClosed, says: "lanyard-agent: \(path) can't be read, is empty, or can be read by others.\n")
    }
    return read
  }

  static func openVault(
    _ agent: AgentServer, _ options: Options, _ passphrase: Secret?, _ pool: WorkerPool, signals: Int32
  ) {
    if passphrase != nil, let path = options.passphraseFile { waitOutPause(agent, path, pool, signals: signals) }
    let (given, protection, acceptsOldStore) = (passphrase, options.protection, options.acceptsOldStore)
    let opened = Semaphore()
    let failure = Box<AgentServer.StartFailure>()
    Task.detached(executorPreference: pool) {
      do throws(AgentServer.StartFailure) {
        _ = try await agent.open(
          protection: protection, passphrase: given, acceptingOldStore: acceptsOldStore)
      } catch {
        failure.value = error
      }
      opened.signal()
    }
    opened.wait()
    if let failure = failure.value {
      end(failure.isStore ? .storeFailed : .vaultClosed, says: "lanyard-agent: \(failure.message)\n")
    }
  }

  /// Waits until a passphrase is judged again, after wrong ones that an earlier agent was given: no client can give
  /// another one meanwhile. A signal ends the agent.
  private static func waitOutPause(_ agent: AgentServer, _ path: String, _ pool: WorkerPool, signals: Int32) {
    let (asked, found) = (Semaphore(), Box<Milliseconds>())
    Task.detached(executorPreference: pool) {
      found.value = await agent.pauseBeforePassphrase()
      asked.signal()
    }
    asked.wait()
    guard let pause = found.value, pause > .zero else { return }
    say(
      """
      lanyard-agent: wrong passphrases were given to the agent that ran before, so this one waits \
      \((pause + Milliseconds(999)).wholeSeconds) s before it tries the passphrase in \(path).

      """)
    var awaited = pollfd(fd: signals, events: Int16(POLLIN), revents: 0)
    guard poll(&awaited, 1, Int32(clamping: pause.count)) == 0 else { end(.done, says: "") }
  }
}
