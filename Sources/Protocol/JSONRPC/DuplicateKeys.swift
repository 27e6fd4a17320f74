/// Finds a key that an object names twice, comparing values and not spellings: `"a"` and `"\u0061"` are one key.
enum DuplicateKeys {
  /// Up to here every pair is compared; past it keys are hashed, so that a line of many keys stays linear.
  private static let pairwiseMembers = 12

  static func found(
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

  /// Swift's own set hashes with a seed of this process, so nobody outside can choose colliding keys.
  private static func foundByHash(
    _ index: Int, _ members: Int, _ entries: [JSONTapeEntry], _ bytes: UnsafePointer<UInt8>
  ) -> Bool {
    var seen = Set<[UInt8]>(minimumCapacity: members)
    let end = Int(entries[index].next)
    var key = index + 1
    while key < end {
      // UTF-8 bytes, not String: two canonically equivalent spellings are two keys (RFC 8259 §8.3).
      guard seen.insert(JSONText.utf8(entries[key], bytes)).inserted else { return true }
      key = Int(entries[key + 1].next)
    }
    return false
  }
}
