internal import AgentModel
internal import AgentPorts
internal import DBus

extension KeySourceFailure {
  /// Translates a failed call to the Secret Service.
  init(_ failure: BusFailure) {
    switch failure {
    case .noLibrary: self = .missingLibrary(.systemd)
    case .refused("org.freedesktop.Secret.Error.IsLocked"): self = .locked
    // A malformed reply counts as no reply: it says nothing about the item.
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
