import Foundation
import TLSServing
import Testing

/// What `openssl verify` says of the certificates, as a client that knows nothing of this project does.
struct AuthorityTests {
  private func verifies(_ leaf: RunAuthority.Leaf, by authority: RunAuthority, _ words: [String] = []) throws -> Bool {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("lanyard-tls-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (ca, own) = (folder.appendingPathComponent("ca.pem"), folder.appendingPathComponent("leaf.pem"))
    try authority.certificate.write(to: ca, atomically: true, encoding: .utf8)
    try leaf.certificate.write(to: own, atomically: true, encoding: .utf8)
    let openssl = Process()
    openssl.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    openssl.arguments =
      ["openssl", "verify", "-x509_strict", "-purpose", "sslserver", "-no-CApath", "-CAfile", ca.path] + words + [
        own.path
      ]
    openssl.standardOutput = FileHandle.nullDevice
    openssl.standardError = FileHandle.nullDevice
    try openssl.run()
    openssl.waitUntilExit()
    return openssl.terminationStatus == 0
  }

  @Test func certificateOfAnAllowedHostIsGood() throws {
    let authority = try #require(RunAuthority(hosts: ["api.example", "127.0.0.1", "::1"]))
    for host in ["api.example", "127.0.0.1", "::1"] {
      let leaf = try #require(authority.leaf(for: host, now: 0))
      let check = host == "api.example" ? "-verify_hostname" : "-verify_ip"
      #expect(try verifies(leaf, by: authority, [check, host]), "\(host)")
      #expect(try !verifies(leaf, by: authority, ["-verify_hostname", "other.example"]))
    }
  }

  @Test(arguments: ["other.example", "example", "xapi.example", "192.0.2.1", "127.0.0.2", "::2"])
  func certificateOfAnotherHostIsRefused(host: String) throws {
    for hosts in [["api.example", "127.0.0.1"], ["api.example"], ["127.0.0.1"], ["::1"]] {
      let authority = try #require(RunAuthority(hosts: hosts))
      #expect(authority.leaf(for: host, now: 0) == nil)
      #expect(try !verifies(#require(authority.makeLeaf(for: host)), by: authority), "\(hosts)")
    }
  }

  @Test func authorityOfAnotherRunIsNoAuthority() throws {
    let authority = try #require(RunAuthority(hosts: ["api.example"]))
    let other = try #require(RunAuthority(hosts: ["api.example"]))
    #expect(try !verifies(#require(other.leaf(for: "api.example", now: 0)), by: authority))
  }

  @Test func hostThatIsNoneMakesNoAuthority() {
    for host in ["", "a b", "a,DNS:b", "a/b", "*.example"] { #expect(RunAuthority(hosts: [host]) == nil, "\(host)") }
    #expect(RunAuthority(hosts: []) == nil)
  }

  @Test func certificateIsKeptAndMadeAnewInTime() throws {
    let authority = try #require(RunAuthority(hosts: ["api.example"]))
    let first = try #require(authority.leaf(for: "api.example", now: 0))
    #expect(authority.leaf(for: "api.example", now: 3600) === first)
    #expect(authority.leaf(for: "api.example", now: 86_400) !== first)
  }
}
