/// The encoding that Base32 and base64url share: characters for groups of bits, without padding (RFC 4648).
struct BitEncoding {
  /// Number of bits that a character stands for.
  let bitsPerCharacter: Int
  /// ASCII characters, one for each value of a group.
  let alphabet: [UInt8]

  /// Encodes `bytes` and passes the characters to `emit` one by one. Unused bits of the last character are zero.
  func encode(_ bytes: some Sequence<UInt8>, _ emit: (UInt8) -> Void) {
    let mask = UInt32(alphabet.count - 1)
    var bits: UInt32 = 0
    var held = 0
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      held += 8
      while held >= bitsPerCharacter {
        held -= bitsPerCharacter
        emit(alphabet[Int(bits >> held & mask)])
      }
    }
    if held > 0 { emit(alphabet[Int(bits << (bitsPerCharacter - held) & mask)]) }
  }

  /// Encodes bytes that are not secret.
  func text(_ bytes: [UInt8]) -> String {
    let most = (bytes.count * 8 + bitsPerCharacter - 1) / bitsPerCharacter
    return String(unsafeUninitializedCapacity: most) { text in
      var count = 0
      encode(bytes) {
        text[count] = $0
        count += 1
      }
      return count
    }
  }
}
