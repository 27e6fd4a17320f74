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
}
