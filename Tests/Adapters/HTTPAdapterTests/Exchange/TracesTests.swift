import AgentModel
import AgentPorts
import Foundation
import Secrets
import Testing

import HTTPAdapter

/// After an exchange, no copy of the secrets sent or received is left in this process but the caller's own.
@Suite struct TracesTests {
  /// Counts copies of the secret in writable memory, besides its own place and the scanner's buffer.
  static func copies(of secret: Secret) throws -> Int {
    let memory = open("/proc/self/mem", O_RDONLY)
    defer { close(memory) }
    let maps = String(
      decoding: try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/maps")).readToEnd() ?? Data(),
      as: UTF8.self)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 8)
    defer {
      wipe(buffer)
      buffer.deallocate()
    }
    let own = secret.withBytes { UInt(bitPattern: $0.baseAddress) }
    let scanner = UInt(bitPattern: buffer.baseAddress)..<(UInt(bitPattern: buffer.baseAddress) + UInt(buffer.count))
    var found: Set<UInt> = []
    for line in maps.split(separator: "\n") where line.contains(" rw") {
      let range = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
      var position = range[0]
      while position < range[1] {
        let count = pread(memory, buffer.baseAddress, min(buffer.count, Int(range[1] - position)), off_t(position))
        guard count > 0 else { break }
        for offset in secret.withBytes({ offsets(of: $0, in: UnsafeRawBufferPointer(rebasing: buffer[..<count])) }) {
          found.insert(position + UInt(offset))
        }
        // Chunks overlap, so that a copy across a chunk border is found.
        position += UInt(count == buffer.count ? count - secret.count : count)
      }
    }
    return found.filter { $0 != own && !scanner.contains($0) }.count
  }

  private static func offsets(of needle: UnsafeRawBufferPointer, in bytes: UnsafeRawBufferPointer) -> [Int] {
    var offsets: [Int] = []
    var start = 0
    while start + needle.count <= bytes.count,
      let first = memchr(bytes.baseAddress! + start, Int32(needle[0]), bytes.count - needle.count - start + 1)
    {
      if memcmp(first, needle.baseAddress!, needle.count) == 0 {
        offsets.append(first - UnsafeMutableRawPointer(mutating: bytes.baseAddress!))
      }
      start = first - UnsafeMutableRawPointer(mutating: bytes.baseAddress!) + 1
    }
    return offsets
  }

  static func randomSecret() -> Secret {
    var builder = SecretBuilder()
    for _ in 0..<40 { builder.append(UInt8.random(in: 0x61...0x7A)) }
    return builder.finish()
  }

  @Test func memoryScanner_findsACopy() throws {
    let secret = Self.randomSecret()
    #expect(try Self.copies(of: secret) == 0)
    let copy = secret.withBytes { [UInt8]($0) }
    #expect(try Self.copies(of: secret) == 1)
    withExtendedLifetime(copy) {}
  }

  @Test func finishedExchange_leavesNoCopyOfItsSecrets() async throws {
    let identity = try TLSIdentity.localhost.get()
    let server = try TLSServer(identity)
    _ = makeExchange()
    let clock = CountingClock()
    let exchange = CurlExchange(
      clock: clock, defaults: ConnectionDefaults(authorities: CertificateAuthorities(file: identity.certificate)),
      lingerMilliseconds: 0)
    let secret = Self.randomSecret()
    let request = HTTPRequest(method: "POST", url: server.url + "/echo", fields: [.bearer(secret)], body: secret)
    do {
      let response = try #require(await exchange.send(request).response)
      #expect(response.body.equals(secret))
    }
    let thread = try #require(clock.threads.first)
    while IdleTests.sleeps(of: thread) != nil { try await Task.sleep(for: .milliseconds(5)) }
    // The request's own field: `Bearer` and the secret, in guarded memory.
    #expect(try Self.copies(of: secret) == 1)
    withExtendedLifetime(request) {}
  }
}
