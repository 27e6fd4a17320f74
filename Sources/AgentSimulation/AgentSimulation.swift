// AgentSimulation: see Package.swift.
