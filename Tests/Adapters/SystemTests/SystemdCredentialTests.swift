import AgentPorts
import Foundation
import KeyProviders
import Secrets
import Testing

@Suite struct SystemdCredentialTests {
  let directory = TemporaryDirectory()
  var credential: SystemdCredential { SystemdCredential(directory: directory.path) }

  private func hand(_ bytes: [UInt8], mode: mode_t = 0o400) {
    unlink(directory.path(SystemdCredential.name))
    directory.write(bytes, to: SystemdCredential.name, mode: mode)
  }

  @Test func credentialOf32Bytes_isTheKey() throws {
    let bytes = (0..<32).map { UInt8($0) }
    hand(bytes)
    #expect(credential.protection == "systemdCredential")
    #expect(try #require(try credential.key()).secret.withBytes { Array($0) } == bytes)
  }

  @Test func longerCredential_isHashedToAKeyByEveryByte() throws {
    let words = Array("correct horse battery staple, and a few words more\n".utf8)
    hand(words)
    let key = try #require(try credential.key())
    #expect(key.secret.count == 32)
    #expect(try #require(try credential.key()).secret.equals(key.secret))
    for other in [words.dropLast() + [], words + [0], Array(words.reversed()), Array(words.prefix(33))] {
      hand(other)
      #expect(try !#require(try credential.key()).secret.equals(key.secret))
    }
    hand([UInt8](repeating: 7, count: 64 << 10))
    #expect(try credential.key() != nil)
  }

  @Test(arguments: [0, 1, 16, 31, (64 << 10) + 1, 1 << 20])
  func credentialOfBadLength_isDamaged(count: Int) {
    hand([UInt8](repeating: 7, count: count))
    #expect(throws: KeySourceFailure.damaged) { try credential.key() }
  }

  @Test func missingCredential_hasNoKeyAndCreatesNone() throws {
    for path in [nil, "", "relative", directory.path("missing"), directory.path] {
      #expect(try SystemdCredential(directory: path).key() == nil)
      #expect(throws: KeySourceFailure.unavailable) { try SystemdCredential(directory: path).createKey() }
    }
    #expect(directory.names.isEmpty)
    hand([UInt8](repeating: 7, count: 32))
    try credential.removeKey()
    #expect(directory.names == [SystemdCredential.name])
  }

  @Test(arguments: [0o404, 0o460, 0o444, 0o500, 0o620, 0o604, 0o4400] as [mode_t])
  func credentialOpenToOthers_isRefused(mode: mode_t) {
    hand([UInt8](repeating: 7, count: 32), mode: mode)
    #expect(throws: KeySourceFailure.unsafePermissions) { try credential.key() }
  }

  @Test func credentialThatIsNoPlainFile_isRefused() {
    hand([UInt8](repeating: 7, count: 32))
    rename(directory.path(SystemdCredential.name), directory.path("real"))
    symlink("real", directory.path(SystemdCredential.name))
    #expect(throws: KeySourceFailure.unsafePermissions) { try credential.key() }
    unlink(directory.path(SystemdCredential.name))
    mkfifo(directory.path(SystemdCredential.name), 0o400)
    #expect(throws: KeySourceFailure.unsafePermissions) { try credential.key() }
    unlink(directory.path(SystemdCredential.name))
    mkdir(directory.path(SystemdCredential.name), 0o400)
    #expect(throws: KeySourceFailure.unsafePermissions) { try credential.key() }
    rmdir(directory.path(SystemdCredential.name))
  }

  @Test(.enabled(if: geteuid() == 0, "giving a file away takes root"))
  func credentialOwnedByRoot_isAcceptedAndByAnotherUserRefused() throws {
    hand([UInt8](repeating: 7, count: 32), mode: 0o440)
    chown(directory.path(SystemdCredential.name), 0, 0)
    #expect(try credential.key() != nil)
    chown(directory.path(SystemdCredential.name), 0, 12_345)
    #expect(throws: KeySourceFailure.unsafePermissions) { try credential.key() }
    chown(directory.path(SystemdCredential.name), 12_345, 0)
    #expect(throws: KeySourceFailure.unsafePermissions) { try credential.key() }
  }
}
