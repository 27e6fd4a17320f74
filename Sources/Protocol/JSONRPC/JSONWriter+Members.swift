extension JSONWriter {
  /// Writes a member of an object, or nothing for nil.
  public mutating func member(_ name: StaticString, _ value: String?) {
    guard let value else { return }
    key(name)
    string(value)
  }

  /// Writes a member of an object, or nothing for nil.
  public mutating func member(_ name: StaticString, _ value: Int64?) {
    guard let value else { return }
    key(name)
    integer(value)
  }

  /// Writes an array of strings, which may be empty.
  public mutating func member(_ name: StaticString, _ values: [String]) {
    key(name)
    beginArray()
    for value in values { string(value) }
    endArray()
  }
}
