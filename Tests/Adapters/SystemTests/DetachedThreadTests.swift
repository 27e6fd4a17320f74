import Glibc
import Synchronization
import SystemAdapters
import Testing
import Threads

@Suite struct DetachedThreadTests {
  /// Filled by the thread under test.
  private struct Facts: Sendable {
    /// As it stands below `/proc`.
    var thread = ""
    var canary: UInt = 0
    var blocksTermination = false
  }

  /// Runs `body` on a thread of its own, and returns when the kernel has removed that thread.
  private func run(_ body: @escaping @Sendable (inout Facts) -> Void) async throws -> Facts {
    let box = Box(Mutex(Facts()))
    let done = Semaphore()
    try #require(
      DetachedThread.start {
        box.facts.withLock { facts in
          facts.thread = Self.currentThread()
          body(&facts)
        }
        done.signal()
      })
    #expect(done.wait(seconds: 10))
    let result = box.facts.withLock { $0 }
    try #require(!result.thread.isEmpty)
    while access("/proc/\(result.thread)", F_OK) == 0 { try await Task.sleep(for: .milliseconds(1)) }
    return result
  }

  private static func currentThread() -> String {
    var name = [UInt8](repeating: 0, count: 64)
    let count = name.withUnsafeMutableBytes { bytes in
      readlink("/proc/thread-self", bytes.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count)
    }
    return String(decoding: name[..<max(count, 0)], as: UTF8.self)
  }

  private final class Box: Sendable {
    let facts: Mutex<Facts>
    init(_ facts: consuming Mutex<Facts>) { self.facts = facts }
  }

  @Test func stackOfAnEndedThread_holdsNoBytesOfItsCalls() async throws {
    let byte: UInt8 = 0xA7
    let facts = try await run { facts in
      facts.canary = withUnsafeTemporaryAllocation(byteCount: 512, alignment: 16) { bytes in
        for index in bytes.indices { bytes[index] = byte }
        return UInt(bitPattern: bytes.baseAddress)
      }
    }
    // libc keeps the stack mapped for the next thread; where it does not, nothing can be read.
    let memory = open("/proc/self/mem", O_RDONLY)
    defer { close(memory) }
    var left = [UInt8](repeating: 0, count: 512)
    _ = pread(memory, &left, left.count, off_t(facts.canary))
    #expect(!left.contains(byte))
  }

  @Test func detachedThread_blocksSignals() async throws {
    let facts = try await run { facts in
      var blocked = sigset_t()
      pthread_sigmask(SIG_BLOCK, nil, &blocked)
      facts.blocksTermination = sigismember(&blocked, SIGTERM) == 1
    }
    #expect(facts.blocksTermination)
  }
}
