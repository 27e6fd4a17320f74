internal import AgentModel
package import AgentPorts
package import Secrets

extension Secret {
  /// Random bytes as base64url, which is never an ordinary string. What it was made of is wiped.
  package static func randomText(byteCount: Int, _ entropy: any Entropy) -> Secret {
    var random = entropy.bytes(byteCount)
    return random.withUnsafeMutableBytes { random in
      defer { wipe(random) }
      return base64URL(UnsafeRawBufferPointer(random))
    }
  }

  /// base64url in guarded memory.
  static func base64URL(_ bytes: UnsafeRawBufferPointer) -> Secret {
    Secret(SecretBytes(capacity: bytes.count * 4 / 3 + 2) { target in Base64URL.encode(bytes, into: target) })
  }
}
