import CPlatform
import Foundation

/// A running program, with its output.
///
/// Uses posix_spawn(3) instead of Foundation's `Process`: the demo blocks signals that its programs must not inherit as
/// blocked.
final class Child {
  struct Ended {
    let status: Int32
    let output: String
    let errors: String

    /// Output and errors, as on a terminal.
    var text: String { output + errors }
  }

  let pid: pid_t
  private let output: FileHandle
  private let errors: FileHandle

  /// - Parameter words: a program (a path, or a name in the environment's `PATH`) and its arguments.
  init(_ words: [String], environment: [String: String]) throws {
    let (outputs, failures) = (Pipe(), Pipe())
    output = outputs.fileHandleForReading
    errors = failures.fileHandleForReading
    let (outputEnd, errorsEnd) = (outputs.fileHandleForWriting, failures.fileHandleForWriting)
    for end in [output, errors, outputEnd, errorsEnd] { _ = fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC) }

    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, outputEnd.fileDescriptor, 1)
    posix_spawn_file_actions_adddup2(&actions, errorsEnd.fileDescriptor, 2)
    let unclosed = lanyard_spawn_closes_others(&actions)
    guard unclosed == 0 else { throw NotAsTold("descriptors can't be closed: \(String(cString: strerror(-unclosed)))") }

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var (none, all) = (sigset_t(), sigset_t())
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    let path = Self.find(words[0], in: environment["PATH"] ?? "")
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0)=\($1)") } + [nil]
    defer { (arguments + variables).forEach { free($0) } }
    var started = pid_t()
    let result = posix_spawn(&started, path, &actions, &attributes, &arguments, &variables)
    guard result == 0 else { throw NotAsTold("\(path) can't be run: \(String(cString: strerror(result)))") }
    pid = started
    try outputEnd.close()
    try errorsEnd.close()
  }

  static func find(_ program: String, in path: String) -> String {
    guard !program.contains("/") else { return program }
    return path.split(separator: ":").map { "\($0)/\(program)" }.first { access($0, X_OK) == 0 } ?? program
  }

  /// Waits until the program ends.
  func end() -> Ended {
    let errors = errors
    let collected = Collected()
    let reader = Thread { collected.fill(from: errors) }
    reader.start()
    let output = (try? output.readToEnd()) ?? Data()
    let complaints = collected.wait()
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    // wait(2): the exit code is the second byte, a signal the first. A signal counts as 128 plus its number, as in a
    // shell.
    let code = status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
    return Ended(
      status: code, output: String(decoding: output, as: UTF8.self), errors: String(decoding: complaints, as: UTF8.self)
    )
  }

  /// Reads stderr until `wanted` finds a value in it.
  func errors<Found>(until wanted: (String) -> Found?) throws -> Found {
    var text = ""
    while true {
      let data = errors.availableData
      guard !data.isEmpty else { throw NotAsTold("the program ended before it said what was expected: \(text)") }
      text += String(decoding: data, as: UTF8.self)
      if let found = wanted(text) { return found }
    }
  }
}

/// Data that a second thread reads.
private final class Collected: @unchecked Sendable {
  private let done = DispatchSemaphore(value: 0)
  // `fill` writes before it signals the semaphore, `wait` reads after that.
  private var data = Data()

  func fill(from handle: FileHandle) {
    data = (try? handle.readToEnd()) ?? Data()
    done.signal()
  }

  func wait() -> Data {
    done.wait()
    return data
  }
}
