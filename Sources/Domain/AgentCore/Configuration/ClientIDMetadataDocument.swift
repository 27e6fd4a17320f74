internal import AgentModel

/// The URL of a Client ID Metadata Document (draft-ietf-oauth-client-id-metadata-document §3), which is a client id at
/// servers that take one.
public enum ClientIDMetadataDocument {
  /// True for an https URL with a path and without dot segments, query, fragment and user information. Servers compare
  /// it byte for byte, so it has to be in the form in which it is requested.
  public static func isURL(_ text: String) -> Bool {
    guard let url = HTTPURL(text), url.scheme == .https, url.query == nil, url.path != "/" else { return false }
    return equalCodePoints(url.text, text)
  }
}
