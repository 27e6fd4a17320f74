import CPlatform
import FileRules
import Foundation
import SystemAdapters
import Testing

@Suite struct InstanceLockTests {
  let directory = TemporaryDirectory()
  var path: String { directory.path("lock") }

  @Test func secondInstance_getsTheHoldersProcessID() throws {
    let lock = try InstanceLock(path: path)
    #expect(directory.mode("lock") == 0o600)
    #expect(lockFailure() == .held(by: .init(processID: getpid(), socket: nil)))
    expectIntact(lock)
  }

  @Test func secondInstance_getsTheHoldersSocketAndThatItIsEnding() throws {
    let lock = try InstanceLock(path: path, servingAt: "/run/lanyard/agent.sock")
    #expect(lockFailure() == .held(by: .init(processID: getpid(), socket: "/run/lanyard/agent.sock")))
    lock.tellEnding()
    #expect(lockFailure() == .held(by: .init(processID: getpid(), socket: "/run/lanyard/agent.sock", isEnding: true)))
    expectIntact(lock)
  }

  @Test(arguments: [
    ("17", nil, false), ("17\n", nil, false), ("17\n/run/a", nil, false), ("17\n/run/a\n", "/run/a", false),
    ("17\nrun/a\n", nil, false), ("17\n/run/a\nendi", "/run/a", false), ("17\n/run/a\nending\n", "/run/a", true),
    ("17\nending\n", nil, true), ("17\n/run/ending\n", "/run/ending", false),
  ])
  func note_tellsWhatIsThereWhole(note: String, socket: String?, isEnding: Bool) {
    #expect(StateHolder(note: note) == .init(processID: 17, socket: socket, isEnding: isEnding))
  }

  @Test(arguments: ["", "\n", "x\n/run/a\n"]) func noteWithoutAProcess_tellsNothing(note: String) {
    #expect(StateHolder(note: note) == nil)
  }

  @Test func noteIsReadAsItWasWritten() {
    for holder in [
      StateHolder(processID: 17, socket: nil), .init(processID: 17, socket: "/run/a"),
      .init(processID: 17, socket: "/run/a", isEnding: true), .init(processID: 17, socket: nil, isEnding: true),
    ] {
      #expect(StateHolder(note: holder.note) == holder)
    }
  }

  /// As a command looks that waits for the end of an agent.
  @Test func lockIsSeenWithoutTakingIt() throws {
    directory.write(Array("4242\nending\n".utf8), to: "lock")
    let file = try FileRule.madeFile.open(path)
    defer { close(file) }
    #expect(!lanyard_file_is_locked(file))
    #expect(StateHolder(in: file) == .init(processID: 4242, socket: nil, isEnding: true))
    let lock = try InstanceLock(path: path)
    #expect(lanyard_file_is_locked(file))
    #expect(StateHolder(in: file) == .init(processID: getpid(), socket: nil))
    expectIntact(lock)
  }

  @Test func lock_isFreeAfterItsHolderEnds() throws {
    do {
      let lock = try InstanceLock(path: path)
      expectIntact(lock)
    }
    let again = try InstanceLock(path: path)
    expectIntact(again)
  }

  @Test func lockFileOfADeadAgent_isTakenOver() throws {
    directory.write(Array("4242\n".utf8), to: "lock")
    _ = try InstanceLock(path: path)
    #expect(directory.bytes(of: "lock") == Array("\(getpid())\n".utf8))
  }

  @Test func removedLockFile_isNoticed() throws {
    let lock = try InstanceLock(path: path)
    unlink(path)
    let isIntact = lock.isIntact(path: path)
    #expect(!isIntact)
    #expect(lockFailure() == .held(by: nil), "the directory is still locked")
  }

  @Test func lockFileThatIsNotAPrivatePlainFile_isRefused() throws {
    directory.write([], to: "other")
    symlink("other", path)
    #expect(lockFailure() == .unsafe)
    unlink(path)
    directory.write([], to: "lock", mode: 0o666)
    #expect(lockFailure() == .unsafe)
    unlink(path)
    mkfifo(path, 0o600)
    #expect(lockFailure() == .unsafe)
    unlink(path)
    mkdir(path, 0o700)
    #expect(lockFailure() == .unsafe)
  }

  @Test func lockOfAnotherProcess_holdsUntilItEnds() throws {
    // Python's fcntl.lockf takes a process lock (F_SETLK), which excludes the agent's lock of the file description.
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "python3", "-c",
      """
      import fcntl, os, sys
      f = open(sys.argv[1], "w"); os.chmod(sys.argv[1], 0o600)
      fcntl.lockf(f, fcntl.LOCK_EX); f.write(f"{os.getpid()}\\n"); f.flush()
      print("locked", flush=True); sys.stdin.read()
      """, path,
    ]
    let (output, input) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardInput = input
    try process.run()
    let ready = output.fileHandleForReading.availableData
    try #require(String(decoding: ready, as: UTF8.self).hasPrefix("locked"))
    #expect(lockFailure() == .held(by: .init(processID: process.processIdentifier, socket: nil)))
    try input.fileHandleForWriting.close()
    process.waitUntilExit()
    #expect(lockFailure() == nil)
  }

  private func expectIntact(_ lock: borrowing InstanceLock) {
    // The macro would copy the lock, which can't be copied.
    let isIntact = lock.isIntact(path: path)
    #expect(isIntact)
  }

  private func lockFailure() -> InstanceLock.Failure? {
    do throws(InstanceLock.Failure) {
      _ = try InstanceLock(path: path)
      return nil
    } catch {
      return error
    }
  }
}
