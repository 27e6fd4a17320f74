// The driver of the line scanner: compiled together with Sources/Protocol/JSONRPC into one module, so that every check of the
// scanner, the writer, the envelope and the framer sees the same bytes (Tests/Fuzz/run).

/// libFuzzer calls this for each input; a trap is a finding.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = UnsafeRawBufferPointer(start: start, count: count)
  scanned(bytes)
  envelope(bytes)
  framed(bytes)
  return 0
}

/// A value that the scanner accepts is written, scanned again, and compared.
private func scanned(_ bytes: UnsafeRawBufferPointer) {
  var tape = JSONTape()
  guard (try? JSONScanner.scan(bytes, onto: &tape, duplicateKeys: .allowed)) != nil else { return }
  // RFC 8259 §8.1: only UTF-8 passes. Swift's own validation decides.
  precondition(String(validating: bytes, as: UTF8.self) != nil, "took what is not UTF-8")
  var writer = JSONWriter(capacity: 64)
  let twice = tape.hasDuplicateKeys
  tape.withRoot(of: bytes) { root in
    precondition(root.hasDuplicateKeys == twice)
    rewrite(root, to: &writer)
    writer.withBytes { again in
      var second = JSONTape()
      precondition(
        (try? JSONScanner.scan(again, onto: &second, duplicateKeys: .allowed)) != nil, "its own writing is refused")
      precondition(second.hasDuplicateKeys == twice)
      second.withRoot(of: again) { same(root, $0) }
    }
  }
}

private func rewrite(_ node: JSONNode, to writer: inout JSONWriter) {
  switch node.kind {
  case .object:
    writer.beginObject()
    for (key, value) in node.members {
      writer.key(key.string!)
      rewrite(value, to: &writer)
    }
    writer.endObject()
  case .array:
    writer.beginArray()
    for element in node.elements { rewrite(element, to: &writer) }
    writer.endArray()
  case .string: unescaped(node) { writer.string(utf8: $0) }
  case .number, .true, .false, .null: writer.raw(node.raw)
  }
}

/// A string's value, after its three readings agreed: in guarded memory, as bytes, as a String.
private func unescaped(_ node: JSONNode, _ body: (UnsafeRawBufferPointer) -> Void) {
  let capacity = node.textCapacity
  let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity + 1, alignment: 1)
  defer { memory.deallocate() }
  memory[capacity] = 0xEE
  let count = node.copyText(into: UnsafeMutableRawBufferPointer(rebasing: memory[..<capacity]))
  precondition(count <= capacity && memory[capacity] == 0xEE, "wrote past what it told")
  let text = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[..<count])
  precondition(String(validating: text, as: UTF8.self) != nil, "a value that is not UTF-8")
  precondition(node.utf8!.elementsEqual(text) && node.string!.utf8.elementsEqual(text))
  if let plain = node.plainText { precondition(plain.elementsEqual(text)) }
  body(text)
}

private func same(_ a: JSONNode, _ b: JSONNode) {
  precondition(a.kind == b.kind, "another kind")
  switch a.kind {
  case .object, .array:
    var (left, right) = (Array(a.members), Array(b.members))
    precondition(left.count == right.count)
    while let one = left.popLast(), let other = right.popLast() {
      same(one.key, other.key)
      same(one.value, other.value)
    }
    precondition(Array(a.elements).count == Array(b.elements).count)
    for (one, other) in zip(a.elements, b.elements) { same(one, other) }
  case .string: precondition(a.utf8! == b.utf8!)
  case .number:
    precondition(a.raw.elementsEqual(b.raw) && a.integer == b.integer)
    // Another way to the same integer, as far as doubles reach.
    if let integer = a.integer { precondition(a.double == Double(integer)) }
  case .true, .false, .null: break
  }
}

/// Reading the envelope of any line ends; an id is returned exactly as the line has it.
private func envelope(_ bytes: UnsafeRawBufferPointer) {
  var tape = JSONTape()
  if (try? JSONScanner.scan(bytes, onto: &tape, duplicateKeys: .allowed)) != nil {
    tape.withRoot(of: bytes) { root in
      for node in root.kind == .array ? Array(root.elements) : [root] {
        switch Envelope(node) {
        case .request(let id, let method, let params):
          precondition(method.kind == .string && !node.hasDuplicateKeys)
          precondition(params.map { $0.kind == .object || $0.kind == .array } ?? true)
          precondition(id.map { !$0.isEmpty } ?? true)
        case .invalid: break
        }
      }
    }
  }
  // A prefix names the method of the whole line, or none yet.
  let whole = try? Envelope.method(ofPrefix: bytes)
  for part in [bytes.count / 2, bytes.count - 1] where part > 0 {
    let beginning = UnsafeRawBufferPointer(rebasing: bytes[..<part])
    if let early = (try? Envelope.method(ofPrefix: beginning)) ?? nil, let whole {
      precondition(early == whole, "another method than at first")
    }
  }
}

/// Any cut of the bytes gives the same lines. The cuts are derived from the bytes, so a finding repeats.
private func framed(_ bytes: UnsafeRawBufferPointer) {
  let limit = 24
  let (whole, wholeOutcome, wholeWaits) = lines(of: bytes, limit: limit) { _ in bytes.count }
  for seed in [1, 7, Int(bytes.first ?? 3)] {
    var state = UInt32(truncatingIfNeeded: seed &* 2_654_435_761 | 1)
    let (cut, outcome, waits) = lines(of: bytes, limit: limit) { left in
      state = state &* 1_664_525 &+ 1_013_904_223
      return min(left, Int(state >> 16) % 9)
    }
    precondition(cut == whole && outcome == wholeOutcome, "other lines in other chunks")
    if outcome == .wantsMore { precondition(waits == wholeWaits) }
  }
}

private func lines(
  of bytes: UnsafeRawBufferPointer, limit: Int, next: (Int) -> Int
) -> ([[UInt8]], LineFramer.Outcome, Int) {
  var framer = LineFramer(limit: limit)
  var lines: [[UInt8]] = []
  var rest = bytes
  var outcome = LineFramer.Outcome.wantsMore
  while !rest.isEmpty, outcome == .wantsMore {
    let size = next(rest.count)
    outcome = framer.push(UnsafeRawBufferPointer(rebasing: rest[..<size])) { line in
      precondition(line.count <= limit && !line.contains(0x0A))
      lines.append([UInt8](line))
      return true
    }
    rest = UnsafeRawBufferPointer(rebasing: rest[size...])
  }
  return (lines, outcome, framer.waiting)
}
