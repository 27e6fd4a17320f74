import JSONRPC

/// What `lanyard setup` changed in a file, so that `--undo` leaves the bytes that were there before.
struct FileEdit: Equatable {
  /// The identity of the change.
  let change: String
  /// The file itself, where a link leads.
  let path: String
  /// Where the text was inserted, in bytes.
  let place: Int
  let inserted: String
  /// What stood in its place: white space, mostly nothing.
  let removed: String
  /// True if there was no file.
  var isNewFile: Bool

  init(change: String, path: String, from before: String, to after: String, isNewFile: Bool) {
    self.change = change
    self.path = path
    self.isNewFile = isNewFile
    let (old, new) = (Array(before.utf8), Array(after.utf8))
    var start = 0
    while start < old.count, start < new.count, old[start] == new[start] { start += 1 }
    while start > 0, Self.isInCharacter(old, start) || Self.isInCharacter(new, start) { start -= 1 }
    var end = 0
    while end < old.count - start, end < new.count - start, old[old.count - 1 - end] == new[new.count - 1 - end] {
      end += 1
    }
    while end > 0, Self.isInCharacter(old, old.count - end) { end -= 1 }
    place = start
    removed = String(decoding: old[start..<old.count - end], as: UTF8.self)
    inserted = String(decoding: new[start..<new.count - end], as: UTF8.self)
  }

  init?(_ node: JSONNode) {
    guard let change = node["change"]?.string, let path = node["file"]?.string, let place = node["at"]?.integer,
      let inserted = node["inserted"]?.string, !inserted.isEmpty
    else { return nil }
    self.change = change
    self.path = path
    self.place = Int(clamping: place)
    self.inserted = inserted
    removed = node["removed"]?.string ?? ""
    isNewFile = node["newFile"]?.bool ?? false
  }

  func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("change", change)
    writer.member("file", path)
    writer.member("at", place)
    writer.member("inserted", inserted)
    if !removed.isEmpty { writer.member("removed", removed) }
    if isNewFile { writer.member("newFile", true) }
    writer.endObject()
  }

  /// The text without the edit. Nil if what was inserted is no longer there as a whole, or is there twice.
  func undone(in text: String) -> String? {
    let (all, sought) = (Array(text.utf8), Array(inserted.utf8))
    guard !sought.isEmpty, all.count >= sought.count else { return nil }
    var found: Int?
    for start in 0...(all.count - sought.count) where all[start] == sought[0] && all[start...].starts(with: sought) {
      if start == place {
        found = start
        break
      }
      guard found == nil else { return nil }
      found = start
    }
    guard let found else { return nil }
    return String(decoding: all[..<found] + removed.utf8 + all[(found + sought.count)...], as: UTF8.self)
  }

  /// True for a place after the first byte of a character.
  private static func isInCharacter(_ bytes: [UInt8], _ place: Int) -> Bool {
    place < bytes.count && bytes[place] & 0xC0 == 0x80
  }
}
