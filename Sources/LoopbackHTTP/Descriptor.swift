import Glibc

/// A file descriptor with one owner; closed when the owner goes.
struct Descriptor: ~Copyable, Sendable {
  let number: Int32

  /// Takes over `number`, which no child process shall inherit. (Between the call that made it and this one a fork
  /// could: `accept4` is not reachable from here, and the programs that listen start no others meanwhile.)
  init(owning number: Int32) {
    self.number = number
    _ = fcntl(number, F_SETFD, FD_CLOEXEC)
  }

  deinit { close(number) }

  func makeNonBlocking() {
    _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK)
  }
}

/// A flag that can be waited for together with sockets: once raised it stays raised and wakes every waiter.
final class StopSignal: Sendable {
  private let reader: Descriptor
  private let writer: Descriptor

  init() throws(LoopbackError) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw .system(call: "pipe", errno: errno) }
    reader = Descriptor(owning: ends[0])
    writer = Descriptor(owning: ends[1])
    writer.makeNonBlocking()
  }

  func raise() {
    // Nobody reads the byte: the pipe stays readable, for all threads that poll it now or later.
    var byte: UInt8 = 1
    _ = write(writer.number, &byte, 1)
  }

  enum Wakeup { case ready, stopped, timedOut }

  /// Blocks until one of the descriptors has one of `events`, the flag is raised, or the time is over (-1: never).
  func wait(for descriptors: [Int32] = [], events: Int32 = 0, milliseconds: Int64 = -1) -> Wakeup {
    let deadline = milliseconds < 0 ? nil : Elapsed.now() + milliseconds
    while true {
      var polled = ([reader.number] + descriptors).map {
        pollfd(fd: $0, events: Int16($0 == reader.number ? POLLIN : events), revents: 0)
      }
      let left = deadline.map { Int32(clamping: max(0, $0 - Elapsed.now())) } ?? -1
      let count = poll(&polled, nfds_t(polled.count), left)
      if count < 0 && errno == EINTR { continue }
      if polled[0].revents != 0 { return .stopped }
      if polled.contains(where: { $0.revents != 0 }) { return .ready }
      if left == 0 || count < 0 { return .timedOut }
    }
  }

  var isRaised: Bool { wait(milliseconds: 0) == .stopped }
}

/// Milliseconds of the monotonic clock, for timeouts.
enum Elapsed {
  static func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}
