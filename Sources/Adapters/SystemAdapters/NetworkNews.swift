internal import CPlatform
internal import Glibc

/// The kernel's messages on a netlink socket, read into a `NetworkView`.
///
/// At first everything is listed without a report, so that later messages can be compared; so too after an overrun,
/// when the kernel has dropped messages.
final class NetworkNews {
  private let socket: Int32
  private let bytes = UnsafeMutableRawPointer.allocate(byteCount: Int(LANYARD_NETWORK_BYTES), alignment: 16)
  private var view = NetworkView()
  /// The kinds still to be listed, first the current one: netlink allows one list at a time (netlink(7)).
  private var lists: [lanyard_network_kind] = []

  init(socket: Int32) {
    self.socket = socket
    listEverything()
  }

  deinit { bytes.deallocate() }

  /// Reads every waiting message; true if one of them was a change.
  func read() -> Bool {
    var changed = false
    while true {
      let count = lanyard_network_read(socket, bytes, Int(LANYARD_NETWORK_BYTES))
      if count == -Int(ENOBUFS) {
        // An overrun counts as a change.
        changed = true
        listEverything()
      } else if count < 0 {
        return changed
      } else if take(count) {
        changed = true
      }
    }
  }

  private func take(_ count: Int) -> Bool {
    var changed = false
    var offset = 0
    var news = lanyard_network_news()
    while lanyard_network_next(bytes, count, &offset, &news) != 0 {
      if news.kind == LANYARD_END_OF_LIST {
        if !lists.isEmpty { lists.removeFirst() }
        list()
      } else if view.take(news), lists.isEmpty {
        changed = true
      }
    }
    return changed
  }

  private func listEverything() {
    view = NetworkView()
    let isListing = !lists.isEmpty
    lists = (isListing ? [lists[0]] : []) + [LANYARD_LINK, LANYARD_ADDRESS, LANYARD_ROUTE]
    if !isListing { list() }
  }

  /// A list that the kernel refuses is skipped: its entries count as changes when they are reported later.
  private func list() {
    while let kind = lists.first, lanyard_network_list(socket, kind) < 0 { lists.removeFirst() }
  }
}
