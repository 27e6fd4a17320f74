/// Finds duplicate keys of an object by their values: `"a"` and `"\u0061"` are the same key.
enum KeyComparison {
  /// Up to this number of members every pair is compared, mostly by length alone; with more members keys are hashed,
  /// which takes linear time, and an allocation for each. A sealed record has up to 24.
  private static let pairwiseMembers = 24

  static func hasDuplicates(
    inObjectAt index: Int, members: Int, of entries: [JSONTapeEntry], bytes: UnsafePointer<UInt8>
  ) -> Bool {
    if members > pairwiseMembers { return foundByHash(index, members, entries, bytes) }
    let end = Int(entries[index].next)
    var first = index + 1
    while first < end {
      let key = entries[first]
      var other = Int(entries[first + 1].next)
      while other < end {
        if same(key, entries[other], bytes) { return true }
        other = Int(entries[other + 1].next)
      }
      first = Int(entries[first + 1].next)
    }
    return false
  }

  @inline(__always)
  private static func same(_ a: JSONTapeEntry, _ b: JSONTapeEntry, _ bytes: UnsafePointer<UInt8>) -> Bool {
    if !a.escaped && !b.escaped {
      let length = Int(a.end - a.start)
      guard length == Int(b.end - b.start) else { return false }
      let left = bytes + Int(a.start)
      let right = bytes + Int(b.start)
      for offset in 0..<length where left[offset] != right[offset] { return false }
      return true
    }
    return JSONText.utf8(a, bytes) == JSONText.utf8(b, bytes)
  }

  /// `Set` hashes with a random seed per process, so an attacker can't choose colliding keys.
  private static func foundByHash(
    _ index: Int, _ members: Int, _ entries: [JSONTapeEntry], _ bytes: UnsafePointer<UInt8>
  ) -> Bool {
    var seen = Set<[UInt8]>(minimumCapacity: members)
    let end = Int(entries[index].next)
    var key = index + 1
    while key < end {
      // Compares UTF-8 bytes: canonically equivalent strings are different keys (RFC 8259 §8.3).
      guard seen.insert(JSONText.utf8(entries[key], bytes)).inserted else { return true }
      key = Int(entries[key + 1].next)
    }
    return false
  }
}
