/**
 * The ticket of a pairing link. boot.js took it out of the address before anything else ran; it is handed over once
 * and exists nowhere afterwards.
 */
export function takeTicket(): string | null {
  const holder = window as { agentHelmTicket?: unknown }
  const ticket = holder.agentHelmTicket
  delete holder.agentHelmTicket
  return typeof ticket === 'string' ? ticket : null
}
