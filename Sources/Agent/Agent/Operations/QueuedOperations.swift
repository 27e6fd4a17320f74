/// The operations of an account in their order.
///
/// An operation holds some twenty references. The list holds one for each operation, so that a change copies a thousand
/// references and not all of them.
package struct QueuedOperations: RandomAccessCollection, Sendable {
  private final class Box: Sendable {
    let operation: Operation

    init(_ operation: Operation) { self.operation = operation }
  }

  private var boxes: [Box]

  init(_ operations: some Sequence<Operation> = []) { boxes = operations.map { Box($0) } }

  package var startIndex: Int { boxes.startIndex }
  package var endIndex: Int { boxes.endIndex }

  /// Lends the operation without a copy.
  package subscript(place: Int) -> Operation {
    _read { yield boxes[place].operation }
    set { boxes[place] = Box(newValue) }
  }

  mutating func append(_ operation: Operation) { boxes.append(Box(operation)) }

  mutating func remove(at place: Int) { boxes.remove(at: place) }

  func place(of number: [UInt8]) -> Int? { indices.first { self[$0].id == number } }
}
