import Testing

/// `LANYARD_SEEDS` and `LANYARD_SEED` choose the seeds of a run.
@Suite struct SeedsTests {
  @Test(
    arguments: [
      ([:], 1000, 1...100),
      ([:], 40, 1...4),
      (["LANYARD_SEEDS": "300"], 1000, 1...300),
      (["LANYARD_SEEDS": "300"], 40, 1...12),
      (["LANYARD_SEEDS": "7000+300"], 1000, 7000...7299),
      (["LANYARD_SEEDS": "7000+300"], 2, 7000...7000),
      (["LANYARD_SEEDS": "500-900"], 40, 500...900),
      (["LANYARD_SEEDS": "500-900", "LANYARD_SEED": "17"], 1000, 17...17),
    ] as [([String: String], Int, ClosedRange<UInt64>)])
  func environmentVariables_chooseTheSeeds(environment: [String: String], perThousand: Int, seeds: ClosedRange<UInt64>)
  {
    #expect(Seeds.asked(perThousand, environment: environment) == seeds)
  }

  /// The runs of three commits plant their faults at each operation.
  @Test func faultSteps_ofThreeRunsAreAllOperations() {
    let runs = (7...9).map { FaultSteps.asked(isEach: false, firstSeed: $0).prefix(3) }
    #expect(runs.joined().sorted() == Array(1...9))
    #expect(Array(FaultSteps.asked(isEach: true, firstSeed: 7).prefix(4)) == [1, 2, 3, 4])
  }
}
