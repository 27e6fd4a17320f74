internal import AgentPorts
internal import DBus

extension KeySourceFailure {
  /// What a failed call to the Secret Service means for whoever wants a key.
  init(_ failure: BusFailure) {
    switch failure {
    case .refused("org.freedesktop.Secret.Error.IsLocked"): self = .locked
    // A service that says nonsense is no better than none: nothing is concluded of the item from it.
    case .unreachable, .timedOut, .refused, .malformed: self = .unavailable
    }
  }
}

func onService<Result>(_ body: () throws(BusFailure) -> Result) throws(KeySourceFailure) -> Result {
  do {
    return try body()
  } catch {
    throw KeySourceFailure(error)
  }
}
