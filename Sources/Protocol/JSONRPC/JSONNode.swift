internal import Glibc

/// A view of one value of a scanned line. It copies nothing and is valid only inside the closure that lent it.
public struct JSONNode {
  let bytes: UnsafePointer<UInt8>
  let entries: UnsafePointer<JSONTapeEntry>
  let index: Int

  var entry: JSONTapeEntry { entries[index] }

  /// The type of the value.
  public var kind: JSONTapeEntry.Kind { entry.kind }

  /// The value as written, including quotes and escapes.
  public var raw: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: bytes + Int(entry.start), count: Int(entry.end - entry.start))
  }

  /// True if this value or a value in it is an object with duplicate keys.
  public var hasDuplicateKeys: Bool {
    (index..<Int(entry.next)).contains { entries[$0].duplicateKeys }
  }

  /// True if this is an object that itself has duplicate keys, whatever is below it.
  public var namesMemberTwice: Bool { entry.duplicateKeys }

  /// The text of a string; nil for another type.
  public var string: String? { kind == .string ? JSONText.string(entry, bytes) : nil }

  /// The UTF-8 bytes of a string; nil for another type.
  public var utf8: [UInt8]? { kind == .string ? JSONText.utf8(entry, bytes) : nil }

  /// The bytes of a string without escapes, in place; nil for any other value.
  public var plainText: UnsafeRawBufferPointer? {
    kind == .string && !entry.escaped ? JSONText.content(entry, bytes) : nil
  }

  /// An upper bound for the bytes that `copyText(into:)` writes; 0 for a value that is no string.
  public var textCapacity: Int { kind == .string ? Int(entry.end - entry.start) - 2 : 0 }

  /// Writes the text of a string into `target`, which holds at least `textCapacity` bytes, and returns the number of
  /// bytes written. A secret gets from the line into guarded memory this way, without a copy in between.
  public func copyText(into target: UnsafeMutableRawBufferPointer) -> Int {
    guard kind == .string else { return 0 }
    let content = JSONText.content(entry, bytes)
    guard entry.escaped else {
      target.copyMemory(from: content)
      return content.count
    }
    return JSONText.unescape(content, into: target)
  }

  /// The value of `true` or `false`; nil for another type.
  public var bool: Bool? {
    switch kind {
    case .true: true
    case .false: false
    default: nil
    }
  }

  /// An integer within ±(2^53-1), also if written as `1.0` or `1e3` (JSON Schema 2020-12 §4.2.3); nil otherwise.
  public var integer: Int64? { kind == .number ? JSONInteger.value(raw) : nil }

  /// A number as `Double`; nil for another type.
  public var double: Double? { kind == .number ? Double(String(decoding: raw, as: UTF8.self)) : nil }

  /// The elements of an array; empty for another type.
  public var elements: Children { Children(parent: self, of: .array, step: 1) }

  /// The members of an object, in order; empty for another type.
  public var members: Members { Members(children: Children(parent: self, of: .object, step: 2)) }

  /// The first member with this ASCII name; nil if there is none.
  public subscript(name: StaticString) -> JSONNode? {
    guard kind == .object else { return nil }
    let end = Int(entry.next)
    let quotedLength = name.utf8CodeUnitCount + 2
    var at = index + 1
    while at < end {
      let key = entries[at]
      // Most names differ in length already.
      if Int(key.end - key.start) == quotedLength || key.escaped, node(at: at).isText(name) {
        return node(at: at + 1)
      }
      // The value follows its name.
      at = Int(entries[at + 1].next)
    }
    return nil
  }

  fileprivate func node(at index: Int) -> JSONNode { JSONNode(bytes: bytes, entries: entries, index: index) }

  /// True if this is a string with this text, with or without escapes.
  public func isText(_ text: StaticString) -> Bool {
    let expected = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    if let plain = plainText {
      return plain.count == expected.count && memcmp(plain.baseAddress!, expected.baseAddress!, plain.count) == 0
    }
    return kind == .string && utf8?.elementsEqual(expected) == true
  }

  /// The direct children of an array or object.
  public struct Children: Sequence, IteratorProtocol {
    private let parent: JSONNode
    private var index: Int
    private let end: Int
    private let step: Int

    init(parent: JSONNode, of kind: JSONTapeEntry.Kind, step: Int) {
      self.parent = parent
      self.step = step
      self.index = parent.index + 1
      self.end = parent.kind == kind ? Int(parent.entry.next) : index
    }

    public mutating func next() -> JSONNode? {
      guard index < end else { return nil }
      let node = parent.node(at: index)
      index = Int(parent.entries[index].next)
      return node
    }
  }

  /// The members of an object as pairs of key and value.
  public struct Members: Sequence, IteratorProtocol {
    var children: Children

    public mutating func next() -> (key: JSONNode, value: JSONNode)? {
      guard let key = children.next(), let value = children.next() else { return nil }
      return (key, value)
    }
  }
}

extension JSONTape {
  /// Lends the root value to `body`. `bytes` must be the scanned bytes; no node may leave `body`.
  public func withRoot<Result, Failure: Error>(
    of bytes: UnsafeRawBufferPointer, _ body: (JSONNode) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let base = bytes.baseAddress!.assumingMemoryBound(to: UInt8.self)
    return try withUnsafeEntries { (pointer) throws(Failure) in
      try body(JSONNode(bytes: base, entries: pointer, index: 0))
    }
  }

  private func withUnsafeEntries<Result, Failure: Error>(
    _ body: (UnsafePointer<JSONTapeEntry>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try entries.withUnsafeBufferPointer { (buffer) throws(Failure) in try body(buffer.baseAddress!) }
  }
}
