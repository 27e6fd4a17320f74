// AgentCore: see Package.swift.
