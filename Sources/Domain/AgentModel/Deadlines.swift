/// Who waits until when: a binary heap by deadline, then by order of coming.
///
/// With a deadline for each of ten thousand accounts a look through all of them at every wake would be felt. Whoever is
/// cancelled stays in the heap until its turn comes, or until most of the heap is such.
public struct Deadlines<Sleeper> {
  private struct Entry {
    var deadline: BootInstant
    var id: UInt64

    func comesBefore(_ other: Entry) -> Bool { (deadline, id) < (other.deadline, other.id) }
  }

  private var heap: [Entry] = []
  private var sleepers: [UInt64: Sleeper] = [:]

  public init() {}

  public var isEmpty: Bool { sleepers.isEmpty }
  public var count: Int { sleepers.count }
  /// With those who were cancelled and are still in the heap.
  public var entryCount: Int { heap.count }

  /// The next deadline of somebody who still waits.
  public var earliest: BootInstant? {
    mutating get {
      while let first = heap.first, sleepers[first.id] == nil { removeFirst() }
      return heap.first?.deadline
    }
  }

  /// `id` grows with each sleeper, and is never used twice.
  public mutating func insert(_ id: UInt64, _ sleeper: Sleeper, until deadline: BootInstant) {
    sleepers[id] = sleeper
    heap.append(Entry(deadline: deadline, id: id))
    rise(heap.count - 1)
  }

  /// Nil if nobody of this number waits.
  public mutating func remove(_ id: UInt64) -> Sleeper? {
    let sleeper = sleepers.removeValue(forKey: id)
    if heap.count > 64, heap.count > 2 * sleepers.count { compact() }
    return sleeper
  }

  /// Takes out all whose time has come, the longest due first.
  public mutating func removeDue(at now: BootInstant) -> [Sleeper] {
    var due: [Sleeper] = []
    while let first = heap.first, first.deadline <= now {
      removeFirst()
      if let sleeper = sleepers.removeValue(forKey: first.id) { due.append(sleeper) }
    }
    return due
  }

  // MARK: heap

  private mutating func compact() {
    // A sorted array is a heap.
    heap = heap.filter { sleepers[$0.id] != nil }.sorted { $0.comesBefore($1) }
  }

  private mutating func removeFirst() {
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    sink(0)
  }

  private mutating func rise(_ start: Int) {
    var child = start
    while child > 0, heap[child].comesBefore(heap[(child - 1) / 2]) {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  private mutating func sink(_ start: Int) {
    var parent = start
    while true {
      var first = parent
      for child in 2 * parent + 1...2 * parent + 2 where child < heap.count && heap[child].comesBefore(heap[first]) {
        first = child
      }
      if first == parent { return }
      heap.swapAt(first, parent)
      parent = first
    }
  }
}

extension Deadlines: Sendable where Sleeper: Sendable {}
