package import AgentCore

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

  package subscript(place: Int) -> Operation {
    get { boxes[place].operation }
    set { boxes[place] = Box(newValue) }
  }

  mutating func append(_ operation: Operation) { boxes.append(Box(operation)) }

  mutating func remove(at place: Int) { boxes.remove(at: place) }

  // MARK: members of all operations
  // Each reads one member where it is stored: the subscript copies the whole operation.

  package func place(of number: [UInt8]) -> Int? { boxes.firstIndex { $0.operation.id == number } }

  func place(named name: String) -> Int? { boxes.firstIndex { $0.operation.name == name } }

  package var entries: [OperationQueue.Entry] {
    boxes.map { OperationQueue.Entry($0.operation.machine, of: $0.operation.caller) }
  }

  var pending: Int { boxes.count { $0.operation.machine.isPending } }

  /// What all of them take.
  var bytes: Int { boxes.reduce(0) { $0 + $1.operation.bytes } }

  /// What those of limited callers take.
  var bytesOfLimitedCallers: Int {
    boxes.reduce(0) { $0 + ($1.operation.caller == .owner ? 0 : $1.operation.bytes) }
  }

  package var boundsEntries: [OperationBounds.Entry] {
    boxes.map {
      OperationBounds.Entry(
        mayLeave: $0.operation.machine.mayLeave, isLimited: $0.operation.caller != .owner, bytes: $0.operation.bytes)
    }
  }
}
