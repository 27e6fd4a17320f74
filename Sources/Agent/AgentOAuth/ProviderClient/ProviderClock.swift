package import AgentModel

/// A provider's time, as far as its answers told it.
package protocol ProviderClock: Sendable {
  /// The time at this provider; the wall clock while it never told its time.
  func calendarTime(of provider: ProviderName) -> Timestamp
  /// An answer of the provider came, with this `Date` (RFC 9110 §6.6.1). Without one that can be read it tells nothing.
  func answered(by provider: ProviderName, date: String?, sentAt: BootInstant, receivedAt: BootInstant)
}
