internal import AgentModel
public import AgentPorts
public import Secrets

/// The secret of a grant: 32 random bytes as base64url, so that it fits a line, a file and a variable.
public enum GrantSecret {
  private static let byteCount = 32

  /// A new one. What it was made of is wiped.
  public static func make(_ entropy: any Entropy) -> Secret {
    var random = entropy.bytes(byteCount)
    return random.withUnsafeMutableBytes { random in
      defer { wipe(random) }
      return Secret(
        SecretBytes(capacity: byteCount * 4 / 3 + 2) { target in
          Base64URL.encode(UnsafeRawBufferPointer(random), into: target)
        })
    }
  }
}
