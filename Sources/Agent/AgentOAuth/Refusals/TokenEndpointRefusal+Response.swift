package import AgentCore
package import AgentModel
package import AgentPorts
internal import JSONRPC
internal import SecretJSON
internal import Secrets

extension TokenEndpointRefusal {
  private static let longestClaims = 16 * 1024
  /// Real ones have some hundred bytes. Told cut, compared whole.
  private static let longestDescription = 16 * 1024
  private static let mostCodes = 16

  /// Reads an error answer (RFC 6749 §5.2, RFC 9457) as far as it is one. `now` is the provider's time, with which a date
  /// is compared where the answer has none of its own.
  package init(_ response: HTTPResponse, now: Timestamp) {
    self.init(status: response.status)
    retryAfter = response.field("Retry-After").flatMap { field in
      // RFC 9110 §10.2.3. A number that fits nowhere is still a number.
      if !field.isEmpty, field.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
        return .seconds(min(Int64(field) ?? .max, 1 << 31))
      }
      // The answer's own clock has said when it was given.
      let answeredAt = response.field("Date").flatMap { Timestamp(httpDate: $0, now: now) } ?? now
      return Timestamp(httpDate: field, now: now).map { max(.zero, $0 - answeredAt) }
    }
    isPage = response.isPage || response.isMarkup
    let read: TokenEndpointRefusal? = ProviderJSON.read(response.body) { node in
      var refusal = self
      refusal.error = node["error"]?.word
      refusal.suberror = node["suberror"]?.word ?? node["error_subtype"]?.word
      refusal.description =
        node["error_description"]?.text(upTo: Self.longestDescription)
        ?? node["message"]?.text(upTo: Self.longestDescription)
      refusal.claims = node["claims"]?.text(upTo: Self.longestClaims)
      // The first one decides where the person configured two of them.
      let lists = (node["error_codes"].map { Array($0.elements) } ?? []).prefix(Self.mostCodes)
      refusal.codes = (lists + node.stableCodes).compactMap { $0.word ?? $0.integer.map(String.init) }
      return refusal
    }
    if let read { self = read }
    if let form = response.form, let description {
      let told = SentValues.hidden(in: description, of: form)
      hidden = told == description ? nil : told
    }
  }
}

extension JSONNode {
  /// The members in which API contracts put a stable code: of the answer, of an object in `error`, and of the first entry of
  /// `errors` (JSON:API).
  fileprivate var stableCodes: [JSONNode] {
    let inner = [self["error"], self["errors"]?.elements.first { _ in true }].compactMap { $0 }
      .filter { $0.kind == .object }
    let names: [StaticString] = ["code", "errorCode", "error_code", "type"]
    return names.compactMap { self[$0] }
      // A number there repeats the status.
      + inner.flatMap { object in (names + ["error", "message", "status"]).compactMap { object[$0] } }
      .filter { $0.kind == .string }
  }

  /// True for an object that says that it is an error, whatever its status says.
  var saysError: Bool {
    self["error"].map { $0.kind == .string && $0.textCapacity > 0 } ?? false
      || !TokenEndpointRefusal(status: 400, codes: stableCodes.compactMap(\.word)).isUnknown
  }

  /// Longer ones decide nothing and are not kept.
  fileprivate var word: String? { text(upTo: 256) }

  fileprivate func text(upTo bytes: Int) -> String? {
    guard kind == .string, textCapacity <= bytes else { return nil }
    return string
  }
}
