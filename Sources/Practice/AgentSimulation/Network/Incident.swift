public import AgentModel
public import AgentPorts

/// A network fault for one request, besides the faults of the provider itself.
public enum Incident: Sendable {
  /// The connection fails: nothing leaves the machine.
  case notConnected(ConnectFailure)
  /// The TLS handshake fails.
  case untrusted(TrustFailure)
  /// The request left the machine and never arrived.
  case lostRequest(HTTPOutcome.LostResponse)
  /// The provider processed the request; the response is lost.
  case lostAnswer(HTTPOutcome.LostResponse)
  /// The provider processed the request; that many bytes of the response's body arrive.
  case cutAnswer(HTTPOutcome.LostResponse, arriving: @Sendable (_ body: String) -> Int)
  /// The request arrives this much later.
  case delay(Milliseconds)
  /// The connection is made only when the gate opens: nothing has left the machine.
  case heldWhileConnecting(Gate)
  /// The request waits at the gate before it arrives.
  case heldBefore(Gate)
  /// The provider has processed the request; the response waits at the gate.
  case heldAfter(Gate)
  /// Another server answers: a captive portal, a proxy.
  case intercepted(status: Int, fields: [(name: String, value: String)], body: String)
}
