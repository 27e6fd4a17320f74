internal import AgentModel

/// The names of what the bridge makes for a resource.
public enum ProviderNaming {
  /// The provider's name: `mcp-`, the host, and eight characters that tell resources of a host apart. The same for every
  /// bridge, so that all of them find one provider.
  public static func name(issuer: String, resource: String, host: String) -> String {
    let ending = "-" + digest(issuer + "\n" + resource)
    let plain = String(
      decoding: host.lowercased().utf8.map { isPlain($0) ? $0 : UInt8(ascii: "-") }, as: UTF8.self)
    return "mcp-" + plain.prefix(64 - 4 - ending.utf8.count) + ending
  }

  /// The name of the file by which bridges of a server agree on a sign-in.
  public static func fileName(server: String) -> String { "mcp-" + digest(server) + ".sign-in" }

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte &- 0x30 < 10 || byte &- 0x61 < 26 || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
  }

  /// Forty bits of FNV-1a. It only keeps names apart: before a provider is used, its issuer and its resource are
  /// compared.
  private static func digest(_ text: String) -> String {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    hash ^= hash >> 40
    return Base32.encode((0..<5).map { UInt8(truncatingIfNeeded: hash >> (8 * $0)) })
  }
}
