public import AgentModel
public import AgentPorts

/// What happens to a request on its way, beside what the provider itself was told to do.
public enum Incident: Sendable {
  /// The connection is never made: nothing leaves the machine.
  case notConnected(HTTPOutcome.ConnectFailure)
  /// TLS refuses the server.
  case untrusted
  /// The request left and never arrived.
  case lostRequest(HTTPOutcome.LostResponse)
  /// The provider did what it was asked; the answer is lost.
  case lostAnswer(HTTPOutcome.LostResponse)
  /// The way there takes this much longer.
  case delay(Milliseconds)
  /// Held up before it arrives.
  case heldBefore(Gate)
  /// The provider has done what it was asked; the answer is held up.
  case heldAfter(Gate)
  /// Somebody else answers: a captive portal, a proxy.
  case intercepted(status: Int, fields: [(name: String, value: String)], body: String)
}
