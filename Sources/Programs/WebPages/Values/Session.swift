internal import AgentModel

/// An account's session as `session.get` gives it.
struct Session: Sendable {
  let since: Timestamp?
  let tokenEndsAt: Timestamp?
  let sessionEndsAt: Timestamp?
  let offlineUntil: Timestamp?
  let lastConfirmedAt: Timestamp?
  let phase: String
  let lastError: (name: String, reason: String?, at: Timestamp?)?
  let nextAttemptAt: Timestamp?
  let isClockSuspect: Bool
  /// The provider has told its time since the boot.
  let isTimeTold: Bool
  /// The provider's time minus this machine's; while it has told none, that of the time which was known before.
  let clockOffsetMs: Int64?

  init?(_ value: JSONValue?) {
    guard let value, value["state"] != nil else { return nil }
    since = value["since"]?.moment
    tokenEndsAt = value["accessTokenExpiresAt"]?.moment
    sessionEndsAt = value["refreshTokenExpiresAt"]?.moment
    offlineUntil = value["offlineGraceUntil"]?.moment
    lastConfirmedAt = value["lastOnlineAuthAt"]?.moment
    let refresh = value["refresh"]
    phase = refresh?["phase"]?.string ?? "idle"
    nextAttemptAt = refresh?["nextAttemptAt"]?.moment
    lastError = refresh?["lastError"].flatMap { error in
      error["name"]?.string.map { ($0, error["reason"]?.string, error["at"]?.moment) }
    }
    isClockSuspect = value["clock"]?.string == "suspect"
    let told = value["serverTimeOffsetMs"]?.integer
    isTimeTold = told != nil
    clockOffsetMs = told ?? value["clockBehindSeconds"]?.integer.map { $0 * 1000 }
  }
}
