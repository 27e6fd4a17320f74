import CommandSupport
import JSONRPC

/// The JSON object of `--from`: its members are sent with those of the options.
struct ParameterFile: ~Copyable {
  private let input: SecretInput
  private let tape: JSONTape

  /// No members if `path` is nil.
  init(_ path: String?) throws(CommandFailure) {
    let input = if let path { try SecretInput.text(of: path) } else { SecretInput(copying: "{}") }
    var tape = JSONTape()
    let isObject = input.withBytes { bytes in
      guard (try? JSONScanner.scan(bytes, onto: &tape)) != nil else { return false }
      return tape.withRoot(of: bytes) { $0.kind == .object }
    }
    guard isObject else { throw .usage("\(path ?? "") is not a JSON object. Nothing was sent.") }
    self.input = input
    self.tape = tape
  }

  /// Whether the file has this member.
  borrowing func has(_ name: String) -> Bool {
    input.withBytes { bytes in
      tape.withRoot(of: bytes) { root in root.members.contains { $0.key.string == name } }
    }
  }

  /// Writes the members unchanged, on one line.
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
  /// Writes JSON without its line breaks. A bare line break is white space: inside strings it is escaped.
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
