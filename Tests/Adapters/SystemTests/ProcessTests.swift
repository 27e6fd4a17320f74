import CPlatform
import Foundation
import SystemAdapters
import Testing

/// Changes to a whole process run in a child process.
@Suite struct ProcessTests {
  @Test func hardenedProcess_hasNoDumpsAndPrivateFiles() async {
    await #expect(processExitsWith: .success) {
      try ProcessHardening.apply()
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(4), &limit)  // RLIMIT_CORE
      #expect(limit.rlim_cur == 0 && limit.rlim_max == 0)
      #expect(umask(0o077) == 0o077)
      // A pipe without a reader would end a process that does not ignore SIGPIPE.
      var ends: [Int32] = [0, 0]
      pipe(&ends)
      close(ends[0])
      #expect(write(ends[1], "x", 1) == -1)
      #expect(errno == EPIPE)
      // Not dumpable: /proc entries belong to root, so that another process of the user can't read them.
      var status = stat()
      stat("/proc/self/environ", &status)
      #expect(status.st_uid == 0)
    }
  }

  @Test func signals_areReadFromTheSignalDescriptor() async {
    await #expect(processExitsWith: .success) {
      let signals = lanyard_signalfd()
      #expect(signals >= 0)
      #expect(lanyard_signalfd_read(signals) == 0)
      for number in [SIGTERM, SIGINT, SIGHUP] {
        pthread_kill(pthread_self(), number)
        #expect(lanyard_signalfd_read(signals) == number)
      }
      #expect(lanyard_signalfd_read(signals) == 0)
    }
  }

  @Test func inheritedSocket_isChecked() async {
    await #expect(processExitsWith: .success) {
      let kept = fcntl(3, F_DUPFD, 50)
      let directory = TemporaryDirectory()
      let listener = lanyard_bind_unix(directory.path("s"))
      defer { if kept >= 0 { dup2(kept, 3) } }
      func told(pid: String, count: String) -> Int32 {
        setenv("LISTEN_PID", pid, 1)
        setenv("LISTEN_FDS", count, 1)
        return lanyard_listen_fds()
      }
      dup2(listener, 3)
      #expect(told(pid: String(getpid()), count: "1") == -EINVAL)  // not listening
      #expect(getenv("LISTEN_FDS") == nil && getenv("LISTEN_PID") == nil)
      listen(listener, 1)
      #expect(told(pid: String(getpid()), count: "1") == 1)
      #expect(fcntl(3, F_GETFD) == FD_CLOEXEC && fcntl(3, F_GETFL) & O_NONBLOCK != 0)
      #expect(told(pid: "1", count: "1") == 0)
      #expect(told(pid: String(getpid()), count: "0") == 0)
      #expect(told(pid: String(getpid()), count: "1x") == 0)
      #expect(told(pid: String(getpid()), count: "1000") == -EINVAL)
      #expect(lanyard_listen_fds() == 0)
      dup2(open("/dev/null", O_RDWR), 3)
      #expect(told(pid: String(getpid()), count: "1") == -EINVAL)
    }
  }

  @Test func serviceManager_isNotified() async {
    await #expect(processExitsWith: .success) {
      unsetenv("NOTIFY_SOCKET")
      #expect(lanyard_notify("READY=1") == 0)
      setenv("NOTIFY_SOCKET", "relative", 1)
      #expect(lanyard_notify("READY=1") == -EINVAL)
      let directory = TemporaryDirectory()
      setenv("NOTIFY_SOCKET", directory.path("notify"), 1)
      #expect(lanyard_notify("READY=1") == -ENOENT)
      let manager = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      let path = directory.path("notify")
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
      let size = socklen_t(MemoryLayout<sockaddr_un>.size)
      let bound = withUnsafeBytes(of: &address) {
        bind(manager, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), size)
      }
      #expect(bound == 0)
      #expect(lanyard_notify("READY=1") == 1)
      var bytes = [UInt8](repeating: 0, count: 64)
      let count = read(manager, &bytes, bytes.count)
      #expect(String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self) == "READY=1")
    }
  }
}

@Suite struct DetachTests {
  /// Runs a shell script detached, with a pipe as its descriptor 3; returns its output.
  private func output(_ script: String) throws -> String {
    let pipe = Pipe()
    let arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sh"), strdup("-c"), strdup(script), nil]
    let environment: [UnsafeMutablePointer<CChar>?] = [strdup("PATH=/usr/bin:/bin"), strdup("MARK=here"), nil]
    defer { for text in arguments + environment { free(text) } }
    let result = lanyard_start_detached(
      "/bin/sh", arguments, environment, -1, pipe.fileHandleForWriting.fileDescriptor)
    try #require(result == 0)
    try pipe.fileHandleForWriting.close()
    return String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
  }

  @Test func detachedProcess_inheritsNothing() throws {
    let secret = open("/dev/null", O_RDONLY)  // inheritable
    defer { close(secret) }
    let text = try output("exec >&3; pwd; umask; echo $MARK; ls /proc/$$/fd; cut -d' ' -f5,6,7 /proc/$$/stat")
    let lines = text.split(separator: "\n").map(String.init)
    #expect(lines.prefix(3) == ["/", "0077", "here"])
    #expect(lines.dropFirst(3).dropLast() == ["0", "1", "2", "3"])
    // Process group and session are the first child's, which is gone; there is no terminal.
    let ids = try #require(lines.last).split(separator: " ").map { Int32($0)! }
    #expect(ids[1] != getsid(0) && ids[2] == 0)
  }

  @Test func detachedProcessThatCannotRun_reportsTheError() {
    var nothing: [UnsafeMutablePointer<CChar>?] = [nil]
    #expect(lanyard_start_detached("/nowhere/agent", &nothing, nothing, -1, -1) == -ENOENT)
    #expect(lanyard_start_detached("/etc", &nothing, nothing, -1, -1) == -EACCES)
  }
}
