/// A step of the demo did not behave as described.
struct NotAsTold: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
