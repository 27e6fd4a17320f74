/// Why a call on a message bus failed.
public enum BusFailure: Error, Sendable, Equatable {
  /// libsystemd is missing.
  case noLibrary
  /// No bus address, or no process listens at the address: an errno value.
  case unreachable(Int32)
  /// No reply in time. The service may have done what it was asked all the same.
  case timedOut
  /// The service, or the bus in its place, replied with an error of this name.
  case refused(name: String)
  /// The reply does not have the types that the interface declares.
  case malformed

  /// No service owns the name that was called, and the bus cannot start one.
  public var hasNoOwner: Bool {
    guard case .refused(let name) = self else { return false }
    return [
      "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
    ].contains(name) || name.hasPrefix("org.freedesktop.DBus.Error.Spawn.")
  }
}
