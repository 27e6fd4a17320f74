package import Secrets

/// The values of a form that a provider must not repeat in a text that is shown: tokens, codes, passwords.
package enum SentValues {
  /// A shorter value is in any text.
  private static let leastBytes = 4
  /// Parameters whose values are words of the protocol, or stand in the configuration.
  private static let known: Set<String> = [
    "grant_type", "scope", "resource", "audience", "client_id", "redirect_uri", "response_type", "token_type_hint",
    "subject_token_type", "requested_token_type", "client_assertion_type", "authorization_details", "prompt",
    "code_challenge_method", "response_mode",
  ]

  /// `text` with dots in place of each value that the form has just sent.
  package static func hidden(in text: String, of form: Secret) -> String {
    guard let query = SecretQuery(form) else { return text }
    var bytes = Array(text.utf8)
    for value in query.values(except: known) where value.count >= leastBytes {
      value.withBytes { replace($0, in: &bytes) }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func replace(_ value: UnsafeRawBufferPointer, in text: inout [UInt8]) {
    var place = 0
    while place + value.count <= text.count {
      guard text[place...].starts(with: value) else {
        place += 1
        continue
      }
      text.replaceSubrange(place..<place + value.count, with: Array("...".utf8))
      place += 3
    }
  }
}
