internal import AgentOAuth
public import AgentPorts
public import Secrets

/// The secret of a grant: 32 random bytes as base64url, so that it fits a line, a file and a variable.
public enum GrantSecret {
  private static let byteCount = 32

  /// A new one. What it was made of is wiped.
  public static func make(_ entropy: any Entropy) -> Secret { .randomText(byteCount: byteCount, entropy) }
}
