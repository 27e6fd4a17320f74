/// Reads a stream of server-sent events (HTML Living Standard §9.2.6), in pieces of any size.
public struct EventStream {
  /// An event with data.
  public struct Event: Equatable, Sendable {
    public var type: String
    public var data: [UInt8]
  }

  /// What the stream has told so far.
  public private(set) var lastEventID: String?
  /// `retry`: how long to wait before connecting again, in milliseconds.
  public private(set) var retryMilliseconds: Int?
  /// An event was longer than the limit. Nothing more is read.
  public private(set) var isTooLarge = false

  private var line: [UInt8] = []
  private var data: [UInt8] = []
  private var hasData = false
  private var type = ""
  private var pendingID: String?
  private var endedInReturn = false
  private var isAtStart = true
  private let limit: Int

  /// The longest wait that a server can demand.
  public static let maximumRetryMilliseconds = 600_000

  /// `limit`: the longest event in bytes.
  public init(limit: Int = ClientMessage.maximumBytes) { self.limit = limit }

  /// Takes a piece. False if an event is too large, or `onEvent` returned false.
  public mutating func push(_ piece: UnsafeRawBufferPointer, _ onEvent: (Event) -> Bool) -> Bool {
    guard !isTooLarge else { return false }
    var rest = piece[...]
    // A line feed after a carriage return belongs to the same line end.
    if endedInReturn, let first = rest.first {
      endedInReturn = false
      if first == 0x0A { rest = rest.dropFirst() }
    }
    while let end = rest.firstIndex(where: { $0 == 0x0A || $0 == 0x0D }) {
      guard append(rest[..<end]) else { return false }
      guard endLine(onEvent) else { return false }
      let isReturn = rest[end] == 0x0D
      rest = rest[(end + 1)...]
      guard isReturn else { continue }
      if let next = rest.first {
        if next == 0x0A { rest = rest.dropFirst() }
      } else {
        endedInReturn = true
      }
    }
    return append(rest)
  }

  private mutating func append(_ bytes: Slice<UnsafeRawBufferPointer>) -> Bool {
    guard line.count + data.count + bytes.count <= limit else {
      isTooLarge = true
      return false
    }
    line += bytes
    return true
  }

  private mutating func endLine(_ onEvent: (Event) -> Bool) -> Bool {
    if isAtStart {
      isAtStart = false
      if line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
    }
    defer { line.removeAll(keepingCapacity: line.capacity <= Self.keptBytes) }
    guard !line.isEmpty else { return endEvent(onEvent) }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
      take(field: line[...], value: [])
      return true
    }
    var value = line[(colon + 1)...]
    if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
    take(field: line[..<colon], value: value)
    return true
  }

  /// The longest `id` that goes into `Last-Event-ID`.
  static let maximumIDBytes = 4_096

  /// More memory is given back after a line.
  private static let keptBytes = 64 << 10

  private mutating func take(field: ArraySlice<UInt8>, value: ArraySlice<UInt8>) {
    if field.elementsEqual("data".utf8) {
      if hasData { data.append(0x0A) }
      data += value
      hasData = true
    } else if field.elementsEqual("event".utf8) {
      type = String(decoding: value, as: UTF8.self)
    } else if field.elementsEqual("id".utf8) {
      guard !value.contains(0) else { return }
      // One that is too long for a field of a request can't be continued from, as if there were none.
      pendingID = value.count <= Self.maximumIDBytes ? String(decoding: value, as: UTF8.self) : ""
    } else if field.elementsEqual("retry".utf8), !value.isEmpty, value.allSatisfy({ $0 &- 0x30 < 10 }) {
      let told = Int(String(decoding: value, as: UTF8.self)) ?? .max
      retryMilliseconds = min(told, Self.maximumRetryMilliseconds)
    }
  }

  private mutating func endEvent(_ onEvent: (Event) -> Bool) -> Bool {
    if let pendingID { lastEventID = pendingID.isEmpty ? nil : pendingID }
    pendingID = nil
    defer {
      data = []
      hasData = false
      type = ""
    }
    guard !data.isEmpty else { return true }
    return onEvent(Event(type: type.isEmpty ? "message" : type, data: data))
  }
}
