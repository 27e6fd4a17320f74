import AgentCore
import AgentModel
import Testing

/// Invariants of trusted time under any change of the clocks, in seeded histories. A failure prints its seed.
@Suite struct TrustedTimeProperties {
  typealias Machine = TrustedTimeTests.Machine
  typealias Broken = TokenMachineProperties.Broken
  static let providers = [Machine.idp, ProviderName("liar")!, ProviderName("mute")!]

  /// A confirmation, and the longest time that was ever reported since it.
  struct Confirmation {
    /// Nil: a moment of no provider, such as the creation of a grant.
    var provider: ProviderName?
    var instant: TrustedInstant
    var elapsed = Milliseconds.zero
    /// Elapsed by the boot clock in all boots since, without the time between them.
    var counted = Milliseconds.zero
  }

  struct World {
    let seed: UInt64
    var random: TokenMachineProperties.Random
    var machine = Machine()
    var confirmations: [Confirmation] = []
    var step = 0

    init(seed: UInt64) {
      self.seed = seed
      random = .init(state: seed)
    }

    mutating func number(_ range: ClosedRange<Int64>) -> Int64 { Int64.random(in: range, using: &random) }

    mutating func pass(_ duration: Milliseconds) {
      machine.pass(duration)
      for index in confirmations.indices {
        confirmations[index].counted = confirmations[index].counted + duration
      }
    }

    mutating func setWall() {
      let reach: Int64 = [200, 4 * 86_400, 400 * 86_400].randomElement(using: &random)!
      machine.wallError = .seconds(number(-reach...reach))
    }

    mutating func ask(_ provider: ProviderName) {
      guard provider != Self.mute else { return }
      let error = provider == Self.liar ? Milliseconds.seconds(number(-2_000_000_000...2_000_000_000)) : .zero
      let (there, back) = (Milliseconds(number(0...3000)), Milliseconds(number(0...3000)))
      machine.ask(provider, error: error, there: there, back: back)
      for index in confirmations.indices {
        confirmations[index].counted = confirmations[index].counted + there + back
      }
    }

    static let liar = providers[1]
    static let mute = providers[2]

    /// `server`: the provider that reported its time in this step; only its elapsed time may become shorter.
    mutating func check(server: ProviderName?) throws {
      func fail(_ what: String) -> Broken { Broken(seed: seed, step: step, what: what) }
      for index in confirmations.indices {
        let known = confirmations[index]
        let elapsed =
          known.provider.map { machine.elapsed(since: known.instant, $0) }
          ?? machine.elapsed(sinceMoment: known.instant)
        guard elapsed >= known.counted else { throw fail("less than the boot clock counted (T2)") }
        if known.provider == nil || known.provider != server {
          guard elapsed >= known.elapsed else { throw fail("a window became longer (T1, T3)") }
        }
        confirmations[index].elapsed = elapsed
      }
    }

    mutating func run(steps: Int) throws {
      for step in 0..<steps {
        self.step = step
        let provider = providers.randomElement(using: &random)!
        var server: ProviderName?
        switch number(0...19) {
        case 0...4: pass(Milliseconds(number(0...200_000)))
        case 5...9: setWall()
        case 10: machine.wallError = .zero
        case 11...13:
          ask(provider)
          server = provider
        case 14...15:
          let instant = machine.confirm(provider)
          confirmations.append(Confirmation(provider: provider, instant: instant))
          if provider == Self.mute, machine.reading(provider, since: instant).clock == .suspect {
            throw Broken(seed: seed, step: step, what: "suspect for what was confirmed by this clock")
          }
          if confirmations.count > 6 { confirmations.removeFirst() }
        case 16: machine.restart()
        case 17:
          let uptime = Milliseconds(number(0...100_000))
          let wallError = number(0...1) == 0 ? machine.wallError : .seconds(number(-4_000_000...4_000_000))
          machine.reboot(off: Milliseconds(number(0...500_000_000)), uptime: uptime, wallError: wallError)
          for index in confirmations.indices {
            confirmations[index].counted = confirmations[index].counted + uptime
          }
        case 18:
          confirmations.append(Confirmation(instant: machine.time.moment(at: machine.now)))
          if confirmations.count > 6 { confirmations.removeFirst() }
        default: machine.time.advance(to: machine.now)
        }
        try check(server: server)
        if server == Machine.idp {
          // An honest server's time is right under any wall clock and any report of the lying provider.
          let error = machine.error()
          guard max(error, Milliseconds(-error.count)) <= Milliseconds(3500) else {
            throw Broken(seed: seed, step: step, what: "off by \(error.count) ms after the server told the time")
          }
        }
      }
    }
  }

  @Test(arguments: 0..<10)
  func randomClockChanges_keepTheTimeInvariants(block: UInt64) throws {
    for seed in (block * 200)..<((block + 1) * 200) {
      var world = World(seed: seed)
      try world.run(steps: 200)
    }
  }
}
