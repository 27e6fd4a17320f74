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
    clockOffsetMs = value["serverTimeOffsetMs"]?.integer
  }
}
