internal import AgentModel
package import Secrets

/// The query of a redirect, with its values in guarded memory: one of them is the authorization code.
///
/// Only the parameters of the answer have to be clean and single (RFC 6749 §3.1). Others may be there twice, or hold what
/// is no UTF-8: gateways and consent pages add their own.
package struct SecretQuery {
  private static let ofTheAnswer = ["state", "code", "iss", "error"]

  private let items: [(name: String, value: Secret)]

  /// Nil if a parameter of the answer has an incomplete escape or invalid UTF-8, or for more than
  /// `HTTPQuery.maximumItems` parameters.
  package init?(_ query: Secret) {
    guard let items = query.withBytes(Self.read) else { return nil }
    self.items = items
  }

  private static func read(_ query: UnsafeRawBufferPointer) -> [(name: String, value: Secret)]? {
    var items: [(name: String, value: Secret)] = []
    for (count, pair) in query.split(separator: UInt8(ascii: "&")).enumerated() {
      guard count < HTTPQuery.maximumItems else { return nil }
      let encodedName = pair.prefix { $0 != UInt8(ascii: "=") }
      guard let name = PercentCoding.decode(encodedName, form: true) else { continue }
      guard let value = Secret.percentDecoding(pair.dropFirst(encodedName.count + 1), form: true) else {
        if ofTheAnswer.contains(name) { return nil }
        continue
      }
      items.append((name, value))
    }
    return items
  }

  /// True if a parameter of the answer occurs more than once.
  package var hasDuplicates: Bool {
    Self.ofTheAnswer.contains { name in items.count { $0.name == name } > 1 }
  }

  /// The value of a parameter that occurs exactly once.
  package func secret(_ name: String) -> Secret? {
    let values = items.filter { $0.name == name }
    return values.count == 1 ? values[0].value : nil
  }

  /// The values of all parameters but these.
  func values(except names: Set<String>) -> [Secret] { items.filter { !names.contains($0.name) }.map(\.value) }

  /// The same as ordinary text, for a parameter that is no secret.
  package func text(_ name: String) -> String? {
    secret(name)?.withBytes { String(decoding: $0, as: UTF8.self) }
  }
}

extension Secret {
  /// Nil for an incomplete escape or invalid UTF-8.
  static func percentDecoding(_ text: some Sequence<UInt8>, form: Bool = false) -> Secret? {
    var decoded = SecretBuilder()
    guard PercentCoding.decode(text, form: form, { decoded.append($0) }), decoded.withBytes({ $0.isUTF8 }) else {
      return nil
    }
    return decoded.finish()
  }
}

extension UnsafeRawBufferPointer {
  fileprivate var isUTF8: Bool {
    var decoder = Unicode.UTF8()
    var bytes = makeIterator()
    while true {
      switch decoder.decode(&bytes) {
      case .scalarValue: continue
      case .emptyInput: return true
      case .error: return false
      }
    }
  }
}
