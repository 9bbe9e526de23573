/**
 * What can be started from here: the login shell and the agents we know. A host starts these by default; any other
 * command needs the host's own policy, and is started there.
 */
export const programs = [
  { id: 'shell', label: 'Shell' },
  { id: 'claude', label: 'Claude Code' },
  { id: 'codex', label: 'Codex' },
  { id: 'gemini', label: 'Gemini CLI' },
] as const

export type ProgramId = (typeof programs)[number]['id']
