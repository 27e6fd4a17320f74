// AgentModel: see Package.swift.
