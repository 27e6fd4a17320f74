import CommandSupport
import JSONRPC

/// The members of a JSON object from a file, to be sent beside those that options gave.
struct ParameterFile: ~Copyable {
  private let input: SecretInput
  private let tape: JSONTape

  /// Without a path: no members.
  init(_ path: String?) throws(CommandFailure) {
    let input = if let path { try SecretInput.contents(of: path) } else { SecretInput(copying: "{}") }
    var tape = JSONTape()
    let isObject = input.withBytes { bytes in
      guard (try? JSONScanner.scan(bytes, onto: &tape)) != nil else { return false }
      return tape.withRoot(of: bytes) { $0.kind == .object && !$0.hasDuplicateKeys }
    }
    guard isObject else { throw .usage("\(path ?? "") is not a JSON object. Nothing was sent.") }
    self.input = input
    self.tape = tape
  }

  /// Writes the members as they are, on one line.
  borrowing func write(to writer: inout JSONWriter) {
    input.withBytes { bytes in
      tape.withRoot(of: bytes) { root in
        for (key, value) in root.members {
          writer.key(key.string ?? "")
          writer.rawOnOneLine(value.raw)
        }
      }
    }
  }
}

extension JSONWriter {
  /// JSON that may have been laid out over several lines: a newline is white space wherever it stands bare.
  mutating func rawOnOneLine(_ bytes: UnsafeRawBufferPointer) {
    raw(UnsafeRawBufferPointer(rebasing: bytes[..<0]))
    var start = 0
    for index in bytes.indices where bytes[index] == 0x0A || bytes[index] == 0x0D {
      verbatim(UnsafeRawBufferPointer(rebasing: bytes[start..<index]))
      start = index + 1
    }
    verbatim(UnsafeRawBufferPointer(rebasing: bytes[start...]))
  }
}
