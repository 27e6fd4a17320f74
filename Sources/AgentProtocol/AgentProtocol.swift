// AgentProtocol: see Package.swift.
