import FleetSimulation
import Foundation

exit(FleetCommand.run(Array(CommandLine.arguments.dropFirst())))
