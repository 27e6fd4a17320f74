internal import AgentModel

/// Collects the head of a request from bytes that come in any pieces. Pure: the caller owns the connection.
public struct HeadReader: Sendable {
  public enum Progress: Sendable {
    case needsMore
    /// `rest`: the bytes behind the head.
    case head(RequestHead, rest: [UInt8])
    case refused(Refusal)
  }

  /// The largest head: as much as servers take at most, with tokens of the program's own in it.
  public static let mostBytes = 64 << 10

  private var bytes: [UInt8] = []
  private var searched = 0
  private var hasBareLF = false

  public init() {}

  /// False until the first byte of a request has come.
  public var hasBegun: Bool { !bytes.isEmpty }

  public mutating func receive(_ more: UnsafeRawBufferPointer) -> Progress {
    bytes += more
    guard let end = endOfHead() else {
      // A line that ends in a bare LF, or another protocol, would be waited for until the time is over.
      if let refusal = earlyRefusal { return .refused(refusal) }
      return bytes.count > Self.mostBytes ? .refused(Self.tooLarge) : .needsMore
    }
    guard end <= Self.mostBytes else { return .refused(Self.tooLarge) }
    do throws(Refusal) {
      return .head(try RequestHead(bytes[..<end]), rest: Array(bytes[end...]))
    } catch {
      return .refused(error)
    }
  }

  private static let tooLarge = Refusal.malformed("The head of the request has more than 64 KiB.", status: 431)

  private var earlyRefusal: Refusal? {
    if bytes.first == 0x16 {
      return .malformed("This proxy speaks plain HTTP: its address begins with http, also in https_proxy.")
    }
    guard bytes.first.map(FieldSyntax.isToken) ?? true else { return .malformed("The request line is malformed.") }
    return hasBareLF ? .malformed("A line of the head ends in a bare LF.") : nil
  }

  /// The index after CR LF CR LF; each search continues where the last one ended.
  private mutating func endOfHead() -> Int? {
    for index in searched..<bytes.count where bytes[index] == 0x0A {
      guard index > 0, bytes[index - 1] == 0x0D else {
        hasBareLF = true
        return nil
      }
      if index >= 3, bytes[index - 2] == 0x0A, bytes[index - 3] == 0x0D { return index + 1 }
    }
    searched = bytes.count
    return nil
  }
}
