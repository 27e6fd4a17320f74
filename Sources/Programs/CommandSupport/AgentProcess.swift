internal import CPlatform
internal import Glibc

/// The agent's process at the other end of a connection, to wait for its end.
struct AgentProcess: ~Copyable {
  private let descriptor: Int32

  private init(descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Nil if it can't be told: the agent runs in another pid namespace, or a service manager listens for it.
  static func ofPeer(at socket: Int32) -> AgentProcess? {
    var (pid, uid, gid): (pid_t, uid_t, gid_t) = (0, 0, 0)
    guard lanyard_peer_credentials(socket, &pid, &uid, &gid) == 0, pid > 0 else { return nil }
    let descriptor = lanyard_process_open(pid)
    guard descriptor >= 0 else { return nil }
    let process = AgentProcess(descriptor: descriptor)
    // The descriptor comes first: while its process lives, no other has this id and name.
    guard name(of: pid) == "lanyard-agent", !process.hasEnded(until: .after(milliseconds: 0)) else { return nil }
    return process
  }

  /// The kernel's name of the process (proc(5), /proc/PID/comm).
  private static func name(of pid: pid_t) -> String? {
    let file = open("/proc/\(pid)/comm", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    let bytes = [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
      count = max(0, read(file, buffer.baseAddress, buffer.count))
    }
    return String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self)
  }

  /// Waits for the end of the process; false if it still runs at the deadline.
  func hasEnded(until deadline: ReadableDescriptor.Deadline) -> Bool {
    ReadableDescriptor.waits(for: descriptor, until: deadline)
  }

  /// The same; a person is told of a long wait.
  func hasEnded(until deadline: ReadableDescriptor.Deadline, telling line: inout WaitingLine) -> Bool {
    line.waits(for: descriptor, until: deadline)
  }
}

enum ReadableDescriptor {
  /// A moment of the monotonic clock.
  struct Deadline {
    private let milliseconds: Int64

    static func after(milliseconds: Int32) -> Deadline { Deadline(milliseconds: now + Int64(milliseconds)) }

    var left: Int32 { Int32(max(0, milliseconds - Self.now)) }
    /// The milliseconds since the moment; 0 before it.
    var passed: Int { Int(max(0, Self.now - milliseconds)) }

    private static var now: Int64 {
      var now = timespec()
      clock_gettime(CLOCK_MONOTONIC, &now)
      return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }
  }

  /// Waits until the descriptor is readable, also across signals; false if it is not in time.
  static func waits(for descriptor: Int32, until deadline: Deadline) -> Bool {
    while true {
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let count = poll(&entry, 1, deadline.left)
      if count >= 0 || errno != EINTR { return count > 0 }
    }
  }
}
