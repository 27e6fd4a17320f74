internal import CSodium

extension Contract {
  /// SHA-256 in lower-case hexadecimal over the documents, without white space and with sorted members. Two agents with
  /// the same digest have the same contract.
  public var digest: String {
    let whole = JSONValue.object(documents.map { JSONMember($0.path, $0.value.sorted) })
    let bytes = [UInt8](whole.compact.utf8)
    var hash = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
    crypto_hash_sha256(&hash, bytes, UInt64(bytes.count))
    return hash.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
