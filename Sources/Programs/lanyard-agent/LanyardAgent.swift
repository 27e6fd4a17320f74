internal import Agent
internal import AgentCore
internal import AgentModel
internal import AgentPermissions
internal import AgentPorts
internal import AgentServing
internal import AgentSessions
internal import CPlatform
internal import CStart
internal import DBus
internal import FileRules
internal import Glibc
internal import HTTPAdapter
internal import JSONRPC
internal import KeyProviders
internal import SQLiteStore
internal import Secrets
internal import SystemAdapters
internal import TokenSignatures
internal import UnixTransport
internal import WatchedFiles

/// Wires the agent: reads the options, creates the adapters, opens the vault and serves.
@main
struct LanyardAgent {
  static let version = "1.0.0"
  /// Descriptors beside those of the clients: the store, requests to providers, listeners, clients that are let go.
  private static let otherDescriptors = 512
  /// Descriptors without which the agent serves no client: its own, and those of an import (the reserve, and seven for its two
  /// requests).
  private static let fewestDescriptors = 28

  /// Exit codes of sysexits(3) (docs/protocol.md, Programs).
  enum Exit: Int32 {
    case done = 0, usage = 64, cannotCreate = 73, storeFailed = 74, alreadyRunning = 75, vaultClosed = 76
  }

  static func main() {
    var options: Options
    do throws(Options.Ending) {
      options = try Options(Array(CommandLine.arguments.dropFirst())) { name in
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
      }
    } catch {
      switch error {
      case .help: end(.done, says: Options.help, to: STDOUT_FILENO)
      case .version: end(.done, says: "lanyard-agent \(version)\n", to: STDOUT_FILENO)
      case .usage(let message): end(.usage, says: "lanyard-agent: \(message)\n")
      }
    }
    if case .stdio = options.transport, !options.checksOnly, lanyard_closed_at_start() & 0b011 != 0 {
      end(.usage, says: "lanyard-agent: --stdio needs standard input and output, and one of them is closed.\n")
    }
    // Before the administrator's files: a limit of the person's must not keep them from being read.
    _ = ProcessHardening.raiseDescriptorLimit(to: fewestDescriptors)
    do throws(ConfigurationFile.Failure) {
      options.take(try ConfigurationFile.read(options), administratorFile(options))
    } catch {
      let lines = error.lines.map { "lanyard-agent: \($0)\n" }.joined()
      end(.usage, says: lines + "lanyard-agent: Correct the configuration file, or name another one by --config.\n")
    }
    if !options.overruled.isEmpty, let file = options.administrator?.path {
      say(
        "lanyard-agent: \(file) enforces \(options.overruled.joined(separator: ", ")); your own value is ignored.\n"
      )
    }
    do {
      try ProcessHardening.apply()
    } catch {
      end(
        .vaultClosed,
        says: "lanyard-agent: this process can't be protected from core dumps and tracers, so it does not start.\n")
    }
    // Before the first thread and the first secret, and before files are open.
    let broker = Broker.start(for: options)
    lockMemory(options)
    let descriptors = ProcessHardening.raiseDescriptorLimit(to: options.limits.connections + otherDescriptors)
    if descriptors < fewestDescriptors {
      end(
        .cannotCreate,
        says: """
          lanyard-agent: this process may open only \(descriptors) files (`ulimit -n`), and the agent needs \
          \(fewestDescriptors) for itself.

          """)
    }
    // A small limit must leave descriptors for the agent itself, or exchanges would fail.
    let forClients = descriptors - min(otherDescriptors, descriptors / 2)
    options.limits.connections = min(options.limits.connections, forClients)
    lanyard_limit_heaps(2)  // each of the threads would get a heap of its own, which keeps what it needed once
    // Before the first thread: threads inherit the signal mask.
    let signals = lanyard_signalfd()
    if options.checksOnly { check(options, Confined(broker: broker)) }
    serve(options, signals: signals, broker)
  }

  /// Reads the administrator's files, and reports what is wrong with them.
  private static func administratorFile(_ options: Options) -> AdministratorFile {
    let tell: @Sendable (String) -> Void = { say("lanyard-agent: \(oneLine($0))\n") }
    var directory = AdministratorDirectory(tell: tell)
    if let path = options.systemDirectory {
      guard let other = AdministratorDirectory(insteadOfUsual: path, tell: tell) else {
        end(
          .usage,
          says: "lanyard-agent: --system-directory is for a machine without \(AdministratorDirectory.usualPath).\n")
      }
      directory = other
    }
    let file = AdministratorFile(
      in: directory, else: KeptConfiguration(stateDirectory: options.stateDirectory).read())
    file.problems.forEach(tell)
    if file.isUnread {
      end(
        .cannotCreate, says: "lanyard-agent: the administrator's settings can't be read, so the agent did not start.\n")
    }
    return file
  }

  /// Tells on standard error, now or later, if memory of secrets can't be locked.
  private static func lockMemory(_ options: Options) {
    ProcessHardening.raiseMemoryLockLimit()
    if !ProcessHardening.mayLockMemory(LockedMemory.usualBytes) { LockedMemory.noteRefusal() }
    if options.requiresLockedMemory, !LockedMemory.isComplete {
      end(
        .vaultClosed,
        says: """
          lanyard-agent: the limit of locked memory is too low (`ulimit -l`), so secrets could be written to swap, and \
          --require-locked-memory forbids that. Raise the limit to 8 MiB.

          """)
    }
    LockedMemory.whenIncomplete {
      say("lanyard-agent: the limit of locked memory is too low (`ulimit -l`), so secrets may be written to swap.\n")
    }
  }

  private static func serve(_ options: Options, signals: Int32, _ broker: Broker) {
    let state = directory(options.stateDirectory)
    let lock = takeLock(
      StateHolder.lock(in: state.path), servingAt: options.transport.socket, waitsUntil: signals)
    options.administrator?.keep(in: KeptConfiguration(stateDirectory: state.path))
    let passphrase = passphrase(options)
    let confined = confine(options, state, broker)
    let clock = SystemClock()
    let pool = WorkerPool()
    let store: SQLiteStore
    let mayCreate = options.beginsNewStore || place(options)?.isKnown != true
    do throws(StoreFailure) {
      store = try SQLiteStore(path: state.path + "/lanyard.sqlite", mayCreate: mayCreate)
    } catch {
      end(error, state.path)
    }
    if options.beginsNewStore { replaceNote(place(options), by: store) }
    let log = StandardErrorLog(least: options.logLevel)
    let environment = environment(options, state, clock, pool, log, confined)
    let keys = keySources(options, state)
    let transport = TransportHandle()
    // The owner grant of an agent that was killed is no longer valid.
    let ownerGrant = OwnerGrantFile(stateDirectory: state.path)
    ownerGrant.remove()
    let ownerSecret = options.strictGrants ? GrantSecret.make(environment.entropy) : nil
    let agent = AgentServer(
      store: store, keySource: keys.first { $0.protection == options.protection },
      otherKeySources: keys.filter { $0.protection != options.protection },
      anchor: anchors(options, pool), environment: environment, version: version, ownerGrant: ownerSecret,
      locking: options.locking, limits: options.limits,
      // First the word: a command that finds no socket starts an agent, which reads it.
      onShutDown: { [tellEnding = lock.tellEnding] in
        tellEnding()
        transport.stop()
      })
    openVault(agent, options, passphrase, pool, signals: signals)
    if let ownerSecret, !ownerGrant.write(ownerSecret) {
      end(
        .cannotCreate,
        says: "lanyard-agent: \(ownerGrant.path) can't be written: \(String(cString: strerror(errno))).\n")
    }
    let server = LineServer(host: agent, clock: clock, names: processNames(broker))
    transport.server = server
    run(agent, server, options, signals: signals, clock, pool, log)
    ownerGrant.remove()
    withExtendedLifetime(lock) {}
    exit(Exit.done.rawValue)
  }

  /// Runs the agent and its server until both end.
  private static func run(
    _ agent: AgentServer, _ server: LineServer, _ options: Options, signals: Int32, _ clock: SystemClock,
    _ pool: WorkerPool, _ log: StandardErrorLog
  ) {
    // Before the agent, which watches the socket's name.
    let listener = options.transport.socket.map(listen)
    let life = Semaphore()
    Task.detached(executorPreference: pool) {
      await agent.run()
      life.signal()
    }
    Task.detached(executorPreference: pool) {
      // Once, after the start has freed its memory.
      await clock.sleep(until: clock.boot() + .seconds(3))
      lanyard_give_back_pages()
    }
    if let listener {
      _ = lanyard_notify("READY=1")
      log.log(.info, "ready", [])
      server.run(listener: listener.descriptor, signals: signals) { _ in agent.shutDown() }
      listener.removeName()
      if WatchedFile.programOfThisProcessIsGone { listener.removeStartLock() }
    } else {
      server.run(stdio: (STDIN_FILENO, STDOUT_FILENO), signals: signals) { _ in agent.shutDown() }
      agent.shutDown()
    }
    // Wait for exchanges in flight, so that no answer is lost. A provider that hangs does not delay the end further:
    // the journal holds what was sent.
    _ = life.wait(seconds: longestEndSeconds)
  }

  private static let longestEndSeconds = 35

  /// Signals of the kernel and of NetworkManager, and those of logind if a locking rule needs them.
  private static func machineSignals(_ options: Options, _ log: any AgentLog) -> any SystemSignals {
    // An agent at standard input and output is part of the program that started it. One with few descriptors needs them for
    // exchanges.
    let watchedSocket =
      ProcessHardening.raiseDescriptorLimit(to: 0) >= 2 * fewestDescriptors ? options.transport.socket : nil
    var all: [any SystemSignals] = [
      KernelSignals(log: log, watchesProgram: watchedSocket != nil, socket: watchedSocket),
      NetworkManagerSignals(log: log),
    ]
    if options.locking.onSleep || options.locking.onScreenLock {
      all.append(LoginSignals(delaysSleep: options.locking.onSleep, log: log))
    }
    return JoinedSignals(all)
  }

  static func environment(
    _ options: Options, _ state: PrivateDirectory, _ clock: SystemClock, _ pool: WorkerPool, _ log: StandardErrorLog,
    _ confined: Confined
  ) -> AgentEnvironment {
    AgentEnvironment(
      clock: clock, entropy: SystemEntropy(), http: exchange(options, clock, confined.broker),
      signatures: OpenSSLSignatureVerifier(), keys: OpenSSLClientKeySigner(),
      redirects: LoopbackRedirects(executor: pool, log: log),
      directories: BrokeredDirectoryAccounts(broker: confined.broker),
      subjectTokens: BrokeredSubjectTokens(broker: confined.broker),
      browser: DesktopBrowser(broker: confined.broker), prompter: Pinentry(broker: confined.broker),
      signals: machineSignals(options, log),
      backups: StoreBackups(
        beside: state.path + "/lanyard.sqlite", outside: BrokeredBackups(broker: confined.broker)),
      configuration: options.startConfiguration(
        confined, stateDirectory: LinkTargets.resolved(state.path) ?? state.path),
      policySource: options.inForce.policySource, log: log)
  }

  /// The keys that open the vault without a person.
  static func keySources(_ options: Options, _ state: PrivateDirectory) -> [any KeySource] {
    [
      KeyFile(path: state.path + "/key"), SecretService(bus: .session, nameFile: state.path + "/keyring-item"),
      SystemdCredential(directory: options.credentialsDirectory),
    ]
  }

  static func anchors(_ options: Options, _ pool: WorkerPool) -> Anchors {
    let file = options.anchorDirectory.map { AnchorFile(directory: $0, place: place(options)) }
    // If the session keyring holds a key of the vault, it also holds a rollback anchor.
    let secretService = "secretService"
    let sessionKeyring = AsyncRollbackAnchor(
      SecretServiceAnchor(bus: .session), besideSlotsOf: options.protection == secretService ? nil : secretService
    ) { work in
      Task.detached(executorPreference: pool) { work() }
    }
    return Anchors((file.map { [$0] } ?? []) + [KeyringAnchor(), sessionKeyring])
  }

  /// What the anchors know of this state directory; nil without a home directory.
  static func place(_ options: Options) -> AnchoredPlace? {
    options.anchorDirectory.map { AnchoredPlace(directory: $0, stateDirectory: options.stateDirectory) }
  }

  /// With --new-store an empty store takes the place of the one that is gone. A store that holds a vault does not: that
  /// one must be the one that the note names.
  private static func replaceNote(_ place: AnchoredPlace?, by store: SQLiteStore) {
    guard let place, place.isKnown, (try? store.keySlots())?.isEmpty == true else { return }
    // Where it can't be written, the opening says that another store is expected.
    try? place.note(store.databaseID)
  }

  static func directory(_ path: String) -> PrivateDirectory {
    do throws(PrivateDirectory.Failure) {
      return try PrivateDirectory(path: path)
    } catch {
      end(.cannotCreate, says: "lanyard-agent: the state directory \(path) \(error.message).\n")
    }
  }

  /// - Parameter signals: a signalfd. An agent that is ending is waited for, until it has ended or a signal comes; nil: it is
  ///   not waited for.
  static func takeLock(_ path: String, servingAt socket: String?, waitsUntil signals: Int32? = nil) -> InstanceLock {
    let clock = SystemClock()
    let end = clock.boot() + .seconds(Int64(longestEndSeconds) + 5)
    var isTold = false
    while true {
      do throws(InstanceLock.Failure) {
        return try InstanceLock(path: path, servingAt: socket)
      } catch {
        switch error {
        case .held(let holder?) where holder.isEnding:
          let told = "the agent with process id \(holder.processID) is ending: it waits for exchanges on their way"
          guard let signals, clock.boot() < end else { Self.end(.alreadyRunning, says: "lanyard-agent: \(told).\n") }
          if !isTold { say("lanyard-agent: \(told). This one starts after it.\n") }
          isTold = true
          var awaited = pollfd(fd: signals, events: Int16(POLLIN), revents: 0)
          guard poll(&awaited, 1, pauseMilliseconds) == 0 else { Self.end(.done, says: "") }
        case .held(let holder):
          let who = holder.map { "the agent with process id \($0.processID)" } ?? "another agent"
          let place = holder?.socket.map { " and listens at \($0)" } ?? ""
          Self.end(.alreadyRunning, says: "lanyard-agent: \(who) is already running on this state\(place).\n")
        case .unsafe:
          Self.end(.cannotCreate, says: "lanyard-agent: \(path) is not a plain file of yours alone.\n")
        case .unavailable(let error):
          Self.end(
            .storeFailed, says: "lanyard-agent: \(path) can't be locked: \(String(cString: strerror(error))).\n")
        }
      }
    }
  }

  /// Between two looks at a lock that another agent is about to free.
  private static let pauseMilliseconds: Int32 = 50

  private static func listen(_ path: String) -> Listening {
    do throws(Listening.Failure) {
      return try Listening(path)
    } catch {
      switch error {
      case .unsafe(let message), .unavailable(let message): end(.cannotCreate, says: "lanyard-agent: \(message)\n")
      case .alreadyServed: end(.alreadyRunning, says: "lanyard-agent: another agent already serves \(path).\n")
      }
    }
  }

  /// A name of a file may hold line ends, the controls of a terminal and what disguises it.
  private static func oneLine(_ text: String) -> String {
    let scalars = text.unicodeScalars.map { $0.isHidden ? "\u{FFFD}" : $0 }
    return String(String.UnicodeScalarView(scalars))
  }

  static func end(_ status: Exit, says message: String, to fd: Int32 = STDERR_FILENO) -> Never {
    say(message, to: fd)
    exit(status.rawValue)
  }

  static func say(_ message: String, to fd: Int32 = STDERR_FILENO) {
    var message = message
    message.withUTF8 { _ = write(fd, $0.baseAddress, $0.count) }
  }
}
