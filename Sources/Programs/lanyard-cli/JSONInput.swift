import CommandSupport
import JSONRPC

/// JSON that another program gives to this one.
enum JSONInput {
  /// Nil for what is no JSON object.
  static func read<Result>(_ bytes: UnsafeRawBufferPointer, _ body: (JSONNode) -> Result) -> Result? {
    var tape = JSONTape()
    do {
      try JSONScanner.scan(bytes, onto: &tape, duplicateKeys: .allowed)
    } catch {
      return nil
    }
    return tape.withRoot(of: bytes) { $0.kind == .object ? body($0) : nil }
  }

  static func read<Result>(_ text: String, _ body: (JSONNode) -> Result) -> Result? {
    var text = text
    return text.withUTF8 { read(UnsafeRawBufferPointer($0), body) }
  }
}
