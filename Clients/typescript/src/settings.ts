/** The version of this package. */
export const VERSION = "1.0.0";

/** Time-out for connecting and `agent.hello`, also for each reconnection of an event stream: longer than a start. */
export const CONNECT_MS = 12_000;

/** The time for sending `event.unsubscribe`: the agent may have stopped reading. */
export const UNSUBSCRIBE_MS = 1_000;

/** The pause before attempt `attempt` to reach the agent: 50 ms, doubling to 5 s. */
export function pauseMs(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt, 16), 5_000);
}
