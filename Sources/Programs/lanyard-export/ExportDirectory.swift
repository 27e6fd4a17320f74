internal import AgentModel
internal import AuditExport
internal import CPlatform
internal import CommandSupport
internal import FileRules
internal import Glibc
internal import Secrets

/// `export` in the agent's state directory: for each destination a cursor, a lock and the last problem, and the key of the
/// ids that stand for names.
struct ExportDirectory: Sendable {
  let path: String
  /// `LANYARD_STATE_DIR` or the usual one.
  let state: String

  private static let largestBytes = 64 << 10

  /// - Parameter creates: false for a look at it.
  ///
  /// - Throws: a failure for a directory that others may write or read.
  init(creates: Bool = true) throws(CommandFailure) {
    state = try AgentPaths.state()
    path = "\(state)/export"
    if creates {
      // The agent that is started later finds its directory.
      let error = makeDirectories(path)
      guard error == 0 else { throw Self.failure("\(path) can't be created: \(SystemError.message(error)).") }
    }
    let directory = lanyard_open_directory(path)
    guard directory >= 0 else {
      if !creates, -directory == ENOENT { return }
      throw Self.failure("\(path) is not a directory that can be used: \(SystemError.message(-directory)).")
    }
    defer { close(directory) }
    guard (try? FileRule.privateDirectory.check(directory)) != nil else {
      throw Self.failure("\(path) must belong to you alone: `chmod 700` it.")
    }
  }

  private static func failure(_ text: String) -> CommandFailure {
    CommandFailure(.other, name: "unsafeDirectory", text + " Nothing was exported.")
  }

  /// The descriptor that holds the lock of a destination.
  func lock(_ name: String) throws(CommandFailure) -> Int32 {
    let file = "\(path)/\(name).lock"
    let new = open(file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    let descriptor: Int32
    do throws(FileFault) {
      descriptor = new >= 0 ? new : try FileRule.madeFile.open(file, O_RDWR)
    } catch {
      throw Self.failure("\(file) can't be opened: \(SystemError.message(error.code)).")
    }
    // `--status` holds it for a moment.
    for attempt in 1...5 {
      if lanyard_lock_file(descriptor) == 0 { return descriptor }
      if attempt < 5 { usleep(40_000) }
    }
    close(descriptor)
    throw CommandFailure(
      .usage, name: "exportRuns", "Another lanyard-export serves the destination \(name). This one ended.",
      hints: ["`lanyard export --status` shows it. A second collector of this kind needs a `--name` of its own."])
  }

  /// True if a process serves the destination now.
  func isServed(_ name: String) -> Bool {
    guard let descriptor = try? FileRule.madeFile.open("\(path)/\(name).lock", O_RDWR) else { return false }
    defer { close(descriptor) }
    return lanyard_lock_file(descriptor) != 0
  }

  /// The cursor of a destination; a new one if it has none.
  ///
  /// - Throws: a failure for a file that is no cursor: neither is everything sent again, nor anything left out.
  func cursor(_ name: String) throws(CommandFailure) -> ExportCursor? {
    let file = "\(path)/\(name).cursor"
    guard let bytes = try read(file) else { return nil }
    guard let cursor = ExportCursor(json: bytes) else {
      throw CommandFailure(
        .usage, name: "cursorDamaged", "\(file) is not a cursor that this program wrote. Nothing was exported.",
        hints: ["Remove it to export the whole log once more."])
    }
    return cursor
  }

  /// Nil after success, else why the cursor is not on the disk.
  func store(_ cursor: ExportCursor, _ name: String) -> String? {
    write(cursor.json, to: "\(name).cursor", isDurable: true)
  }

  /// Notes what keeps a destination from going on; nil removes it. Best effort: only `--status` reads it.
  func note(_ problem: String?, _ name: String) {
    if let problem {
      _ = write(Array((problem + "\n").utf8), to: "\(name).problem", isDurable: false)
    } else {
      unlink("\(path)/\(name).problem")
    }
  }

  func problem(_ name: String) -> String? {
    guard let bytes = try? read("\(path)/\(name).problem") else { return nil }
    return String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self)
  }

  /// The names of the destinations that have a cursor or a lock.
  var names: [String] {
    var found: Set<String> = []
    for file in namesInDirectory(path) {
      for end in [".cursor", ".lock"] where file.hasSuffix(end) {
        let name = String(file.dropLast(end.utf8.count))
        if AuditDestination.isName(name) { found.insert(name) }
      }
    }
    return found.sorted()
  }

  /// The key of the ids that stand for names, made once.
  func key() throws(CommandFailure) -> SealingKey {
    let file = "\(path)/key"
    var found = try read(file)
    if found == nil {
      var new = [UInt8](repeating: 0, count: SealingKey.byteCount)
      guard lanyard_random(&new, new.count) == 0 else {
        throw CommandFailure(.other, name: "system", "The kernel gave no random bytes. Nothing was exported.")
      }
      if let problem = write(new, to: "key", isDurable: true, replaces: false) { throw Self.failure(problem) }
      // Another exporter may have been first.
      found = try read(file)
    }
    guard let found, let key = found.withUnsafeBytes({ SealingKey(Secret(copying: $0)) }) else {
      throw Self.failure("\(file) is not a key that this program wrote.")
    }
    return key
  }

  private func read(_ file: String) throws(CommandFailure) -> [UInt8]? {
    do throws(FileFault) {
      return try FileRule.madeFile.contents(of: file, atMost: Self.largestBytes)
    } catch {
      if error == .system(ENOENT) { return nil }
      throw Self.failure("\(file) must be a plain file that belongs to you alone: \(SystemError.message(error.code)).")
    }
  }

  /// Replaces a file in one step. Nil after success, else what is wrong.
  private func write(_ bytes: [UInt8], to name: String, isDurable: Bool, replaces: Bool = true) -> String? {
    let file = "\(path)/\(name)"
    // The lock of the destination keeps others away from its files; the key has none.
    let draft = replaces ? "\(file).new" : "\(file).\(getpid()).new"
    let error = bytes.withUnsafeBytes {
      writeFile($0, to: file, draft: draft, isDurable: isDurable, replacing: replaces)
    }
    guard error == 0 || !replaces && error == EEXIST else {
      return "\(file) can't be written: \(SystemError.message(error))."
    }
    if isDurable { syncDirectory() }
    return nil
  }

  private func syncDirectory() {
    let directory = lanyard_open_directory_for_sync(path)
    guard directory >= 0 else { return }
    fsync(directory)
    close(directory)
  }
}
