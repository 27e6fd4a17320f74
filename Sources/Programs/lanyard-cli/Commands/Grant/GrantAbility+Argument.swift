public import AgentModel
public import ArgumentParser

extension GrantAbility: ExpressibleByArgument {}
