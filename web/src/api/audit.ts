import { answer, api } from './client'
import type { components } from './schema'

/** A line of the audit: who did what to whom, from where. */
export type AuditLine = components['schemas']['AuditLine']

/** Which lines; what is absent does not narrow. */
export interface AuditFilter {
  /** An action such as device.paired, or what stands before its dot. */
  action?: string
  /** The id of who did it. */
  who?: string
  /** The id of what it was done to. */
  target?: string
}

export interface AuditPage {
  /** Newest first. */
  lines: AuditLine[]
  /** Where older lines go on; null at the end. */
  next: string | null
}

/** A page of lines, the newest without a cursor. */
export async function auditPage(filter: AuditFilter, cursor?: string): Promise<AuditPage> {
  const query = { ...filter, ...(cursor === undefined ? {} : { cursor }), limit: 50 }
  const { items, next } = await answer(api.GET('/api/audit', { params: { query } }))
  return { lines: items, next }
}

/** All lines that fit, as JSON lines, newest first. */
export async function exportAudit(filter: AuditFilter): Promise<Blob> {
  return (await answer(
    api.GET('/api/audit/export', { params: { query: { ...filter } }, parseAs: 'blob' }),
  )) as unknown as Blob
}
