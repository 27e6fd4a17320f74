/// A priority queue of elements by deadline, then by id: a binary heap with lazy removal.
///
/// Ten thousand accounts have a deadline each, so a linear search at every wake would be slow. A removed element leaves
/// its heap entry behind until the deadline passes or half of the heap is such entries.
public struct DeadlineQueue<Element> {
  private struct Entry {
    var deadline: BootInstant
    var id: UInt64

    func comesBefore(_ other: Entry) -> Bool { (deadline, id) < (other.deadline, other.id) }
  }

  private var heap: [Entry] = []
  private var elements: [UInt64: Element] = [:]

  public init() {}

  /// True if the queue holds no element.
  public var isEmpty: Bool { elements.isEmpty }
  /// Number of elements in the queue.
  public var count: Int { elements.count }
  /// Number of heap entries, including those of removed elements.
  public var entryCount: Int { heap.count }

  /// The earliest deadline of an element in the queue; nil if the queue is empty.
  public var earliest: BootInstant? {
    mutating get {
      while let first = heap.first, elements[first.id] == nil { removeFirst() }
      return heap.first?.deadline
    }
  }

  /// Adds an element. `id` must be greater than every id before it.
  public mutating func insert(_ id: UInt64, _ element: Element, until deadline: BootInstant) {
    elements[id] = element
    heap.append(Entry(deadline: deadline, id: id))
    rise(heap.count - 1)
  }

  /// Removes and returns the element with this id; nil if there is none.
  public mutating func remove(_ id: UInt64) -> Element? {
    let element = elements.removeValue(forKey: id)
    if heap.count > 64, heap.count > 2 * elements.count { compact() }
    return element
  }

  /// Removes and returns all elements whose deadline is at or before `now`, earliest deadline first.
  public mutating func removeDue(at now: BootInstant) -> [Element] {
    var due: [Element] = []
    while let first = heap.first, first.deadline <= now {
      removeFirst()
      if let element = elements.removeValue(forKey: first.id) { due.append(element) }
    }
    return due
  }

  // MARK: heap

  private mutating func compact() {
    // A sorted array is a heap.
    heap = heap.filter { elements[$0.id] != nil }.sorted { $0.comesBefore($1) }
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

extension DeadlineQueue: Sendable where Element: Sendable {}
