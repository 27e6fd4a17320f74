/// How TypeScript names a type of the contract, and the decoder that reads it.
enum TypeScriptTypes {
  /// The type of a value. An instant of the params may be given as text.
  static func name(_ type: ClientType, isParam: Bool = false) -> String {
    switch type {
    case .record(let name), .enumeration(let name): return name
    case .list(let items):
      let item = name(items, isParam: isParam)
      return "readonly \(item.contains(" ") ? "(\(item))" : item)[]"
    case .map(let values): return "Readonly<Record<string, \(name(values, isParam: isParam))>>"
    case .text, .secret: return "string"
    case .instant: return isParam ? "Date | string" : "Date"
    case .integer: return "number"
    case .boolean: return "boolean"
    case .anything: return "unknown"
    }
  }

  /// The expression of `record.ts` that reads a value; records are reached by `prefix`.
  static func decoder(_ type: ClientType, prefix: String = "") -> String {
    switch type {
    case .record(let name): return "\(prefix)\(name).decode"
    case .enumeration, .text, .secret: return "text"
    case .list(let items): return "list(\(decoder(items, prefix: prefix)))"
    case .map(let values): return "map(\(decoder(values, prefix: prefix)))"
    case .instant: return "instant"
    case .integer: return "integer"
    case .boolean: return "boolean"
    case .anything: return "anything"
    }
  }

  /// The names of the types that a file must import for `types`, sorted.
  static func references(_ types: [ClientType]) -> [String] {
    Set(types.flatMap(references)).sorted()
  }

  private static func references(_ type: ClientType) -> [String] {
    switch type {
    case .record(let name), .enumeration(let name): return [name]
    case .list(let items): return references(items)
    case .map(let values): return references(values)
    default: return []
    }
  }
}
