import CommandSupport
import JSONRPC

/// The value of `--details`: a JSON array, or `@` and a file that holds one.
enum DetailsArgument {
  /// Reads the array, as one line.
  static func read(_ argument: String) throws(CommandFailure) -> RawJSON {
    var text =
      argument.hasPrefix("@")
      ? try SecretInput.contents(of: String(argument.dropFirst())) : SecretInput(copying: argument)
    // A line break would end the request. A bare one is white space: inside strings it is escaped.
    text.withMutableBytes { bytes in
      for index in bytes.indices where bytes[index] == 0x0A || bytes[index] == 0x0D { bytes[index] = 0x20 }
    }
    return try text.withBytes { (bytes) throws(CommandFailure) in
      var tape = JSONTape()
      guard (try? JSONScanner.scan(bytes, onto: &tape, duplicateKeys: .allowed)) != nil else { throw notAnArray }
      return try tape.withRoot(of: bytes) { (node) throws(CommandFailure) in
        guard node.kind == .array else { throw notAnArray }
        return RawJSON(node)
      }
    }
  }

  private static var notAnArray: CommandFailure {
    .usage(
      "The authorization details are not a JSON array.",
      hints: [#"Each is an object with a type: `--details '[{"type":"…"}]'`, or `--details @FILE`."#])
  }
}
