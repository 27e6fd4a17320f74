internal import Glibc
public import JSONRPC

/// The environment of a command: this process's own, with changes. Its memory is wiped when it goes.
public struct ChildEnvironment: ~Copyable {
  private var text = JSONWriter(capacity: 16_384)
  /// Where each `NAME=value` begins.
  private var starts: [Int] = []
  private var names: Set<String> = []
  private var rules: [(String) -> Bool] = []

  public init() {}

  /// A variable that is set twice keeps its first value.
  private mutating func begin(_ name: String) -> Bool {
    guard names.insert(name).inserted else { return false }
    starts.append(text.count)
    text.text(name)
    text.byte(UInt8(ascii: "="))
    return true
  }

  public mutating func set(_ name: String, to value: String) {
    guard begin(name) else { return }
    text.text(value)
    text.byte(0)
  }

  /// Sets a variable to bytes that `write` writes.
  public mutating func set(
    _ name: String, _ write: (inout JSONWriter) throws(CommandFailure) -> Void
  ) throws(CommandFailure) {
    guard begin(name) else { return }
    var value = JSONWriter()
    try write(&value)
    value.withBytes { text.verbatim($0) }
    text.byte(0)
  }

  /// The command gets no such variable.
  public mutating func leaveOut(_ name: String) { names.insert(name) }

  /// The command inherits no variable with such a name.
  public mutating func leaveOutAll(_ isLeftOut: @escaping (String) -> Bool) { rules.append(isLeftOut) }

  /// Lends the environment as `execve` wants it: the changes, then what this process has under other names.
  public func withPointers<Result>(_ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result) -> Result {
    text.withBytes { bytes in
      var pointers: [UnsafeMutablePointer<CChar>?] = starts.map { start in
        UnsafeMutablePointer(mutating: bytes.baseAddress!.advanced(by: start).assumingMemoryBound(to: CChar.self))
      }
      var next = environ
      while let entry = next.pointee {
        let name = String(decoding: UnsafeRawBufferPointer(start: entry, count: strcspn(entry, "=")), as: UTF8.self)
        if !names.contains(name), !rules.contains(where: { $0(name) }) { pointers.append(entry) }
        next += 1
      }
      pointers.append(nil)
      return pointers.withUnsafeBufferPointer { body($0.baseAddress!) }
    }
  }
}

extension JSONWriter {
  /// Text as it is, outside of JSON.
  public mutating func text(_ text: String) {
    var text = text
    text.withUTF8 { verbatim(UnsafeRawBufferPointer($0)) }
  }
}
