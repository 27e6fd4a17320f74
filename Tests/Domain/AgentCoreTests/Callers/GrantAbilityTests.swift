import AgentModel
import Testing

/// That the commands run under each word is tested with the programs: `test_each_word_covers_the_commands_that_it_is_for`.
@Suite struct GrantAbilityTests {
  @Test(arguments: GrantAbility.allCases) func ability_namesEachMethodOnce(ability: GrantAbility) {
    #expect(Set(ability.methods).count == ability.methods.count)
  }

  @Test func severalAbilities_nameAMethodThatTheyShareOnce() {
    let methods = GrantAbility.methods(of: [.decisions, .status])
    #expect(methods.filter { $0 == "account.get" }.count == 1)
    #expect(Set(methods) == Set(GrantAbility.decisions.methods + GrantAbility.status.methods))
  }

  @Test func onlyTokens_mayHaveTokens() {
    for ability in GrantAbility.allCases where ability != .tokens {
      #expect(
        !ability.methods.contains { $0.hasPrefix("token.") || $0.hasPrefix("exec.") || $0.hasPrefix("credential.") })
    }
  }
}
