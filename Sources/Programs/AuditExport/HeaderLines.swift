internal import AgentModel

/// A file of header fields: `Name: value` in each line. Empty lines and lines that begin with `#` are left out.
public enum HeaderLines {
  /// The most fields of a file.
  static let most = 32

  /// A line that is no field, counted from 1.
  public struct Problem: Error, Hashable, Sendable {
    public var line: Int

    public init(line: Int) { self.line = line }
  }

  /// Hands each field to `take`: its name, and where its value stands in the bytes, which are a secret.
  public static func read(_ bytes: UnsafeRawBufferPointer, _ take: (String, UnsafeRawBufferPointer) -> Void)
    throws(Problem)
  {
    var (count, number) = (0, 0)
    var rest = bytes[...]
    while !rest.isEmpty {
      number += 1
      let end = rest.firstIndex(of: 0x0A) ?? rest.endIndex
      let line = trimmed(rest[..<end])
      rest = rest[min(end + 1, rest.endIndex)...]
      guard let first = line.first, first != UInt8(ascii: "#") else { continue }
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")), count < most else { throw Problem(line: number) }
      let name = line[..<colon]
      let value = trimmed(line[(colon + 1)...])
      guard !name.isEmpty, name.allSatisfy(FieldSyntax.isToken), !value.isEmpty,
        value.allSatisfy(FieldSyntax.isValue)
      else { throw Problem(line: number) }
      count += 1
      take(String(decoding: name, as: UTF8.self), UnsafeRawBufferPointer(rebasing: value))
    }
  }

  private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
    guard let first = bytes.firstIndex(where: { !isBlank($0) }), let last = bytes.lastIndex(where: { !isBlank($0) })
    else { return bytes[bytes.endIndex...] }
    return bytes[first...last]
  }
}
