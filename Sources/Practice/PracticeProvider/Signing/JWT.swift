/// Compact serialization of signed tokens (RFC 7515 section 7.1).
package enum JWT {
  /// - Parameter type: the `typ` of the header: `JWT`, or `at+jwt` for access tokens (RFC 9068 section 2.1).
  static func sign(_ claims: PracticeJSON, type: String, with key: SigningKey) -> String {
    let input = signingInput(
      header: ["alg": .string(key.algorithm.rawValue), "typ": .string(type), "kid": .string(key.id)],
      claims: claims
    )
    return input + "." + Base64URL.encode(key.sign(Array(input.utf8)))
  }

  package static func signingInput(header: PracticeJSON, claims: PracticeJSON) -> String {
    Base64URL.encode(header.text.utf8) + "." + Base64URL.encode(claims.text.utf8)
  }
}
