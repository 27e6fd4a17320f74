/// What the agent's own functions fail with. For now the error of the contract itself.
typealias AgentFailure = RPCError
