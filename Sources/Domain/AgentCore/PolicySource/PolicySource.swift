public import AgentModel

/// Where an organisation's signed policies come from: `policySource` of the configuration file
/// (docs/policy-bundles.md).
public struct PolicySource: Hashable, Sendable {
  /// The bundle's URL; its signature is beside it.
  public var url: HTTPURL
  public var publicKey: MinisignKey
  /// From one fetch to the next.
  public var interval: Milliseconds
  /// Since the last confirmation; decisions under an older bundle are `policyError`.
  public var maxAge: Milliseconds

  /// Short enough that a policy is everywhere within an hour.
  public static let defaultInterval = Milliseconds.seconds(3_600)
  /// A week without the server is no reason to stop work; a month may be.
  public static let defaultMaxAge = Milliseconds.seconds(7 * 86_400)
  /// Ten years, as in a policy.
  public static let longestSeconds: Int64 = 315_576_000

  public init(
    url: HTTPURL, publicKey: MinisignKey, interval: Milliseconds = defaultInterval,
    maxAge: Milliseconds = defaultMaxAge
  ) {
    self.url = url
    self.publicKey = publicKey
    self.interval = interval
    self.maxAge = maxAge
  }

  /// Of the file that `minisign` writes beside the one that it signs.
  public var signatureURL: String { url.text + ".minisig" }

  /// Nil for a URL that is not https, but for http on loopback, or has a query: `.minisig` would follow that.
  public static func url(_ text: String) -> HTTPURL? {
    guard text.utf8.count <= 2048, let url = HTTPURL(text), url.query == nil, url.path != "/",
      url.scheme == .https || url.isLoopback
    else { return nil }
    return url
  }
}
