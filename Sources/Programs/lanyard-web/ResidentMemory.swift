internal import CPlatform

/// Keeps this program small while it waits, as it does most of the time.
enum ResidentMemory {
  /// Each connection has a thread, and each thread would get a heap of its own.
  static func limitHeaps() { lanyard_limit_heaps(2) }

  /// What a large page took goes back to the kernel, and pages of memory that equal their file.
  static func giveBack() {
    lanyard_give_back_heap()
    lanyard_give_back_pages()
  }
}
