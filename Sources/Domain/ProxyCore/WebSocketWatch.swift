/// Looks for access tokens in the messages that a server sends over a WebSocket (RFC 6455 section 5), and passes them on.
///
/// A message is passed on once it is whole, or in fragments of 64 KiB: how a server cuts it says nothing
/// (section 5.4), and a token that stands in two of its fragments is found. One that stands in two messages is not.
public struct WebSocketWatch: ~Copyable {
  public enum Outcome: Hashable, Sendable {
    case passed
    /// A message repeats a token. Nothing of this piece of it has gone on.
    case repeatsToken
    /// No frame that a server may send without extensions.
    case malformed
    /// The program does not take what is passed on.
    case notTaken
  }

  private struct Frame {
    var opcode: UInt8
    var isLast: Bool
    var left: UInt64
    var isControl: Bool { opcode >= 8 }
  }

  private let makeWatch: () -> TokenWatch
  private var watch: TokenWatch
  /// Of a frame whose head is not whole.
  private var head: [UInt8] = []
  private var frame: Frame?
  private var control: [UInt8] = []
  /// The kind of the message that has begun.
  private var message: UInt8?
  /// What has been looked into, and waits for more of its message.
  private var clean: [UInt8] = []
  private var hasFragments = false

  /// So much of a message waits for its end.
  private static let mostWaiting = 64 << 10

  /// - Parameter makeWatch: for each message.
  public init(_ makeWatch: @escaping () -> TokenWatch) {
    self.makeWatch = makeWatch
    watch = makeWatch()
  }

  /// Takes bytes of the server, and passes on what they complete.
  public mutating func pass(
    _ bytes: UnsafeRawBufferPointer, _ forward: ([UInt8]) -> Bool
  ) -> Outcome {
    var rest = bytes[...]
    while true {
      if let open = frame, open.left == 0 {
        let outcome = end(open, forward)
        frame = nil
        guard outcome == .passed else { return outcome }
      }
      guard let byte = rest.first else { return .passed }
      guard var open = frame else {
        head.append(byte)
        rest = rest.dropFirst()
        guard let length = Self.headLength(head), head.count == length else { continue }
        guard let begun = begin() else { return .malformed }
        head = []
        frame = begun
        continue
      }
      let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Int(min(open.left, UInt64(rest.count)))))
      rest = rest.dropFirst(piece.count)
      open.left -= UInt64(piece.count)
      frame = open
      if open.isControl {
        control += piece
      } else {
        guard look(into: piece, isLast: false) else { return .repeatsToken }
        if clean.count >= Self.mostWaiting { guard give(isLast: false, forward) else { return .notTaken } }
      }
    }
  }

  /// Nil as long as more bytes tell.
  private static func headLength(_ head: [UInt8]) -> Int? {
    guard head.count >= 2 else { return nil }
    return switch head[1] & 0x7F {
    case 126: 4
    case 127: 10
    default: 2
    }
  }

  private mutating func begin() -> Frame? {
    let (opcode, isLast) = (head[0] & 0x0F, head[0] & 0x80 != 0)
    let length = head.count == 2 ? UInt64(head[1] & 0x7F) : head[2...].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    // No extension was agreed on, and a server masks nothing.
    guard head[0] & 0x70 == 0, head[1] & 0x80 == 0, length >> 63 == 0 else { return nil }
    switch opcode {
    case 0: guard message != nil else { return nil }
    case 1, 2:
      guard message == nil else { return nil }
      message = opcode
    case 8, 9, 10: guard isLast, length <= 125 else { return nil }
    default: return nil
    }
    return Frame(opcode: opcode, isLast: isLast, left: length)
  }

  private mutating func end(_ frame: Frame, _ forward: ([UInt8]) -> Bool) -> Outcome {
    if frame.isControl {
      defer { control = [] }
      var watch = makeWatch()
      guard control.withUnsafeBytes({ watch.pass($0, isLast: true) { _ in true } }) else { return .repeatsToken }
      return forward(Self.head(frame.opcode, control.count, isLast: true) + control) ? .passed : .notTaken
    }
    guard frame.isLast else { return .passed }
    guard look(into: UnsafeRawBufferPointer(start: nil, count: 0), isLast: true) else { return .repeatsToken }
    guard give(isLast: true, forward) else { return .notTaken }
    (message, hasFragments) = (nil, false)
    watch = makeWatch()
    return .passed
  }

  private mutating func look(into piece: UnsafeRawBufferPointer, isLast: Bool) -> Bool {
    var found: [UInt8] = []
    guard
      watch.pass(
        piece, isLast: isLast,
        { bytes in
          found += bytes
          return true
        })
    else { return false }
    clean += found
    return true
  }

  private mutating func give(isLast: Bool, _ forward: ([UInt8]) -> Bool) -> Bool {
    let head = Self.head(hasFragments ? 0 : message ?? 0, clean.count, isLast: isLast)
    defer { clean = [] }
    hasFragments = true
    return forward(head + clean)
  }

  private static func head(_ opcode: UInt8, _ length: Int, isLast: Bool) -> [UInt8] {
    let first = opcode | (isLast ? 0x80 : 0)
    if length < 126 { return [first, UInt8(length)] }
    if length <= 0xFFFF { return [first, 126, UInt8(length >> 8), UInt8(length & 0xFF)] }
    return [first, 127] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) }
  }
}
