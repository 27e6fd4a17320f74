internal import JSONRPC
internal import SecretJSON
internal import Secrets

/// Reads what a provider answers as JSON. It decides by the body alone: servers send JSON under any media type.
enum ProviderJSON {
  /// Nil if the body is no JSON, or if `read` returns nil. A byte order mark is passed over (RFC 8259 §8.1). Of a member
  /// that stands twice the first counts, unless `duplicateKeys` refuses it.
  static func read<Result>(
    _ body: Secret, duplicateKeys: JSONScanner.DuplicateKeys = .allowed, _ read: (JSONNode) -> Result?
  ) -> Result? {
    SecretJSON.read(body.withoutPreface, duplicateKeys: duplicateKeys, read)
  }
}
