internal import CBus

/// A message of a bus: a call that is filled, or a reply or signal that is read, value by value and in order.
///
/// Belongs to the thread that uses its connection. Types and contents are signatures of the D-Bus Specification.
public final class BusMessage {
  let message: OpaquePointer

  init(owning message: OpaquePointer) { self.message = message }

  deinit { cbus_free(message) }

  public enum TextKind: Character, Sendable { case string = "s", path = "o", signature = "g" }

  public enum ContainerKind: Character, Sendable {
    case array = "a", variant = "v", structure = "r", dictionaryEntry = "e"
  }

  // MARK: header

  public var sender: String? { cbus_sender(message).map { String(cString: $0) } }
  public var path: String? { cbus_path(message).map { String(cString: $0) } }
  public var interface: String? { cbus_interface(message).map { String(cString: $0) } }
  public var member: String? { cbus_member(message).map { String(cString: $0) } }
  public var isSignal: Bool { cbus_is_signal(message) }

  // MARK: filling

  public func append(_ text: String, as kind: TextKind = .string) throws(BusFailure) {
    // sd-bus would cut the text at its first zero byte.
    guard !text.utf8.contains(0) else { throw .malformed }
    try check(cbus_append_text(message, kind.rawValue.code, text))
  }

  public func append(_ value: Bool) throws(BusFailure) { try check(cbus_append_bool(message, value)) }

  public func append(_ value: UInt32) throws(BusFailure) { try check(cbus_append_u32(message, value)) }

  public func append(_ value: Int32) throws(BusFailure) { try check(cbus_append_i32(message, value)) }

  /// An array of bytes.
  public func append(_ bytes: [UInt8]) throws(BusFailure) {
    try check(bytes.withUnsafeBytes { cbus_append_bytes(message, $0.baseAddress, $0.count) })
  }

  /// A container whose contents `body` appends.
  public func append(
    _ kind: ContainerKind, of contents: String, _ body: () throws(BusFailure) -> Void
  ) throws(BusFailure) {
    try check(cbus_open(message, kind.rawValue.code, contents))
    try body()
    try check(cbus_end(message))
  }

  // MARK: reading

  public func text(_ kind: TextKind = .string) throws(BusFailure) -> String {
    var text: UnsafePointer<CChar>?
    try take(cbus_read_text(message, kind.rawValue.code, &text))
    guard let text else { throw .malformed }
    return String(cString: text)
  }

  public func bool() throws(BusFailure) -> Bool {
    var value = false
    try take(cbus_read_bool(message, &value))
    return value
  }

  public func uint32() throws(BusFailure) -> UInt32 {
    var value: UInt32 = 0
    try take(cbus_read_u32(message, &value))
    return value
  }

  /// An array of bytes.
  public func bytes() throws(BusFailure) -> [UInt8] {
    var start: UnsafeRawPointer?
    var count = 0
    try check(cbus_read_bytes(message, &start, &count))
    return Array(UnsafeRawBufferPointer(start: start, count: count))
  }

  /// An array of texts.
  public func texts(_ kind: TextKind = .string) throws(BusFailure) -> [String] {
    try inside(.array, of: String(kind.rawValue)) { () throws(BusFailure) in
      var texts: [String] = []
      var text: UnsafePointer<CChar>?
      while true {
        let result = cbus_read_text(message, kind.rawValue.code, &text)
        try check(result)
        guard result > 0, let text else { return texts }
        texts.append(String(cString: text))
      }
    }
  }

  /// A duplicate of the descriptor; the caller closes it.
  public func descriptor() throws(BusFailure) -> Int32 {
    var descriptor: Int32 = -1
    try take(cbus_read_descriptor(message, &descriptor))
    return descriptor
  }

  /// The result of `body` for each element of an array of structures or dictionary entries.
  public func elements<Result>(
    _ kind: ContainerKind = .structure, of contents: String, _ body: () throws(BusFailure) -> Result
  ) throws(BusFailure) -> [Result] {
    try inside(.array, of: kind == .dictionaryEntry ? "{\(contents)}" : "(\(contents))") { () throws(BusFailure) in
      var results: [Result] = []
      while true {
        let entered = cbus_enter(message, kind.rawValue.code, contents)
        try check(entered)
        guard entered > 0 else { return results }
        results.append(try body())
        try check(cbus_leave(message))
      }
    }
  }

  /// The result of `body` for a container; `body` must read all of it.
  public func inside<Result>(
    _ kind: ContainerKind, of contents: String, _ body: () throws(BusFailure) -> Result
  ) throws(BusFailure) -> Result {
    try take(cbus_enter(message, kind.rawValue.code, contents))
    let result = try body()
    try check(cbus_leave(message))
    return result
  }

  /// Skips values that are not needed.
  public func skip(_ types: String) throws(BusFailure) { try check(cbus_skip(message, types)) }

  private func check(_ result: CInt) throws(BusFailure) { if result < 0 { throw .malformed } }

  /// `result` 0 means the end of a container: no value was left to read.
  private func take(_ result: CInt) throws(BusFailure) { if result <= 0 { throw .malformed } }
}

extension Character {
  fileprivate var code: CChar { CChar(asciiValue ?? 0) }
}
