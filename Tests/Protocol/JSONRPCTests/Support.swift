import JSONRPC

/// The result of a scan.
enum Verdict: Equatable {
  case value
  case duplicateKeys
  case refused(JSONScanner.Failure)
}

func verdict(_ bytes: [UInt8]) -> Verdict {
  var tape = JSONTape()
  return bytes.withUnsafeBytes { buffer in
    do throws(JSONScanner.Failure) {
      try JSONScanner.scan(buffer, onto: &tape)
    } catch {
      return error == .duplicateKeys ? .duplicateKeys : .refused(error)
    }
    return .value
  }
}

func verdict(_ text: String) -> Verdict { verdict([UInt8](text.utf8)) }

/// Scans text that must be JSON and passes its root to `body`.
func withNode<Result>(_ bytes: [UInt8], _ body: (JSONNode) throws -> Result) throws -> Result {
  var tape = JSONTape()
  return try bytes.withUnsafeBytes { buffer in
    try JSONScanner.scan(buffer, onto: &tape, duplicateKeys: .allowed)
    return try tape.withRoot(of: buffer, body)
  }
}

func withNode<Result>(_ text: String, _ body: (JSONNode) throws -> Result) throws -> Result {
  try withNode([UInt8](text.utf8), body)
}

/// The output of a writer.
func written(capacity: Int = 64, _ body: (inout JSONWriter) -> Void) -> String {
  var writer = JSONWriter(capacity: capacity)
  body(&writer)
  return writer.withBytes { String(decoding: $0, as: UTF8.self) }
}

/// A small seeded generator, so that a failure can be repeated (SplitMix64).
struct Seeded: RandomNumberGenerator {
  var state: UInt64
  init(_ seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
