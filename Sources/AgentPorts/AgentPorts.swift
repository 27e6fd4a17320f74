// AgentPorts: see Package.swift.
