/// The words of a program whose help stands in `lanyard`.
extension ArraySlice<String> {
  /// Takes the word behind an option.
  public mutating func takeValue(of option: String) throws(CommandFailure) -> String {
    guard let value = popFirst(), !value.isEmpty else { throw .usage("\(option) takes a value.") }
    return value
  }
}
