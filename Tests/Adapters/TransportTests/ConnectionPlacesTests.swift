import AgentServing
import Testing

@Suite struct ConnectionPlacesTests {
  /// The connections that are idle, from the one that is so longest.
  private func admit(
    _ id: UInt64, _ places: inout ConnectionPlaces, process: Int32? = nil, isOwners: Bool = false, idle: [UInt64] = []
  ) -> ConnectionPlaces.Verdict {
    places.admit(id, process: process, isOwners: { isOwners }, idleLongest: { idle.first(where: $0) })
  }

  @Test func connectionsUpToTheLimit_closeNoOther() {
    var places = ConnectionPlaces(limit: 3)
    for id in 1...3 as ClosedRange<UInt64> { #expect(admit(id, &places, idle: [1, 2]) == .admitted) }
    #expect(places.count == 3)
  }

  @Test func connectionOverTheLimit_takesThePlaceOfTheOneIdleLongest() {
    var places = ConnectionPlaces(limit: 3)
    for id in 1...3 as ClosedRange<UInt64> { _ = admit(id, &places) }
    #expect(admit(4, &places, idle: [2, 1]) == .inPlaceOf(2))
    #expect(places.count == 3)
    // It was counted out when it had to go.
    places.leave(2)
    #expect(places.count == 3)
  }

  @Test func connectionOverTheLimitWithoutAnIdleOne_isRefused() {
    var places = ConnectionPlaces(limit: 3)
    for id in 1...3 as ClosedRange<UInt64> { _ = admit(id, &places) }
    #expect(admit(4, &places) == .refused && places.count == 3)
    places.leave(1)
    #expect(admit(5, &places) == .admitted)
  }

  @Test func eightMorePlaces_areKeptForTheOwnersCommandLine() {
    var places = ConnectionPlaces(limit: 3)
    for id in 1...3 as ClosedRange<UInt64> { _ = admit(id, &places) }
    for id in 11...18 as ClosedRange<UInt64> { #expect(admit(id, &places, isOwners: true) == .admitted) }
    #expect(admit(19, &places, isOwners: true) == .refused)
    #expect(admit(20, &places) == .refused)
    // An idle connection makes room before a kept place is used.
    #expect(admit(21, &places, isOwners: true, idle: [11]) == .inPlaceOf(11))
    #expect(places.count == 11)
  }

  @Test func processOverItsOwnLimit_makesRoomByItself() {
    var places = ConnectionPlaces(limit: 10, ofOneProcess: 2)
    #expect(admit(1, &places, process: 7) == .admitted && admit(2, &places, process: 8) == .admitted)
    #expect(admit(3, &places, process: 7) == .admitted)
    #expect(places.largestHolder.map { [$0.process, Int32($0.count)] } == [7, 2])
    #expect(admit(4, &places, process: 7, idle: [2]) == .refused, "another process keeps its place")
    #expect(admit(4, &places, process: 7, isOwners: true, idle: [2]) == .refused)
    #expect(admit(4, &places, process: 7, idle: [2, 3]) == .inPlaceOf(3))
    #expect(admit(5, &places, process: 8) == .admitted)
    #expect(admit(6, &places) == .admitted, "a client without a process has no limit of its own")
    places.leave(1)
    places.leave(4)
    #expect(admit(7, &places, process: 7) == .admitted)
  }

  /// However connections come and go, the counts are those of the open ones.
  @Test func counts_areThoseOfTheOpenConnections() {
    var random = SystemRandomNumberGenerator()
    var places = ConnectionPlaces(limit: 20, ofOneProcess: 6)
    var open: [UInt64: Int32] = [:]
    for id in 1...5_000 as ClosedRange<UInt64> {
      let process = Int32.random(in: 1...5, using: &random)
      let idle = open.keys.sorted().filter { $0 % 3 == 0 }
      switch admit(id, &places, process: process, idle: idle) {
      case .admitted: open[id] = process
      case .inPlaceOf(let other):
        #expect(open.removeValue(forKey: other) != nil)
        open[id] = process
      case .refused: break
      }
      if let gone = open.keys.randomElement(using: &random), Bool.random(using: &random) {
        places.leave(gone)
        open[gone] = nil
      }
      #expect(places.count == open.count && open.count <= 20)
      let counts = Dictionary(grouping: open.values) { $0 }.mapValues(\.count)
      #expect(places.largestHolder?.count == counts.values.max() && counts.values.allSatisfy { $0 <= 6 })
    }
  }
}
