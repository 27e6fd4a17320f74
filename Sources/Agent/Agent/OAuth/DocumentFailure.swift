internal import AgentModel
internal import AgentPorts

/// Why a document of the provider could not be read.
package enum DocumentFailure: Error, Sendable {
  case offline, untrusted, unavailable(status: Int), malformed

  /// Another try may find the document. Status 0: the answer was lost.
  var isTemporary: Bool {
    switch self {
    case .offline: true
    case .unavailable(let status): status == 0 || status == 429 || status >= 500
    case .untrusted, .malformed: false
    }
  }

  /// There is no document that discovery could read.
  var isNoDocument: Bool {
    switch self {
    case .unavailable: !isTemporary
    case .malformed: true
    case .offline, .untrusted: false
    }
  }

  /// Whether the provider offers registration is not known.
  package var leavesRegistrationUnknown: Bool {
    if case .offline = self { true } else { isNoDocument }
  }
}

extension ProviderClient {
  /// Discovery, or the failure that a person is told.
  func discoverOrExplain() async throws(AgentFailure) -> ServerMetadata {
    do throws(DocumentFailure) {
      return try await discover()
    } catch {
      throw .provider(.document(error))
    }
  }
}
