public import AgentPorts
internal import CPlatform
internal import Glibc

/// A rollback anchor in the kernel's user keyring: it lasts until the machine restarts, and no copy of files restores
/// it.
public struct KeyringAnchor: RollbackAnchor {
  private let prefix: String

  /// - Parameter prefix: of the key's description; the database's id follows it.
  public init(prefix: String = "lanyard:") { self.prefix = prefix }

  public var outlastsRestarts: Bool { false }

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

  @discardableResult
  public func advance(databaseID: [UInt8], to sequence: UInt64) throws(KeySourceFailure) -> Bool {
    do throws(KeySourceFailure) {
      if let known = try self.sequence(databaseID: databaseID), known >= sequence { return false }
    } catch .damaged {
      // A damaged anchor is replaced.
    }
    let result = withUnsafeBytes(of: sequence.littleEndian) { bytes in
      lanyard_keyring_write(name(databaseID), bytes.baseAddress, bytes.count)
    }
    guard result == 0 else { throw .unavailable }
    return true
  }

  public func rootPrints(databaseID: [UInt8]) throws(KeySourceFailure) -> [RootPrint] {
    var bytes = [UInt8](repeating: 0, count: RootPrints.longest)
    let count = lanyard_keyring_read(rootsName(databaseID), &bytes, bytes.count)
    switch -count {
    case Int(ENOKEY), Int(EKEYEXPIRED), Int(EKEYREVOKED): return []
    case 1...: throw .unavailable
    default: break
    }
    guard count <= bytes.count, let prints = RootPrints.read(String(decoding: bytes[..<count], as: UTF8.self)) else {
      throw .damaged
    }
    return prints
  }

  public func record(_ prints: [RootPrint], databaseID: [UInt8]) throws(KeySourceFailure) {
    do throws(KeySourceFailure) {
      if try rootPrints(databaseID: databaseID) == prints { return }
    } catch .damaged {
      // Damaged prints are replaced.
    }
    let text = Array(RootPrints.text(prints).utf8)
    guard lanyard_keyring_write(rootsName(databaseID), text, text.count) == 0 else { throw .unavailable }
  }

  private func name(_ databaseID: [UInt8]) -> String { prefix + hexadecimal(databaseID) }

  private func rootsName(_ databaseID: [UInt8]) -> String { name(databaseID) + ":root" }
}
