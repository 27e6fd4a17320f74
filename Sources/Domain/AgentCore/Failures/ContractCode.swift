/// A stable code of an API contract, such as `AUTH_SESSION_REVOKED`, in the one spelling in which the tables have it.
///
/// Servers of one's own seldom speak RFC 6749: they answer `{"code":"AUTH_SESSION_REVOKED"}`, a problem document whose
/// `type` ends with the code (RFC 9457), or an object in `error`.
enum ContractCode {
  /// Longer texts are no codes.
  private static let longest = 64

  /// Upper case with `_`, without what stands before the last `/`, `#` or `:` of a URI, and without a leading `AUTH_`; nil
  /// for text that is no code.
  static func spelling(of text: String) -> String? {
    let last = text.split(whereSeparator: { $0 == "/" || $0 == "#" || $0 == ":" }).last ?? ""
    guard !last.isEmpty, last.utf8.count <= longest else { return nil }
    var spelling = ""
    for scalar in last.unicodeScalars {
      switch scalar {
      case "a"..."z": spelling.unicodeScalars.append(Unicode.Scalar(scalar.value - 32)!)
      case "A"..."Z", "0"..."9", "_": spelling.unicodeScalars.append(scalar)
      case "-", ".": spelling += "_"
      default: return nil
      }
    }
    return spelling.hasPrefix("AUTH_") ? String(spelling.dropFirst(5)) : spelling
  }
}

extension TokenEndpointRefusal {
  /// True if the standard table has nothing for it.
  public var isUnknown: Bool { FailureTable.standard.row(for: self) == nil }

  /// The contract's codes in it.
  var contractCodes: Set<String> { Set(([error].compactMap { $0 } + codes).compactMap(ContractCode.spelling)) }
}
