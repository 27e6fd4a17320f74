import AgentPorts
import Foundation
import KeyProviders
import Secrets
import Testing

@Suite struct KeyFileTests {
  let directory = TemporaryDirectory()
  var file: KeyFile { KeyFile(path: directory.path("key")) }

  @Test func missingKeyFile_hasNoKey() throws {
    #expect(try file.key() == nil)
    #expect(file.protection == "keyFile")
  }

  @Test func keyFile_returnsTheKeyItCreated() throws {
    let key = try file.createKey()
    let again = try #require(try file.key())
    #expect(key.secret.equals(again.secret))
    #expect(directory.mode("key") == 0o600)
    #expect(directory.names == ["key"])
    #expect(directory.bytes(of: "key").count == 48)
  }

  @Test func existingKeyFile_isNeverReplaced() throws {
    let key = try file.createKey()
    #expect(throws: KeySourceFailure.unavailable) { try file.createKey() }
    #expect(try #require(try file.key()).secret.equals(key.secret))
    #expect(directory.names == ["key"])
  }

  @Test func temporaryFileOfACrash_doesNotPreventCreating() throws {
    directory.write([1, 2, 3], to: "key.new")
    _ = try file.createKey()
    #expect(try file.key() != nil)
    #expect(directory.names == ["key"])
  }

  @Test(arguments: [0o640, 0o604, 0o660, 0o610, 0o700, 0o777] as [mode_t])
  func keyFileOpenToOthers_isRefused(mode: mode_t) throws {
    _ = try file.createKey()
    chmod(directory.path("key"), mode)
    #expect(throws: KeySourceFailure.unsafePermissions) { try file.key() }
  }

  @Test func readOnlyKeyFile_isAccepted() throws {
    _ = try file.createKey()
    chmod(directory.path("key"), 0o400)
    #expect(try file.key() != nil)
  }

  @Test func symlinkedKeyFile_isRefused() throws {
    _ = try KeyFile(path: directory.path("real")).createKey()
    symlink("real", directory.path("key"))
    #expect(throws: KeySourceFailure.unsafePermissions) { try file.key() }
    #expect(throws: KeySourceFailure.unavailable) { try file.createKey() }
    #expect(directory.names == ["key", "real"])
  }

  @Test func directoryOrPipeInPlaceOfTheKeyFile_isRefused() throws {
    mkdir(directory.path("key"), 0o700)
    #expect(throws: KeySourceFailure.unsafePermissions) { try file.key() }
    rmdir(directory.path("key"))
    mkfifo(directory.path("key"), 0o600)
    #expect(throws: KeySourceFailure.unsafePermissions) { try file.key() }
  }

  @Test(.enabled(if: geteuid() == 0, "giving a file away takes root"))
  func keyFileOfAnotherUser_isRefused() throws {
    _ = try file.createKey()
    chown(directory.path("key"), 12_345, 12_345)
    #expect(throws: KeySourceFailure.unsafePermissions) { try file.key() }
  }

  @Test func damagedKeyFile_isReported() throws {
    _ = try file.createKey()
    let bytes = directory.bytes(of: "key")
    var damaged: [[UInt8]] = [[], Array(bytes.dropLast()), bytes + [0], bytes + bytes]
    for index in bytes.indices {
      var changed = bytes
      changed[index] ^= 1
      damaged.append(changed)
    }
    for content in damaged {
      directory.write(content, to: "key")
      #expect(throws: KeySourceFailure.damaged) { try file.key() }
    }
    directory.write(bytes, to: "key")
    #expect(try file.key() != nil)
  }

  @Test func missingDirectoryOfTheKeyFile_failsToCreate() throws {
    let lost = KeyFile(path: directory.path("missing/key"))
    #expect(try lost.key() == nil)
    #expect(throws: KeySourceFailure.unavailable) { try lost.createKey() }
  }
}
