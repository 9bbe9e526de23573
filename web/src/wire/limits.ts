/** Limits, close codes and times of the protocol. The truth is internal/wire (frame.go, timing.go). */

export const magic = 'AHLM'
export const versionMajor = 1
export const versionMinor = 0

/** The WebSocket subprotocol of the viewer dialect. */
export const subprotocol = 'agent-helm.v1'

/** Largest frame body in bytes. */
export const maxFrame = 1 << 20
/** Largest data of one Input in bytes. */
export const maxInput = 256 << 10
/** Largest data of one Repaint in bytes. */
export const maxRepaint = 64 << 10
/** Largest terminal in cells, either way. */
export const maxSide = 1000
/** Largest name of a signal in an Exit, in bytes. */
export const maxSignalName = 32

/** How often each end sends a Ping, in milliseconds. */
export const heartbeat = 15_000
/** Age at which input is no longer written to the PTY, in milliseconds. */
export const inputLifetime = 10_000
/** How long one Presence counts, in milliseconds. */
export const presenceLifetime = 45_000

/** Close codes of our own. */
export const close = {
  protocol: 4000,
  version: 4001,
  unauthorized: 4003,
  forbidden: 4004,
  duplicate: 4005,
  slow: 4006,
  limit: 4007,
  replaced: 4008,
  restarting: 4009,
} as const
