internal import JSONRPC
internal import SecretJSON
internal import Secrets

/// Reads what a provider answers as JSON. It decides by the body alone: servers send JSON under any media type.
enum ProviderJSON {
  /// Nil if the body is no JSON, or if `read` returns nil. Its encoding is mended where it has to be (`MendedText`): a text
  /// in which something was replaced must prove nothing. Of a member that stands twice the first counts, unless
  /// `duplicateKeys` refuses it.
  static func read<Result>(
    _ body: Secret, duplicateKeys: JSONScanner.DuplicateKeys = .allowed, _ read: (JSONNode) -> Result?
  ) -> Result? {
    let text = body.withoutPreface
    var isJSON = false
    let result = SecretJSON.read(text, duplicateKeys: duplicateKeys) { node in
      isJSON = true
      return read(node)
    }
    guard !isJSON, let mended = text.mended else { return result }
    return SecretJSON.read(mended, duplicateKeys: duplicateKeys, read)
  }
}

extension Secret {
  /// Without what stands before the text (`MendedText.prefaceLength`).
  var withoutPreface: Secret {
    withBytes { bytes -> Secret? in
      let length = MendedText.prefaceLength(of: bytes)
      return length == 0 ? nil : Secret(copying: UnsafeRawBufferPointer(rebasing: bytes[length...]))
    } ?? self
  }

  /// A text of which more has to be mended than a few characters is none: an escape has six bytes for one, and guarded
  /// memory is scarce.
  private static func mostOf(_ count: Int) -> Int { 2 * count + 1024 }

  /// The text with its encoding mended; nil if that changes nothing.
  fileprivate var mended: Secret? {
    withBytes { bytes -> Secret? in
      guard MendedText.mayBeJSON(bytes) else { return nil }
      var mended = SecretBuilder(capacity: bytes.count)
      var room = Self.mostOf(bytes.count)
      MendedText.mend(bytes) { byte in
        room -= 1
        if room >= 0 { mended.append(byte) }
      }
      let isSame = mended.withBytes { $0.elementsEqual(bytes) }
      return isSame || room < 0 ? nil : mended.finish()
    }
  }
}

extension JSONNode {
  /// A text, or a number as it is written: `1.0` and `1` are two.
  var writtenText: String? { kind == .number ? String(decoding: raw, as: UTF8.self) : string }

  /// A text, or a whole number as some servers write ids.
  var idText: String? {
    guard kind == .number else { return string }
    let isWhole = raw.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-") }
    return isWhole ? String(decoding: raw, as: UTF8.self) : nil
  }

  /// True for a text that may have been another one (`MendedText.isDoubtful`).
  var isDoubtful: Bool { secret?.withBytes { MendedText.isDoubtful($0) } ?? false }

  /// What a value is, in words.
  var kindForPeople: String {
    switch kind {
    case .null: "null"
    case .true: "true"
    case .false: "false"
    case .number: "a number"
    case .string: "a text"
    case .array: "a list"
    case .object: "an object"
    }
  }
}
