internal import AgentPorts
internal import Glibc
internal import HTTPAdapter
internal import SQLiteStore
internal import SystemAdapters
internal import UnixTransport

/// How this process is confined, and the broker that does what it can't do itself.
struct Confined {
  var broker: Broker
  /// Nil for a process that does not confine itself: `--check`.
  var inForce: Confinement?
}

/// The agent confines itself (docs/callers.md, Confinement).
extension LanyardAgent {
  /// Forks the process that starts programs and opens files which a person or a client names.
  static func startBroker(_ options: Options) -> Broker {
    let pinentry = PinentryProgram(options.pinentry)
    let browser = BrowserProgram()
    let broker = Broker.start([
      .prompt: { pinentry.perform($0) }, .browser: { browser.perform($0) },
      .directoryAccount: { BrokeredDirectoryAccounts.perform($0) }, .authorities: { BrokeredAuthorities.perform($0) },
      .backupCheck: { BrokeredBackups.check($0) }, .backupWrite: { BrokeredBackups.write($0) },
      .backupRead: { BrokeredBackups.read($0) },
      .commandLine: { $0.answer(pid_t($0.text).map(ProcessNames.isOwnersCommandLine) == true ? "yes" : "no") },
    ])
    if !broker.isRunning { say("lanyard-agent: \(Broker.whatIsGone)\n") }
    return broker
  }

  /// Restricts this process to its own files and to the calls that it needs.
  static func confine(_ options: Options, _ state: PrivateDirectory, _ broker: Broker) -> Confined {
    let result = ProcessConfinement.apply(.system.union(files(options, state)))
    for sentence in result.missing { say("lanyard-agent: less confined than it could be: \(sentence)\n") }
    return Confined(broker: broker, inForce: result.inForce)
  }

  private static func files(_ options: Options, _ state: PrivateDirectory) -> FileAccess {
    var files = FileAccess(owned: [state.path])
    // A rule needs a directory that exists. One that can't be made is told where it is needed.
    if let anchors = options.anchorDirectory {
      _ = try? PrivateDirectory(path: anchors)
      files.owned.append(anchors)
    }
    if case .socket(let path) = options.transport, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
      let directory = String(path[..<slash])
      if getenv("LISTEN_FDS") == nil { _ = try? PrivateDirectory(path: directory) }
      files.owned.append(directory)
    }
    if let credentials = options.credentialsDirectory { files.readable.append(credentials) }
    // An editor replaces the file: its directory is named, and that of what a link leads to.
    if let file = options.configuration?.path {
      files.readable += [file, LinkTargets.resolved(file)].compactMap { $0 }.map(directory(of:))
    }
    files.readable += [options.network.authorities.file].compactMap { $0 }
    for directory in options.network.authorities.directory?.split(separator: ":").map(String.init) ?? [] {
      files.readable += [directory] + LinkTargets.of(directory) { !isReadAnyway($0) }
    }
    return files.union(testFiles)
  }

  private static func isReadAnyway(_ path: String) -> Bool {
    FileAccess.system.readable.contains { path.hasPrefix($0 + "/") }
  }

  private static func directory(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
    return String(path[..<slash])
  }

  /// Where libraries that tests preload (Sources/Foreign/CStart) read their plans. A release build has no such way.
  private static var testFiles: FileAccess {
    #if DEBUG
      guard getenv("LANYARD_TEST_PRELOAD") != nil else { return FileAccess() }
      let names = ["LANYARD_FAULT_PLAN", "LANYARD_FAULT_COUNT", "LANYARD_CLOCK_SHIFT", "LANYARD_CLOCK_SEEN"]
      return FileAccess(
        owned: names.compactMap { name in getenv(name).map { directory(of: String(cString: $0)) } })
    #else
      return FileAccess()
    #endif
  }

  static func exchange(_ options: Options, _ clock: SystemClock, _ broker: Broker) -> CurlExchange {
    CurlExchange(clock: clock, defaults: options.network) { path in
      await BrokeredAuthorities.certificates(of: path, through: broker)
    }
  }

  static func processNames(_ broker: Broker) -> ProcessNames {
    ProcessNames { pid in broker.ask(.commandLine, "\(pid)").map { $0.text == "yes" } ?? false }
  }
}
