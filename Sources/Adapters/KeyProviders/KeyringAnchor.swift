public import AgentPorts
internal import CPlatform
internal import Glibc

/// An anchor in the kernel's user keyring: lasts until the machine restarts, and no copy of files brings it back.
public struct KeyringAnchor: RollbackAnchor {
  private let prefix: String

  /// - Parameter prefix: begins the key's name; the database's id ends it.
  public init(prefix: String = "lanyard:") { self.prefix = prefix }

  public func sequence(databaseID: [UInt8]) throws(KeySourceFailure) -> UInt64? {
    var bytes = [UInt8](repeating: 0, count: 8)
    let count = lanyard_keyring_read(name(databaseID), &bytes, bytes.count)
    switch -count {
    case Int(ENOKEY), Int(EKEYEXPIRED), Int(EKEYREVOKED): return nil
    case 1...: throw .unavailable
    default: break
    }
    guard count == 8 else { throw .damaged }
    return bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  public func advance(databaseID: [UInt8], to sequence: UInt64) throws(KeySourceFailure) {
    do throws(KeySourceFailure) {
      if let known = try self.sequence(databaseID: databaseID), known >= sequence { return }
    } catch .damaged {
      // A new one is better than none.
    }
    let result = withUnsafeBytes(of: sequence.littleEndian) { bytes in
      lanyard_keyring_write(name(databaseID), bytes.baseAddress, bytes.count)
    }
    guard result == 0 else { throw .unavailable }
  }

  private func name(_ databaseID: [UInt8]) -> String { prefix + hexadecimal(databaseID) }
}
