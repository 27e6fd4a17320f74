/// Why a bus, or who was asked on it, gave no answer.
public enum BusFailure: Error, Sendable, Equatable {
  /// There is no address of a bus, no library to speak to one, or nobody behind the address: an errno value.
  case unreachable(Int32)
  /// No answer in time. What was asked may be done all the same.
  case timedOut
  /// The other side, or the bus in its place, answered with an error of this name.
  case refused(name: String)
  /// The answer is not what the interface says.
  case malformed

  /// Nobody on this bus has the name that was asked, and nobody can be started for it.
  public var isNobody: Bool {
    guard case .refused(let name) = self else { return false }
    return [
      "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
    ].contains(name) || name.hasPrefix("org.freedesktop.DBus.Error.Spawn.")
  }
}
