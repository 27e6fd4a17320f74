/// For whom a request is decided about.
package struct RequestCaller: Sendable {
  /// An AI agent's requests only read where no capability names them.
  package var isForAgent = false
  /// The scopes that count; nil for all.
  package var scopes: Set<String>?
  /// The narrowest grant and the name of its client; nil for a caller without a grant.
  package var grant: String?
  package var client: String?
  /// The methods that a person added for an AI agent, by origin, when the request began; nil: not known, so that those of
  /// the grant alone count.
  package var addedMethods: [String: Set<String>]?

  package init(isForAgent: Bool = false, scopes: Set<String>? = nil, grant: String? = nil, client: String? = nil) {
    self.isForAgent = isForAgent
    self.scopes = scopes
    self.grant = grant
    self.client = client
  }

  static let owner = RequestCaller()
}
