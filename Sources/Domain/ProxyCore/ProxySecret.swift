/// The secret by which a program of the sandbox tells itself to the proxy (RFC 7617): 256 random bits, in the URL that the program
/// finds in `https_proxy`.
public struct ProxySecret: Sendable {
  public static let user = "lanyard"
  public static let byteCount = 32

  /// The secret in the alphabet of RFC 4648 section 5, which needs no escape in a URL.
  public let text: String
  private let credentials: [UInt8]

  /// - Parameter random: `byteCount` random bytes.
  public init(random: [UInt8]) {
    text = Self.base64(random, "-_", pads: false)
    credentials = Array(Self.base64(Array("\(Self.user):\(text)".utf8), "+/", pads: true).utf8)
  }

  /// True if the field is `Basic` with this secret. The time it takes does not tell how much of it is right.
  public func isProved(by authorization: String?) -> Bool {
    guard let authorization else { return false }
    let words = authorization.utf8.split(separator: 0x20)
    guard words.count == 2, String(decoding: Array(words[0]), as: UTF8.self).lowercased() == "basic" else {
      return false
    }
    let given = Array(words[1])
    guard given.count == credentials.count else { return false }
    var difference: UInt8 = 0
    for (one, other) in zip(given, credentials) { difference |= one ^ other }
    return difference == 0
  }

  private static func base64(_ bytes: [UInt8], _ last: String, pads: Bool) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8) + Array(last.utf8)
    var text: [UInt8] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      let group = Array(rest.prefix(3))
      rest = rest.dropFirst(3)
      let bits = group.reduce(0) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - group.count))
      for place in 0...group.count { text.append(alphabet[Int(bits >> (18 - 6 * UInt32(place)) & 63)]) }
      if pads { text += [UInt8](repeating: UInt8(ascii: "="), count: 3 - group.count) }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
