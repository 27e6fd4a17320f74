import AgentModel
import AgentPorts
import CConfinement
import Testing

import SystemAdapters

/// Which rules the kernel gets; the running agent is attacked in Tests/Programs/Integration/test_confinement.py.
@Suite struct ConfinementTests {
  private let access = FileAccess(readable: ["/etc"], devices: ["/dev/null"], owned: ["/state"])

  private func rights(_ path: String, version: Int32) throws -> UInt64 {
    try #require(FileRules(access, version: version)?.rules.first { $0.path == path }).rights
  }

  @Test func kernelWithoutLandlock_hasNoRules() {
    #expect(FileRules(access, version: 0) == nil)
  }

  @Test func newestKernel_refusesEveryRightThatNoRuleGrants() throws {
    let rules = try #require(FileRules(access, version: 7))
    #expect(rules.handled == (1 << 16) - 1)
    #expect(rules.scoped == UInt64(LANYARD_SCOPE_SIGNAL))
    for rule in rules.rules { #expect(rule.rights & UInt64(LANYARD_FILE_EXECUTE) == 0, "\(rule.path)") }
  }

  @Test(
    arguments: [
      (1, (1 << 13) - 1), (2, (1 << 14) - 1), (3, (1 << 15) - 1), (4, (1 << 15) - 1), (5, (1 << 16) - 1),
    ] as [(Int32, UInt64)])
  func olderKernel_isAskedForRightsThatItKnows(_ version: Int32, _ handled: UInt64) throws {
    let rules = try #require(FileRules(access, version: version))
    #expect(rules.handled == handled)
    #expect(rules.scoped == 0)
    for rule in rules.rules { #expect(rule.rights & ~handled == 0) }
  }

  @Test(arguments: [(1, 0), (3, 0), (4, 3), (7, 3)] as [(Int32, UInt64)])
  func programWithoutNetwork_isRefusedTCP(_ version: Int32, _ refused: UInt64) throws {
    let local = FileAccess(readable: ["/proc"], usesNetwork: false)
    #expect(try #require(FileRules(local, version: version)).network == refused)
    #expect(try #require(FileRules(access, version: version)).network == 0)
    #expect(try #require(FileRules(local.union(access), version: version)).network == 0)
  }

  @Test func filesOfTheSystem_areReadOnly() throws {
    #expect(try rights("/etc", version: 7) == UInt64(LANYARD_FILE_READ) | UInt64(LANYARD_FILE_LIST))
  }

  @Test func devices_areWrittenButNothingIsMadeThere() throws {
    let rights = try rights("/dev/null", version: 7)
    #expect(rights & UInt64(LANYARD_FILE_WRITE) != 0)
    #expect(rights & UInt64(LANYARD_FILE_MAKE) == 0)
  }

  @Test func ownDirectories_takeFilesButNoDevicesAndNoLinks() throws {
    let rights = try rights("/state", version: 7)
    for right in [LANYARD_FILE_WRITE, LANYARD_FILE_MAKE, LANYARD_FILE_REMOVE, LANYARD_FILE_TRUNCATE] {
      #expect(rights & UInt64(right) != 0)
    }
    for right in [LANYARD_FILE_MAKE_SYMLINK, LANYARD_FILE_MAKE_BLOCK_DEVICE, LANYARD_FILE_DEVICE_CONTROL] {
      #expect(rights & UInt64(right) == 0)
    }
  }

  @Test func rulesForTheSystem_nameNoDirectoryOfAPerson() {
    let paths = FileAccess.system.readable + FileAccess.system.devices
    for path in paths { #expect(!["/", "/home", "/root", "/tmp", "/var", "/run", "/dev"].contains(path)) }
    #expect(FileAccess.system.owned.isEmpty)
  }
}

/// What the broker refuses to an agent that an attacker controls.
@Suite struct BrokerTests {
  @Test func pageOfTheAgent_isOpened() {
    #expect(BrowserProgram.isForwardingPage("http://127.0.0.1:40001/0abcz19"))
  }

  private static let otherAddresses = [
    "https://example.com/", "file:///etc/passwd", "--help", "", "http://127.0.0.1/", "http://127.0.0.1:80",
    "http://127.0.0.1:80/", "http://127.0.0.1:0/a", "http://127.0.0.1:65536/a", "http://127.0.0.1:080/a",
    "http://127.0.0.1:80/a/b", "http://127.0.0.1:80/a?b", "http://127.0.0.1:80/../a",
    "http://127.0.0.1:80@example.com/a",
    "http://127.0.0.1:80/a b", "http://127.0.0.1:80/a\nb",
  ]

  @Test(arguments: otherAddresses)
  func otherAddress_isNotOpened(_ url: String) {
    #expect(!BrowserProgram.isForwardingPage(url))
  }

  private func kept(_ pem: String) -> String {
    String(decoding: PEMCertificates.blocks(in: Array(pem.utf8)), as: UTF8.self)
  }

  @Test func authorities_areHandedOverWithoutTheKeyBesideThem() {
    let certificate = "-----BEGIN CERTIFICATE-----\nMIIB\nAAAA\n-----END CERTIFICATE-----\n"
    let trusted = "-----BEGIN TRUSTED CERTIFICATE-----\nMIIC\n-----END TRUSTED CERTIFICATE-----\n"
    let key = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n"
    #expect(kept("a comment\n" + key + certificate + key + trusted) == certificate + trusted)
    #expect(kept(certificate.split(separator: "\n").joined(separator: "\r\n") + "\r\n") == certificate)
    #expect(kept(key) == "")
  }

  @Test(arguments: ["", "root:x:0:0\n", "-----BEGIN CERTIFICATE-----\nsecret text without an end\n"])
  func fileWithoutACertificate_isNotHandedOver(_ text: String) {
    #expect(kept(text) == "")
  }
}
