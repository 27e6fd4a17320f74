import Foundation

/// The numbers of the disk operation at which a test plants its fault: 1, 2, 3, … with `LANYARD_KILLS=all`, as in
/// `make nightly`; else each third, which one changes with the commit.
enum FaultSteps {
  static let asked = asked(
    isEach: ProcessInfo.processInfo.environment["LANYARD_KILLS"] == "all", firstSeed: Seeds.asked(1000).lowerBound)

  static func asked(isEach: Bool, firstSeed: UInt64) -> StrideTo<Int> {
    isEach ? stride(from: 1, to: .max, by: 1) : stride(from: 1 + Int(firstSeed % 3), to: .max, by: 3)
  }
}
