/**
 * Milliseconds since the page began, never going back. The steady clock of some systems stands still while the device
 * sleeps and the wall clock may be set, so the larger of the two counts: a mistake makes input look older, and old
 * input goes back to the person instead of to the program.
 */
let latest = 0
const startedSteady = performance.now()
const startedWall = Date.now()

export function now(): number {
  latest = Math.max(latest, performance.now() - startedSteady, Date.now() - startedWall)
  return latest
}
