public import AgentModel

/// Bounds the entries that one client adds to the audit log, so that no client fills a ring or the disk alone.
///
/// A client is known by its grants; one without a grant is trusted and known by the name that it gives itself.
public struct AuditQuota: Sendable {
  /// Entries an hour, and at once after an hour without any.
  public struct Limits: Hashable, Sendable {
    /// New entries of decisions; repeats are counted in their entry and cost nothing. The ring of decisions lasts a
    /// single client for 20 hours at least.
    public var decisions: Int64 = 5_000
    /// Far above a person's work and a script's.
    public var security: Int64 = 2_000

    public init() {}

    func pause(_ ring: AuditRing) -> Milliseconds {
      Milliseconds(AuditQuota.hour.count / (ring == .security ? security : decisions))
    }
  }

  private struct Account: Hashable {
    var ring: AuditRing
    var client: String
  }

  /// Bounds the memory. Further clients share one quota.
  public static let mostClients = 1_024
  static let hour = Milliseconds.seconds(3_600)

  private let limits: Limits
  /// When each quota is whole again.
  private var whole: [Account: BootInstant] = [:]

  public init(_ limits: Limits = Limits()) { self.limits = limits }

  /// Takes `count` entries from the quota of each of `clients`: a grant pays with those that it was made under. Returns
  /// nil, or the time after which they fit, and then takes nothing.
  public mutating func take(
    _ count: Int64, of ring: AuditRing, by clients: Set<String>, at now: BootInstant
  ) -> Milliseconds? {
    guard count > 0 else { return nil }
    if whole.count >= Self.mostClients { whole = whole.filter { $0.value > now } }
    let cost = limits.pause(ring) * count
    var new: [Account: BootInstant] = [:]
    for client in clients {
      var account = Account(ring: ring, client: client)
      if whole[account] == nil, whole.count + new.count >= Self.mostClients { account.client = "" }
      let end = max(whole[account] ?? now, now) + cost
      let wait = end - now - Self.hour
      guard wait <= .zero else { return wait }
      new[account] = end
    }
    whole.merge(new) { $1 }
    return nil
  }
}
