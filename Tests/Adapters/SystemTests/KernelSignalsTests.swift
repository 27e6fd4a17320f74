import AgentPorts
import CPlatform
import Foundation
import Synchronization
import SystemAdapters
import Testing

/// Real changes of links are tested in `Tests/Programs/Integration/test_network.py`.
@Suite struct KernelSignalsTests {
  private final class Log: AgentLog {
    let lines = Mutex<[String]>([])
    func log(_ level: LogLevel, _ event: StaticString, _ fields: [(LogField, LogValue)]) {
      lines.withLock { $0.append("\(event)") }
    }
  }

  @Test func kernelSignals_startWithoutAWarning() {
    let log = Log()
    let signals = KernelSignals(log: log)
    signals.start { _ in }
    signals.stop()
    #expect(log.lines.withLock { $0 } == [])
  }

  @Test func untouchedWallClock_givesNoSignal() {
    let watch = lanyard_wall_watch()
    defer { close(watch) }
    #expect(watch >= 0)
    var descriptor = pollfd(fd: watch, events: Int16(POLLIN), revents: 0)
    #expect(poll(&descriptor, 1, 0) == 0)
  }

  @Test func networkList_namesEveryLinkAddressAndRouteAndEnds() {
    let socket = lanyard_network_watch()
    defer { close(socket) }
    #expect(socket >= 0)
    var bytes = [UInt8](repeating: 0, count: Int(LANYARD_NETWORK_BYTES))
    for kind in [LANYARD_LINK, LANYARD_ADDRESS, LANYARD_ROUTE] {
      #expect(lanyard_network_list(socket, kind) == 0)
      var seen: [lanyard_network_kind] = []
      while seen.last != LANYARD_END_OF_LIST {
        let count = lanyard_network_read(socket, &bytes, bytes.count)
        guard count >= 0 else { break }
        var offset = 0
        var news = lanyard_network_news()
        while lanyard_network_next(bytes, count, &offset, &news) != 0 { seen.append(news.kind) }
      }
      #expect(seen.last == LANYARD_END_OF_LIST)
      // Every machine has a loopback link with an address.
      if kind != LANYARD_ROUTE { #expect(seen.contains(kind)) }
    }
  }

  @Test(arguments: [[UInt8]](arrayLiteral: [], [1], [20, 0, 0, 0], [UInt8](repeating: 0xFF, count: 64)))
  func malformedNetworkMessage_isIgnored(bytes: [UInt8]) {
    var offset = 0
    var news = lanyard_network_news()
    #expect(lanyard_network_next(bytes, bytes.count, &offset, &news) == 0)
  }
}
