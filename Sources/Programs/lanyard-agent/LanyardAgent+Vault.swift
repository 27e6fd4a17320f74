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
    do throws(PassphraseFile.Failure) {
      return try PassphraseFile.read(path)
    } catch {
      end(.vaultClosed, says: "lanyard-agent: \(path) \(error.words).\n")
    }
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
      switch failure {
      case .store(let failure): end(failure, options.stateDirectory)
      case .unavailable(let message): end(.storeFailed, says: "lanyard-agent: \(message)\n")
      case .vault(let message): end(.vaultClosed, says: "lanyard-agent: \(message)\n")
      }
    }
  }

  /// Ends where the store in a state directory can't be opened.
  static func end(_ failure: StoreFailure, _ stateDirectory: String) -> Never {
    end(failure.isOfTheFile ? .vaultClosed : .storeFailed, says: "lanyard-agent: \(message(failure, stateDirectory))\n")
  }

  private static func message(_ failure: StoreFailure, _ stateDirectory: String) -> String {
    switch failure {
    case .missing:
      return """
        the store in \(stateDirectory) is gone: lanyard.sqlite is missing or empty, but a note beside the anchors says \
        that it held a vault. Nothing was created. Put the newest copy of the directory back. If there is none, start once \
        with --new-store, which begins an empty store; then sign in again, or `lanyard restore` a backup.
        """
    case .corrupt:
      return """
        the store in \(stateDirectory) is damaged: lanyard.sqlite or its -wal can't be read. Nothing was sent. Put the \
        newest copy of the directory back. If there is none, move both files away and start once with --new-store, which \
        begins an empty store; then sign in again, or `lanyard restore` a backup.
        """
    case .newerSchema(let found, let known):
      return """
        the store in \(stateDirectory) was written by a later version of the agent: it has format \(found), and this version \
        reads up to \(known). Nothing was changed. Install the later version again. To stay with this one, move \
        lanyard.sqlite and its -wal away and start once with --new-store; then `lanyard restore` a backup that this version \
        made, or sign in again.
        """
    case .link(let name):
      let path = "\(stateDirectory)/\(name)"
      guard access(path, F_OK) == 0 else {
        return """
          \(path) is a symbolic link that leads nowhere, so the store can't be opened. Nothing was changed. Put the file \
          itself in its place, from the newest copy of the directory.
          """
      }
      return """
        \(path) is a symbolic link, which the agent does not follow: its files must lie in one private directory. Nothing was \
        changed. Put the file itself, and those beside it (-wal), in the place of the link; or move the whole directory and \
        name it by --state-dir or LANYARD_STATE_DIR.
        """
    default: return "the store in \(stateDirectory) can't be opened: \(AgentServer.cause(of: failure))."
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
