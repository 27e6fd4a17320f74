internal import CPlatform
internal import CVerify
package import Secrets

/// The private half of the key agreement for one session (Secret Service API, Transfer of Secrets).
package struct SessionOffer: Sendable {
  static let algorithm = "dh-ietf1024-sha256-aes128-cbc-pkcs7"

  /// The public half.
  package let publicNumber: [UInt8]
  private let privateNumber: Secret

  /// Nil without libcrypto.
  package init?() {
    privateNumber = Secret(SecretBytes(random: cagree_number))
    var number = [UInt8](repeating: 0, count: cagree_number)
    guard privateNumber.withBytes({ cagree_public($0.baseAddress, &number) }) else { return nil }
    publicNumber = number
  }

  /// Nil for a public number that would lead to a predictable key.
  package func agree(with theirs: [UInt8]) -> SessionKey? {
    var isAgreed = false
    let key = SecretBytes(capacity: cagree_key_bytes) { key in
      isAgreed = privateNumber.withBytes { cagree_key($0.baseAddress, theirs, theirs.count, key.baseAddress) }
      return key.count
    }
    return isAgreed ? SessionKey(key: Secret(key)) : nil
  }
}

/// The key that encrypts secrets on their way over the bus.
package struct SessionKey: Sendable {
  fileprivate let key: Secret
  private static let block = cagree_block

  /// A fresh initialisation vector, and the secret encrypted with it.
  package func seal(_ secret: Secret) -> (vector: [UInt8], sealed: [UInt8])? {
    var vector = [UInt8](repeating: 0, count: Self.block)
    guard lanyard_random(&vector, vector.count) == 0 else { return nil }
    var sealed = [UInt8](repeating: 0, count: secret.count + Self.block)
    let count = key.withBytes { key in
      secret.withBytes { cagree_seal(key.baseAddress, vector, $0.baseAddress, $0.count, &sealed) }
    }
    return count > 0 ? (vector, Array(sealed[..<count])) : nil
  }

  /// Decrypts into guarded memory; nil if the secret was not encrypted with this key.
  package func open(_ sealed: [UInt8], vector: [UInt8]) -> Secret? {
    guard vector.count == Self.block else { return nil }
    var isOpened = false
    let plain = SecretBytes(capacity: sealed.count) { plain in
      var count = 0
      isOpened = key.withBytes { cagree_open($0.baseAddress, vector, sealed, sealed.count, plain.baseAddress, &count) }
      return isOpened ? count : 0
    }
    return isOpened ? Secret(plain) : nil
  }
}
